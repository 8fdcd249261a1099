"""Accuracy by phenomenon on the demo set; a click on a dot makes the phenomenon the slice."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from app import visit
from app.blocks.figure import show_figure
from app.text import md
from sentviz.analysis.testset.rows import EVERY, Rows, accuracy_by_phenomenon
from sentviz.analysis.testset.slices import Slice
from sentviz.errors import SentvizError
from sentviz.figures.phenomena import MOST
from sentviz.gallery.subjects import Runs

KEY = "phenomena"


def phenomena(rows_by_run: Mapping[str, Rows]) -> None:
    """Draw the accuracy of the first six runs by phenomenon; for rows of the demo set."""
    runs = list(rows_by_run)[:MOST]
    try:
        sources = [rows_by_run[name].source.require_run("accuracies by phenomenon") for name in runs]
        frame = accuracy_by_phenomenon({name: rows_by_run[name] for name in runs})
    except SentvizError as error:
        st.caption(md(str(error)))
        return
    try:
        part = Slice.parse(visit.focus().slice)
    except SentvizError:
        part = None
    chosen = part.value if part is not None and part.kind == "tag" else ""
    chance = 1 / max(len(rows_by_run[name].classes) for name in runs)
    names = [name for name in dict.fromkeys(frame["phenomenon"]) if name != EVERY]

    def take() -> None:
        points = st.session_state[f"plot-{KEY}"]["selection"]["points"]
        if not points:
            return
        name = points[0]["customdata"][3]
        visit.go(slice=str(Slice("tag", name)) if name != EVERY else "")

    def pick() -> None:
        name = st.session_state["phenomenon"]
        visit.go(slice=str(Slice("tag", name)) if name else "")

    of = Runs.of(*sources)
    of.demo_rows = {name: rows_by_run[name] for name in runs}
    show_figure("phenomena", of, selected=chosen, on_select=take)  # "" marks nothing, and the figure follows the threshold of the page
    st.session_state["phenomenon"] = chosen if chosen in names else None
    st.pills(
        "Phenomenon", names, key="phenomenon", on_change=pick, help="Show only the rows of this phenomenon. A click on a dot does the same."
    )
    if len(rows_by_run) > MOST:
        st.caption(f"The first {MOST} of {len(rows_by_run)} runs are drawn.")
    if chance < 0.5:
        st.caption("These runs have classes that do not occur in the demo set. A “neutral” prediction counts as wrong.")
