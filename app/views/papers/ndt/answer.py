"""Does NDT beat DT and the matched vanilla? One sentence per data set, and the choice of the data set."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import shell
from app.views.papers.shared import digests, picked
from sentviz.papers.ndt.answer import Answer, answer
from sentviz.papers.ndt.study import DATASETS
from sentviz.runs import Run
from sentviz.studies.against import SEEDS_IN_WORDS

__all__ = ["show"]

ICONS = {"yes": ":material/check_circle:", "no": ":material/cancel:", "cannot be told": ":material/help:"}


@st.cache_data(max_entries=16, show_spinner="Comparing the runs")
def _answer(dataset: str, key: tuple[str, ...], _runs: Sequence[Run]) -> Answer | None:
    return answer(_runs, dataset)


def show(runs: Sequence[Run]) -> str:
    """The answers; returns the data set that the visitor looks at."""
    st.markdown("##### Does NDT beat DT and the matched vanilla?")
    found = {dataset: _answer(dataset, digests(runs, dataset), runs) for dataset in DATASETS}
    for dataset, one in found.items():
        if one is None:
            st.markdown(
                f":material/inventory_2: **{DATASETS[dataset]}** · no NDT run here; `sentviz study ndt --dataset {dataset}` trains them"
            )
        else:
            with st.container(gap=None):
                st.markdown(f"{ICONS[one.word]} **{shell.md(one.short)}**")
                st.caption(shell.md(one.numbers))
    st.caption(
        "Each data set's NDT is the configuration best on validation, so the test rows did not choose it. “Cannot be told” means p above"
        f" 0.05, or one seed of everything. Differences are in percentage points. {SEEDS_IN_WORDS}"
    )
    return picked("Data set", "study", DATASETS)
