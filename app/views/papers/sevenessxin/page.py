"""The 7ess-Xin paper: its questions answered, then every printed table, figure and claim beside the runs here."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import shell
from app.views.papers import answers_part
from app.views.papers.sevenessxin import items, leak, padding, results, rows, sentences
from app.views.papers.shared import digests, picked, studied
from sentviz.claim import Answer
from sentviz.papers.sevenessxin import PAPER
from sentviz.papers.sevenessxin.answer import asked
from sentviz.runs import Run
from sentviz.studies.collected import of_paper

PARTS = {
    "results": ("Table II", results.show),
    "phases": ("Two phases", results.phases),
    "curve": ("Fewer tweets", results.curve),
    "matrix": ("Figure 5", rows.matrix),
    "importance": ("Figures 6, 7", sentences.show),
    "clouds": ("Figure 8", rows.clouds),
    "padding": ("Padding", padding.show),
    "log": ("Its log", results.log),
    "leak": ("A leak", leak.show),
    "claims": ("Claims", items.claims),
    "items": ("Every item", items.show),
}


@st.cache_data(max_entries=8, show_spinner="Comparing the runs")
def _asked(key: tuple[str, ...], _runs: Sequence[Run]) -> list[Answer]:
    return asked(_runs)


shell.intro(
    "What “7ess-Xin: Sentiment analysis with Transformers” (Guenfoudi and Liu) prints, beside what runs here measure, with 95% intervals.",
    "Its 1.6 million tweets cannot be had here: ours learn from 110,944 of them, so levels differ and comparisons count.",
)
runs = studied()
answers_part.listed(_asked(digests(of_paper(PAPER, runs)), runs), PAPER.name)
PARTS[picked("Part", "part", {name: title for name, (title, _) in PARTS.items()})][1](runs)
