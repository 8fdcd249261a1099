"""Leaders in the data set: the words that lead, the speed at which tokens cluster, and a map of the vocabulary."""

from __future__ import annotations

import numpy as np
import streamlit as st

from app import visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_figure
from app.blocks.measure import lacking
from app.text import halves, md
from app.views.hardmax.parts import model, runs, without_runs
from sentviz.analysis.testset.leaders import CONFIDENCES, FILE, leading, per_layer
from sentviz.charts.subjects import Runs
from sentviz.io.numbers import percent
from sentviz.runs.store import Run

PAPER = 2.0  # least distance of a leader from the decision line in the paper


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
    _depth(run)
    _map(run)


@st.fragment
def _lists(run: Run) -> None:
    """Draw the most frequent leaders of each class, which three sliders select."""
    classifier, frame = model(run), run.frame(FILE)
    words = leading(frame, classifier.vocabulary)
    size = float(np.linalg.norm(classifier.decision[0]))
    reach = float((words.loc[words["leads"] > 0, "score"].abs() / size).max())
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


def _depth(run: Run) -> None:
    """Draw clusters and leaders by layer, which shows if the model has enough layers."""
    layers = per_layer(run.frame(FILE))
    st.markdown("##### How fast reviews cluster")
    last = layers[layers["layer"] == layers["layer"].max()].set_index("measure")
    steps = int(layers["layer"].max())
    st.markdown(
        f"After {steps} layers the words of the median review are at **{last.loc['clusters', 'q50']:.0f} places**,"
        f" with **{percent(last.loc['at leaders', 'q50'], 0)} of its words at a leader**."
    )
    left, right = halves("hardmax-depth")
    with left:
        show_figure("leaders-depth", Runs(run), "depth-places")
    with right:
        show_figure("leaders-depth", Runs(run), "depth-share", measure="at leaders")


def _map(run: Run) -> None:
    """Draw the vocabulary in the plane of the embedding."""
    classifier = model(run)
    words = leading(run.frame(FILE), classifier.vocabulary)
    if run.shape.width != 2:
        st.caption("The map of the vocabulary shows an embedding of two dimensions; choose a model with d = 2.")
        return
    show_figure("vocabulary", Runs(run))
    led = words[words["leads"] > 0]
    size = float(np.linalg.norm(classifier.decision[0]))
    st.caption(
        md(
            f"{len(led):,} of {len(words):,} words lead at least one review. Their median distance from the decision line is"
            f" {(led['score'].abs() / size).median():.2f}; that of words that never lead is"
            f" {(words[words['leads'] == 0]['score'].abs() / size).median():.2f}."
        )
    )
