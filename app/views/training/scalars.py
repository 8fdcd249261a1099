"""Learned scalars during training: the chosen runs in one figure, and all NDT configurations of a data set."""

from __future__ import annotations

import streamlit as st

from app import cache, visit
from app.blocks.figure import show_figure
from app.blocks.run_choice import several
from app.focus import choices
from app.text import intro
from app.views.papers.blocks import missing_note, show_study_figure
from sentviz.gallery.subjects import Runs
from sentviz.papers.ndt import PAPER
from sentviz.papers.ndt.study import DATASETS

intro(
    "Every scalar that a model learns, over the steps of training, with its start and, where a paper prints it, its final value: λ by layer"
    " and component (for Differential, −λ), the weights of position signals, temperatures.",
    "Where a scalar ends says little alone: most of it is where it was put at the start, so look at the change as well.",
)
chosen = several([run for run in cache.runs().values() if run.capabilities.scalars], "a learned scalar")
titles = {"value": "Value", "change": "Change from the start"}
visit.choose(st.segmented_control, "Scale", "scale", choices("scale"), format_func=titles.get, label_visibility="collapsed")
show_figure("scalars", Runs.of(*chosen), "lambda", change=visit.focus().scale == "change")
dataset = cache.run(visit.focus().run).config["data"]["name"]
if dataset in DATASETS:
    st.markdown(f"##### λ of all NDT configurations on {DATASETS[dataset]}")
    st.caption("The data set of the run in focus. A band is the range of the seeds; what barely moves was put there by the initialisation.")
    missing_note([show_study_figure(PAPER, "lambda-grid", dataset, cache.study_runs().runs, change=visit.focus().scale == "change")])
