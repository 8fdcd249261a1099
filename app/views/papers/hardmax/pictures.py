"""The hardmax paper: its pipeline, its numbers beside ours, and its pictures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from app.blocks.figure import show_drawn
from app.text import halves
from app.views.hardmax import parts as hardmax_parts
from sentviz.analysis.testset.leaders import FILE, frequent, leading, per_layer
from sentviz.figures.clustering import layer_bands, leader_bars
from sentviz.gallery import code, sourced
from sentviz.papers.hardmax import PAPER, nearness
from sentviz.papers.hardmax.export import accuracy_figure, nearness_figure
from sentviz.papers.hardmax.study import surveyed, trained
from sentviz.papers.studies.collected import of_paper
from sentviz.runs.store import Run


def show(runs: Sequence[Run]) -> None:
    """The pipeline, then accuracies, leaders and how fast words gather around them."""
    st.markdown(
        "**Embedding** (each word a point in d dimensions) → **8 hardmax layers** (each point moves towards those furthest in its own"
        " direction) → **mean** → **decoder** (which side of a line)."
    )
    st.page_link("views/hardmax/hardmax.py", label="Watch it on a review of your own", icon=":material/bubble_chart:")
    if not of_paper(PAPER, runs):
        hardmax_parts.without_runs()
        return

    left, right = halves("hardmax-paper")
    with left:
        if trained(runs):
            show_drawn(lambda theme: accuracy_figure(runs, theme), "hardmax-accuracy", code=code("all", "hardmax-accuracy"))
    counted = next(iter(surveyed(runs)), None)
    if counted is not None:
        with right:
            bands = per_layer(counted.frame(FILE))
            show_drawn(
                lambda theme, of=counted: sourced(
                    layer_bands(bands, "at leaders", "Share of words at a leader", share=True, theme=theme), of
                ),  # type: ignore[misc]
                "hardmax-depth",
                code=code(counted.name, "leaders-depth", measure="at leaders"),
            )
        if counted.digest in set(nearness.table()["digest"]):
            with left:
                show_drawn(lambda theme: nearness_figure(runs, theme=theme), "hardmax-nearness", code=code("all", "hardmax-nearness"))
        asked = hardmax_parts.model(counted)
        words = leading(counted.frame(FILE), asked.vocabulary)
        reach = float((words.loc[words["leads"] > 0, "score"].abs() / np.linalg.norm(asked.decision[0])).max())
        led = frequent(counted.frame(FILE), asked.vocabulary, asked.decision[0], distance=reach / 3, confidence=0.95, top=15)
        for column, label in zip(halves("hardmax-led"), counted.labels, strict=False):
            with column:
                show_drawn(
                    lambda theme, label=label: sourced(leader_bars(led, label, theme=theme), counted),  # type: ignore[misc]
                    f"paper-led-{label}",
                    code=code(counted.name, "leaders", label=label),
                )
        st.caption(f"Leaders at least {reach / 3:.2f} from the line, a third of how far leaders reach here; other thresholds on Hardmax.")
