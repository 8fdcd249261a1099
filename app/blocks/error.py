"""What a visitor sees where a page cannot go on: one sentence, and what still works."""

from __future__ import annotations

import streamlit as st

from app import cache, visit
from app.server.errors import sentence
from app.text import md


def shown(error: Exception) -> bool:
    """Say what went wrong in place of the rest of a page, a part of it or a click; `st.App` asks it of all of them."""
    st.error(md(sentence(error)), icon=":material/report:")
    st.caption("Other pages and other runs go on as before. The page Runs says what is wrong with which run.")
    others = [name for name, run in cache.runs().items() if run.has_weights and name != visit.focus().run]
    if others:
        st.selectbox("Model", others, None, placeholder="another model", key="boundary", on_change=_go, width=300)
    return True


def _go() -> None:
    visit.go(run=st.session_state["boundary"])
