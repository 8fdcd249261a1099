"""Claims, findings and effects, computed in the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from functools import partial
from typing import Any, get_args

import pytest

from sentviz.analysis.claim import (
    HOW,
    VERDICT_WORDS,
    Answer,
    Board,
    Claim,
    Effect,
    Finding,
    Reference,
    Verdict,
    decide,
    not_testable,
    settled,
    strictest_finding,
)
from sentviz.errors import InputError
from sentviz.runs.store import Run

HOLDS = Finding("holds", "it is so", effect=Effect(1.0))


def test_shares_become_points_and_percent() -> None:
    """Each number is a hundred times its share; a difference is compared with 0, a share with a share."""
    assert Effect.from_share_difference(0.1, 0.02, 0.3, "a minus b") == Effect(10.0, 2.0, 30.0, "points", 0.0, "a minus b")
    assert Effect.from_share_difference(-0.5, -0.75, 0.25) == Effect(-50.0, -75.0, 25.0)
    assert Effect.from_comparison({"difference": 0.25, "low": -0.5, "high": 0.75, "n": 9}, "c") == Effect(25.0, -50.0, 75.0, of="c")
    assert Effect.from_share(0.625, 0.5, 0.75, 0.25, "right") == Effect(62.5, 50.0, 75.0, "%", 25.0, "right")


def test_defaults_of_effects_and_findings() -> None:
    """An effect is a difference in points without interval; a finding has no parts and no effect."""
    alone = Effect(2.0)
    assert (alone.low, alone.high, alone.unit, alone.null, alone.of) == (None, None, "points", 0.0, "")
    assert Finding("holds", "so") == Finding("holds", "so", (), None)
    assert not_testable("no runs") == Finding("unjudged", "no runs")
    assert not_testable("one seed", alone).effect is alone


def test_a_verdict_is_a_code() -> None:
    """Codes have words; words and other texts are refused with the list of codes."""
    assert set(VERDICT_WORDS) == set(get_args(Verdict))
    for text in (*set(VERDICT_WORDS.values()) - {"holds"}, "true", ""):
        with pytest.raises(InputError, match="Use one of holds, fails, open, unjudged"):
            Finding(text, "")  # type: ignore[arg-type]


@pytest.mark.parametrize(("holds", "fails", "verdict"), [(True, False, "holds"), (False, True, "fails"), (False, False, "open")])
def test_a_verdict_by_two_conditions(holds: bool, fails: bool, verdict: Verdict) -> None:
    """A refuted claim fails whatever else is true; a test that always decides has no open verdict."""
    assert decide(holds, fails) == verdict and decide(True, True) == "fails"
    assert settled(holds, "n = 3", Effect(1.0)) == Finding("holds" if holds else "fails", "n = 3", effect=Effect(1.0))


@pytest.mark.parametrize(
    "value", [Effect(1.0), HOLDS, Answer("?", "holds", "yes", "", ""), Claim("a", "so", "here", "data sets", "counted", lambda _: HOLDS)]
)
def test_values_cannot_be_changed(value: Any) -> None:
    """Setting a field raises FrozenInstanceError."""
    with pytest.raises(FrozenInstanceError):
        setattr(value, next(iter(vars(value))), "other")


def test_the_strictest_verdict_wins() -> None:
    """Of each pair the first one of `Verdict` wins in any order, with its own effect; of two equal verdicts the first finding.

    So a part that fails decides, an open part leaves the claim open, and a part that cannot be judged decides nothing.
    """
    for stricter, milder in ((a, b) for i, a in enumerate(get_args(Verdict)) for b in get_args(Verdict)[i + 1 :]):
        first, second = Finding(stricter, "one", effect=Effect(1.0)), Finding(milder, "other", effect=Effect(2.0))
        for parts in ({"these": first, "those": second}, {"those": second, "these": first}):
            finding = strictest_finding(parts)
            assert (finding.verdict, finding.effect) == (stricter, Effect(1.0)) and finding.parts == tuple(parts.items())
            assert f"on these it {VERDICT_WORDS[stricter]}: one" in finding.evidence
            assert f"on those it {VERDICT_WORDS[milder]}: other" in finding.evidence
    both = {"these": HOLDS, "those": Finding("holds", "again", effect=Effect(2.0))}
    assert strictest_finding(both).effect == Effect(1.0)


def test_an_answer_is_one_line() -> None:
    """Question, answer and numbers are joined; empty numbers are left out."""
    assert Answer("Is it?", "holds", "Yes", "n = 9.", "results").sentence == "Is it? Yes. n = 9."
    assert Answer("Is it?", "holds", "Yes", "", "results").sentence == "Is it? Yes."


def test_a_claim_has_a_row_and_a_key() -> None:
    """The row is the short form if there is one; the key is paper and id, whatever the words."""
    claim = Claim("a-b", "A beats B on X", "table 1", "runs here", "tested", lambda _: HOLDS)
    short = Claim("a-b", "A is better than B on X", "", "data sets", "counted", lambda _: HOLDS, "A beats B")
    assert claim.row == "A beats B on X" and short.row == "A beats B"
    assert claim.key("ndt") == short.key("ndt") == "ndt-a-b"
    assert set(HOW) == set(get_args(Reference))


def test_a_claim_needs_a_known_kind() -> None:
    """One sentence names the claim and the kinds."""
    with pytest.raises(InputError, match=r"The claim 'A beats B' has the kind 'sure'. Use one of printed, counted, tested, theorem"):
        Claim("a", "A beats B", "", "runs here", "sure", lambda _: HOLDS)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^The claim 'A beats B' has no kind. Use one of printed, counted, tested, theorem.$"):
        Board({}).claim("a", "A beats B", where="", against="runs here", kind="")(lambda: HOLDS)  # type: ignore[arg-type]


def test_the_p_of_several_parts() -> None:
    """A claim that holds on every part is as sure as its least sure part; one that fails on some part pays for the number of parts."""
    sure, less = Finding("holds", "", p=0.001), Finding("holds", "", p=0.03)
    assert strictest_finding({"a": sure, "b": less, "c": not_testable("no runs")}).p == 0.03
    assert strictest_finding({"a": Finding("fails", "", p=0.01), "b": less, "c": not_testable("no runs")}).p == 0.02
    assert strictest_finding({"a": sure, "b": Finding("holds", "")}).p is None


def test_a_decorator_registers_a_claim_per_data_set() -> None:
    """Each claim has its id, column, place and test; a claim on no data set has no column, and reads the runs that it names."""
    board = Board({"x": "X", "y": "Y News"}, {"y": "Y"})

    @board.claim({"x": "one", "y": "two"}, "A beats B on {}", where={"x": "table 1", "y": "table 2"}, against="runs here", kind="tested",
        section="results", figure="bars", how="by counting")  # fmt: skip
    @board.claim("three", "Every A beats B", "A beats B", where="table 3", against="runs here", kind="tested", reads=("x", "y"))
    def judge(dataset: str, runs: Sequence[Run]) -> Finding:
        return HOLDS if dataset == "x" else not_testable(f"{len(runs)} runs of {dataset}")

    of_x, of_y, of_all = board
    assert (of_x.id, of_x.row, of_x.on, of_x.data, of_x.where, of_x.statement) == (
        "one",
        "A beats B",
        "X",
        ("x",),
        "table 1",
        "A beats B on X",
    )
    assert (of_y.id, of_y.on, of_y.where, of_y.statement) == ("two", "Y News", "table 2", "A beats B on Y")
    assert (of_all.id, of_all.row, of_all.on, of_all.data) == ("three", "A beats B", "", ("x", "y"))
    assert {(claim.against, claim.how, claim.shows, claim.figure) for claim in (of_x, of_y)} == {
        ("runs here", "by counting", "results", "bars")
    }
    assert of_x.test([]) is HOLDS and of_y.test([]) == not_testable("0 runs of y")


def test_a_test_gets_what_it_names() -> None:
    """Data set, runs and settings reach a test that has such arguments; a setting that it does not have is refused."""
    board = Board({"x": "X"})
    seen = list[object]()

    @board.claim({"x": "a"}, "It has {least} or more on {}", where="", against="data sets", kind="counted", least=3)
    def judge(dataset: str, least: int) -> Finding:
        seen.append((dataset, least))
        return HOLDS

    @board.claim("b", "It is so", where="", against="its own tables", kind="printed")
    def judge_nothing() -> Finding:
        return HOLDS

    first, second = board
    assert first.test([]) is second.test([]) is HOLDS and seen == [("x", 3)]
    assert (first.statement, first.row) == ("It has 3 or more on X", "It has 3 or more") and second.row == "It is so"
    with pytest.raises(InputError, match="The test of 'So' has no argument most"):
        board.claim("c", "So", where="", against="data sets", kind="counted", most=1)(judge_nothing)


def test_claims_are_in_the_order_of_the_page() -> None:
    """Tests are in the order of the module, decorators of one test from top to bottom; parts of statements begin with a large letter."""
    board = Board({"x": "X"})
    printed = partial(board.claim, where="", against="its own tables", kind="printed")

    @printed({"x": "a"}, "On {} all are large")
    @printed("b", "Some are large")
    def judge() -> Finding:
        return HOLDS

    @printed("c", "None is large", "λ is small")
    def judge_next() -> Finding:
        return HOLDS

    assert [(claim.id, claim.row) for claim in board] == [("a", "All are large"), ("b", "Some are large"), ("c", "λ is small")]
