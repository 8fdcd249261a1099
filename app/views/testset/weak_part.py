"""Slices on which the model is weakest, found by search: a button of each shows its rows and opens its first mistake."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import visit
from app.blocks.figure import show_figure
from app.blocks.rows import every_row
from app.blocks.slice_choice import open_slice
from app.server.queue import turn
from app.text import halves, md
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.weak import WeakSlices, line, numbers, weak_slices
from sentviz.errors import SentvizError
from sentviz.gallery.subjects import Answers
from sentviz.io.glossary import tip

FIRST = 3  # slices that are named above the matrix


def _searched(rows: Rows) -> WeakSlices:
    """Return the weak slices of all rows, searched once for all visitors; of a visitor's own rows once per visit."""
    if rows.over != "mine":
        return _shared(rows.digest, rows)

    def search() -> WeakSlices:
        with st.spinner("Searching for weak slices"), turn(long=True) as step:
            return weak_slices(rows, step=step)

    return visit.keep_result("weak-slices", rows.digest, search, most=4)


@st.cache_resource(max_entries=16, show_spinner="Searching for weak slices")
def _shared(digest: str, _rows: Rows) -> WeakSlices:
    return weak_slices(_rows)


def _button(row: dict[Any, Any], key: str, **how: Any) -> None:
    st.button(
        f"{md(row['says'])} · {row['accuracy']:.0%}",
        key=key,
        icon=":material/trending_down:",
        help=md(f"{line(row)}. Show its rows and open its first mistake."),
        on_click=open_slice,
        args=(row["slice"],),
        **how,
    )


def first_ones() -> None:
    """Name the weakest slices of a visitor's own file in one line; nothing if none was found or the rows cannot be searched."""
    try:
        weaker = _searched(every_row()).weaker
    except SentvizError:
        return
    if weaker.empty:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="weakest"):
        st.markdown("**Weakest:**", width="content")
        for place, row in enumerate(weaker.head(FIRST).to_dict("records")):
            _button(row, f"weakest-{place}")
        more: dict[str, Any] = {"on_click": visit.go, "kwargs": {"view": "slices"}}
        st.button("Intervals", icon=":material/bar_chart:", type="tertiary", key="weakest-all", **more)


def show() -> None:
    """Draw the slices that were tested with their intervals, and those that were found with the way to their mistakes."""
    rows = every_row()
    try:
        weak = _searched(rows)
    except SentvizError as error:
        st.info(md(str(error)), icon=":material/troubleshoot:")
        return
    left, right = halves("weak-slices")
    of = Answers.of(rows)
    of.weak = weak
    weaker = weak.weaker.to_dict("records")

    def take() -> None:
        points = st.session_state["plot-weak-slices"]["selection"]["points"]
        if points:
            open_slice(weak.frame["slice"].iloc[round(points[0]["y"])])

    with left:
        show_figure("weak-slices", of, selected=visit.focus().among or None, on_select=take)
    with right:
        st.markdown("##### Where it is weakest", help=tip("weak-slice"))
        for place, row in enumerate(weaker):
            _button(row, f"weak-{place}", type="secondary")
            st.caption(md(numbers(row)))
        if not weaker:
            st.markdown("No slice is significantly weaker than the other rows.")
        st.caption(
            f"{weak.candidates:,} slices were searched on one half of the rows. {len(weak.frame)} of them were tested on the other"
            f" {weak.halves[1]:,} rows, which had no part in the choice. A slice says where the model is wrong, not why: read its mistakes."
        )
