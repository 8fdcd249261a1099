"""An example of a leak: a training set whose classes come from other weeks."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.text import halves
from app.views.papers.shared import plain
from sentviz.papers.sevenessxin.leak import COSTS, WEEKS, WORDS, table
from sentviz.papers.sevenessxin.prints import DATASET
from sentviz.runs.store import Run

TITLES = {WEEKS: "classes of other weeks", DATASET: "all weeks"}


def show(runs: Sequence[Run]) -> None:
    """What the leak costs, and the words that give the label away."""
    st.markdown("##### A leak, and what it costs")
    st.caption(
        "Sentiment140 is sorted by class and time. Its first 50,000 negative and last 50,000 positive tweets, a known sample, come"
        " from other weeks of 2009: what people then talked of gives the label away. No version above is trained on it."
    )
    spent, words = table(COSTS), table(WORDS)
    if spent.empty or words.empty:
        st.info("It is not measured here. `python -m sentviz.papers.sevenessxin.leak` measures it.", icon=":material/straighten:")
        return
    left, right = halves("sevenessxin-leak")
    with left:
        shown = spent.assign(trained=spent["trained"].map(TITLES), tested=spent["tested"].map(TITLES))
        plain(shown, key="sevenessxin-leak-costs", n="{:,.0f}")
        st.caption(
            "Accuracy (shares, 95% Wilson intervals over rows) of a linear probe: TF-IDF of words and pairs, logistic regression, as"
            " many rows each. Better on its own weeks than on all is the leak; what it loses on all weeks against the other is its cost."
        )
    with right:
        plain(words, key="sevenessxin-leak-words", rows="{:,.0f}", digits=2)
        st.caption(
            "Words that stand with a class in that sample more than in tweets of all weeks: log-odds ratios of positive to negative rows"
            " in each, and how many standard errors they lie apart (z)."
        )
