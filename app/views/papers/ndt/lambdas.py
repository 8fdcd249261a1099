"""Learned lambdas: every configuration at a glance, and the printed table beside ours."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import visit
from app.blocks.figure import show_drawn
from app.focus import choices
from app.text import md
from app.views.papers.shared import digests, picked, plain
from sentviz.figures import Figure, Theme
from sentviz.figures.lambda_grid import lambda_grid
from sentviz.gallery import code, sourced
from sentviz.papers.ndt.controls import controls, said
from sentviz.papers.ndt.panels import lambda_frames
from sentviz.papers.ndt.study import DATASETS, configurations
from sentviz.papers.ndt.tables import lambdas
from sentviz.papers.studies.made import Table
from sentviz.runs.store import Run

SCALES = {"value": "Value", "change": "Change from the start"}


@st.cache_resource(max_entries=4, show_spinner="Reading the lambdas")
def _frames(dataset: str, key: tuple[str, ...], _runs: Sequence[Run]) -> tuple[pd.DataFrame, pd.DataFrame]:
    return lambda_frames(_runs, dataset)


def _figure(dataset: str, change: bool, theme: Theme, runs: Sequence[Run]) -> Figure:
    frame, marks = _frames(dataset, digests(runs, dataset), runs)
    sources = [run for model, seeds in configurations(runs, dataset).items() if model in set(frame["model"]) for run in seeds]
    return sourced(lambda_grid(frame, title=DATASETS[dataset], change=change, printed=marks, theme=theme), *sources)


@st.cache_data(max_entries=8, show_spinner="Reading the lambdas")
def _table(dataset: str, key: tuple[str, ...], _runs: Sequence[Run]) -> Table:
    return lambdas(_runs, dataset, _frames(dataset, key, _runs))


@st.cache_data(max_entries=8, show_spinner="Reading the lambdas")
def _controlled(dataset: str, key: tuple[str, ...], _runs: Sequence[Run]) -> pd.DataFrame:
    return controls(_runs, dataset)


def show(runs: Sequence[Run]) -> None:
    dataset = picked("Data set", "study", DATASETS)
    visit.choose(st.segmented_control, "Scale", "scale", choices("scale"), format_func=SCALES.get, label_visibility="collapsed")
    grid(runs, dataset)
    _controls(runs, dataset)
    table = _table(dataset, digests(runs, dataset), runs)
    if not table.frame.empty:
        st.markdown("##### Final λ, measured and printed")
        plain(table.frame, key="ndt-lambda-table", digits=4, layer="{:.0f}", component="{:.0f}", seeds="{:.0f}")
        st.caption(md(table.caption))


def _controls(runs: Sequence[Run], dataset: str) -> None:
    """What the start puts in and what training does, where controlled runs are here."""
    frame = _controlled(dataset, digests(runs, dataset), runs)
    if frame.empty:
        return
    st.markdown("##### Learned, or put in by the start?")
    st.markdown("\n".join(f"- {md(line)}" for line in said(frame)))
    with st.expander("Every lambda of these runs", on_change="rerun", key="ndt-controls") as more:
        if more.open:
            shown = frame.assign(
                layer=frame["layer"] + 1, component=frame["component"] + 1, variant=frame["variant"].replace("", "as it is")
            )
            plain(shown[["model", "variant", "seed", "layer", "component", "start", "end", "change"]], key="ndt-controls-table", digits=3,
                  layer="{:.0f}", component="{:.0f}", seed="{:.0f}")  # fmt: skip
    st.caption(
        f"`sentviz study ndt-controls --dataset {dataset}` trains them. Runs of the same seed stand beside each other; accuracies have 95%"
        " intervals over test rows, without chance in training."
    )


def grid(runs: Sequence[Run], dataset: str) -> None:
    """The small multiples of a data set, on the scale in focus."""
    change = visit.focus().scale == "change"
    show_drawn(
        lambda theme: _figure(dataset, change, theme, runs),
        f"lambda-grid-{dataset}",
        code=code(dataset, "lambda-grid", change=change),
        of=digests(runs, dataset),
    )
