"""Parts of the page of Sentiment-Fused Attention: its question answered, a sentence, and coverage measured again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from app import cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_drawn, show_figure
from app.shared import once
from app.text import halves, md
from sentviz.analysis.maps.compare import difference
from sentviz.charts.attention import difference_map
from sentviz.charts.subjects import Sentence, sourced
from sentviz.io.numbers import percent
from sentviz.papers.fused import coverage
from sentviz.papers.fused.study import DATASETS, answer, encoders, readable
from sentviz.papers.studies.compare_configurations import SEEDS_IN_WORDS
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

ICONS = {"yes": ":material/check_circle:", "no": ":material/cancel:", "cannot be told": ":material/help:"}
ROUNDING = 1e-7  # largest rounding error of a weight in single precision


_answer = once(8, "Comparing the settings")(answer)


def answers(runs: Sequence[Run], _: str) -> None:
    """Show whether the injection helps, one sentence per data set and encoder with its numbers."""
    for dataset, encoder in [(each, encoder) for each in DATASETS for encoder in encoders(runs, each)]:
        of = _answer(runs, dataset, encoder)
        known = of.baseline is not None and len(of.rows) > 0
        with st.container(gap=None):
            st.markdown(f"{ICONS[of.word] if known else ':material/inventory_2:'} **{md(of.short)}**")
            st.caption(md(of.numbers) if known else of.numbers)
    st.caption(f"“Cannot be told” means that p is above 0.05 after Holm's correction over the settings. {SEEDS_IN_WORDS}")


def figures(runs: Sequence[Run], _: str) -> None:
    """Show figures 1 to 3 on the example of a run: its polarities, their similarity, and the attention that it changes."""
    run = next(iter(readable(runs)), None)
    if run is None:
        st.caption("With an installed run with weights, this page shows figures 1 to 3 on a sentence.")
        return
    of = Sentence(run)
    of.load = lambda: cache.model(run)
    st.markdown("##### Figure 2: the polarity of each token")
    show_figure("polarity", of, "fused-polarity")
    left, right = halves("fused-method")
    with left:
        st.markdown("##### Figure 3: the similarity of the polarities")
        show_figure("sigma", of, "fused-sigma")
    with right:
        st.markdown("##### Figures 1 and 3: what it changes in the attention")
        show_figure("lexicon-difference", of, "fused-difference", head=run.capabilities.heads - 1)
    _follow_button(run)


def _follow_button(run: Run) -> None:
    """Link to the view that follows a token from the lexicon to attention."""

    def follow() -> None:
        visit.go(run=run.name, look="lexicon", text="")

    if st.button("Follow a token from the lexicon to attention", icon=":material/menu_book:", on_click=follow, key="fused-follow"):
        st.switch_page("views/sentence/attention.py")


def sentence(runs: Sequence[Run], _: str) -> None:
    """Offer the change of attention by the lexicon on a run's example."""
    run = next(iter(readable(runs)), None)
    if run is None:
        st.caption("With an installed run with weights, this page shows the effect on a sentence.")
        return
    with st.expander("See the effect on a sentence", on_change="rerun", key="fused-sentence") as drawer:
        if drawer.open:
            _show_sentence(run)


@once(2, "Running the model with and without its lexicon")
def _change(run: Run) -> Trace:
    """Return attention with the lexicon minus attention without it, on the run's example."""
    model, text = cache.model(run), run.example().text
    return difference(model.trace(text, change="term:lexicon=0"), model.trace(text))


@boundary()
def _show_sentence(run: Run) -> None:
    change = _change(run)
    assert change.attention is not None
    head = len(change.head_ids) - 1
    moved = np.abs(change.attention[0, head])
    own = float(moved[0].max())
    left, right = halves("fused-sentence", 1.3, 1.0)
    with left:
        show_drawn(lambda: sourced(difference_map(change, "itself without its lexicon", 0, head), run), "fused-sentence-map")
    with right:
        rows = f"row of [CLS] **{own if own > ROUNDING else 0:.2g}**, column of [CLS] **{moved[1:, 0].max():.2g}**"
        st.markdown(
            f"Layer 1, head {head + 1}: the same weights, the same Q and K, with σ and without. Largest change of a weight: {rows},"
            f" elsewhere **{moved[1:, 1:].max():.2g}**. Rows of neutral tokens do not change."
        )
        _follow_button(run)


@boundary()
def measure_coverage(runs: Sequence[Run], _: str) -> None:
    """Offer to measure the coverage again, from the data sets on this machine."""
    with st.popover("Measure again here", icon=":material/refresh:"):
        dataset = st.selectbox("Data set", list(coverage.RECIPES), format_func=coverage.TITLES.__getitem__, key="fused-again-data")
        if not st.button("Measure", key="fused-again"):
            st.caption("Trains the tokenizer again and reads the complete test split. This takes seconds, for IMDb about a minute.")
            return
        with st.spinner(f"Reading {coverage.TITLES[dataset]}"):
            measured = coverage.measure_coverage(dataset)
        stored = coverage.MEASURED.read().set_index(["dataset", "lexicon"])["neutral"]
        for row in measured.to_dict("records"):
            before = stored.get((dataset, row["lexicon"]))
            shipped = "" if before is None else f", shipped {percent(before, 2)}"
            st.markdown(f"{coverage.LEXICON_TITLES[row['lexicon']]}: **{percent(row['neutral'], 2)}** of {row['tokens']:,} tokens{shipped}")
