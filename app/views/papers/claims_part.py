"""Claims with their verdicts, on their own page and on those of the papers."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import shell
from app.views.papers.shared import digests
from sentviz.claim import Verdict
from sentviz.glossary import tip
from sentviz.registry import papers
from sentviz.runs import Run
from sentviz.studies.claims import judged

__all__ = ["ICONS", "counted", "listed", "verdicts"]

ICONS: dict[Verdict, str] = {
    "holds": ":material/check_circle:",
    "does not hold": ":material/cancel:",
    "cannot be told": ":material/help:",
    "cannot be judged here": ":material/inventory_2:",
}


@st.cache_data(max_entries=16, show_spinner="Testing the claims")
def _judged(paper: str, key: tuple[str, ...], _runs: Sequence[Run]) -> pd.DataFrame:
    return judged(_runs, [paper])


def verdicts(runs: Sequence[Run], names: Sequence[str] = ()) -> pd.DataFrame:
    """The claims of papers, of all without names, with their verdicts as `sentviz.studies.claims.judged` gives them."""
    return pd.concat([_judged(name, digests(runs), runs) for name in names or papers()], ignore_index=True)


def counted(frame: pd.DataFrame) -> None:
    """How many claims have which verdict."""
    counts = frame["verdict"].value_counts()
    st.markdown(" · ".join(f"{icon} {verdict}: **{counts.get(verdict, 0)}**" for verdict, icon in ICONS.items()), help=tip("verdict"))


def listed(frame: pd.DataFrame) -> None:
    """Each claim with its verdict and what it rests on, by what it was held against."""
    for against, group in frame.groupby("against", sort=False):
        st.markdown(f"**Held against {against}**")
        for row in group.to_dict("records"):
            with st.container(gap=None):
                st.markdown(f"{ICONS[row['verdict']]} {shell.md(row['claim'])} · **{row['verdict']}**")
                if row["parts"]:
                    for column, (rows, one) in zip(shell.halves(f"claim-{row['paper']}-{row['claim']}"), row["parts"], strict=False):
                        column.caption(f"{ICONS[one.verdict]} On {shell.md(rows)} it **{one.verdict}**: {shell.md(one.evidence)}")
                    st.caption(shell.md(row["where"]))
                else:
                    st.caption(f"{shell.md(row['evidence'])} · {shell.md(row['where'])}")
