"""All heads at a glance, and one map in detail."""

from __future__ import annotations

import streamlit as st

from app import visit
from app.blocks.figure import show_figure
from app.blocks.sentence import map_controls, map_figure, place, sentence_of
from app.fields import whole_number
from app.text import halves
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace


def show(trace: Trace, run: Run) -> None:
    """Overview and detail of the component in focus."""
    focus = visit.focus()
    overview, detail = halves("maps", 0.85, 1.0)
    with overview:
        st.markdown("##### All heads")
        show_figure("overview", sentence_of(run, trace), component=place(focus.component))
    with detail:
        map_controls(trace)
        n, top, specials = len(trace.tokens), None, "show"
        with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
            if trace.specials.any():
                titles = {"show": "With specials", "hide": "Words only"}
                specials = visit.setting(st.segmented_control, "Specials", "specials", list(titles), format_func=titles.get)
            if n > 24:
                top = min(n, visit.page_value("top", 0, whole_number) or (n if n <= 60 else 48))
                help = "Those that receive the most attention; what lies on the hidden ones is said below."
                st.slider("Tokens shown", 8, min(n, 120), width=260, help=help, **visit.bound("top", min(top, 120)))
        map_figure(trace, run, "detail", side=540, hide_specials=specials == "hide", top=top)
