"""The three failure modes that the paper names, as groups of our own sentences."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import cache
from app.blocks.figure import show_drawn
from app.text import md
from sentviz.analysis.testset.phenomena import accuracy_by_phenomenon
from sentviz.data.demo import FAILURES
from sentviz.errors import SentvizError
from sentviz.figures.phenomena import MOST
from sentviz.figures.phenomena import phenomena as drawn
from sentviz.gallery import code, sourced
from sentviz.runs.store import Run

SHOWN = (*FAILURES, "plain")  # which have none of the three, to compare with


def show(runs: Sequence[Run]) -> None:
    """Accuracy of some runs on implicit, sarcastic and code-mixed sentences, with the sentences and each run's answers."""
    st.markdown("##### The three failure modes")
    st.caption(
        "The paper names implicit sentiment, sarcasm and code-mixed text (section VI) and gives no numbers. Here each is a group of 30"
        " sentences of our own, half of them negative, and plain ones stand beside them: too few to rank runs that are close."
    )
    names = [name for name, run in cache.models().items() if cache.fits_demo(run)]
    if not names:
        st.info("No run with weights that reads English sentences is here.", icon=":material/inventory_2:")
        return
    mine = [name for name in names if name.split("/")[-1].startswith("sentiformer")]
    chosen = st.multiselect("Runs", names, (mine or names)[:3], key="failure-runs", max_selections=MOST, label_visibility="collapsed")
    if not chosen:
        st.caption("Choose at least one run.")
        return
    try:
        rows = {name: cache.demo_rows(cache.run(name), SHOWN) for name in chosen}
        frame = accuracy_by_phenomenon(rows, sided=True)
    except SentvizError as error:
        st.warning(md(str(error)), icon=":material/block:")
        return
    part = frame[frame["phenomenon"].isin(SHOWN)]
    sources = [cache.run(name) for name in chosen]
    show_drawn(
        lambda theme: sourced(drawn(part, sided=True, theme=theme), *sources, rows=rows[chosen[0]]),
        "failures",
        code=code(chosen[0], "phenomena", versus=tuple(chosen[1:]), only=SHOWN, sided=True),
    )
    with st.expander("The sentences, and what each run says"):
        kind = st.segmented_control(
            "Group", FAILURES, default=FAILURES[0], required=True, key="failure-group", label_visibility="collapsed"
        )
        some = {name: each.frame[each.frame["tag"] == kind].reset_index(drop=True) for name, each in rows.items()}
        first = rows[chosen[0]]
        table = pd.DataFrame({"text": some[chosen[0]]["text"], "gold": [first.classes[label] for label in some[chosen[0]]["label"]]})
        for name, each in rows.items():
            table[name] = [each.classes[answer] for answer in some[name]["predicted"]]
        st.dataframe(table, hide_index=True, height=320, column_config={"text": st.column_config.TextColumn(width="large")})
