"""Which two models are compared."""

from __future__ import annotations

import streamlit as st

from app import cache, visit
from sentviz.runs.store import Run


def pick(run: Run) -> Run:
    """The model in focus and the second one, chosen side by side; the page stops with a sentence where there is no second."""
    known, focus = cache.models(), visit.focus()
    others = [name for name in known if name != run.name]
    if not others:
        st.info("Two models are needed here, and only one run with weights was found. `sentviz train` makes another.")
        st.stop()
    second = next((name for name in focus.versus if name in others), None) or _default(run)

    def take_first() -> None:
        name = st.session_state["compare-first"]
        visit.go(run=name, versus=(second if second != name else run.name,), row=_kept_row(run, known[name]))

    def take_second() -> None:
        visit.go(versus=(st.session_state["compare-second"],))

    def swap() -> None:
        visit.go(run=second, versus=(run.name,), row=_kept_row(run, known[second]))

    st.session_state["compare-first"], st.session_state["compare-second"] = run.name, second
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="compare-runs"):
        st.selectbox("First", list(known), key="compare-first", on_change=take_first, width=280)
        st.button("Swap", icon=":material/swap_horiz:", key="compare-swap", on_click=swap, help="First becomes second")
        st.selectbox("Second", others, key="compare-second", on_change=take_second, width=280)
    return known[second]


def _default(run: Run) -> str:
    """The control with one map on the same data set, else another run of the data set, else the configuration on another one, else any."""
    data = run.config["data"]["name"]
    others = {name: other for name, other in cache.models().items() if name != run.name}
    same = {name: other for name, other in others.items() if other.config["data"]["name"] == data}
    for preset in ("vanilla-matched", "vanilla"):
        if named := next((name for name, other in same.items() if other.configuration == preset), None):
            return named
    alike = (name for name, other in others.items() if (other.configuration, other.labels) == (run.configuration, run.labels))
    return next(iter(same), "") or next(alike, "") or next(iter(others))


def _kept_row(old: Run, new: Run) -> str:
    """The row in focus where the new run's data set has it too."""
    row = visit.focus().row
    return row if old.config["data"]["name"] == new.config["data"]["name"] or row.startswith("demo-") else ""
