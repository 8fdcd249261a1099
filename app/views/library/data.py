"""The data sets: which are installed, what they contain, and how to get the others."""

from __future__ import annotations

import streamlit as st

from app.blocks.get_data import offer
from app.text import intro, md
from sentviz.data import datasets

intro(
    "Every data set that sentviz knows: which ones are on this machine, and how to get the others.",
    "Texts stay on this machine. sentviz ships without texts, and runs contain only ids and numbers.",
)
frame = datasets.datasets()
st.dataframe(
    frame[["available", "name", "title", "language", "labels", "splits"]],
    hide_index=True,
    placeholder="–",
    column_config={"available": st.column_config.CheckboxColumn("installed")},
)
names = list(frame["name"])
name = st.selectbox("Data set", names, key="data-name", label_visibility="collapsed", width=320)
info = datasets.info(name)
st.markdown(f"##### {md(info.title)}")
st.markdown(md(f"{info.remark} Licence: {info.licence}. {info.citation}."))
if offer(name):
    st.caption(":material/check: All its files are on this machine.")
