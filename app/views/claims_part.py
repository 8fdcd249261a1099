"""Claims with their verdicts, on the page of a paper."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import shell
from app.views.ndt_answer import digests
from sentviz.runs import Run
from sentviz.studies.claims import judged

__all__ = ["ICONS", "listed"]

ICONS = {"holds": ":material/check_circle:", "does not hold": ":material/cancel:", "cannot be told": ":material/help:"}


@st.cache_data(max_entries=8, show_spinner="Testing the claims")
def _judged(paper: str, key: tuple[str, ...], _runs: Sequence[Run]) -> pd.DataFrame:
    return judged(_runs, [paper])


def listed(paper: str, runs: Sequence[Run]) -> None:
    """The claims of one paper: counts, then each with its verdict and what it rests on."""
    frame = _judged(paper, digests(runs), runs)
    counts = frame["verdict"].value_counts()
    st.markdown(" · ".join(f"{icon} {verdict}: **{counts.get(verdict, 0)}**" for verdict, icon in ICONS.items()))
    for against, group in frame.groupby("against", sort=False):
        st.markdown(f"**Held against {against}**")
        for row in group.to_dict("records"):
            with st.container(gap=None):
                st.markdown(f"{ICONS[row['verdict']]} {shell.md(row['claim'])} · **{row['verdict']}**")
                st.caption(f"{shell.md(row['evidence'])} · {shell.md(row['where'])}")
