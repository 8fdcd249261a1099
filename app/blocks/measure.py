"""Missing measurements of a page: the command that makes them and, on the visitor's own machine, a button that does the same."""

from __future__ import annotations

import streamlit as st

from app import cache, visit
from app.blocks.get_data import offer
from app.places import Fit
from app.server.headers import own_machine
from app.server.queue import wait
from app.text import md
from sentviz.analysis.measurements import MEASUREMENTS, measure_run
from sentviz.runs.store import Run
from sentviz.serving.jobs import Job


def measured_run(fit: Fit, name: str) -> Run:
    """Return the run in focus, whose measurement the page shows; without the measurement offer it, and stop the page.

    Args:
        name: of `sentviz.analysis.measurements.MEASUREMENTS`.
    """
    run = cache.run(visit.focus().run)
    if fit.shows(run):
        return run
    able = cache.fitting(fit)[1]
    if not able:
        st.info(f"{md(run.name)} {fit.lacks}, and no other installed run can be shown here.", icon=":material/science:")
    else:
        lacking(run if run.name in able else cache.run(able[0]), name)
    st.stop()


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
        wait("measurement", key, f"The {kind.title} of {run.name}", lambda job: _measured(run, name, job), button="Measure them here")


def _measured(run: Run, name: str, job: Job) -> None:
    job.tick(0.0, "loading the model")
    measure_run(name, run, progress=lambda done, total: job.tick(done / max(total, 1), f"{done:,} of {total:,}"))
    cache.changed()
