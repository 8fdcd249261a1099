"""The meaning of the colours on all pages."""

from __future__ import annotations

import streamlit as st

from app.blocks.figure import show_figure
from app.text import intro
from sentviz.charts.subjects import Study

intro(
    "A colour has the same meaning on every page and in every exported figure, in the light and the dark theme.",
    "No figure uses colour alone: symbols, signs, words or lengths show the same, so a grey print is readable.",
)
show_figure("colours", Study("all"))
st.markdown(
    "- **Classes**: orange is negative, grey neutral, blue positive; degrees and stars have colours between these. Classes that are not"
    " sentiments"
    " (a paraphrase, an entailment) have the colours of series.\n"
    "- **Signs**: green supports a class or is more, purple opposes it or is less.\n"
    "- **Answers**: teal is right, magenta is wrong.\n"
    "- **Series**: runs, layers, heads and components have indigo, ochre, pink and so on, in the order in which they are named.\n"
    "- **Amounts**: the darker the blue (in dark pages the lighter), the more."
)
