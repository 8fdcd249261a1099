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
    "Test set": [
        st.Page(
            "views/explanations.py",
            title="Explanations",
            icon=":material/fact_check:",
            help="Which explanation can be trusted, measured over the test set.",
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
    "Papers": [
        st.Page(
            "views/paper_ndt.py",
            title="NDT",
            url_path="ndt",
            icon=":material/article:",
            help="arXiv 2603.20704: every printed number beside ours.",
        ),
        st.Page("views/claims.py", title="Claims", icon=":material/gavel:", help="Each claim, the test, the verdict."),
    ],
    "Library": [
        st.Page(
            "views/runs.py",
            title="Runs",
            icon=":material/inventory_2:",
            help="Every trained model, its numbers and where it comes from.",
        ),
        st.Page(
            "views/data.py",
            title="Data",
            icon=":material/database:",
            help="The data sets: what is here, and how to get the others.",
        ),
        st.Page(
            "views/glossary.py",
            title="Glossary",
            icon=":material/dictionary:",
            help="The words of the field, with formula and paper.",
        ),
    ],
}

page = st.navigation(PAGES, position="top")
shell.begin()
page.run()
shell.end()
