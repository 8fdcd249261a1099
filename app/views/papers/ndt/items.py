"""Every printed table and figure, and where it is here."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from sentviz.papers.ndt import PAPER
from sentviz.papers.ndt.study import DATASETS, configurations
from sentviz.runs import Run

__all__ = ["show"]


def show(runs: Sequence[Run], dataset: str) -> None:
    frame = pd.DataFrame(PAPER.items())
    counts = {name: (len(here), sum(map(len, here.values()))) for name in DATASETS for here in [configurations(runs, name)]}
    wanted = [DATASETS if data == "all" else [data] for data in frame["data"]]
    frame["here"] = [
        "–" if state != "live" else ", ".join(f"{DATASETS[name]} {counts[name][0]} of 15 ({counts[name][1]} runs)" for name in names)
        for names, state in zip(wanted, frame["state"], strict=True)
    ]
    frame["shown on"] = frame["view"].str.removeprefix("page/")
    st.dataframe(
        frame[["printed", "title", "state", "shown on", "here", "why"]],
        hide_index=True,
        placeholder="–",
        height="content",
        column_config={
            "why": st.column_config.TextColumn("what differs from the print", width="large"),
            "here": st.column_config.TextColumn("configurations here", width="medium"),
        },
    )
    st.caption("`sentviz export --paper ndt -o DIR` writes every live one as files, with a manifest.")
