"""The visitor's data sets in the library of this machine: save one, list them, open the runs that were trained on them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import cache, visit
from app.server.headers import own_machine
from app.text import md
from sentviz.data.datasets import datasets, is_own
from sentviz.data.mine import store
from sentviz.data.understanding import Understood
from sentviz.errors import SentvizError


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
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.markdown(f"**{md(row['name'])}** · {md(row['labels'])} · {md(row['splits'])}", width="content")
            for name in trained:
                if st.button(md(name), icon=":material/psychology_alt:", key=f"yours-open-{name}", help="Open this run in Explore"):
                    visit.go(run=name)
                    st.switch_page("views/sentence/explore.py")
            if not trained:
                st.caption(f"No run is trained on it yet: `sentviz train {row['name']}` trains one.", width="content")
