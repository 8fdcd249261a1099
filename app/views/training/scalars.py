"""Learned scalars during training: the chosen runs in one figure, and all NDT configurations of a data set."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import cache, visit
from app.blocks.figure import show_figure
from app.blocks.run_choice import series_of, several
from app.focus import choices
from app.places import SCALED
from app.text import intro
from app.views.papers.blocks import missing_note, show_study_figure
from sentviz.charts.scalars import scalar_axis
from sentviz.charts.subjects import Runs
from sentviz.papers.ndt import PAPER
from sentviz.papers.ndt.study import DATASETS

intro(
    "Learned scalars during training: λ (−λ for Differential), weights of position signals, temperatures. Diamonds: a paper's values.",
    "The start value decides most of the final value.",
)
chosen = several(cache.runs_for(SCALED), "history.parquet")
titles = {"value": "Value", "change": "Change from the start", "step": "Steps", "share": "Share of training"}
axes, usual = ["step", "share"], scalar_axis(chosen)
axis = visit.chosen("axis", axes, default=usual)
options: dict[str, Any] = {"change": visit.focus().scale == "change", "x": axis, "series": series_of(chosen)}
show_figure("scalars", Runs.of(*chosen), "lambda", **options)
with st.container(horizontal=True, gap="medium", key="scalars-controls"):
    visit.choose(st.segmented_control, "Scale", "scale", choices("scale"), format_func=titles.get)
    visit.setting(st.segmented_control, "Axis", "axis", axes, default=usual, format_func=titles.get)
dataset = cache.run(visit.focus().run).config["data"]["name"]
if dataset in DATASETS:
    st.markdown(f"##### λ of all NDT configurations on {DATASETS[dataset]}")
    st.caption(
        "The data set is that of the selected run. A band is the range of the seeds. A line that barely moves shows its start value."
    )
    missing_note([show_study_figure(PAPER, "lambda-grid", dataset, cache.study_runs().runs, change=visit.focus().scale == "change")])
