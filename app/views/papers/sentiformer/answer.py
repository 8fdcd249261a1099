"""What a reader of the paper asks first."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.views.papers import answers_part
from app.views.papers.shared import digests
from sentviz.claim import Answer
from sentviz.papers.sentiformer import PAPER
from sentviz.papers.sentiformer.answer import asked
from sentviz.runs import Run
from sentviz.studies.collected import of_paper

__all__ = ["show"]


@st.cache_data(max_entries=8, show_spinner="Comparing the runs")
def _asked(key: tuple[str, ...], _runs: Sequence[Run]) -> list[Answer]:
    return asked(_runs)


def show(runs: Sequence[Run]) -> None:
    answers_part.listed(_asked(digests(of_paper(PAPER, runs)), runs), "sentiformer")
