"""What a visitor sees where a page cannot go on: the library's sentence, and what still works. Never a traceback."""

from __future__ import annotations

import errno
import logging

import streamlit as st

from app import cache, visit
from app.text import md
from sentviz.errors import SentvizError

__all__ = ["sentence", "shown"]


def sentence(error: Exception) -> str:
    """What a visitor is told of an error: the library's sentence, that the disk is full, or that it is a fault of ours (see the log)."""
    log = logging.getLogger(__name__)
    if isinstance(error, SentvizError):
        return str(error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        log.warning("A page could not write: %s", error)
        return f"The disk of this server cannot be written ({error.strerror}), so nothing was stored."
    log.error("A page met what nobody foresaw", exc_info=error)
    return f"Something here does not work as it should ({type(error).__name__}). It is a fault of sentviz; its log says where."


def shown(error: Exception) -> bool:
    """Say what went wrong in place of the rest of a page, a part of it or a click; `st.App` asks it of all of them."""
    st.error(md(sentence(error)), icon=":material/report:")
    st.caption("Other pages and other runs go on as before. The page Runs says what is wrong with which run.")
    others = [name for name, run in cache.runs().items() if run.askable and name != visit.focus().run]
    if others:
        st.selectbox("Model", others, None, placeholder="another model", key="boundary", on_change=_go, width=300)
    return True


def _go() -> None:
    visit.go(run=st.session_state["boundary"])
