"""Table I: accuracy on each data set, measured beside printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.blocks.figure import show_drawn
from app.text import halves, md
from app.views.papers.shared import digests, wide
from sentviz.gallery import code
from sentviz.papers.sentiformer import tables
from sentviz.papers.sentiformer.export import accuracy_figure
from sentviz.papers.sentiformer.study import DATASETS, configurations
from sentviz.papers.studies.made import Table
from sentviz.runs.store import Run


@st.cache_data(max_entries=4, show_spinner="Reading the runs")
def _table(key: tuple[str, ...], _runs: Sequence[Run]) -> Table:
    return tables.accuracy(_runs)


def _column(name: str) -> Any:
    """All of the table stands on a page of 1,440 px."""
    label = name.replace(DATASETS["sst5_trees_binary"], "Two classes")
    return st.column_config.Column(label, width=124 if name.endswith("ours") else None)


def show(runs: Sequence[Run]) -> None:
    made = _table(digests(runs), runs)
    shown, spans = wide(made.frame, "data")
    st.dataframe(
        shown.style.format(spans, na_rep="–"),
        height="content",
        placeholder="–",
        key="sentiformer-table-1",
        column_config={name: _column(name) for name in map(str, shown)} | {"model": st.column_config.Column(pinned=True)},
    )
    st.caption(md(made.caption))
    here = [dataset for dataset in DATASETS if configurations(runs, dataset)]
    for i in range(0, len(here), 2):
        for column, dataset in zip(halves(f"sentiformer-accuracy-{i}"), here[i : i + 2], strict=False):
            with column:
                show_drawn(
                    lambda theme, dataset=dataset: accuracy_figure(runs, dataset, theme),  # type: ignore[misc]
                    f"sentiformer-accuracy-{dataset}",
                    code=code(dataset, "sentiformer-accuracy"),
                    of=digests(runs, dataset),
                )
    if missing := [dataset for dataset in DATASETS if dataset not in here]:
        st.info(
            f"No run of {', '.join(DATASETS[name] for name in missing)} is here; "
            f"`sentviz study sentiformer --dataset {missing[0]}` trains them.",
            icon=":material/inventory_2:",
        )
