"""Accuracy of the runs on sentences of other domains, and of two baselines that ignore the order of words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import visit
from app.blocks.files import csv_button
from app.text import md
from sentviz.data import demo
from sentviz.errors import RunError
from sentviz.io.lazy import pd
from sentviz.papers.studies.cross_domain import BASELINES, EVERY, SETS, current, stored_accuracies
from sentviz.runs.store import Run

SHADE = "background-color: rgba(86, 180, 233, 0.18);"
VIEWS = {"sets": "Sets", "phenomena": "Demo set by phenomenon", "errors": "Calibration error"}


def part(runs: Mapping[str, Run]) -> None:
    """Draw the table; the run that is best on the demo set comes first."""
    try:
        table = current(stored_accuracies(), runs)
    except RunError as error:
        st.warning(md(str(error)), icon=":material/folder_off:")
        return
    st.markdown("##### Accuracy on other data sets")
    view = visit.setting(st.segmented_control, "Columns", "shelf", list(VIEWS), format_func=VIEWS.__getitem__, label_visibility="collapsed")
    all_tags = table[table["tag"] == EVERY]
    titles = {texts.name: texts.title for texts in SETS}
    if view == "phenomena":
        demo_rows, columns, value = table[table["set"] == "demo"], [*demo.PHENOMENA, EVERY], "accuracy"
        wide = demo_rows.pivot(index="who", columns="tag", values=value)
        help_of = dict.fromkeys(columns, "Share of right predictions, 30 sentences each")
    else:
        columns, value = list(titles), "calibration" if view == "errors" else "accuracy"
        wide = all_tags.pivot(index="who", columns="set", values=value)
        counts = all_tags.groupby("set")["n"].max()
        help_of = {name: f"{titles[name]}, n = {counts.get(name, 0):,}" for name in columns}
    order = all_tags[all_tags["set"] == "demo"].sort_values("accuracy", ascending=False)["who"]
    wide = wide.reindex(index=order, columns=[name for name in columns if name in wide]).dropna(axis=1, how="all")
    home = {str(who): set(part["set"]) for who, part in all_tags[all_tags["home"]].groupby("who")}
    st.dataframe(
        _styled(wide, home, view == "errors"),
        height=min(38 + 35 * len(wide), 420),
        column_config={
            "_index": st.column_config.TextColumn("", pinned=True, width=230),
            **{name: st.column_config.Column(name, help=help_of[name]) for name in columns},
        },
    )
    baselines = " and ".join(BASELINES)
    st.caption(
        "Expected calibration error of the probabilities at each run's temperature; lower is better."
        if view == "errors"
        else "Share of right predictions. A prediction counts as negative or positive, whichever is more probable. A *neutral*"
        " sentence is right if this probability is at most 0.25 from 0.5. Shaded: the run was trained on sentences of this kind. Intervals"
        " are in the file."
    )
    without = ", ".join(who for who in order if who in runs and not runs[who].capabilities.maps)
    st.caption(
        f"{md(baselines)} ignore the order of words{f', and {md(without)} read it without attention' if without else ''}."
        " A model with attention that is more accurate with the same training rows shows what attention adds."
    )
    csv_button(table, "sentviz-standing", "standing-csv")


def _styled(wide: pd.DataFrame, home: Mapping[str, set[str]], errors: bool) -> Any:
    """Return the styled table: formatted numbers, shaded cells for domains of the training, and marked baselines."""

    def shade(row: pd.Series) -> list[str]:
        learned = home.get(str(row.name), set())
        return [SHADE if name in learned else "" for name in row.index]

    styled = wide.style.apply(shade, axis=1).format("{:.3f}" if errors else "{:.1%}", na_rep="–")
    return styled.format_index(lambda who: f"{who} (baseline)" if who in BASELINES else str(who))
