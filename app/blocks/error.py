"""The message in place of a page that cannot continue: one sentence, and the models that still work."""

from __future__ import annotations

import streamlit as st

from app import cache, visit
from app.server.errors import sentence
from app.text import md


def show_error(error: Exception) -> bool:
    """Show what went wrong in place of the rest of a page; `st.App` calls this function for each error of a page or a callback."""
    st.error(md(sentence(error)), icon=":material/report:")
    st.caption("Other pages and other runs go on as before. The page Runs says what is wrong with which run.")
    available = [name for name, run in cache.runs().items() if run.has_weights and name != visit.focus().run]
    if available:
        st.selectbox("Model", available, None, placeholder="another model", key="boundary", on_change=_go, width=300)
    return True


def _go() -> None:
    visit.go(run=st.session_state["boundary"])
