"""Show the findings: an article with the numbers of the shipped runs, and a table of every claim."""

from __future__ import annotations

import re

import streamlit as st

from app.blocks.files import csv_button
from app.blocks.sections import missing_note, show_study_figure, studied
from app.shared import once
from app.text import intro
from sentviz.papers.studies.findings import Picture, article, every_claim

_DEEPER = re.compile(r"^(?=#+ )")  # the page's own headings are smaller than those of the site
WIDTH = 860  # pixels; a line of text that is easy to read


intro("What the five papers claim and what our runs say, to read from top to bottom.", "Numbers are those of the runs that sentviz ships.")
runs = studied()
with st.container(width=WIDTH):
    for part in once(2)(article)():
        if isinstance(part, Picture):
            missing_note([show_study_figure("findings", part.figure, part.of, runs)])
        else:
            st.markdown(_DEEPER.sub("##", part.replace("$", "\\$")))
st.markdown("#### Every claim")
claims = once(2)(every_claim)()
columns = {
    "claim": st.column_config.Column(width="large", pinned=True),
    "effect": st.column_config.Column(width="medium"),
    "what would change it": st.column_config.Column(width="large"),
}
st.dataframe(claims, hide_index=True, height="content", key="findings-claims", column_config=columns)
csv_button(claims, "sentviz-findings", "findings-csv")
