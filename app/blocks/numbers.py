"""The table of a figure beside its picture: what it shows, for whoever reads numbers, or cannot see it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app.blocks.files import csv_button
from app.text import md
from sentviz.errors import SentvizError
from sentviz.figures import Figure, Theme
from sentviz.io.spreadsheet import from_one

ROWS = 200  # that stand on the page; the file has all


@st.dialog("Numbers", width="large", icon=":material/table:")
def open_numbers(make: Callable[[Theme], Figure], name: str, key: str) -> None:
    """A figure's numbers as a table of the page.

    Args:
        make: draws the figure. name: of its file. key: of the widgets.
    """
    try:
        figure = make("light")
    except (SentvizError, KeyError) as error:
        st.warning(md(str(error.args[0] if error.args else error)), icon=":material/block:")
        return
    frame = from_one(figure.frame, figure.from_zero)
    st.markdown(md(figure.caption))
    csv_button(frame, name, f"numbers-csv-{key}")
    shown = frame.head(ROWS)
    st.table(shown.map(lambda value: f"{value:.5g}" if isinstance(value, float) else md(str(value))))
    if len(frame) > ROWS:
        st.caption(f"The first {ROWS} of {len(frame):,} rows; the file has all.")
