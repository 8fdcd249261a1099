"""The data sets: which are installed, what they contain, and how to get the others."""

from __future__ import annotations

import streamlit as st

from app.blocks.get_data import offer
from app.text import halves, intro, md
from sentviz.data import datasets

intro(
    "Every data set that sentviz knows: which ones are on this machine, and how to get the others.",
    "Texts stay on this machine. sentviz ships without texts, and runs contain only ids and numbers.",
)
frame = datasets.datasets()
table, chosen = halves("data", 1.4, 1.0)


def take() -> None:
    if rows := st.session_state["data-table"]["selection"]["rows"]:
        st.session_state["data-chosen"] = frame["name"].iloc[rows[0]]


with table:
    st.dataframe(
        frame[["name", "title", "language"]].assign(installed=["✓" if is_installed else "" for is_installed in frame["available"]]),
        hide_index=True,
        height=min(38 + 35 * len(frame), 640),
        key="data-table",
        on_select=take,
        selection_mode="single-row",
        column_config={"title": st.column_config.TextColumn(width=330)},
    )
    st.caption("Select a row to read about a data set, and to get it.")
with chosen:
    chosen_rows = frame[frame["name"] == st.session_state.get("data-chosen", "")]  # none for a data set that is gone
    row = (chosen_rows if len(chosen_rows) else frame).iloc[0]
    info = datasets.info(row["name"])
    st.markdown(f"##### {md(info.title)}")
    st.markdown(md(f"{info.remark} Licence: {info.licence}. {info.citation}."))
    st.markdown(f"**Labels**: {md(row['labels'])}  \n**Rows**: {md(row['splits'])}")
    if offer(row["name"]):
        st.caption(":material/check: All its files are on this machine.")
