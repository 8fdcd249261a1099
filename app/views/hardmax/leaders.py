"""Leaders in the data set: the words that lead, the speed at which tokens cluster, and a map of the vocabulary."""

from __future__ import annotations

import streamlit as st

from app import visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_figure
from app.blocks.measure import lacking
from app.blocks.sections import show_blocks
from app.text import halves
from app.views.hardmax.parts import model, runs, without_runs
from sentviz.analysis.testset.leaders import CONFIDENCES, FILE, distances_in_words, farthest_leader, speed_in_words
from sentviz.charts.subjects import Runs
from sentviz.io.numbers import percent
from sentviz.runs.sections import FigureBlock, Says, SideBySide, TextBlock, Where
from sentviz.runs.store import Run

PAPER = 2.0  # least distance of a leader from the decision line in the paper
BLOCKS = (
    TextBlock("##### How fast reviews cluster"),
    Says(speed_in_words),
    SideBySide(
        (
            (FigureBlock("leaders-depth", key="depth-places"),),
            (FigureBlock("leaders-depth", {"measure": "at leaders"}, key="depth-share"),),
        )
    ),
    Where(
        lambda run: run.shape.width == 2,
        (FigureBlock("vocabulary"), Says(distances_in_words, "caption")),
        (TextBlock("The map of the vocabulary shows an embedding of two dimensions; choose a model with d = 2.", small=True),),
    ),
)


@boundary()
def show() -> None:
    """Draw the stored survey of a run's test split."""
    available = runs()
    if not available:
        without_runs()
        return
    run = available[visit.focus().run]
    if FILE not in run.files:
        lacking(run, "leaders")
        return
    _lists(run)
    show_blocks(BLOCKS, run, "leaders")


@st.fragment
def _lists(run: Run) -> None:
    """Draw the most frequent leaders of each class, which three sliders select."""
    reach = farthest_leader(run.frame(FILE), model(run))
    st.markdown("##### The most frequent leaders")
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=220):
            distance = st.slider(
                "Distance from the decision line",
                0.0,
                max(round(reach, 2), 0.1),
                PAPER if reach >= 1.5 * PAPER else round(reach / 3, 2),
                0.01,
                key=f"leaders-distance-{run.name}",
                help=f"Least distance of a leader. The paper uses {PAPER:g} in its embedding; the largest distance here is {reach:.2f}.",
            )
        with st.container(width=220):
            confidence = st.select_slider(
                "Confidence",
                CONFIDENCES,
                value=0.95,
                format_func=lambda c: percent(c, 0),
                key="leaders-confidence",
                help="Least probability of the predicted class; the paper uses 95 %. Only correct predictions count.",
            )
        with st.container(width=220):
            top = st.slider("Words", 5, 30, 15, key="leaders-top")
    for column, label in zip(halves("hardmax-lists"), run.labels, strict=False):
        with column:
            key = f"leaders-{label}"
            show_figure("leaders", Runs(run), key, label=label, distance=distance, confidence=confidence, top=top)
    st.caption(
        "A word leads a review if in some layer no other word is further in its direction."
        " Judge for yourself whether these words convey sentiment."
    )
