"""Parameters and milliseconds."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.blocks.figure import show_drawn
from app.text import halves, md
from app.views.papers.shared import picked, plain
from sentviz.figures.tradeoff import tradeoff
from sentviz.gallery import code
from sentviz.papers.ndt.study import DATASETS, parameters
from sentviz.papers.ndt.tables import about_vocabularies, costs, milliseconds
from sentviz.runs.store import Run

TITLES = {
    "to_vanilla": "× vanilla",
    "to_vanilla_low": "vanilla, from",
    "to_vanilla_high": "vanilla, to",
    "to_matched": "× matched",
    "to_matched_low": "matched, from",
    "to_matched_high": "matched, to",
    "printed_value": "× vanilla, print",
    "printed_low": "print, from",
    "printed_high": "print, to",
}


def show(runs: Sequence[Run]) -> None:
    dataset = picked("Data set", "study", DATASETS)
    left, right = halves("ndt-cost")
    timed = milliseconds()
    with left:
        show_drawn(
            lambda theme: tradeoff(*costs(dataset), title=DATASETS[dataset], theme=theme), "ndt-tradeoff", code=code(dataset, "cost")
        )
    with right:
        st.markdown("##### Table X: parameters, millions")
        frame = parameters(runs, dataset)
        if frame.empty:
            st.caption("No run of this data set is here.")
        else:
            plain(frame, key="ndt-parameters", digits=2, components="{:.0f}", vocabulary="{:,.0f}")
        st.caption(
            f"{about_vocabularies(frame.assign(data=DATASETS[dataset]))} NDT with two maps has no more parameters than vanilla-matched: the"
            " printed gap to vanilla is the wider block."
        )
    st.markdown("##### Table XI: milliseconds per test batch")
    here = timed.frame[timed.frame["dataset"] == DATASETS[dataset]].dropna(axis=1, how="all")
    if here.empty:
        st.caption(f"Not measured on {DATASETS[dataset]} yet; `python -m sentviz.papers.ndt.latency {dataset}` does.")
    else:
        whole = dict.fromkeys(("batches", "tokens", "rounds"), "{:.0f}")
        plain(here.drop(columns="dataset").rename(columns=TITLES), key="ndt-milliseconds", digits=2, milliseconds="{:.1f}", **whole)
    st.caption(md(timed.caption))
