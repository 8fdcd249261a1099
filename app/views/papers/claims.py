"""Is it true? Every claim of every paper on one board; a cell opens the test and what it rests on."""

from __future__ import annotations

import streamlit as st

from app import visit
from app.blocks.files import csv_button
from app.blocks.sections import studied
from app.text import intro, md
from app.views.papers import board_part
from sentviz.analysis.claim import VERDICT_WORDS
from sentviz.io.glossary import tip
from sentviz.papers.studies.claims import ledger
from sentviz.runs.registry import papers, problems

PAPERS = {name: paper.short for name, paper in papers().items()}
WORDS = {str(verdict): words for verdict, words in VERDICT_WORDS.items()}

intro(
    "Every claim of the papers, tested with the paper's tables or the installed runs. Click a cell to see the test and its numbers.",
    "Intervals cover retraining only with several seeds.",
)
for problem in problems():
    st.warning(md(problem), icon=":material/extension_off:")
runs = studied()
with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
    paper = visit.setting(
        st.segmented_control, "Paper", "paper", ["all", *PAPERS], format_func=lambda name: PAPERS.get(name, f"all {len(PAPERS)} papers")
    )
    of_paper = board_part.judged(runs, [paper] if paper in PAPERS else ())
    counts = of_paper["verdict"].value_counts()
    verdict = visit.setting(
        st.segmented_control,
        "Verdict",
        "verdict",
        ["any", *WORDS],
        format_func=lambda name: f"{WORDS.get(name, 'any')} ({counts.get(name, 0) if name in WORDS else len(of_paper)})",
        help=tip("verdict"),
    )
listed = of_paper[of_paper["verdict"] == verdict] if verdict in WORDS else of_paper
if listed.empty:
    st.caption("No claim has this verdict." if len(of_paper) else f"No claim of {md(PAPERS.get(paper, 'any paper'))} is tested yet.")
else:
    board_part.poster(listed, runs)
csv_button(ledger(listed), "sentviz-claims", "claims-csv")
