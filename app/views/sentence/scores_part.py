"""Every explanation of one sentence side by side, each with how far it can be trusted."""

from __future__ import annotations

import streamlit as st

from app import answers, visit
from app.blocks.figure import show_figure
from app.blocks.sentence import sentence_of
from app.text import md
from sentviz.analysis.explain import SCORES
from sentviz.errors import SentvizError
from sentviz.io.glossary import tip
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

COLUMNS = {
    "explanation": st.column_config.Column("explanation"),
    "comprehensiveness": st.column_config.NumberColumn("comprehensiveness", format="%.3f", help=tip("faithfulness")),
    "sufficiency": st.column_config.NumberColumn("sufficiency", format="%.3f", help="Lower is better: the named words keep the answer."),
    "spearman": st.column_config.NumberColumn("rank corr. with removal", format="%.2f", help=tip("removal")),
    "milliseconds": st.column_config.NumberColumn("ms", format="%.1f"),
}


def show(trace: Trace, run: Run) -> None:
    """A table of all methods against a random explanation, and a strip for each."""
    try:
        full, table = answers.explanations(visit.focus())
    except SentvizError as error:
        st.info(md(str(error)), icon=":material/info:")
        return
    of = sentence_of(run, full)
    show_figure("methods", of)
    st.dataframe(table, hide_index=True, placeholder="–", column_config=COLUMNS, height="content")
    st.caption(
        "Comprehensiveness: how far the answer falls when the named words go (higher is better). Sufficiency: how far it falls on them"
        " alone (lower is better). Both averaged over the top 10 to 50% of the words; *random* is the mean of 20 random explanations of"
        " this sentence. One sentence proves little: the page Explanations measures a sample of the test set."
    )
    named = [name for name in SCORES if SCORES[name].title in set(table["explanation"])]
    shown = st.segmented_control("One in the sentence", named, format_func=lambda name: SCORES[name].title, key="side-shown")
    if shown:
        if SCORES[shown].about:
            st.caption(md(SCORES[shown].about))
        show_figure("strip", of, f"side-{shown}", slim=True, score=shown)
