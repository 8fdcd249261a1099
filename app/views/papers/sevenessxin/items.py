"""The paper's claims with their verdicts, and every printed item with where it is here."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.views.papers import claims_part
from sentviz.papers.sevenessxin import PAPER
from sentviz.runs import Run

__all__ = ["claims", "show"]


def claims(runs: Sequence[Run]) -> None:
    """Each claim with its verdict."""
    found = claims_part.verdicts(runs, [PAPER.name])
    claims_part.counted(found)
    claims_part.listed(found)


def show(runs: Sequence[Run]) -> None:
    """Every item."""
    frame = pd.DataFrame(PAPER.items())
    frame["shown on"] = frame["view"].str.removeprefix("page/")
    st.dataframe(
        frame[["printed", "title", "state", "shown on", "runs", "why"]],
        hide_index=True,
        placeholder="–",
        height="content",
        column_config={"why": st.column_config.TextColumn("what differs from the print", width="large")},
    )
    st.caption(f"`sentviz export --paper {PAPER.name} -o DIR` writes every live one as files, with a manifest.")
