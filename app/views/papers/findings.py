"""Show the findings: an article with the numbers of the shipped runs, and a table of every claim."""

from __future__ import annotations

import re

import streamlit as st

from app.blocks.figure import show_drawn
from app.blocks.files import csv_button
from app.text import intro
from app.views.papers.blocks import digests, studied
from sentviz.charts.gallery import code, make
from sentviz.charts.subjects import Study
from sentviz.io.lazy import pd
from sentviz.papers.studies.findings import Picture, article, every_claim

_DEEPER = re.compile(r"^(?=#+ )")  # the page's own headings are smaller than those of the site
WIDTH = 860  # pixels; a line of text that is easy to read


@st.cache_data(max_entries=2, show_spinner=False)
def _article() -> list[str | Picture]:
    return article()


@st.cache_data(max_entries=2, show_spinner=False)
def _claims() -> pd.DataFrame:
    return every_claim()


def _show(picture: Picture) -> None:
    """Draw a figure of the article with the installed runs."""
    key, again = f"findings-{picture.figure}", code(picture.of, picture.figure)
    show_drawn(lambda: make(picture.figure, Study.of(picture.of, runs)), key, code=again, of=digests(runs))


intro("What the five papers claim and what our runs say, to read from top to bottom.", "Numbers are those of the runs that sentviz ships.")
runs = studied()
with st.container(width=WIDTH):
    for part in _article():
        if isinstance(part, Picture):
            _show(part)
        else:
            st.markdown(_DEEPER.sub("##", part.replace("$", "\\$")))
st.markdown("#### Every claim")
claims = _claims()
columns = {
    "claim": st.column_config.Column(width="large", pinned=True),
    "effect": st.column_config.Column(width="medium"),
    "what would change it": st.column_config.Column(width="large"),
}
st.dataframe(claims, hide_index=True, height="content", key="findings-claims", column_config=columns)
csv_button(claims, "sentviz-findings", "findings-csv")
