"""Loss and validation metrics of any runs, overlaid; seeds as lines or as bands."""

from __future__ import annotations

import streamlit as st

from app import cache, visit
from app.blocks.figure import show_figure
from app.blocks.run_choice import readable, series_of, several
from app.places import TRAINED
from app.text import intro
from sentviz.charts.subjects import Runs
from sentviz.runs.store import Run

intro(
    "Loss, and validation accuracy or F1, during the training of any runs. A star marks the step whose weights are stored.",
    "Each line is one seed: a difference of a few tenths of a point can be chance.",
)


def setup(run: Run) -> tuple[str, str]:
    """Return what the seeds of a run share: data set and configuration."""
    return run.config["data"]["name"], run.configuration


def seeds_of(runs: list[Run]) -> list[Run]:
    """Return the runs, and those that differ from one of them only in the seed."""
    wanted = set(map(setup, runs))
    return [run for run in cache.runs().values() if setup(run) in wanted]


chosen = several(cache.shown(TRAINED), "history.parquet")
axes, titles = ["epoch", "step"], {"lines": "One line per run", "bands": "Seeds as bands"}
bands = visit.chosen("seeds", list(titles)) == "bands"
drawn_runs = readable(seeds_of(chosen), "history.parquet") if bands else chosen
first_of = {setup(run): run for run in reversed(chosen)}
series = series_of([first_of[setup(run)] for run in drawn_runs] if bands else chosen)
show_figure("curves", Runs.of(*drawn_runs), x=visit.chosen("axis", axes), bands=bands, series=series)
with st.container(horizontal=True, gap="medium", key="curves-controls"):
    visit.setting(st.segmented_control, "Axis", "axis", axes, label_visibility="collapsed")
    visit.setting(st.segmented_control, "Seeds", "seeds", list(titles), format_func=titles.get, label_visibility="collapsed")
