"""Parts of NDT's page with choices of their own: metric and rows, a baseline, two configurations."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app import visit
from app.blocks.control import control
from app.blocks.sections import missing_note, show_study_figure
from app.blocks.table import show_table
from app.shared import once
from app.text import halves, md
from sentviz.papers.ndt import PAPER
from sentviz.papers.ndt.answer import BASES
from sentviz.papers.ndt.figures import SPLITS
from sentviz.papers.ndt.study import DATASETS, configurations, summary
from sentviz.papers.ndt.tables import averages, beaten_in_words, comparisons
from sentviz.papers.ndt.tables import results as results_table
from sentviz.papers.studies.compare_configurations import better_in_words
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run

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
        missing = show_study_figure(PAPER.name, "accuracy-beside-print", dataset, runs, metric=metric, split=split)
    with right:
        show_study_figure(PAPER.name, "accuracy-grid", dataset, runs, split=split)
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
