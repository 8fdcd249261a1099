"""Every configuration against one of the baselines, and any two against each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app import visit
from app.text import md
from app.views.papers.shared import digests, picked
from sentviz.papers.ndt.answer import BASES
from sentviz.papers.ndt.study import DATASETS, configurations
from sentviz.papers.ndt.tables import comparisons
from sentviz.papers.studies.against import mixed
from sentviz.papers.studies.made import Table
from sentviz.papers.studies.seeds import seed_noise
from sentviz.runs.store import Run

ICONS = {"better": "▲ better", "worse": "▼ worse", "cannot be told": "? cannot be told"}


@st.cache_data(max_entries=16, show_spinner="Comparing the configurations")
def _compared(dataset: str, base: str, split: str, key: tuple[str, ...], _runs: Sequence[Run]) -> Table:
    return comparisons(_runs, dataset, base, split)


def show(runs: Sequence[Run]) -> None:
    dataset = picked("Data set", "study", DATASETS)
    here = configurations(runs, dataset)
    bases = {base: title for base, title in BASES.items() if base in here}
    if not bases:
        st.info(f"No baseline of {DATASETS[dataset]} is here, so nothing can be compared with one.", icon=":material/inventory_2:")
        return
    base = visit.setting(
        st.segmented_control,
        "Against",
        "base",
        list(bases),
        required=True,
        format_func=lambda one: f"against {bases[one]}",
        label_visibility="collapsed",
    )
    table = _compared(dataset, base, "test", digests(runs, dataset), runs)
    if table.frame.empty:
        st.info("There is no other configuration here to compare with it.", icon=":material/inventory_2:")
        return
    counts = table.frame["verdict"].value_counts()
    ndt = table.frame["model"].str.startswith("ndt-")
    better = int((table.frame["verdict"] == "better")[ndt].sum())
    st.markdown(
        f"**{better} of {int(ndt.sum())} NDT configurations beat {bases[base]}** after Holm's correction; of all {len(table.frame)}:"
        f" {' · '.join(f'{counts.get(word, 0)} {text}' for word, text in ICONS.items())}"
    )
    _table(table.frame)
    st.caption(md(table.caption))
    if len(here) > 1:
        _pair(here, dataset)


def _table(frame: pd.DataFrame) -> None:
    shown = frame.assign(
        verdict=frame["verdict"].map(ICONS),
        compared=[f"{a} against {b} seed{'s' * (b > 1)}" for a, b in zip(frame["seeds"], frame["base_seeds"], strict=True)],
        **{name: 100 * frame[name] for name in ("accuracy", "difference", "low", "high")},
    )  # fmt: skip
    shown = shown.sort_values("difference", ascending=False)
    columns = ["model", "verdict", "difference", "low", "high", "adjusted", "p", "accuracy", "compared", "n"]
    signed: dict[str, Any] = dict.fromkeys(("difference", "low", "high"), lambda value: f"{value:+.2f}".replace("-", "−"))
    style = shown[columns].style.format(signed | {"accuracy": "{:.2f}", "p": "{:.2g}", "adjusted": "{:.2g}", "n": "{:,.0f}"})
    st.dataframe(
        style,
        hide_index=True,
        placeholder="–",
        height="content",
        key="ndt-against",
        column_config={
            "model": st.column_config.Column(pinned=True, width=140),
            "difference": st.column_config.Column("difference, points"),
            "low": st.column_config.Column("95% from"),
            "high": st.column_config.Column("to"),
            "adjusted": st.column_config.Column("p after Holm"),
            "accuracy": st.column_config.Column("accuracy, %"),
        },
    )


def _pair(here: dict[str, list[Run]], dataset: str) -> None:
    names = list(here)
    with st.container(border=True, horizontal=True, gap="small", vertical_alignment="bottom"):
        a = st.selectbox("Is this configuration", names, len(names) - 1, key=f"ndt-a-{dataset}", width=260)
        b = st.selectbox("better than this one?", names, 0, key=f"ndt-b-{dataset}", width=260)
        if a != b:
            one = mixed(here[a], here[b], noise=seed_noise(here.values()))
            said = {"better": "Yes.", "worse": "No, worse.", "cannot be told": "Cannot be told with this data."}[one.word()]
            how = f"p = {one.p:.2g}" if one.test == "over seeds" else f"McNemar p = {one.p:.2g} tells the two runs apart, not the models"
            st.markdown(f"**{said}** {md(one.numbers)}; {md(how)}.")
