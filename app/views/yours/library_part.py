"""The visitor's data sets in the library of this machine: save one, list them, open the runs that were trained on them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import cache, visit
from app.server.headers import own_machine
from app.text import md
from app.views.yours import training_part
from sentviz.data.datasets import datasets, is_own
from sentviz.data.understanding import Understood
from sentviz.data.user_datasets import store
from sentviz.errors import SentvizError

ADOPTED = "adopted"  # first part of the names of runs that were made of a model's folder


def save(file: str, understood: Understood | None, remarks: Sequence[str], default: str) -> None:
    """Draw the name and the button that saves an understood file as mine/NAME."""
    name = st.text_input("Name in your library", default, key=f"yours-name-{file}", width=220)
    if st.button("Save to my library", icon=":material/save:", key="yours-save", disabled=understood is None) and understood is not None:
        try:
            added = store(name, file, understood, remarks)
        except SentvizError as error:
            st.warning(md(str(error)), icon=":material/block:")
            return
        st.session_state["yours-saved"] = added.name
        st.rerun()


def saved() -> None:
    """List the data sets in the library, with the runs that were trained on them; only for a visitor on this machine."""
    if not own_machine(st.context.ip_address, st.context.headers):
        return
    if name := st.session_state.pop("yours-saved", ""):
        st.success(f"Saved as {md(name)}.", icon=":material/check:")
    frame = datasets()
    frame = frame[[is_own(name) for name in frame["name"]]]
    if frame.empty:
        return
    st.markdown("##### Your data sets")
    runs = {name: run for name, run in cache.runs().items() if is_own(str(run.config["data"]["name"]))}
    for row in frame.to_dict("records"):
        trained = [name for name, run in runs.items() if run.config["data"]["name"] == row["name"]]
        with st.container(border=True, gap="small"):
            st.markdown(f"**{md(row['name'])}** · {md(row['labels'])} · {md(row['splits'])}")
            for name in trained:
                with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                    st.markdown(f":material/network_node: {md(name)}", width="content")
                    _button(name, "Mistakes", "grid_view", "confusion", over="test")
                    _button(name, "Explore", "psychology_alt", "explore")
            training_part.offer(row["name"], trained)


def models() -> None:
    """List the models that were opened from folders; only for a visitor on this machine."""
    opened = [name for name in cache.runs() if name.startswith(f"{ADOPTED}/")]
    if not opened or not own_machine(st.context.ip_address, st.context.headers):
        return
    st.markdown("##### Your models")
    with st.container(horizontal=True, gap="small"):
        for name in opened:
            _button(name, name, "psychology_alt", "explore")


def _button(name: str, label: str, icon: str, page: str, **fields: str) -> None:
    """Draw a button that opens a run on a page."""
    if st.button(md(label), icon=f":material/{icon}:", key=f"yours-{page}-{name}", help=f"Open {md(name)}"):
        visit.go(run=name, **fields)
        st.switch_page({"explore": "views/sentence/explore.py", "confusion": "views/testset/confusion.py"}[page])
