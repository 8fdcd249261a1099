"""The NDT paper: its question answered, then every printed table and figure beside the runs here."""

from __future__ import annotations

import streamlit as st

from app import shell, store
from app.views.papers.ndt import answer, compare, cost, items, lambdas, panels, results

PARTS = {
    "results": results.show,
    "compare": compare.show,
    "panels": panels.show,
    "lambda": lambdas.show,
    "cost": cost.show,
    "items": items.show,
}

shell.intro(
    "What “NDT: Non-Differential Transformer” (arXiv 2603.20704) prints beside what the runs here measure, with 95% intervals.",
    "The paper gives neither seeds nor intervals nor settings; ours are one set for all models of a data set, said in each run.",
)
runs = list(store.runs().values())
dataset = answer.show(runs)
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
PARTS.get(shell.focus().part, results.show)(runs, dataset)
