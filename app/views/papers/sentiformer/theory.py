"""The paper's theory: attention as a kernel smoother on a sentence, and Proposition 2 learned on the page."""

from __future__ import annotations

import streamlit as st

from app.views.papers.sentiformer import proposition, smoothing

__all__ = ["show"]


def show() -> None:
    """Definition 1, then Proposition 2."""
    smoothing.show()
    st.divider()
    proposition.show()
