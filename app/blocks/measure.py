"""Missing measurements of a page: the command that makes them and, on the visitor's own machine, a button that does the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app import cache, visit
from app.blocks.get_data import offer
from app.blocks.run_choice import fitting_run, option, picker_row
from app.server.headers import own_machine
from app.server.queue import wait
from app.text import md
from sentviz.analysis.measurements import MEASUREMENTS, measure_run
from sentviz.runs.store import Run
from sentviz.serving.jobs import Job, Jobs


@st.cache_resource(show_spinner=False)
def _jobs() -> Jobs:
    return Jobs(at_once=1)


def measured_run(fitting: Sequence[Run], able: Sequence[Run], name: str, lack: str) -> Run:
    """Draw the choice of a run among those with a measurement, and return the chosen one; offer to measure others.

    If no run has the measurement, show how to make it, and stop the page.

    Args:
        fitting: runs with the measurement. able: runs that can have it, measured or not.
        name: of `sentviz.analysis.measurements.MEASUREMENTS`.
        lack: why a run can never have it, for example "has one component".
    """
    names = {run.name for run in fitting}
    unmeasured = {run.name: run for run in able if run.name not in names and run.has_weights}
    focused = cache.run(visit.focus().run)
    if not fitting:
        lacking(unmeasured.get(focused.name) or next(iter(unmeasured.values()), focused), name)
        st.stop()
    kind = MEASUREMENTS[name]
    advice = f"`sentviz {name} {focused.name}` measures them." if focused.name in unmeasured else ""
    row = picker_row()
    run = fitting_run(fitting, f"has no measured {kind.title}" if focused in able else lack, advice=advice, row=row)
    if unmeasured:
        popover: dict[str, Any] = {"icon": ":material/science:", "type": "tertiary", "on_change": "rerun", "key": f"measure-{name}"}
        with row.popover("Measure another run", **popover) as more:
            if more.open:
                first = list(unmeasured).index(focused.name) if focused.name in unmeasured else 0
                chosen = st.selectbox(
                    "Run", list(unmeasured), first, format_func=option, key=f"measure-{name}-run", width=420, label_visibility="collapsed"
                )
                lacking(unmeasured[chosen], name)
    return run


def lacking(run: Run, name: str) -> None:
    """Show that a run lacks a measurement, and how to make it: with a command, or here once its rows are available.

    The page reruns when the measurement is stored.

    Args:
        name: of `sentviz.analysis.measurements.MEASUREMENTS`.
    """
    kind = MEASUREMENTS[name]
    if not run.has_weights:
        message = (
            f"The {kind.title} of {md(run.name)} are not measured and cannot be measured, because the run ships without its weights."
            " Choose another run."
        )
        st.info(message, icon=":material/science:")
        return
    message = f"The {kind.title} of {md(run.name)} are not measured yet: `sentviz {name} {run.name}` measures them."
    st.info(message, icon=":material/science:")
    if own_machine(st.context.ip_address, st.context.headers) and offer(run.config["data"]["name"], kind.split, place=name):
        key = f"{name} {run.name} {run.digest}"
        wait(_jobs(), key, f"The {kind.title} of {run.name}", lambda job: _measured(run, name, job), button="Measure them here")


def _measured(run: Run, name: str, job: Job) -> None:
    job.tick(0.0, "loading the model")
    measure_run(name, run, progress=lambda done, total: job.tick(done / max(total, 1), f"{done:,} of {total:,}"))
    cache.changed()
