"""A part of the page that is drawn with Streamlit."""

import streamlit as st

from sentviz.runs.sections import Studied


def count_runs(of: Studied) -> None:
    """Show how many runs the study reads."""
    st.markdown(f"The study reads {len(of.runs)} runs.")
