"""Searches have a budget and give way: slices, equal shares, an end that says how far it came, and a search that goes on from there."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

from app import answers
from app.focus import Focus
from app.server import queue
from sentviz.analysis.explain import explained, reason, supported
from sentviz.analysis.explain.counterfactual import smallest_flip
from sentviz.analysis.explain.exact import exact
from sentviz.analysis.explain.faithfulness import against_chance
from sentviz.analysis.explain.permutation import permutation_shap
from sentviz.cli import main
from sentviz.models import batches
from sentviz.models import model as models
from sentviz.models.budget import SLICE, Budget, Spent
from sentviz.models.model import Model
from sentviz.runs.headline_evidence import Flip
from sentviz.runs.trace import Trace
from sentviz.serving.jobs import Turns
from tests.kit import planted_model, small_model

TEXT, SHORT = "what a warm, clever song we saw and a cold garden", "a warm song we saw"
SOON = 20.0  # seconds, after which a test has failed


class Clock:
    """A clock that moves only when the test works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def words_removed(model: Model, trace: Trace) -> Any:
    """Return the scores of word removal."""
    return explained(model, trace).token_scores["removal"]


SEARCHES: dict[str, Callable[[Model, Trace], Any]] = {
    "removal": words_removed,
    "units": lambda model, trace: explained(model, trace, ["units"]).token_scores["units"],
    "permutation": lambda model, trace: permutation_shap(model, trace).values,
    "exact": lambda model, trace: exact(model, trace, by="words").table,
    "verdict": lambda model, trace: against_chance(model, trace, np.arange(len(trace.tokens), dtype=np.float32)),
    "edit": partial(smallest_flip, drawn=2, passes=60),
    "reason": lambda model, trace: supported(model, trace, {}).evidence.flip,  # type: ignore[union-attr]
}


@pytest.fixture
def single_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every batch have one row, so that searches of short texts have many parts."""
    monkeypatch.setattr(batches, "TOKENS_PER_BATCH", 1)
    monkeypatch.setattr(models.by_length, "__defaults__", (1,))


@pytest.mark.parametrize("part", [0.001, 0.02, 0.3])
def test_a_search_rests_before_its_slice_is_over(part: float) -> None:
    clock, rests = Clock(), [0.0]
    with Budget(clock=clock).working(lambda: rests.append(clock.now)) as step:
        for _ in range(200):
            clock.now += part
            step()
    assert all(late - early <= max(SLICE, part) + 1e-9 for early, late in pairwise(rests))
    assert len(rests) > 200 * part / max(SLICE, part) - 1


def test_work_is_counted_and_can_be_stopped() -> None:
    clock = Clock()

    def rest() -> None:
        clock.now += 100.0

    budget = Budget(0.55, clock=clock)
    with pytest.raises(Spent), budget.working(rest) as step:
        for _ in range(20):
            clock.now += 0.1
            step()
    assert budget.used == pytest.approx(0.6)
    layers, calls = 4, list[int]()
    model = small_model(layers=layers).stoppable(lambda: calls.append(1))
    for work in (lambda: model.predict([TEXT]), lambda: explained(model, model.trace(TEXT), ["gradient"])):
        calls.clear()
        work()
        assert len(calls) > 2 * layers
    model, counts, budget = small_model(), list[tuple[int, int, str]](), Budget(20.0)
    trace = model.trace("a warm garden and a dull song , but a clever town")
    with budget.working() as step:
        explained(model.stoppable(step, budget.batches, lambda *count: counts.append(count)), trace, ["removal"])
    assert counts[-1] == (12, 12, "words") and [done for done, _, _ in counts] == sorted({done for done, _, _ in counts})
    budget.stop()
    assert budget.is_spent and budget.more == 20
    with pytest.raises(Spent), budget.working() as step:
        explained(model.stoppable(step), trace, ["removal"])
    budget.extend()
    assert not budget.is_spent


@pytest.mark.usefixtures("single_rows")
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_that_goes_on_ends_like_one_without_a_limit(name: str) -> None:
    """A search that ends at several budgets computes no batch twice and gives the result of the search without a limit, bit for bit."""
    computed = Counter[bytes]()
    model, clock = small_model(3), Clock()
    trace, search = model.trace(SHORT), SEARCHES[name]
    whole = search(model.stoppable(lambda: None, {}), trace)
    budget, ends, outcome = Budget(3.0, clock=clock), 0, model.outputs

    def outputs(rows: Any, change: Any) -> Any:
        clock.now += 1.0
        out = outcome(rows, change)
        computed[batches.digest_of(rows, "")] += 1
        return out

    while True:
        assert ends < 20
        try:
            with budget.working() as step:
                part = model.stoppable(step, budget.batches)
                part.outputs = outputs  # type: ignore[method-assign]
                got = search(part, trace)
        except Spent as spent:
            assert "seconds of computing" in str(spent)
        else:
            if not (isinstance(got, Flip) and got.untested):
                break
        ends += 1
        budget.extend()
    assert ends > 1
    assert np.array_equal(got, whole) if isinstance(whole, np.ndarray) else repr(got) == repr(whole)
    twice = sum(count - 1 for count in computed.values())
    assert twice <= ends if name in ("edit", "reason") else not twice  # a found edit is predicted alone each time it is told


@pytest.mark.usefixtures("single_rows")
def test_the_message_counts_the_words_that_were_searched() -> None:
    model = small_model()
    trace, clock = model.trace("what a warm clever song we saw"), Clock()
    model.network.get_submodule("blocks.0").register_forward_pre_hook(lambda *_: setattr(clock, "now", clock.now + 1.0))
    budget = Budget(3.5, clock=clock)
    with pytest.raises(Spent, match=r"^Searched 3 of 7 words after 3\.5 seconds of computing\.$"), budget.working() as step:
        words_removed(model.stoppable(step, budget.batches), trace)
    assert len(budget.batches) == 3
    budget.extend()
    with pytest.raises(Spent, match=r"^Searched [4-6] of 7 words after 7 seconds"), budget.working() as step:
        words_removed(model.stoppable(step, budget.batches), trace)
    for rule in (lambda there: 4 * there("warm") - 2, lambda there: 0 * there("warm") + 4):
        model, calls = planted_model(rule), count()

        def step(calls: Iterator[int] = calls) -> None:
            if next(calls) > 60:
                raise Spent(Budget(1.0))

        trace = model.trace("what a warm clever song we saw")
        flip, whole = smallest_flip(model.stoppable(step), trace), smallest_flip(model, trace)
        assert 0 < flip.passes < whole.passes + whole.drawn and flip.untested and not flip.complete
        assert not whole.untested and bool(flip.edits) == bool(whole.edits)
        seen = supported(model, trace, {})
        sentence = reason(seen.replace(evidence=replace(seen.evidence, flip=flip)))
        assert f"{flip.passes:,} of {flip.passes + flip.untested:,} edits were tested" in sentence


def test_the_command_says_how_to_go_on(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock moves by a hundredth of a second whenever it is read."""
    monkeypatch.setitem(Budget.__init__.__kwdefaults__, "clock", (tick / 100 for tick in count()).__next__)
    for seconds, is_over in (("0.2", True), ("900", False)):
        output = CliRunner().invoke(main, ["explain", str(tiny_run), SHORT, "--seconds", seconds]).output
        says = r"Searched .* words after 0\.2 seconds of computing\. Go on with --seconds 0\.4\."
        assert (bool(re.search(says, output)), "Go on" in output, "Word removal" in output) == (is_over, is_over, not is_over)


def working(turns: Turns, who: str, used: dict[str, float], order: list[str], slices: int) -> threading.Thread:
    """Start a visitor who works for some slices of 0.05 s of counted time."""

    def work() -> None:
        with turns.turn(who, long=True, used=lambda: used[who]) as rest:
            for _ in range(slices):
                used[who] += SLICE
                order.append(who)
                rest()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_visitors_share_the_time_equally_and_a_new_one_catches_up() -> None:
    visitors, turns, order = 4, Turns(2), list[str]()
    names = [f"visitor {i}" for i in range(visitors)]
    used = dict.fromkeys(names, 0.0) | {names[0]: 10 * SLICE}
    with turns.turn("before", long=True):
        threads = [working(turns, name, used, order, 20) for name in names]
        end = threading.Event()
        for _ in range(2000):
            if len(turns._queue) == visitors:
                break
            end.wait(0.01)
    for thread in threads:
        thread.join(SOON)
    counts = Counter({names[0]: 10})
    assert set(order[: 10 * (visitors - 1)]) == set(names[1:])
    for name in order:
        counts[name] += 1
        still = [counts[each] for each in names[1:] if counts[each] < 20]
        assert not still or max(counts[each] for each in names[1:]) - min(still) <= 1
    assert Counter(order) == dict.fromkeys(names, 20)


def page() -> None:
    from app import answers, visit
    from app.blocks.sentence import run_with_weights

    focus = visit.focus()
    run_with_weights()
    seen = answers.trace(focus)
    answers.reasoned(focus)
    answers.verdict(focus, seen, "removal")
    answers.heads(focus, seen)


def test_only_the_pass_of_an_answer_is_short_work(tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a typed sentence with its scores, reason, verdict and heads, one piece of work is short, and it is one pass of one text."""
    kinds, passes = list[bool](), Counter[bool]()
    turn, trace, forward = queue.turn, Model.trace, Model.forward

    def noted(*args: Any, long: bool = False, **options: Any) -> Any:
        kinds.append(long)
        return turn(*args, long=long, **options)

    def traced(self: Model, *args: Any, **options: Any) -> Any:
        passes[kinds[-1]] += 1
        return trace(self, *args, **options)

    def forwarded(self: Model, rows: Any, *args: Any, **options: Any) -> Any:
        passes[kinds[-1]] += len(rows)
        return forward(self, rows, *args, **options)

    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))
    monkeypatch.setattr(answers, "turn", noted)
    monkeypatch.setattr(Model, "trace", traced)
    monkeypatch.setattr(Model, "forward", forwarded)
    monkeypatch.setattr(answers, "chance_of", lambda model, run: {1: 9.0, 2: 9.0, 3: 9.0, 4: 9.0})
    at = AppTest.from_function(page, default_timeout=120)
    at.session_state["focus"] = Focus(run="toy/ndt-unit-2", text=SHORT)
    at.run()
    assert not at.exception
    assert kinds.count(False) == 1 and not kinds[0] and passes[False] == 1 and passes[True] > 20
