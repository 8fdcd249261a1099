"""What a reader of the paper asks first: an answer a line, each with the part of the page that shows it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import shell
from app.views.papers.claims_part import ICONS
from app.views.papers.shared import digests
from sentviz.papers.sentiformer.answer import Answer, asked
from sentviz.runs import Run
from sentviz.studies.against import SEEDS_IN_WORDS
from sentviz.studies.collected import of_paper

__all__ = ["show"]


@st.cache_data(max_entries=8, show_spinner="Comparing the runs")
def _asked(key: tuple[str, ...], _runs: Sequence[Run]) -> list[Answer]:
    return asked(_runs)


def show(runs: Sequence[Run]) -> None:
    from sentviz.papers.sentiformer import PAPER

    st.markdown("##### What holds, what does not")
    for i, one in enumerate(_asked(digests(of_paper(PAPER, runs)), runs)):
        said, way = st.columns([6, 1], vertical_alignment="center")
        with said.container(gap=None):
            st.markdown(f"{ICONS[one.verdict]} {shell.md(one.question)} **{shell.md(one.short)}**")
            st.caption(shell.md(one.numbers))
        way.button(
            "Show",
            key=f"sentiformer-answer-{i}",
            type="tertiary",
            icon=":material/arrow_downward:",
            on_click=shell.go,
            kwargs={"part": one.part},
            help="Show the part below that this rests on",
        )
    st.caption(f"“Cannot be told” means p above 0.05 after Holm's correction, or one seed of everything. {SEEDS_IN_WORDS}")
