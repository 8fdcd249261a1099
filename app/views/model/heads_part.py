"""Parts about heads beside the visitor's sentence, and about the words that gates shut."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_figure
from app.blocks.measure import lacking, measured_run
from app.blocks.run_choice import series_of, several
from app.blocks.sections import show_blocks
from app.places import HEADED
from app.text import halves, md
from sentviz.analysis.maps.gates import FILE as GATES_FILE
from sentviz.analysis.maps.heads import CLS_MEASURES, FILE, MEASURES, of_trace
from sentviz.charts.gate_groups import gates_in_words, gates_table
from sentviz.charts.heads import MEASURE_TITLES, with_cls
from sentviz.charts.subjects import Runs
from sentviz.io.lazy import pd
from sentviz.runs.sections import Control, Drawer, FigureBlock, OwnBlock, Says, SideBySide, TableBlock, TextBlock, Where
from sentviz.runs.store import Run


def subject() -> Runs:
    """Return the chosen runs with the measures of the visitor's sentence. The gates of a run stand first, because it may lack the rest."""
    if (wanted := cache.run(visit.focus().run)).capabilities.gate:
        show_blocks(GATES, wanted, "gates")
    run = measured_run(HEADED, "heads")
    of = Runs.of(*several(cache.runs_for(HEADED), FILE))
    focus = visit.focus().with_(run=run.name)
    if focus.text or focus.row:
        if focus.change:
            st.caption("Rings show the model as you changed it in Sentence. Lines show it as it was trained.")
        with boundary(quiet=True):
            of.sentence = of_trace(answers.trace(focus, scored=False))
    return of


def colours(of: Runs) -> dict[str, Any]:
    """Return the options of lines by layer."""
    return {"series": series_of(of.sources)}


def of_cls(of: Runs) -> dict[str, Any]:
    """Return the options of lines by layer about [CLS]."""
    return {"measures": CLS_MEASURES, **colours(of)}


def grids(of: Runs) -> None:
    """Draw a measure of every head: of each run, and of the visitor's sentence."""
    options = [*(CLS_MEASURES if with_cls(of) else ()), *MEASURES]
    how: dict[str, Any] = {"label_visibility": "collapsed", "width": 420}
    measure = st.selectbox("Measure", options, format_func=MEASURE_TITLES.__getitem__, key="cls-measure", **how)
    each: list[tuple[str, Run, pd.DataFrame]] = [(run.name, run, run.frame(FILE)) for run in of.sources]
    if of.sentence is not None:
        each.insert(1, (f"Your sentence, {of.run.name}", of.run, of.sentence))
    able = [part for part in each if measure in set(part[2]["measure"])]
    for k, (title, run, frame) in enumerate(able):
        if k % 2 == 0:
            columns = halves(f"cls-heads-{k}")
        with columns[k % 2]:
            st.markdown(f"**{md(title)}**")
            grid_of = Runs(run)
            grid_of.sentence = frame if title != run.name else None
            show_figure("head-grid", grid_of, f"cls-grid-{k}", measure=measure)
    if unable := [md(part[0]) for part in each if part not in able]:
        st.caption(f"Without this measure: {', '.join(unable)}.")


# ---- gates


def gates_last(of: Runs) -> None:
    """Draw the gates below the heads, unless they stand first."""
    if not cache.run(visit.focus().run).capabilities.gate:
        show_blocks(GATES, of.run, "gates")


def _offer_gated(run: Run) -> None:
    """Say that a run has no gates, and offer an installed run whose gates are measured."""
    gated = next((each for each in cache.runs().values() if each.capabilities.gate and GATES_FILE in each.files), None)
    if gated is None:
        st.caption(f"{md(run.name)} has no gates. `sentviz train sentiformer_sst5_trees` trains a model with gates.")
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(f"{md(run.name)} has no gates.", width="content")
        label = f"Show {md(gated.name)}"
        st.button(label, icon=":material/arrow_forward:", type="tertiary", on_click=visit.go, kwargs={"run": gated.name}, key="to-gated")


MEASURED = (
    Says(gates_in_words, "list"),
    SideBySide(((FigureBlock("gate-lines"),), (FigureBlock("gate-grid", controls=(Control("By", "groups", option="kind"),)),))),
    Drawer("Every number", (TableBlock(gates_table),), "gates-numbers"),
    TextBlock(
        "Softmax cancels a factor that all keys share, so only the ratio of gates counts: 0.3 instead of 0.6 halves a word's weight."
        " Classes are those of the page Components; a word that the model does not know has none. The tagger and the lists are for English."
        " A gate lowers the attention to a word in one layer; the word's own state still reaches the next layer through the residual"
        " stream.",
        small=True,
    ),
)
GATES = (
    TextBlock("##### Which words the gates shut", term="gate"),
    Where(
        lambda run: run.capabilities.gate,
        (Where(lambda run: GATES_FILE in run.files, MEASURED, (OwnBlock(partial(lacking, name="gates")),)),),
        (OwnBlock(_offer_gated),),
    ),
)
