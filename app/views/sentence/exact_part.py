"""Exact values of the sentence in Reason: the switch of absent words, slow work behind a button, the picture, and all subsets."""

from __future__ import annotations

import hashlib
import time

import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_figure
from app.blocks.sentence import sentence_of
from app.server.queue import finished, giving_way, turn, wait
from app.text import md
from sentviz.analysis.explain.exact import Exact, cost, exact, is_quick, subset_table
from sentviz.analysis.explain.value_function import ABSENT, Absent
from sentviz.charts.interactions import ABSENT as TITLES
from sentviz.io.glossary import tip
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from sentviz.serving.jobs import Job

KEPT = 8  # results that a visit keeps
TIMED_TOKENS = 400  # tokens that are predicted to estimate the time


def absent_words(run: Run) -> Absent:
    """Return what happens to absent words; `switch` draws the choice."""
    options = ABSENT if run.capabilities.layers else ABSENT[:1]
    return next(name for name in options if name == visit.chosen("absent", options))


def switch(run: Run) -> None:
    """Draw the choice of what happens to absent words."""
    options = ABSENT if run.capabilities.layers else ABSENT[:1]
    visit.setting(st.segmented_control, "Absent words", "absent", options, format_func=TITLES.get, help=tip("shapley"))


def result(trace: Trace, run: Run) -> Exact | None:
    """Return the exact values of a trace, kept for this visit. Slow work waits for a button that states the time; None until it is done."""
    absent = absent_words(run)
    key = (run.digest, trace.text, trace.text_pair, trace.change, trace.target, absent)
    results: dict[object, Exact] = st.session_state.setdefault("exact", {})
    if key not in results:
        if is_quick(cache.model(run), trace):
            with answers.reasoning(run, trace, "exact") as model, st.spinner("Predicting every subset of the words"):
                results[key] = exact(model, trace, absent=absent)
        elif (slow := _slow(key, trace, run, absent)) is not None:
            results[key] = slow
        else:
            return None
    while len(results) > KEPT:
        results.pop(next(old for old in results if old != key))
    return results[key]


def _slow(key: object, trace: Trace, run: Run, absent: Absent) -> Exact | None:
    name = hashlib.sha256(repr(key).encode()).hexdigest()

    def work(job: Job) -> Exact:
        with giving_way(job) as step:
            model = cache.model(run).stoppable(step)
            return exact(model, trace, absent=absent, progress=lambda done, total: job.tick(done / total, f"{done:,} of {total:,} texts"))

    done: Exact | None = finished("exact", name)
    if done is not None:
        return done
    seconds = _seconds(trace, run)
    wait("exact", name, "Exact values", work, button=f"Compute exact values (about {_rounded(seconds)})", icon=":material/function:")
    return None


def _seconds(trace: Trace, run: Run) -> float:
    """Return the time of the exact values, estimated from that of one batch on this machine; measured once per visit and run."""

    def measure() -> float:
        model = cache.model(run)
        reading = model.encode(trace.text, trace.text_pair, trace.change).reading
        rows = [reading] * max(1, TIMED_TOKENS // len(reading))
        with turn(long=True):
            begin = time.perf_counter()
            model.forward(rows)
            return (time.perf_counter() - begin) / (len(rows) * len(reading))

    return visit.keep_result("exact-speed", run.digest, measure) * cost(trace)


def _rounded(seconds: float) -> str:
    return f"{max(1, round(seconds / 5) * 5)} s" if seconds < 100 else f"{round(seconds / 60)} min"


def show(values: Exact, trace: Trace, run: Run) -> None:
    """Draw what the values say, the picture, and a table of all subsets."""
    st.markdown(f"**{md(values.summary)}**", help=tip("interaction"))
    of = sentence_of(run, trace)
    of.known["exact", values.absent, "log-odds", ""] = values
    drawn = show_figure("exact", of, slim=True, absent=values.absent)
    if drawn is not None:
        st.caption(md(drawn.caption.removeprefix(values.summary).strip()))
    with st.expander(f"All {len(values.table):,} subsets", icon=":material/table:"):
        st.dataframe(subset_table(values), hide_index=True, height=280)
        st.caption(
            f"Each row is the text with only some of its {values.by}, and its log-odds. {values.passes:,} different texts were predicted."
        )


@boundary("exact")
def scored(trace: Trace, run: Run) -> Exact | None:
    """Return `result`, or show the error of the library and return None."""
    return result(trace, run)
