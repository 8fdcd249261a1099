"""Parts of the pages of NDT and Sentiment-Fused Attention that have choices or buttons of their own."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app import visit
from app.blocks.boundary import boundary
from app.blocks.control import control
from app.blocks.sections import missing_note, show_study_figure
from app.blocks.table import show_table
from app.shared import once
from app.text import halves, md
from sentviz.io.numbers import percent
from sentviz.papers.fused import coverage
from sentviz.papers.fused.study import DATASETS as FUSED_ON
from sentviz.papers.fused.study import answer, encoders, readable
from sentviz.papers.ndt.answer import BASES
from sentviz.papers.ndt.figures import SPLITS
from sentviz.papers.ndt.study import DATASETS, configurations, summary
from sentviz.papers.ndt.tables import averages, beaten_in_words, comparisons
from sentviz.papers.ndt.tables import results as results_table
from sentviz.papers.studies.compare_configurations import SEEDS_IN_WORDS, better_in_words
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run

# ---- NDT

measured_runs = once(16, "Reading the runs")(summary)
compared = once(16, "Comparing the configurations")(comparisons)


def results(of: Studied) -> None:
    """Show a metric measured and printed, the accuracy by constraint, and the table of all metrics."""
    runs, dataset, split = of.runs, of.dataset, "test"
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        metric = control("accuracy-beside-print", "metric", "Metric", widget=st.selectbox, width=220)
        if any("official_test" in run.metrics() for seeds in configurations(runs, dataset).values() for run in seeds):
            split = visit.focus().over if visit.focus().over in SPLITS else "test"
            visit.choose(st.segmented_control, "Rows", "over", SPLITS, required=True)
    measured = measured_runs(runs, dataset, split)
    left, right = halves("ndt-results")
    with left:
        missing = show_study_figure("ndt", "accuracy-beside-print", dataset, runs, metric=metric, split=split)
    with right:
        show_study_figure("ndt", "accuracy-grid", dataset, runs, split=split)
    missing_note([missing])
    rows = ", official test" if split != "test" else ", measured and reported"
    st.markdown(f"##### Every reported column on {DATASETS[dataset]}{rows}")
    show_table(results_table(runs, dataset, split, measured), "ndt-results-table")
    with st.expander("Every average, numbers only", on_change="rerun", key="ndt-averages") as drawer:
        if drawer.open:
            show_table(averages(runs, dataset, measured), "ndt-averages-table")


def compare(of: Studied) -> None:
    """Compare every configuration with one of the baselines, and any two with each other."""
    by_model = configurations(of.runs, of.dataset)
    bases = {base: f"against {title}" for base, title in BASES.items() if base in by_model}
    if not bases:
        missing_note([f"No baseline on {DATASETS[of.dataset]} is installed: `sentviz study ndt --dataset {of.dataset}` trains them."])
        return
    base = visit.setting(st.segmented_control, "Against", "base", bases, required=True)
    table = compared(of.runs, of.dataset, base)
    if table.frame.empty:
        st.info("No other configuration is installed to compare with.", icon=":material/inventory_2:")
        return
    st.markdown(beaten_in_words(table, base))
    show_table(replace(table, frame=table.frame.sort_values("difference", ascending=False)), "ndt-against")
    if len(by_model) > 1:
        _compare_two(by_model, of.dataset)


def _compare_two(by_model: dict[str, list[Run]], dataset: str) -> None:
    """Let a visitor choose two configurations, and say whether the first is better."""
    names = list(by_model)
    with st.container(border=True, horizontal=True, gap="small", vertical_alignment="bottom"):
        a = st.selectbox("Is this configuration", names, len(names) - 1, key=f"ndt-a-{dataset}", width=260)
        b = st.selectbox("better than this one?", names, 0, key=f"ndt-b-{dataset}", width=260)
        if a != b:
            answer, numbers = better_in_words(by_model, a, b)
            st.markdown(f"**{answer}** {md(numbers)}.")


# ---- Sentiment-Fused Attention

ICONS = {"yes": ":material/check_circle:", "no": ":material/cancel:", "cannot be told": ":material/help:"}


_answer = once(8, "Comparing the settings")(answer)


def answers(of: Studied) -> None:
    """Show whether the injection helps, one sentence per data set and encoder with its numbers."""
    for dataset, encoder in [(each, encoder) for each in FUSED_ON for encoder in encoders(of.runs, each)]:
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
