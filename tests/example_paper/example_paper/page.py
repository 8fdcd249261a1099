"""A part of the page that is drawn with Streamlit."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from sentviz.runs.store import Run


def count_runs(runs: Sequence[Run], dataset: str) -> None:
    """Show how many runs the study reads."""
    st.markdown(f"The study reads {len(runs)} runs.")
