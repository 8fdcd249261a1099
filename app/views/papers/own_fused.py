"""Parts of the page of Sentiment-Fused Attention: its question answered, a sentence, and coverage measured again."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app import cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_drawn
from app.shared import once
from app.text import halves, md
from sentviz.analysis.maps.compare import difference
from sentviz.charts.attention import difference_map
from sentviz.charts.subjects import sourced
from sentviz.io.numbers import percent
from sentviz.papers.fused import coverage
from sentviz.papers.fused.study import DATASETS, answer, change_in_words, encoders, readable
from sentviz.papers.studies.compare_configurations import SEEDS_IN_WORDS
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

ICONS = {"yes": ":material/check_circle:", "no": ":material/cancel:", "cannot be told": ":material/help:"}


_answer = once(8, "Comparing the settings")(answer)


def answers(of: Studied) -> None:
    """Show whether the injection helps, one sentence per data set and encoder with its numbers."""
    for dataset, encoder in [(each, encoder) for each in DATASETS for encoder in encoders(of.runs, each)]:
        reply = _answer(of.runs, dataset, encoder)
        known = reply.baseline is not None and len(reply.rows) > 0
        with st.container(gap=None):
            st.markdown(f"{ICONS[reply.word] if known else ':material/inventory_2:'} **{md(reply.short)}**")
            st.caption(md(reply.numbers) if known else reply.numbers)
    st.caption(f"“Cannot be told” means that p is above 0.05 after Holm's correction over the settings. {SEEDS_IN_WORDS}")


def follow_button(of: Studied) -> None:
    """Link to the view that follows a token from the lexicon to attention."""
    run = readable(of.runs)[0]

    def follow() -> None:
        visit.go(run=run.name, look="lexicon", text="")

    if st.button("Follow a token from the lexicon to attention", icon=":material/menu_book:", on_click=follow, key="fused-follow"):
        st.switch_page("views/sentence/attention.py")


@once(2, "Running the model with and without its lexicon")
def _change(run: Run) -> Trace:
    """Return attention with the lexicon minus attention without it, on the run's example."""
    model, text = cache.model(run), run.example().text
    return difference(model.trace(text, change="term:lexicon=0"), model.trace(text))


@boundary()
def sentence(of: Studied) -> None:
    """Show the change of attention by the lexicon on a run's example."""
    run = readable(of.runs)[0]
    change = _change(run)
    left, right = halves("fused-sentence", 1.3, 1.0)
    with left:
        figure = partial(difference_map, change, "itself without its lexicon", 0, len(change.head_ids) - 1)
        show_drawn(lambda: sourced(figure(), run), "fused-sentence-map")
    with right:
        st.markdown(change_in_words(change))
        follow_button(of)


@boundary()
def measure_coverage(of: Studied) -> None:
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
