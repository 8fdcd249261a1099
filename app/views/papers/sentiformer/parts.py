"""Table II: what each part of SentiFormer is worth, on both readings of SST-5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.blocks.figure import show_drawn
from app.text import halves, md
from app.views.papers.shared import WORDS, digests, signed, with_interval
from sentviz.figures import Figure, Theme
from sentviz.gallery import code
from sentviz.papers.sentiformer import tables
from sentviz.papers.sentiformer.export import ablation_figure
from sentviz.papers.sentiformer.study import DATASETS, READINGS
from sentviz.papers.studies.made import Table
from sentviz.runs.store import Run


@st.cache_data(max_entries=4, show_spinner="Comparing the parts")
def _table(key: tuple[str, ...], _runs: Sequence[Run]) -> Table:
    return tables.ablation(_runs)


@st.cache_resource(max_entries=8, show_spinner="Comparing the parts")
def _figure(dataset: str, theme: Theme, key: tuple[str, ...], _runs: Sequence[Run]) -> Figure:
    return ablation_figure(_runs, dataset, theme)


def show(runs: Sequence[Run]) -> None:
    made = _table(digests(runs), runs)
    here = [dataset for dataset in READINGS if DATASETS[dataset] in set(made.frame["data"])]
    if not here:
        st.info(
            "No ablation is here. `sentviz study sentiformer-ablations --dataset sst5_trees` trains them.", icon=":material/inventory_2:"
        )
        return
    left, right = halves("sentiformer-parts")
    with left:
        for dataset in here:
            show_drawn(
                lambda theme, of=dataset: _figure(of, theme, digests(runs, of), runs),  # type: ignore[misc]
                f"sentiformer-parts-{dataset}",
                code=code(dataset, "sentiformer-parts"),
            )
    with right:
        percent = ("difference", "low", "high", "printed", "accuracy")
        frame = made.frame.assign(verdict=made.frame["verdict"].map(WORDS), **{name: 100 * made.frame[name] for name in percent})
        form: dict[Any, Any] = {"difference": with_interval(frame["difference"], frame["low"], frame["high"], "{:+.2f}")}
        form |= {"printed": signed("{:+.1f}"), "accuracy": "{:.2f}", "adjusted": signed("{:.2g}"), "seeds": "{:.0f}", "n": "{:,.0f}"}
        titles = {"title": "model", "difference": "difference, points", "adjusted": "p after Holm", "accuracy": "accuracy, %"}
        st.dataframe(
            frame[["data", "title", "verdict", "difference", "printed", "adjusted", "accuracy", "seeds", "n"]].style.format(
                form, na_rep="–"
            ),
            hide_index=True,
            height="content",
            placeholder="–",
            key="sentiformer-table-2",
            column_config={name: st.column_config.Column(title) for name, title in titles.items()},
        )
        st.caption(md(made.caption))
