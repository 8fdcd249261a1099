"""What a visitor sees where a page cannot go on: the library's sentence, and what still works. Never a traceback."""

from __future__ import annotations

import logging

import streamlit as st

from app import cache, visit
from app.text import md
from sentviz.errors import SentvizError

__all__ = ["shown"]


def shown(error: Exception) -> bool:
    """Say what went wrong in place of the rest of a page, a part of it or a click; `st.App` asks it of all of them.

    What sentviz foresees is one sentence for the visitor. Anything else is a fault of ours: its place goes to the log alone.
    """
    if isinstance(error, SentvizError):
        said = str(error)
    else:
        logging.getLogger(__name__).error("A page met what nobody foresaw", exc_info=error)
        said = f"Something here does not work as it should ({type(error).__name__}). It is a fault of sentviz; its log says where."
    st.error(md(said), icon=":material/report:")
    st.caption("Other pages and other runs go on as before. The page Runs says what is wrong with which run.")
    others = [name for name, run in cache.runs().items() if run.askable and name != visit.focus().run]
    if others:
        st.selectbox("Model", others, None, placeholder="another model", key="boundary", on_change=_go, width=300)
    return True


def _go() -> None:
    visit.go(run=st.session_state["boundary"])
