"""Targets of every head over a split, of [CLS] in particular, and the words that gates shut."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_drawn, show_figure
from app.blocks.measure import measured_run
from app.blocks.run_choice import series_of, several
from app.blocks.slice_choice import note_unsliced
from app.places import HEADED
from app.shared import once
from app.text import halves, intro, md
from app.views.testset import gates_part
from sentviz.analysis.maps.heads import CLS_MEASURES, FILE, MEASURES, of_trace
from sentviz.charts.figure import Figure
from sentviz.charts.heads import MEASURE_TITLES, head_grid, layer_lines
from sentviz.charts.subjects import Runs, sourced
from sentviz.io.lazy import pd
from sentviz.runs.store import Run

intro(
    "What every head attends to, mean over all texts of a split: the token itself, its neighbours, [CLS]. Rings show your sentence.",
    "A single sentence can differ from the mean.",
)
note_unsliced("the measurements are stored as means over the whole split, not for each of its rows")


@once(32)
def measured(run: Run) -> pd.DataFrame:
    return run.frame(FILE)


def has_cls(run: Run) -> bool:
    return bool(run.config.get("tokenizer", {}).get("cls"))


focus = visit.focus()
if has_gates := (wanted := cache.run(focus.run)).capabilities.gate:
    gates_part.show(wanted)
run = measured_run(HEADED, "heads")
chosen = several(cache.runs_for(HEADED), FILE)
series = series_of(chosen)
frames = {each.name: measured(each) for each in chosen}
baselines = [each.name for each in chosen if not each.capabilities.lexicon]
dashed = baselines if len(baselines) < len(chosen) else []

sentence: pd.DataFrame | None = None
if focus.text or focus.row:
    own = focus.with_(run=run.name)
    if own.change:
        st.caption("Rings show the model as you changed it in Sentence. Lines show it as it was trained.")
    with boundary(quiet=True):
        sentence = of_trace(answers.trace(own, scored=False))


def lines(measures: tuple[str, ...], key: str) -> None:
    """Draw measures by layer; with the visitor's sentence as rings, which no notebook can draw again."""
    if sentence is None:
        show_figure("head-lines", Runs.of(*chosen), key, measures=measures, series=series)
        return

    def draw() -> Figure:
        return sourced(layer_lines(frames, measures, dashed=dashed, series=series, sentence=sentence), *chosen)

    show_drawn(draw, key)


if any(has_cls(each) for each in chosen):
    st.markdown("##### How uneven the attention of [CLS] to the other tokens is, and their attention to [CLS]")
    lines(CLS_MEASURES, "cls-lines")
    if without := [md(each.name) for each in chosen if not has_cls(each)]:
        st.caption(f"Without [CLS], so not in this figure: {', '.join(without)}.")
    if dashed:
        st.markdown(
            "[CLS] is a neutral word, so its σ is 1/3 towards every token. Softmax cancels what is the same for all keys: with the same Q"
            " and K, the row of [CLS] **cannot change**. In layer 1 its Q and K come from the same embedding in every sentence. Differences"
            " in higher layers come from training and from changed states, not from σ in the row of [CLS]. The paper reads its figure 5 as"
            " an effect of σ on [CLS]. A test of sentviz shows that the row stays the same to twelve digits."
        )
st.markdown("##### What heads attend to, mean over heads")
lines(("entropy", "same", "previous", "next"), "habit-lines")
st.markdown("##### Every head")
st.caption("Choose a measure. Open Attention to see one of these heads on a sentence.")
options = [*(CLS_MEASURES if any(has_cls(each) for each in chosen) else ()), *MEASURES]
measure = st.selectbox(
    "Measure", options, format_func=lambda name: MEASURE_TITLES[name], key="cls-measure", label_visibility="collapsed", width=420
)


def grid(frame: pd.DataFrame, source: Run) -> Figure:
    """Return the measure of every head as a figure."""
    return sourced(head_grid(frame, measure), source)


grids = [(each.name, each, frames[each.name]) for each in chosen]
if sentence is not None:
    grids.insert(1, (f"Your sentence, {run.name}", run, sentence))
able = [part for part in grids if measure in set(part[2]["measure"])]
for k, (title, source, frame) in enumerate(able):
    if k % 2 == 0:
        columns = halves(f"cls-heads-{k}")
    with columns[k % 2]:
        st.markdown(f"**{md(title)}**")
        if title == source.name:
            show_figure("head-grid", Runs(source), f"cls-grid-{k}", measure=measure)
        else:
            show_drawn(partial(grid, frame, source), f"cls-grid-{k}")
if unable := [md(title) for title, _, frame in grids if measure not in set(frame["measure"])]:
    st.caption(f"Without this measure: {', '.join(unable)}.")
if not has_gates:
    gates_part.show(run)
