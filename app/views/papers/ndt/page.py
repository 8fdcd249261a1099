"""The NDT paper: its question answered, then every printed table and figure beside the runs here."""

from __future__ import annotations

import streamlit as st

from app import shell, store
from app.views.papers import ndt_answer, ndt_compare, ndt_cost, ndt_items, ndt_lambda, ndt_panels, ndt_results

PARTS = {
    "results": ndt_results.show,
    "compare": ndt_compare.show,
    "panels": ndt_panels.show,
    "lambda": ndt_lambda.show,
    "cost": ndt_cost.show,
    "items": ndt_items.show,
}

shell.intro(
    "What “NDT: Non-Differential Transformer” (arXiv 2603.20704) prints beside what the runs here measure, with 95% intervals.",
    "The paper gives neither seeds nor intervals nor settings; ours are one set for all models of a data set, said in each run.",
)
runs = list(store.runs().values())
dataset = ndt_answer.show(runs)
TITLES = {"items": "Every item"}
shell.choose(
    st.segmented_control,
    "Part",
    "part",
    list(PARTS),
    format_func=lambda name: TITLES.get(name, name.capitalize()),
    required=True,
    label_visibility="collapsed",
)
PARTS[shell.focus().part](runs, dataset)
