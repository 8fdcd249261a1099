"""Downloads: a table or a figure as a file."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from sentviz.analysis.testset.comparison import Comparison
from sentviz.charts import Figure
from sentviz.charts.look import Style
from sentviz.export.files import render
from sentviz.io.lazy import pd
from sentviz.io.spreadsheet import as_csv
from sentviz.serving.jobs import Turns

MIME = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "html": "text/html",
    "csv": "text/csv",
    "tex": "application/x-tex",
}


def csv_button(frame: pd.DataFrame | Callable[[], pd.DataFrame], name: str, key: str) -> None:
    """Draw a button that downloads a table; the file is made after the click. Every table of the app uses this button."""
    st.download_button(
        "CSV",
        lambda: as_csv(frame() if callable(frame) else frame),
        f"{name}.csv",
        "text/csv",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        key=key,
    )


def as_file(turns: Turns, make: Callable[[], Figure], format: str, style: Style) -> bytes:
    """Wait for a turn, and return a figure as the bytes of a file with a light background."""
    with turns.turn():
        return render(make(), format, style=style)


def as_report(turns: Turns, comparison: Comparison, format: str) -> bytes:
    """Wait for a turn, and return the report of a comparison as the bytes of a file."""
    from sentviz.export.comparison import render as render_report

    with turns.turn():
        return render_report(comparison, format)
