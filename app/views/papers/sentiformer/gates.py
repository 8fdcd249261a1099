"""What the gates shut, over a whole test split: the paper's central claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app.text import md
from app.views.papers.shared import digests, picked, with_interval
from app.views.testset import gates_part
from sentviz.papers.sentiformer.gates import gated, over_seeds
from sentviz.papers.sentiformer.study import DATASETS
from sentviz.runs.store import Run

NAMES = {"name": "group", "against": "minus", "value": "mean gate", "seeds": "seeds", "n": "n"}


@st.cache_data(max_entries=8, show_spinner="Reading the gates")
def _together(dataset: str, key: tuple[str, ...], _runs: Sequence[Run]) -> pd.DataFrame:
    return over_seeds(_runs)


def show(runs: Sequence[Run]) -> None:
    here = {dataset: found for dataset in DATASETS if (found := gated(runs, dataset))}
    st.markdown(
        "The paper: “words like *the* and *is* learn gate values close to zero”. A token has a gate in each layer, from 0 (shut) to 1"
        " (open); shown are means over every token of a test split, by class of words, part of speech and word, beside what shuffling the"
        " gates within each text gives."
    )
    if not here:
        st.info(
            "No SentiFormer here has its gates measured. `sentviz gates sst5_trees/sentiformer` measures them.",
            icon=":material/inventory_2:",
        )
        return
    dataset = picked("Data set", "study", {name: DATASETS[name] for name in here})
    frame = _together(dataset, digests(here[dataset]), here[dataset])
    means = frame[(frame["layer"] < 0) & frame["kind"].isin(["class", "difference"])]
    forms: dict[Any, Any] = {"mean gate": with_interval(means["value"], means["low"], means["high"]), "n": "{:,.0f}"}
    st.dataframe(
        means[list(NAMES)].rename(columns=NAMES).style.format(forms),
        hide_index=True,
        height="content",
        key="sentiformer-gates",
    )
    many = int(means["seeds"].max())
    over = f"other texts and other seeds, {many} here" if many > 1 else "other texts; one seed, so another training may differ"
    st.caption(f"Mean over layers, with 95% intervals for {over}. n: texts that have such a token. Below: {md(here[dataset][0].name)}.")
    gates_part.show(here[dataset][0])
