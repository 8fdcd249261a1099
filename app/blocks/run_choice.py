"""Choosing the runs that a training page overlays."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import visit
from app.text import md, name_runs
from sentviz.runs.catalog import faults
from sentviz.runs.store import Run


def several(fitting: Sequence[Run], what: str) -> list[Run]:
    """Draw the choice of runs and return the chosen ones, at first the run in focus and its companions; stop the page if none fits."""
    names = [run.name for run in fitting]
    if not names:
        st.info(
            f"No run here has {what}. `sentviz train sst2 --model ndt-unit-2` trains one.",
            icon=":material/inventory_2:",
        )
        st.stop()
    focus = visit.focus()
    wanted = [name for name in dict.fromkeys((focus.run, *focus.versus)) if name in names]
    if focus.run not in names:
        st.caption(f"{md(focus.run)} has no {what.removeprefix('a ')}; others are shown.")

    def take() -> None:
        picked = st.session_state["several"] or [focus.run if focus.run in names else names[0]]
        keep = focus.run if focus.run in picked or focus.run not in names else picked[0]
        visit.go(run=keep, versus=tuple(name for name in picked if name != keep))

    st.session_state["several"] = wanted or names[:1]
    st.multiselect("Runs", names, key="several", on_change=take, label_visibility="collapsed")
    chosen = readable([run for run in fitting if run.name in st.session_state["several"]], "history.parquet")
    name_runs(*(run.name for run in chosen))
    return chosen


def readable(runs: Sequence[Run], *files: str) -> list[Run]:
    """Return the runs whose files can be read; show what is wrong with the others, and stop the page if none is left."""
    wrong = faults(runs, files)
    for reason in wrong.values():
        st.warning(md(f"Left out: {reason}"), icon=":material/broken_image:")
    if sound := [run for run in runs if run.name not in wrong]:
        return sound
    st.stop()
