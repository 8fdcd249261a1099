"""The NDT paper: every printed number beside the runs here."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app import shell, store
from sentviz.figures.beside import measured_beside_printed
from sentviz.studies.ndt import METRICS, beside, items, parameters
from sentviz.studies.runner import STUDIES
from sentviz.studies.stats import paired, verdict

shell.intro(
    "What “NDT: Non-Differential Transformer” (arXiv 2603.20704) prints beside what the runs here measure, with 95% intervals.",
    "The paper gives neither seeds nor intervals nor settings; ours are one set for all models of a data set, said in each run.",
)
DATASETS = {"sst2": "SST-2", "imdb": "IMDB", "twitter_financial": "Twitter Financial News", "yelp_full": "Yelp (another sample)"}
TITLES = {
    "accuracy": "Accuracy",
    "f1_weighted": "F1, weighted",
    "f1_macro": "F1, macro",
    "precision_weighted": "Precision, weighted",
    "auc": "AUC",
    "silhouette": "Silhouette",
}
names = [name for name in STUDIES["ndt"] if name in DATASETS]
left, right = st.columns([2, 1])
with left:
    chosen = st.segmented_control(
        "Data set", names, default=names[0], format_func=lambda name: DATASETS[name], key="ndt-data", label_visibility="collapsed"
    )
with right:
    metric: str = st.selectbox(
        "Metric", list(METRICS), format_func=lambda name: TITLES[name], key="ndt-metric", label_visibility="collapsed"
    )
dataset = chosen or names[0]
runs = list(store.runs().values())
frame = beside(runs, dataset, metric)
column, table = shell.halves("ndt")
with column:
    shell.figure(
        lambda theme: measured_beside_printed(
            frame, title=f"{TITLES[metric]} on {DATASETS[dataset]}", percent=metric == "accuracy", theme=theme
        ),
        "beside",
    )
    if frame["value"].isna().all():
        st.caption(f"No run of {DATASETS[dataset]} is here yet. `sentviz study ndt --dataset {dataset}` trains them.")
with table:
    style = "{:.2%}" if metric == "accuracy" else "{:.3f}"
    shown = frame.assign(difference=frame["value"] - frame["printed"])[
        ["model", "value", "low", "high", "printed", "difference", "seed", "n"]
    ]
    words = dict.fromkeys(("value", "low", "high", "printed"), style) | {"difference": style.replace(":", ":+")}
    texts = pd.DataFrame(
        {
            name: [
                "–" if pd.isna(value) else words[name].format(value) if name in words else f"{value:,.0f}" if name != "model" else value
                for value in shown[name]
            ]
            for name in shown
        }
    )
    st.dataframe(texts, hide_index=True, height="content")
    st.caption(
        "vanilla-matched is the control that the paper lacks: NDT's block with one map. A difference inside the interval says nothing"
        " against the print; two of our runs are told apart by a paired test, not by looking at two intervals."
    )
here = [run for run in runs if run.config["data"]["name"] == dataset]
if len(here) > 1:
    by_name = {run.name: run for run in here}
    best = max(here, key=lambda run: float(run.metrics()["test"]["accuracy"]["value"])).name
    control = next((run.name for run in here if run.config["preset"] == "vanilla-matched" and run.name != best), None)
    other = control or next(name for name in by_name if name != best)
    with st.container(border=True, horizontal=True, gap="small", vertical_alignment="bottom"):
        a = st.selectbox("Is this run", list(by_name), list(by_name).index(best), key=f"ndt-a-{dataset}", width=260)
        b = st.selectbox("better than this one?", list(by_name), list(by_name).index(other), key=f"ndt-b-{dataset}", width=260)
        if a != b:
            pair = paired(by_name[a], by_name[b])
            said = {"holds": "Yes.", "does not hold": "No, worse.", "cannot be told": "Cannot be told with this data."}
            spread = f"{pair.difference:+.2%} [{pair.low:+.2%}, {pair.high:+.2%}]"
            st.markdown(
                f"**{said[verdict(pair.low, pair.high)]}** Difference {spread} on the same {pair.n:,} rows; only the first right on"
                f" {pair.only_a:,}, only the second on {pair.only_b:,}; McNemar p = {pair.p:.3g}."
                " One seed each: chance in training is not in this interval."
            )
with st.expander("Parameters, millions"):
    st.dataframe(parameters(runs, dataset), hide_index=True, height="content")
    st.caption("At the printed vocabulary sizes all printed totals are met exactly (tests/test_encoder.py); ours differ by a few words.")
with st.expander("Every printed table and figure, and where it is here"):
    st.dataframe(pd.DataFrame(items())[["printed", "view", "state"]], hide_index=True, height="content")
