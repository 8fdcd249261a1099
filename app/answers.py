"""Results of the run in focus for the text in focus, stored for one visit: traces, reasons, verdicts, falls without each head."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from app import cache
from app.focus import Focus
from app.server.queue import is_torch_loaded, turn
from app.shared import once
from app.visit import keep_result
from sentviz.analysis.explain import SCORES, available, explained, quickly_supported, supported, usual
from sentviz.analysis.explain import score as score_of
from sentviz.analysis.explain.faithfulness import Verdict, against_chance, faithfulness
from sentviz.analysis.explain.headline import chance_of
from sentviz.analysis.explain.leave_out import words
from sentviz.analysis.explain.value_function import cut_at_marks
from sentviz.analysis.maps.layers import silenced
from sentviz.data import datasets, demo
from sentviz.data.behaviour import find_case
from sentviz.errors import DataMissingError, InputError, SentvizError
from sentviz.io.lazy import pd
from sentviz.models.budget import Budget
from sentviz.runs.catalog import reads_pairs
from sentviz.runs.headline_evidence import Chance
from sentviz.runs.store import Run
from sentviz.runs.target import PREDICTED, Target
from sentviz.runs.trace import Trace

KEPT_TRACES = 8
LONG_WORK = 5e10  # parameters times tokens that word removal may compute before the picture is drawn
SCREENED_WORK, LEAST_CLAUSES = 1.5e11, 3  # the same for texts of several clauses, whose reason comes from clauses unless a visitor asks
KEPT_BUDGETS = 4
QUIET = 0.5  # seconds of work on reasons that a page does not report
SECONDS = 20.0  # seconds that the page's thread computes the reasons for one answer before it asks whether to go on
KEPT_TOKENS = 12_000  # tokens of all stored traces; a long text takes tens of kilobytes per token


def texts(focus: Focus) -> tuple[str, str | None]:
    """Return the text in focus: the visitor's, a row's, or the run's example; with its second text if the run reads pairs, else None.

    Raises:
        DataMissingError, InputError: the row is not available.
    """
    source = cache.run(focus.run)
    pairs = reads_pairs(source)
    if not focus.row:
        if not focus.text:
            return cache.example(source).text, cache.example(source).text_pair
        return focus.text, focus.pair if pairs and focus.pair else None
    if (case := find_case(focus.row)) is not None:
        return str(case["text"]), None
    ours = demo.load()
    if not (matches := ours.loc[ours["id"] == focus.row, "text"]).empty:
        return str(matches.iloc[0]), None
    name, missing = source.config["data"]["name"], None
    for split in sorted(datasets.info(name).splits, key=lambda split: split != focus.over):
        try:
            frame = cache.split_of(name, split)
        except DataMissingError as error:
            missing = missing or error
            continue
        rows = frame[frame["id"].astype(str) == focus.row]
        if not rows.empty:
            return str(rows["text"].iloc[0]), str(rows["text_pair"].iloc[0]) if pairs else None
    raise missing or InputError(f"{name} has no row {focus.row!r}.")


def label_notice(focus: Focus, seen: Trace) -> list[tuple[str, str]]:
    """Return a notice that compares the prediction with the label of the row in focus, with its kind (right or wrong); [] without label."""
    label = _label(focus)
    if not label:
        return []
    kind = "right" if label == seen.label else "wrong"
    return [(kind, f"{kind.capitalize()}: labelled {label}.")]


def _label(focus: Focus) -> str:
    """Return the label of the row in focus, or of a row of the visitor's own file; "" if there is none."""
    if not focus.row:
        text, label = st.session_state.get("own_label", ("", ""))
        return label if focus.text and focus.text == text else ""
    source, ours = cache.run(focus.run), demo.load()
    if (case := find_case(focus.row)) is not None:
        place = demo.labels_for(source.labels).get(case["expects"], -1)
        return source.labels[place] if place >= 0 else ""
    if not (row := ours[ours["id"] == focus.row]).empty:
        place = demo.labels_for(source.labels)[row["label"].iloc[0]]
        return source.labels[place] if place >= 0 else ""
    splits = [split for split in (focus.over, "test", "official_test") if split in source.metrics()]
    try:
        frame = cache.table_of(source, replace(focus, over=splits[0])).frame
    except (SentvizError, IndexError):
        return ""
    places = frame.loc[frame["id"].astype(str) == focus.row, "label"]
    return source.labels[int(places.iloc[0])] if len(places) and places.iloc[0] >= 0 else ""


def trace(focus: Focus, *, scored: bool = True, exact: bool = False, longest: int = 0) -> Trace:
    """Return the trace of the text in focus under the intervention in focus, stored for this visit only.

    Args:
        scored: add removal scores and the score in focus. They run the model once per word, which takes long for long texts.
        exact: never return the run's stored example, whose maps have half precision. Small differences need it.
        longest: number of tokens to read, more than the run was trained on (`Run.longer`); 0 for the trained number.
    Raises:
        SentvizError: with a message for the visitor.
    """
    source, (wanted, pair) = cache.run(focus.run), texts(focus)
    stored = cache.example(source)
    plain = (source.digest, wanted, pair, focus.change)
    aim = aim_of(source, focus)
    whole = aim == PREDICTED and focus.score in available(stored) and (stored.polarity is not None or not cache.injects(source))
    if whole and not exact and not longest and (wanted, pair) == (stored.text, stored.text_pair) and not focus.change:
        return _reasoned(stored, (*plain, PREDICTED))
    source = source.longer(longest) if longest else source
    traces: dict[Any, Trace] = st.session_state.setdefault("traces", {})
    key = (source.digest, wanted, pair, focus.change, aim)
    if key not in traces:
        with turn() as step, st.spinner("Running the model"):
            loaded = cache.model(source).stoppable(step)  # an answer: one pass of the model, before the reasons of all visitors
            seen = loaded.trace(wanted, pair, maps=False, projections=True, change=focus.change)  # pages ask for the maps they show
            traces[key] = aimed(seen, aim)
    wanted_scores = [name for name in dict.fromkeys(("removal", focus.score)) if name in available(traces[key], asking=True)]
    wanted_scores = [name for name in wanted_scores if name != "exact"]  # Reason computes it when its visitor asks for it
    if scored and (missing := [name for name in wanted_scores if name not in available(traces[key])]):
        spinner = "Running the model without each word" if "removal" in missing else "Explaining the prediction"
        with st.spinner(spinner), reasoning(source, traces[key], "words") as loaded:
            for name in missing:
                traces[key] = explained(loaded, traces[key], [name])
    while len(traces) > KEPT_TRACES or (len(traces) > 1 and sum(len(each.tokens) for each in traces.values()) > KEPT_TOKENS):
        traces.pop(next(old for old in traces if old != key))
    return _reasoned(traces[key], key)


def budget_of(source: Run, seen: Trace) -> Budget:
    """Return the time for all reasons of an answer, kept for this visit."""
    return keep_result("budgets", _answer_key(source, seen), lambda: Budget(SECONDS), most=KEPT_BUDGETS)


def _answer_key(source: Run, seen: Trace) -> tuple[Any, ...]:
    return source.digest, source.max_length, seen.text, seen.text_pair, seen.change


@contextmanager
def reasoning(source: Run, seen: Trace, work: str) -> Iterator[Any]:
    """Wait for a turn, and yield the model for work on the reasons of an answer, which gives way to answers and to other visitors.

    If the work takes longer than `QUIET`, the page shows how far it is, with a button that stops it.

    Args:
        work: name of the work, of which a page has one for each model.
    Raises:
        Spent: in the block, if the time for the reasons of this answer is over.
    """
    budget, begin = budget_of(source, seen), time.monotonic()
    line: Any = None
    count: Any = None

    def tell(done: int, total: int, what: str) -> None:
        nonlocal line, count
        if line is None and time.monotonic() > begin + QUIET:
            line = st.empty()
            with line.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
                count = st.empty()
                st.button("Stop", key=f"stop-{work}-{source.name}", icon=":material/stop:", type="tertiary", on_click=budget.stop)
        if line is not None:
            count.caption(f"{done:,} of {total:,} {what}", width="content")

    try:
        with turn(long=True, budget=budget) as step:
            yield cache.model(source).stoppable(step, budget.batches, tell)
    finally:
        if line is not None:
            line.empty()


def aim_of(source: Run, focus: Focus) -> Target:
    """Return the class in focus that explanations are about; the predicted one if the run does not have it."""
    return focus.aim if {focus.target, focus.against} <= {"", *source.labels} else PREDICTED


def aimed(seen: Trace, aim: Target) -> Trace:
    """Return the trace for a class; against all others if the class would be compared with itself."""
    return seen.for_target(Target(aim.label) if aim.against == (aim.label or seen.label) else aim)


def _reasoned(seen: Trace, key: Any) -> Trace:
    """Return the trace with its units and evidence, if this visit has computed them."""
    known = st.session_state.get("reasons", {}).get(key)
    if known is None:
        return seen
    scores, units, evidence = known
    return seen.replace(token_scores={**seen.token_scores, **scores}, units={**seen.units, **units}, evidence=evidence)


def reasoned(focus: Focus) -> Trace:
    """Return the trace in focus with the evidence of its headline: units, and the smallest edit if no unit explains the prediction.

    Of two classes, one is explained like the other: the evidence is that of the prediction.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    source = cache.run(focus.run)
    focus = focus if len(source.labels) > 2 else replace(focus, target="", against="")
    seen = trace(focus)
    if _is_of_words(seen) and (is_complete(seen) or budget_of(source, seen).is_spent):
        return seen
    chance = _chance(source)
    with reasoning(source, seen, "reason") as loaded:
        return _keep_reason(source, focus, supported(loaded, seen, chance), "units")


def screened(focus: Focus) -> Trace:
    """Return the trace in focus with its clauses and the evidence of a reason from them, after few passes of the model.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    source, seen = cache.run(focus.run), trace(focus, scored=False)
    chance = _chance(source)
    with reasoning(source, seen, "reason") as loaded:
        return _keep_reason(source, focus, quickly_supported(loaded, seen, chance), "alone")


def _keep_reason(source: Run, focus: Focus, seen: Trace, score: str) -> Trace:
    """Keep the evidence of a trace for this visit, with the score of parts that it comes from; return the trace."""
    reasons: dict[Any, Any] = st.session_state.setdefault("reasons", {})
    key = (source.digest, seen.text, seen.text_pair, focus.change, aim_of(source, focus))
    reasons[key] = {score: seen.token_scores[score]}, {score: seen.units[score]}, seen.evidence
    while len(reasons) > KEPT_TRACES:
        reasons.pop(next(iter(reasons)))
    return seen


def _is_of_words(seen: Trace) -> bool:
    """Return whether a trace has the evidence of a search among all words."""
    return seen.evidence is not None and seen.evidence.screened is None


def is_screened(source: Run, seen: Trace, focus: Focus) -> bool:
    """Return whether the reason for a long text comes from its clauses: until a visitor asks for each word, or for another score."""
    wants_words = (
        _answer_key(source, seen) in st.session_state.get("each_word", ()) or focus.score != "removal" or seen.text_pair is not None
    )
    return not wants_words and takes_long(source, seen, SCREENED_WORK) and len(cut_at_marks(seen, "clauses")) >= LEAST_CLAUSES


def ask_each_word(source: Run, seen: Trace) -> None:
    """Note that the visitor wants each word of a long text to be measured."""
    st.session_state.setdefault("each_word", set()).add(_answer_key(source, seen))


def takes_long(source: Run, seen: Trace, most: float = LONG_WORK) -> bool:
    """Return whether word removal is still to be measured for a text, and computes more than `most`, by default about a second's work."""
    work = float(source.config["parameters"]) * len(seen.tokens) * len(words(seen))
    return "removal" not in seen.token_scores and work > most and not budget_of(source, seen).is_spent


def is_complete(seen: Trace) -> bool:
    """Return whether the search for the reason has ended by itself, and not because its time was over."""
    return seen.evidence is not None and (seen.evidence.flip is None or not seen.evidence.flip.untested)


@once(64)
def _chance(of: Run) -> Chance:
    return chance_of(cache.model(of), of)


def verdict(focus: Focus, seen: Trace, score: str) -> Verdict:
    """Compare the words that a score names with random words of the text in focus.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    source = cache.run(focus.run)
    key = (source.digest, seen.text, seen.text_pair, focus.change, seen.target, score, seen.token_scores.get(score, np.zeros(1)).tobytes())

    def judge() -> Verdict:
        with reasoning(source, seen, "verdict") as loaded:
            return against_chance(loaded, seen, score_of(seen, score))

    return keep_result("verdicts", key, judge, most=KEPT_TRACES)


def heads(focus: Focus, seen: Trace, *, wait: bool = True) -> Any:
    """Return the fall of the explained class's log-odds without each head, (L, H), stored for this visit; None until torch is loaded.

    The first paint does not wait for torch: it shows the run's stored example.

    Args:
        wait: measure what this visit has not stored; otherwise return None for it.
    """
    source = cache.run(focus.run)
    key = (source.digest, seen.text, seen.text_pair, focus.change, seen.target)
    if not is_torch_loaded() or not (wait or key in st.session_state.get("heads", {})):
        return None

    def silence() -> Any:
        with reasoning(source, seen, "heads") as loaded:
            return silenced(loaded, seen)

    return keep_result("heads", key, silence, most=KEPT_TRACES)


def explanations(focus: Focus) -> tuple[Trace, Any]:
    """Return the trace with every score of the model, and a table: explanation, faithfulness, milliseconds; its last row is random.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    source, seen = cache.run(focus.run), trace(focus)
    key = (source.digest, seen.text, seen.text_pair, focus.change, seen.target)
    return keep_result("explanations", key, lambda: _measured(source, seen))


def _measured(source: Run, seen: Trace) -> tuple[Trace, Any]:
    """Return `explanations` of a trace of a run."""
    rows, scores = [], {}
    packaged = [name for name in available(seen, asking=True) if SCORES[name].package]
    for name in [*usual(cache.model(source), seen), *packaged]:
        begin = time.perf_counter()
        try:
            with reasoning(source, seen, f"score-{name}") as loaded:
                seen = explained(loaded, seen, [name])
            scores[name] = score_of(seen, name)
        except InputError:
            continue
        rows.append({"method": name, "explanation": SCORES[name].title, "milliseconds": 1e3 * (time.perf_counter() - begin)})
    with reasoning(source, seen, "faithfulness") as loaded:
        measured = faithfulness(loaded, seen, scores)
    wide = measured.pivot(index="method", columns="metric", values="value")
    chance = measured.drop_duplicates("metric").set_index("metric")["random"]
    table = pd.DataFrame(rows).merge(wide.reset_index(), on="method").sort_values("comprehensiveness", ascending=False)
    table = pd.concat([table, pd.DataFrame([{"explanation": "random", **chance.to_dict()}])], ignore_index=True)
    return seen, table[["explanation", "comprehensiveness", "sufficiency", "spearman", "milliseconds"]]
