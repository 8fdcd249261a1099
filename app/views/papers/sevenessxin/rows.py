"""Figures 5 and 8: the confusion matrix and the words of its cells, of any version here."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import visit
from app.blocks.figure import show_drawn
from app.text import halves, md
from sentviz.gallery import code, make
from sentviz.gallery.subjects import Answers
from sentviz.papers.sevenessxin import prints
from sentviz.papers.sevenessxin.claims import BEST
from sentviz.papers.sevenessxin.export import train
from sentviz.papers.sevenessxin.study import configurations, rates
from sentviz.runs.store import Run


def _chosen(runs: Sequence[Run], key: str) -> Run | None:
    """A version of the study, the paper's best unless another is chosen; a sentence where none is here."""
    here = {prints.title(name): seeds[0] for name, seeds in configurations(runs).items()}
    if not here:
        st.info(f"No version of 7ess-Xin is here. `{train()}` trains them.", icon=":material/inventory_2:")
        return None
    names, best = list(here), prints.title(BEST)
    chosen = st.selectbox("Version", names, names.index(best) if best in here else 0, key=key, width=260)
    return here[chosen]


def matrix(runs: Sequence[Run]) -> None:
    """The matrix, each class's rate beside the printed one, and what the printed rates imply."""
    run = _chosen(runs, "sevenessxin-matrix-of")
    low, high = prints.FIGURE_5["negative"], prints.FIGURE_5["positive"]
    left, right = halves("sevenessxin-matrix")
    with left:
        if run is not None:
            show_drawn(
                lambda theme: make("confusion", Answers(run), theme=theme),
                "sevenessxin-confusion",
                code=code(run.name, "confusion"),
                of=(run.digest,),
            )
    with right:
        st.markdown(f"**Printed (figure 5):** {high:.1%} of positive and {low:.1%} of negative tweets are answered right.")
        if run is not None:
            found = rates([run])
            said = [f"{value:.1%} [{a:.1%}, {b:.1%}] of {label}" for label, (value, a, b) in found.items()]
            st.markdown(f"**{md(run.name)}:** {' and '.join(said[::-1])} tweets.")
        st.caption(
            f"On a balanced test set the printed rates give an accuracy of {(low + high) / 2:.1%} and a precision"
            f" of {high / (high + 1 - low):.3f}; table II says 83.13% and 0.823. The text beside the figure says about 33% false negatives"
            " and 20% false positives, which is neither: its three statements do not fit one model."
        )


def clouds(runs: Sequence[Run]) -> None:
    """The words of right and wrong answers, by how often they are there or by what sets a cell apart."""
    run = _chosen(runs, "sevenessxin-clouds-of")
    if run is None:
        return
    visit.choose(
        st.segmented_control,
        "Large are",
        "words",
        ["count", "keyness"],
        format_func={"count": "frequent words, as printed", "keyness": "words that set a cell apart"}.__getitem__,
        required=True,
    )
    by = visit.focus().words
    show_drawn(
        lambda theme: make("word-cloud", Answers(run), by=by, theme=theme),
        "sevenessxin-clouds",
        code=code(run.name, "word-cloud", by=by),
        of=(run.digest,),
    )
    st.caption("The paper draws frequent words without stop-words; a word that is frequent everywhere says nothing of a cell.")
