"""Navigation: the pages by section. `app/main.py` serves this script, which runs again for each change of a visitor."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import header
from app.views.papers.blocks import page_of
from sentviz.runs.registry import papers

ICON = str(Path(__file__).with_name("icon.svg"))
st.set_page_config(page_title="sentviz", page_icon=ICON, layout="wide")
st.logo(ICON, size="large")

PAGES = {  # section -> script below app/views, title, icon, help
    "Sentence": [
        ("sentence/explore", "Explore", "psychology_alt", "Type a sentence and see what decides its prediction."),
        ("sentence/attention", "Attention", "grid_on", "Attention of every head, component and layer on your sentence."),
        ("sentence/causes", "Causes", "bolt", "Which states inside the model carry the prediction from one sentence to another?"),
        ("sentence/compare", "Compare", "compare_arrows", "Two models on one sentence, word by word."),
        ("hardmax/hardmax", "Hardmax", "bubble_chart", "Watch the words of a review cluster around their leaders."),
    ],
    "Test set": [
        ("testset/confusion", "Confusion", "grid_view", "The confusion matrix and the rows of each cell."),
        ("testset/comparison", "Compare models", "compare_arrows", "Which of two to six models is better on the same rows? With a report."),
        ("testset/labels", "Labels", "rule", "Labels that look wrong, repeated texts, and test rows that are among the training rows."),
        ("testset/behaviour", "Behaviour", "checklist", "What can the model do? Tests by capability, and the cases that it fails."),
        ("testset/words", "Words", "cloud", "The words of right and wrong predictions."),
        ("testset/embeddings", "Embeddings", "scatter_plot", "The test set as the model sees it, in two or three dimensions."),
        ("testset/explanations", "Explanations", "fact_check", "How faithful each explanation method is, measured on the test set."),
        (
            "testset/directions",
            "Directions",
            "explore",
            "Where is the answer written? Take its direction away, or add it.",
        ),
        (
            "testset/cls",
            "CLS and heads",
            "hub",
            "What every head attends to over a split, [CLS] in particular; which words the gates shut.",
        ),
        ("testset/components", "Components", "layers", "Do the maps that lambda mixes look at different words?"),
    ],
    "Training": [
        ("training/scalars", "Learned scalars", "timeline", "How lambda and the other learned scalars changed during training."),
        ("training/curves", "Curves", "show_chart", "Loss and validation metrics of any runs."),
        (
            "training/through",
            "Through training",
            "movie",
            "Maps, predictions, and learned and forgotten rows after each epoch.",
        ),
    ],
    "": [("yours/yours", "Yours", "folder_shared", "Your file, your lines or your model: how they are understood, and their mistakes.")],
    "Papers": [
        ("papers/claims", "Claims", "gavel", "Each claim with its test and verdict."),
        ("papers/findings", "Findings", "article", "What holds of the five papers, and what does not."),
    ],
    "Library": [
        ("library/runs", "Runs", "inventory_2", "Every trained model with its results and provenance."),
        ("library/data", "Data", "database", "The data sets: which are installed, and how to get the others."),
        ("library/glossary", "Glossary", "dictionary", "The words of the field, with formula and paper."),
        ("library/colours", "Colours", "palette", "What each colour means, on every page and in every figure."),
    ],
}
DEFAULT = "sentence/explore"
ADDRESSES = {"testset/cls": "heads", "training/scalars": "lambdas"}  # addresses that are not the script's name

sections = {
    section: [
        st.Page(
            f"views/{script}.py",
            title=title,
            icon=f":material/{icon}:",
            help=help,
            url_path=ADDRESSES.get(script),
            default=script == DEFAULT,
        )
        for script, title, icon, help in rows
    ]
    for section, rows in PAGES.items()
}
sections["Papers"] = [*map(page_of, papers().values()), *sections["Papers"]]
page = st.navigation(sections, position="top")
section = next(name for name, pages in sections.items() if page.url_path in [each.url_path for each in pages])
header.begin(page.url_path, page.title, section)
page.run()
header.end()
