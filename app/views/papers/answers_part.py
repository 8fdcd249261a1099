"""What a reader of a paper asks first: an answer a line, each with the part of the page that shows it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import shell
from app.views.papers.claims_part import ICONS
from sentviz.claim import Answer
from sentviz.studies.against import SEEDS_IN_WORDS

__all__ = ["listed"]


def listed(answers: Sequence[Answer], paper: str) -> None:
    """The answers, with a way to each one's part."""
    st.markdown("##### What holds, what does not")
    for i, one in enumerate(answers):
        said, way = st.columns([6, 1], vertical_alignment="center")
        with said.container(gap=None):
            st.markdown(f"{ICONS[one.verdict]} {shell.md(one.question)} **{shell.md(one.short)}**")
            st.caption(shell.md(one.numbers))
        way.button(
            "Show",
            key=f"{paper}-answer-{i}",
            type="tertiary",
            icon=":material/arrow_downward:",
            on_click=shell.go,
            kwargs={"part": one.part},
            help="Show the part below that this rests on",
        )
    st.caption(f"“Cannot be told” means p above 0.05 after Holm's correction. {SEEDS_IN_WORDS}")
