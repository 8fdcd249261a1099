"""Navigation only: what is run for a visitor. `app/main.py` serves it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import header
from app.views.papers.shared import page_of
from sentviz.runs.registry import papers

st.set_page_config(page_title="sentviz", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide")


PAGES = {
    "Sentence": [
        st.Page(
            "views/sentence/explore.py",
            title="Explore",
            icon=":material/psychology_alt:",
            default=True,
            help="Type a sentence: why this answer?",
        ),
        st.Page(
            "views/sentence/attention.py",
            title="Attention",
            icon=":material/grid_on:",
            help="Every head, component and layer on your sentence.",
        ),
        st.Page(
            "views/sentence/compare.py",
            title="Compare",
            icon=":material/compare_arrows:",
            help="Two models on one sentence and on one split.",
        ),
        st.Page(
            "views/hardmax/hardmax.py",
            title="Hardmax",
            icon=":material/bubble_chart:",
            help="Watch the words of a review cluster around their leaders.",
        ),
    ],
    "Test set": [
        st.Page(
            "views/testset/confusion.py",
            title="Confusion",
            icon=":material/grid_view:",
            help="Where is it wrong? Every cell, every row behind it.",
        ),
        st.Page(
            "views/testset/words.py",
            title="Words",
            icon=":material/cloud:",
            help="The words that belong to the right and the wrong answers.",
        ),
        st.Page(
            "views/testset/embeddings.py",
            title="Embeddings",
            icon=":material/scatter_plot:",
            help="The test set as the model sees it, in two or three dimensions.",
        ),
        st.Page(
            "views/testset/explanations.py",
            title="Explanations",
            icon=":material/fact_check:",
            help="Which explanation can be trusted, measured over the test set.",
        ),
        st.Page(
            "views/testset/cls.py",
            title="CLS and heads",
            url_path="heads",
            icon=":material/hub:",
            help="What every head attends to over a whole split, [CLS] in particular; which words gates shut.",
        ),
        st.Page(
            "views/testset/components.py",
            title="Components",
            icon=":material/layers:",
            help="Do the maps that lambda mixes look at different words?",
        ),
    ],
    "Training": [
        st.Page(
            "views/training/scalars.py",
            title="Learned scalars",
            url_path="lambdas",
            icon=":material/timeline:",
            help="How lambda, and every other scalar that a model learns, moved.",
        ),
        st.Page(
            "views/training/curves.py",
            title="Curves",
            icon=":material/show_chart:",
            help="Loss and validation metrics of any runs.",
        ),
        st.Page(
            "views/training/through.py",
            title="Through training",
            icon=":material/movie:",
            help="One slider over the epochs: maps, answers and rows as they were learned, and forgotten.",
        ),
    ],
    "Papers": [
        *map(page_of, papers().values()),
        st.Page("views/papers/claims.py", title="Claims", icon=":material/gavel:", help="Each claim, the test, the verdict."),
    ],
    "Library": [
        st.Page(
            "views/library/runs.py",
            title="Runs",
            icon=":material/inventory_2:",
            help="Every trained model, its numbers and where it comes from.",
        ),
        st.Page(
            "views/library/data.py",
            title="Data",
            icon=":material/database:",
            help="The data sets: what is here, and how to get the others.",
        ),
        st.Page(
            "views/library/glossary.py",
            title="Glossary",
            icon=":material/dictionary:",
            help="The words of the field, with formula and paper.",
        ),
        st.Page(
            "views/library/colours.py",
            title="Colours",
            icon=":material/palette:",
            help="What a colour says, on every page and in every figure.",
        ),
    ],
}

page = st.navigation(PAGES, position="top")
section = next(name for name, pages in PAGES.items() if page.url_path in [one.url_path for one in pages])
header.begin(page.url_path, page.title, section)
page.run()
header.end()
