"""Every printed table and number, and where it is here."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.views.papers.sentiformer import TITLES
from sentviz.papers.sentiformer import PAPER
from sentviz.runs import Run

__all__ = ["show"]


def show(runs: Sequence[Run]) -> None:
    frame = pd.DataFrame(PAPER.items())
    places = {f"page/{part}": title for part, title in TITLES.items()}
    frame["shown on"] = [places.get(view, view.capitalize().replace("/", ", ")) for view in frame["view"]]
    st.dataframe(
        frame[["printed", "title", "state", "shown on", "runs", "why"]],
        hide_index=True,
        placeholder="–",
        height="content",
        column_config={"why": st.column_config.TextColumn("what differs from the print", width="large")},
    )
    st.caption("`sentviz export --paper sentiformer -o DIR` writes every live one as files, with a manifest.")
