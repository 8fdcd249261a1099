"""Does NDT beat DT and the matched vanilla? One sentence per data set, and the choice of the data set."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import shell
from app.views.papers.shared import digests, picked
from sentviz.papers.ndt.answer import Answer, answers_by_rows
from sentviz.papers.ndt.study import DATASETS
from sentviz.runs import Run
from sentviz.studies.against import SEEDS_IN_WORDS

__all__ = ["show"]

ICONS = {"yes": ":material/check_circle:", "no": ":material/cancel:", "cannot be told": ":material/help:"}


@st.cache_data(max_entries=16, show_spinner="Comparing the runs")
def _answers(dataset: str, key: tuple[str, ...], _runs: Sequence[Run]) -> list[Answer]:
    return answers_by_rows(_runs, dataset)


def show(runs: Sequence[Run]) -> str:
    """The answers; returns the data set that the visitor looks at."""
    st.markdown("##### Does NDT beat DT and the matched vanilla?")
    for dataset in DATASETS:
        found = _answers(dataset, digests(runs, dataset), runs)
        if not found:
            st.markdown(
                f":material/inventory_2: **{DATASETS[dataset]}** · no NDT run here; `sentviz study ndt --dataset {dataset}` trains them"
            )
        places = shell.halves(f"ndt-answer-{dataset}") if len(found) > 1 else [st.container()]
        for place, one in zip(places, found, strict=False):
            with place.container(gap=None):
                st.markdown(f"{ICONS[one.word]} **{shell.md(one.short)}**")
                st.caption(shell.md(one.numbers))
    st.caption(
        "Each data set's NDT is the configuration best on validation, so the test rows did not choose it. “Cannot be told” means p above"
        " 0.05, or one seed of everything. Of several kinds of test rows the strictest answer stands first, and is the one to quote."
        f" Differences are in percentage points. {SEEDS_IN_WORDS}"
    )
    return picked("Data set", "study", DATASETS)
