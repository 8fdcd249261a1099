"""Loss and validation metrics of any runs, overlaid; seeds as lines or as bands."""

from __future__ import annotations

import streamlit as st

from app import cache, visit
from app.blocks.figure import show_figure
from app.blocks.run_choice import readable, several
from app.text import intro
from sentviz.gallery.subjects import Runs
from sentviz.runs.store import Run

intro(
    "Training loss, validation loss and validation accuracy or F1 of any runs, the stored weights' moment marked.",
    "One line per seed: differences of a few tenths of a point can be chance. Bands show all available seeds of these configurations.",
)


def seeds_of(runs: list[Run]) -> list[Run]:
    """Return the runs, and those that differ from one of them only in the seed."""
    wanted = {(run.config["data"]["name"], run.configuration) for run in runs}
    return [run for run in cache.runs().values() if (run.config["data"]["name"], run.configuration) in wanted]


chosen = several(list(cache.runs().values()), "a history")
with st.container(horizontal=True, gap="medium"):
    axis = visit.setting(st.segmented_control, "Axis", "axis", ["epoch", "step"], label_visibility="collapsed")
    titles = {"lines": "One line a run", "bands": "Seeds as bands"}
    seeds = visit.setting(st.segmented_control, "Seeds", "seeds", list(titles), format_func=titles.get, label_visibility="collapsed")
bands = seeds == "bands"
drawn_runs = readable(seeds_of(chosen), "history.parquet") if bands else chosen
show_figure("curves", Runs.of(*drawn_runs), x=axis, bands=bands)
