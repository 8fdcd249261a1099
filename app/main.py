"""Navigation only. Start with: streamlit run app/main.py"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import shell

st.set_page_config(page_title="sentviz", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide")

PAGES = {
    "Sentence": [
        st.Page(
            "views/explore.py",
            title="Explore",
            icon=":material/psychology_alt:",
            default=True,
            help="Type a sentence: why this answer?",
        ),
        st.Page(
            "views/attention.py",
            title="Attention",
            icon=":material/grid_on:",
            help="Every head, component and layer on your sentence.",
        ),
    ],
    "Training": [
        st.Page(
            "views/lambdas.py",
            title="Lambda evolution",
            icon=":material/timeline:",
            help="How the mixing of the maps was learned.",
        ),
        st.Page(
            "views/curves.py",
            title="Curves",
            icon=":material/show_chart:",
            help="Loss and validation metrics of any runs.",
        ),
    ],
    "Library": [
        st.Page(
            "views/runs.py",
            title="Runs",
            icon=":material/inventory_2:",
            help="Every trained model, its numbers and where it comes from.",
        ),
    ],
}

page = st.navigation(PAGES, position="top")
shell.begin()
page.run()
shell.end()
