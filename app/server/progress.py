"""Background work of a page: its progress bar, its stop button, and a new run of the page once the work is over."""

from __future__ import annotations

import streamlit as st

from app.server import queue
from app.text import md
from sentviz.serving.jobs import Job, Jobs, Work


def time_left(seconds: float) -> str:
    """Return a time in words, rounded so that it does not jump: to 5 seconds below a minute, otherwise to minutes."""
    if seconds < 55:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def wait(jobs: Jobs, key: str, title: str, work: Work, *, button: str = "", icon: str = ":material/play_arrow:", place: str = "") -> bool:
    """Start a job for this visitor, or continue to wait for it; return True until the job is over.

    Args:
        button: the label of a button that starts it; without one it starts at once.
        place: tells the places of a page apart that wait for the same job.
    """
    who, job = queue.visitor(), jobs.get(key)
    stopped: set[str] = st.session_state.setdefault("stopped", set())
    if job is not None and job.state == "failed":
        st.warning(md(job.error), icon=":material/block:")
    elif job is not None and job.state == "stopped" and job.error:
        st.info(md(job.error), icon=":material/info:")
    if job is not None and key in stopped and _is_stopping(job):
        _watch(jobs, key, job, who, place)
        return True
    if key in stopped or (job is not None and job.state == "failed") or (button and (job is None or job.is_over)):
        st.button(button or f"Compute {title}", key=f"again-{key}{place}", icon=icon, on_click=_again, args=(jobs, key, title, work, who))
        return False
    _watch(jobs, key, jobs.start(key, title, work, who), who, place)
    return True


def _again(jobs: Jobs, key: str, title: str, work: Work, who: str) -> None:
    st.session_state["stopped"].discard(key)
    jobs.start(key, title, work, who, again=True)


def _stop(jobs: Jobs, key: str, who: str) -> None:
    st.session_state["stopped"].add(key)
    jobs.leave(key, who)


def _is_stopping(job: Job) -> bool:
    """Return whether a job is told to stop and still stores its work."""
    return job.stop.is_set() and not job.is_over


@st.fragment(run_every=0.5)
def _watch(jobs: Jobs, key: str, job: Job, who: str, place: str) -> None:
    """Draw a progress bar that moves without the page, and run the page again when the job is over, or goes on for others only."""
    is_left = key in st.session_state["stopped"]
    if job.is_over or (is_left and not _is_stopping(job)):
        st.rerun()
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.progress(job.share, f"{job.title}: {job.doing}")
        if is_left:
            return
        st.button("Stop", key=f"stop-{key}{place}", icon=":material/stop:", on_click=_stop, args=(jobs, key, who))
