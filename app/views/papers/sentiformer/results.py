"""Table I: accuracy on each data set, measured beside printed."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import shell
from app.views.papers.shared import digests, with_interval
from sentviz.figures import Figure, Theme
from sentviz.gallery import code
from sentviz.papers.sentiformer import tables
from sentviz.papers.sentiformer.export import accuracy_figure
from sentviz.papers.sentiformer.study import DATASETS, configurations
from sentviz.runs import Run
from sentviz.studies.made import Table

__all__ = ["show"]


@st.cache_data(max_entries=4, show_spinner="Reading the runs")
def _table(key: tuple[str, ...], _runs: Sequence[Run]) -> Table:
    return tables.accuracy(_runs)


@st.cache_data(max_entries=16, show_spinner="Reading the runs")
def _figure(dataset: str, theme: Theme, key: tuple[str, ...], _runs: Sequence[Run]) -> Figure:
    return accuracy_figure(_runs, dataset, theme)


def show(runs: Sequence[Run]) -> None:
    here = [dataset for dataset in DATASETS if configurations(runs, dataset)]
    left, right = shell.halves("sentiformer-results")
    with left:
        if here:
            shell.choose(
                st.segmented_control,
                "Data set",
                "study",
                here,
                required=True,
                format_func=lambda name: DATASETS[name],
                label_visibility="collapsed",
            )
            chosen = shell.focus().study if shell.focus().study in here else here[0]
            shell.figure(
                lambda theme: _figure(chosen, theme, digests(runs, chosen), runs),
                f"sentiformer-accuracy-{chosen}",
                code=code(chosen, "sentiformer-accuracy"),
            )
        if len(here) < len(DATASETS):
            missing = [dataset for dataset in DATASETS if dataset not in here]
            st.info(
                f"No run of {', '.join(DATASETS[name] for name in missing)} is here; "
                f"`sentviz study sentiformer --dataset {missing[0]}` trains them.",
                icon=":material/inventory_2:",
            )
    with right:
        made = _table(digests(runs), runs)
        st.dataframe(
            _shown(made.frame).style.format({"printed, %": "{:.1f}", "seeds": "{:.0f}", "n": "{:,.0f}"}, na_rep="–"),
            hide_index=True,
            height="content",
            placeholder="–",
            key="sentiformer-table-1",
            column_config={"model": st.column_config.Column(pinned=True)},
        )
        st.caption(shell.md(made.caption))


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    """In percent, ours with its interval in words."""
    ours = with_interval(100 * frame["value"], 100 * frame["low"], 100 * frame["high"])
    return pd.DataFrame(
        {
            "data": frame["data"],
            "model": frame["model"],
            "printed, %": 100 * frame["printed"],
            "ours, %": [ours(100 * value) for value in frame["value"]],
            "seeds": frame["seeds"],
            "n": frame["n"],
        }
    )
