"""The paper's theory: attention as a kernel smoother on a sentence, and Proposition 2 learned on the page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.views.papers.sentiformer import proposition, smoothing
from sentviz.runs.store import Run


def show(runs: Sequence[Run]) -> None:
    """Definition 1, then Proposition 2."""
    smoothing.show()
    st.divider()
    proposition.show()
