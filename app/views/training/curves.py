"""Training: a run after each of its epochs, if they are measured; loss and validation metrics of any runs, seeds as lines or as bands."""

from __future__ import annotations

import streamlit as st

from app import cache, visit
from app.blocks.figure import show_figure
from app.blocks.measure import lacking
from app.blocks.run_choice import most_similar, readable, series_of, several
from app.places import MEASURED, TRAINED
from app.text import intro, md
from app.views.training import epochs_part
from sentviz.charts.subjects import Runs
from sentviz.runs.store import Run

intro(
    "Loss, and validation accuracy or F1, during the training of any runs; of some also maps, predictions and mistakes after each epoch.",
    "Each line is one seed: a difference of a few tenths of a point can be chance. What happens within an epoch is not shown.",
)


def setup(run: Run) -> tuple[str, str]:
    """Return what the seeds of a run share: data set and configuration."""
    return run.config["data"]["name"], run.configuration


def seeds_of(runs: list[Run]) -> list[Run]:
    """Return the runs, and those that differ from one of them only in the seed."""
    wanted = set(map(setup, runs))
    return [run for run in cache.runs().values() if setup(run) in wanted]


def epoch_by_epoch(run: Run) -> None:
    """Draw the run after each of its epochs; offer to measure them, or a run whose epochs are measured."""
    if MEASURED.shows(run):
        epochs_part.show(run)
    elif MEASURED.could(run):
        lacking(run, "epochs")
    elif measured := cache.runs_for(MEASURED):
        alike = most_similar(run, measured).name
        command = f"sentviz train {run.config['data']['name']} --model {run.configuration} --keep-epochs 6"
        st.button(
            f"Watch a training epoch by epoch: {md(alike)}",
            icon=":material/movie:",
            key="to-epochs",
            help=f"The epochs of {md(run.name)} are not stored; `{command}` trains it and stores them.",
            on_click=visit.go,
            kwargs={"run": alike},
        )


chosen = several(cache.runs_for(TRAINED), "history.parquet")
epoch_by_epoch(cache.run(visit.focus().run))
axes, titles = ["epoch", "step"], {"lines": "One line per run", "bands": "Seeds as bands"}
bands = visit.chosen("seeds", titles) == "bands"
drawn_runs = readable(seeds_of(chosen), "history.parquet") if bands else chosen
first_of = {setup(run): run for run in reversed(chosen)}
series = series_of([first_of[setup(run)] for run in drawn_runs] if bands else chosen)
show_figure("curves", Runs.of(*drawn_runs), x=visit.chosen("axis", axes), bands=bands, series=series)
with st.container(horizontal=True, gap="medium", key="curves-controls"):
    visit.setting(st.segmented_control, "Axis", "axis", axes)
    visit.setting(st.segmented_control, "Seeds", "seeds", titles)
