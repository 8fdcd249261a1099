"""Further parts of the page of Sentiment-Fused Attention: table 2, [CLS], coverage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from app import cache, visit
from app.blocks.figure import show_drawn
from app.text import halves, md
from app.views.papers.shared import digests, plain
from sentviz.analysis.maps.compare import difference
from sentviz.errors import SentvizError
from sentviz.figures import Figure, Theme
from sentviz.figures.attention import difference_map
from sentviz.gallery import code, sourced
from sentviz.papers.fused import coverage
from sentviz.papers.fused import tables as fused_tables
from sentviz.papers.fused.export import cls_figure, covered_figure, readable
from sentviz.papers.fused.study import DATASETS, heads_by_setting
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

ROUNDING = 1e-7  # of weights in single precision


def statistics(runs: Sequence[Run]) -> None:
    """Table 2 recomputed."""
    st.markdown("##### Table 2: mean and spread of the printed gains, points")
    made = fused_tables.statistics()
    names = {
        "mean": "mean",
        "printed_mean": "mean, print",
        "deviation": "std",
        "printed_sigma": "σ, print",
        "variance": "variance",
        "printed_sigma_squared": "σ², print",
    }
    plain(made.frame[["setting", *names]].rename(columns=names), key="fused-statistics")
    st.caption(md(made.caption))


# ---- [CLS]


def cls(runs: Sequence[Run]) -> None:
    """Figure 5, and why the paper's reading of it cannot be right."""
    st.markdown("##### Figure 5: what σ can and cannot do to [CLS]")
    st.markdown(
        "[CLS] is in no lexicon, so it is neutral: σ = 1/3 towards every token, and softmax cancels what is the same for all keys."
        " **With the same Q and K its own row cannot move; what moves is where the others look, [CLS] included.** The paper reads its"
        " figure 5 the other way round: [CLS] has no polarity, so attention *towards* it hardly changes while its own does. What differs in"
        " the row of [CLS] of two trained models comes from training and from changed states below, not from σ in that row."
    )
    shown = [dataset for dataset in DATASETS if heads_by_setting(runs, dataset)[0]]
    if not shown:
        st.info(
            "No run here has its heads measured. `sentviz heads nsmc/cls` and `sentviz heads nsmc/cls-last-scaled` measure them.",
            icon=":material/science:",
        )
    for dataset in shown:
        show_drawn(
            lambda theme, of=dataset: _lines(of, theme, digests(runs, of), runs),  # type: ignore[misc]
            f"fused-cls-{dataset}",
            code=code(dataset, "cls-lines"),
        )
    run = readable(runs)
    if run is None:
        st.caption("A run with weights would show it on a sentence here.")
        return
    with st.expander("See it on a sentence", on_change="rerun", key="fused-sentence") as more:
        if more.open:
            _sentence(run)


@st.cache_resource(max_entries=8, show_spinner="Reading the heads")
def _lines(dataset: str, theme: Theme, key: tuple[str, ...], _runs: Sequence[Run]) -> Figure:
    return cls_figure(_runs, dataset, theme)


@st.cache_resource(max_entries=2, show_spinner="Asking the model with and without its lexicon")
def _changed(name: str, digest: str) -> Trace:
    """Attention with the lexicon minus attention without it, on the run's example."""
    run = cache.runs()[name]
    model, text = cache.model(run), run.example().text
    return difference(model.trace(text, change="term:lexicon=0"), model.trace(text))


def _sentence(run: Run) -> None:
    try:
        changed = _changed(run.name, run.digest)
    except SentvizError as error:
        st.warning(md(str(error)), icon=":material/block:")
        return
    assert changed.attention is not None
    head = len(changed.head_ids) - 1
    moved = np.abs(changed.attention[0, head])
    own = float(moved[0].max())
    left, right = halves("fused-sentence", 1.3, 1.0)
    with left:
        show_drawn(
            lambda theme: sourced(difference_map(changed, "itself without its lexicon", 0, head, theme=theme), run), "fused-sentence-map"
        )
    with right:
        rows = f"row of [CLS] **{own if own > ROUNDING else 0:.2g}**, column of [CLS] **{moved[1:, 0].max():.2g}**"
        st.markdown(
            f"Layer 1, head {head + 1}: the same weights, the same Q and K, with σ and without. Largest change of a weight: {rows},"
            f" elsewhere **{moved[1:, 1:].max():.2g}**. Rows of neutral tokens stay as they are."
        )

        def follow() -> None:
            visit.go(run=run.name, look="lexicon", text="")

        if st.button("Follow a token from the lexicon to attention", icon=":material/menu_book:", on_click=follow, key="fused-follow"):
            st.switch_page("views/sentence/attention.py")


# ---- coverage


def covered(runs: Sequence[Run]) -> None:
    """Figure 4: what the lexicons leave neutral, and the same measured anew."""
    st.markdown("##### Figure 4: how much of the text the lexicon reaches")
    made = fused_tables.covered()
    left, right = halves("fused-coverage")
    with left:
        show_drawn(lambda theme: covered_figure(theme), "fused-coverage", code=code("all", "coverage"))
    with right:
        st.markdown("**Not neutral is not yet sentiment.** The most frequent tokens that an entry contains are marks and particles:")
        shown = made.frame[["dataset", "lexicon", "neutral", "tokens", "frequent"]].assign(neutral=100 * made.frame["neutral"])
        st.dataframe(
            shown.style.format({"neutral": "{:.1f}", "tokens": "{:,.0f}"}),
            hide_index=True,
            placeholder="–",
            height=420,
            key="fused-coverage-table",
            column_config={
                "dataset": st.column_config.Column("data set"),
                "neutral": st.column_config.Column("neutral, %"),
                "frequent": st.column_config.Column("most frequent of the others", width="medium"),
            },
        )
        st.caption(md(made.caption))
        with st.popover("Measure again here", icon=":material/refresh:"):
            _again()


def _again() -> None:
    """The same numbers from the data on this machine."""
    dataset = st.selectbox("Data set", list(coverage.RECIPES), format_func=coverage.TITLES.__getitem__, key="fused-again-data")
    if not st.button("Measure", key="fused-again"):
        st.caption("Trains the tokenizer anew and reads the whole test split: seconds, for IMDB about a minute.")
        return
    try:
        with st.spinner(f"Reading {coverage.TITLES[dataset]}"):
            found = coverage.measure(dataset)
    except SentvizError as error:
        st.warning(md(str(error)), icon=":material/database_off:")
        return
    stored = coverage.measured().set_index(["dataset", "lexicon"])["neutral"]
    for row in found.to_dict("records"):
        before = stored.get((dataset, row["lexicon"]))
        same = "" if before is None else f", shipped {before:.2%}"
        st.markdown(f"{coverage.LEXICON_TITLES[row['lexicon']]}: **{row['neutral']:.2%}** of {row['tokens']:,} tokens{same}")
