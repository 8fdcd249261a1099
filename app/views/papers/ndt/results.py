"""Measured beside printed: the figure, the grid of constraints, the table of all metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from app import visit
from app.blocks.figure import show_drawn
from app.blocks.files import csv_button
from app.text import halves, md, page_theme
from app.views.papers.ndt.table import beside_print
from app.views.papers.shared import digests, picked, plain, with_interval
from sentviz.figures import Figure, Theme
from sentviz.figures.accuracy_grid import accuracy_grid
from sentviz.figures.beside import measured_beside_printed
from sentviz.gallery import code, sourced
from sentviz.papers.ndt import leak
from sentviz.papers.ndt.averages import fits, said
from sentviz.papers.ndt.study import DATASETS, METRICS, beside, configurations, points, summary
from sentviz.papers.ndt.tables import grid, leaked, other_sample, results, silhouettes
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from collections.abc import Iterable

TITLES = {
    "accuracy": "Accuracy",
    "precision_weighted": "Precision, weighted",
    "f1_weighted": "F1, weighted",
    "auc": "AUC",
    "silhouette": "Silhouette",
    "precision_macro": "Precision, macro",
    "f1_macro": "F1, macro",
}
SPLITS = {"test": "Test split of the paper", "official_test": "Official test sentences"}


@st.cache_data(max_entries=16, show_spinner="Reading the runs")
def _summarised(dataset: str, split: str, key: tuple[str, ...], _runs: Sequence[Run]) -> pd.DataFrame:
    """`summary`, once for these runs."""
    return summary(_runs, dataset, split)


def show(runs: Sequence[Run]) -> None:
    dataset = picked("Data set", "study", DATASETS)
    here = [run for seeds in configurations(runs, dataset).values() for run in seeds]
    if not here:
        st.info(
            f"No run of {DATASETS[dataset]} is here yet. `sentviz study ndt --dataset {dataset}` trains them.",
            icon=":material/inventory_2:",
        )
    split = "test"
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        metric = visit.setting(
            st.selectbox, "Metric", "metric", list(METRICS), format_func=lambda name: TITLES[name], label_visibility="collapsed", width=220
        )
        if any("official_test" in run.metrics() for run in here):
            split = visit.focus().over if visit.focus().over in SPLITS else "test"
            visit.choose(
                st.segmented_control,
                "Rows",
                "over",
                list(SPLITS),
                required=True,
                format_func=lambda name: SPLITS[name],
                label_visibility="collapsed",
            )
    measured = _summarised(dataset, split, digests(here), runs)
    rows = ", official test" if split != "test" else ""
    left, right = halves("ndt-results")
    with left:
        show_drawn(
            _signed(
                lambda theme: measured_beside_printed(
                    beside(measured, dataset, metric, split),
                    points(runs, dataset, metric, split),
                    title=f"{TITLES[metric]} on {DATASETS[dataset]}{rows}",
                    percent=metric == "accuracy",
                    theme=theme,
                ),
                here,
                split,
            ),
            "ndt-beside",
            code=code(dataset, "accuracy-beside-print", metric=metric, split=split),
            of=digests(here),
        )
    with right:
        show_drawn(
            _signed(
                lambda theme: accuracy_grid(
                    grid(beside(measured, dataset, "accuracy", split)), title=f"{DATASETS[dataset]}{rows}", theme=theme
                ),
                here,
                split,
            ),
            "ndt-grid",
            code=code(dataset, "accuracy-grid", split=split),
            of=digests(here),
        )
        if split == "test":
            st.caption(md(said(fits(measured, dataset))))
    st.markdown(f"##### Every printed column on {DATASETS[dataset]}{rows or ', measured and printed'}")
    table = results(runs, dataset, split, measured)
    beside_print(table.frame, page_theme(), key="ndt-results-table")
    if note := other_sample(runs, dataset):
        st.caption(note)
    if dataset == leak.DATASET:
        with st.expander("What the re-split leaks: test phrases inside training phrases", on_change="rerun", key="ndt-leak") as more:
            if more.open:
                _leaked()
    with st.expander("Every average, numbers only", on_change="rerun", key="ndt-averages") as more:
        if more.open:
            wide = measured.pivot(index="model", columns="metric", values="value").reindex(list(configurations(runs, dataset)))
            plain(wide.reset_index(), key="ndt-averages-table")
            st.caption("Precision, recall and F1 as macro and weighted means and, of two classes, of the positive one; loss in nats.")
    with st.expander("Table IX: silhouettes of all data sets", on_change="rerun", key="ndt-silhouettes") as more:
        if more.open:
            of_all = silhouettes(runs)
            plain(of_all.frame.dropna(axis=1, how="all"), key="ndt-silhouette-table")
            st.caption(md(of_all.caption))


def _leaked() -> None:
    made = leaked()
    if made.frame.empty:
        st.caption(f"Not measured: `{leak.COMMAND}`")
        return
    keys = ["rows", "length", "stands", "share", "n"]
    wide = made.frame.pivot(index=keys, columns="model", values=["value", "low", "high"])
    shown, forms = wide["value"].mul(100), dict[Any, Any](share="{:.0f}", n="{:,}")
    for model in shown:
        forms[model] = with_interval(*(100 * wide[name][model] for name in ("value", "low", "high")))
    frame = shown.reset_index().assign(share=lambda rows: 100 * rows["share"])
    st.dataframe(frame.style.format(forms, na_rep="–"), hide_index=True, height="content", key="ndt-leak-table")
    st.caption(f"{md(made.caption)} Share, and accuracy by model, in percent. `{leak.COMMAND}` measures anew.")
    csv_button(made.frame, made.name, "ndt-leak-csv")


def _signed(make: Callable[[Theme], Figure], sources: Iterable[Run], split: str) -> Callable[[Theme], Figure]:
    tested = [run for run in sources if split in run.metrics()]
    return lambda theme: sourced(make(theme), *tested, split=split)
