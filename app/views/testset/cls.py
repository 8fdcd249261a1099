"""Targets of every head over a split, of [CLS] in particular, and the words that gates shut."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from app import answers, cache, visit
from app.blocks.figure import show_drawn, show_figure
from app.blocks.measure import lacking
from app.blocks.run_choice import readable
from app.text import halves, intro, md, name_runs
from app.views.testset import gates_part
from sentviz.analysis.maps.heads import CLS_MEASURES, FILE, MEASURES, of_trace
from sentviz.errors import SentvizError
from sentviz.figures.colours import Theme
from sentviz.figures.figure import Figure
from sentviz.figures.heads import MEASURE_TITLES, head_grid, layer_lines
from sentviz.gallery import sourced
from sentviz.gallery.subjects import Runs
from sentviz.runs.store import Run

intro(
    "What every head attends to, layer by layer, over all texts of a split: the token itself, its neighbours, [CLS]; what gates shut.",
    "Means over thousands of texts: a habit of a head or a gate, not what it does on one sentence; rings show one.",
)


@st.cache_data(max_entries=32, show_spinner=False)
def measured(name: str, digest: str) -> pd.DataFrame:
    return cache.run(name).frame(FILE)


def has_cls(run: Run) -> bool:
    return bool(run.config["tokenizer"].get("cls"))


known = {name: run for name, run in cache.runs().items() if FILE in run.config["files"]}
focus = visit.focus()
gated = cache.run(focus.run).capabilities.gate
if gated:
    gates_part.show(cache.run(focus.run))
if not known:
    lacking(cache.run(focus.run), "heads")
    st.stop()
names = sorted(known, key=lambda name: (not has_cls(known[name]), name))
run = known.get(focus.run) or known[names[0]]
if focus.run not in known:
    focused = cache.run(focus.run)
    why = "are not measured" if focused.capabilities.maps else "do not exist: it has no attention"
    st.caption(f"Showing {md(run.name)}: the heads of {md(focused.name)} {why}.")
    if focused.capabilities.maps:
        with st.expander(f"Measure {md(focused.name)}", icon=":material/science:"):
            lacking(focused, "heads")


def take() -> None:
    picked = st.session_state["cls-runs"] or [run.name]
    first = run.name if run.name in picked else picked[0]
    visit.go(run=first, versus=tuple(name for name in picked if name != first))


data = run.config["data"]["name"]
beside = [name for name in focus.versus if name in known]
if has_cls(run) and not beside:  # the baseline and an injected run make the figure of the paper
    beside = [name for name in names if name != run.name and known[name].config["data"]["name"] == data and has_cls(known[name])][:1]
st.session_state["cls-runs"] = [run.name, *beside]
st.multiselect("Runs", names, key="cls-runs", on_change=take, label_visibility="collapsed", max_selections=6)
chosen = readable([known[name] for name in st.session_state["cls-runs"]], FILE)
run = chosen[0]
name_runs(*(each.name for each in chosen))
frames = {each.name: measured(each.name, each.digest) for each in chosen}
baselines = [each.name for each in chosen if not each.capabilities.lexicon]
dashed = baselines if len(baselines) < len(chosen) else []

sentence: pd.DataFrame | None = None
if focus.text or focus.row:
    own = focus.with_(run=run.name)
    if own.change:
        st.caption("Rings show the model as it was changed on Explore, lines as it was trained.")
    try:
        sentence = of_trace(answers.trace(own, scored=False))
    except SentvizError as error:
        st.caption(md(str(error)))


def lines(measures: tuple[str, ...], key: str) -> None:
    """Draw measures by layer; with the visitor's sentence as rings, which no notebook can draw again."""
    if sentence is None:
        show_figure("head-lines", Runs.of(*chosen), key, measures=measures)
        return
    show_drawn(lambda theme: sourced(layer_lines(frames, measures, dashed=dashed, sentence=sentence, theme=theme), *chosen), key)


if any(has_cls(each) for each in chosen):
    st.markdown("##### How unevenly [CLS] looks at the others, and the others at [CLS]")
    lines(CLS_MEASURES, "cls-lines")
    if dashed:
        st.markdown(
            "A neutral [CLS] has σ = 1/3 towards every token, and softmax cancels what is the same for all keys: with the same Q and K, its"
            " row **cannot move**. In layer 1 its Q and K come from the same embedding, whatever the sentence; what differs above"
            " comes from training and from changed states, not from σ in the row of [CLS] itself. The paper reads its figure 5 as an effect"
            " of σ on [CLS]; the tests hold the row fixed to twelve digits."
        )
heading = "The other habits" if any(has_cls(each) for each in chosen) else "What heads do"
st.markdown(f"##### {heading}, mean over heads")
lines(("entropy", "same", "previous", "next"), "habit-lines")
st.markdown("##### Every head")
st.caption("Choose a measure. Open Attention to see one of these heads on a sentence.")
options = [*(CLS_MEASURES if has_cls(run) else ()), *MEASURES]
measure = st.selectbox(
    "Measure", options, format_func=lambda name: MEASURE_TITLES[name], key="cls-measure", label_visibility="collapsed", width=420
)


def grid(frame: pd.DataFrame, source: Run, theme: Theme) -> Figure:
    """Return the measure of every head as a figure."""
    return sourced(head_grid(frame, measure, theme=theme), source)


grids = {run.name: (run, frames[run.name])}
if sentence is not None:
    grids["Your sentence"] = (run, sentence)
elif len(chosen) > 1 and measure in set(frames[chosen[1].name]["measure"]):
    grids[chosen[1].name] = (chosen[1], frames[chosen[1].name])
for column, (name, (source, frame)) in zip(halves("cls-heads"), grids.items(), strict=False):
    with column:
        st.markdown(f"**{md(name)}**")
        if name == source.name:
            show_figure("head-grid", Runs(source), "cls-grid" if name == run.name else "cls-own", measure=measure)
        else:
            show_drawn(partial(grid, frame, source), "cls-own")
if not gated:
    gates_part.show(cache.run(focus.run))
