"""Queue for heavy work, one piece per visitor, and background loading of torch and scikit-learn.

`wait` shows background work on a page: its progress bar, its stop button, and a new run of the page once the work is over.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.text import md
from sentviz.models.budget import Budget
from sentviz.serving.jobs import Job, Jobs, Turns, Work

JobKind = Literal["behaviour", "data", "exact", "measurement", "model", "pictures", "proposition", "training"]
PARALLEL: tuple[JobKind, ...] = ("data", "pictures")  # Two such jobs run at a time; of the other kinds, one.
ATTENDED: tuple[JobKind, ...] = ("exact", "pictures", "proposition")  # Such a job ends when nobody who waits for it is connected any more.


def visitor() -> str:
    """Return the id of this visit; "" outside a session."""
    context = get_script_run_ctx()
    return context.session_id if context else ""


def is_present(who: str) -> bool:
    """Return whether the visit `who` is still open. A visitor who returns in time starts the work again."""
    return not who or not runtime.exists() or runtime.get_instance().is_active_session(who)


@st.cache_resource(show_spinner=False)
def turns(work: str) -> Turns:
    """Return the queue of all visitors for one kind of heavy work."""
    return Turns()


@contextmanager
def turn(work: str = "model", *, long: bool = False, budget: Budget | None = None) -> Iterator[Callable[[], None]]:
    """Wait for this visitor's turn; the page shows how many visitors are before. A turn must not begin inside another turn.

    Yields a function that the work calls between its steps. At the end of each slice of `sentviz.models.budget`, it ends the work if the
    visitor has left, and lets others go first if the work is long.

    Args:
        long: whether the work takes longer than the prediction for one text. Answers never wait for long work.
        budget: limits the time of the work, which then ends with `Spent`.
    """
    slots: list[Any] = []
    reported: list[int] = []
    who, budget, begun = visitor(), budget or Budget(), False

    def report(before: int) -> None:
        _leave(who)
        if begun:  # A line that comes and goes between slices would move the page.
            return
        if not slots:
            slots.append(st.empty())
        if reported[-1:] != [before]:
            reported.append(before)
            slots[0].caption(f":material/hourglass_empty: {before} before you")

    with turns(work).turn(who, report, long=long, used=lambda: budget.used) as rest:
        begun = True
        if slots:
            slots[0].empty()

        def pause() -> None:
            _leave(who)
            if long:
                rest()

        with budget.working(pause) as step:
            yield step


@contextmanager
def giving_way(job: Job) -> Iterator[Callable[[], None]]:
    """Let a job compute with a model like long work of a visitor: yield the function that it calls between its steps."""
    budget = Budget()

    def look(before: int = 0) -> None:
        job.tick(job.share, job.doing)

    with turns("model").turn("", look, long=True, used=lambda: budget.used) as rest:

        def pause() -> None:
            look()
            rest()

        with budget.working(pause) as step:
            yield step


def _leave(who: str) -> None:
    """End this run of the page if its visitor has left, or has asked for another run meanwhile."""
    if not is_present(who):
        st.stop()
    if who:
        st.session_state.get("traces")  # reading the state, Streamlit ends a run that is no longer wanted


def is_preloading() -> bool:
    """Return whether torch is still being loaded in the background and this visit has traced no sentence yet."""
    return not st.session_state.get("traces") and preload().is_alive() and not is_torch_loaded()


def is_torch_loaded() -> bool:
    """Return whether the module of the models, and torch with it, is loaded."""
    return hasattr(sys.modules.get("sentviz.models.model"), "Model")


@st.cache_resource(show_spinner=False)
def preload() -> threading.Thread:
    """Load torch and then scikit-learn in the background, once per process, so that nobody waits for them later."""

    def load() -> None:
        for name in ("sentviz.models.model", "sklearn.metrics"):  # with torch, with scipy's statistics
            import_module(name)

    thread = threading.Timer(0.5, load)
    thread.daemon = True
    thread.start()
    return thread


def time_left(seconds: float) -> str:
    """Return a time in words, rounded so that it does not jump: to 5 seconds below a minute, otherwise to minutes."""
    if seconds < 55:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


@st.cache_resource(show_spinner=False)
def jobs(kind: JobKind) -> Jobs:
    """Return the background jobs of one kind, which all visitors share by key."""
    return Jobs(at_once=2 if kind in PARALLEL else 1, is_waiting=is_present if kind in ATTENDED else lambda who: True)


def finished(kind: JobKind, key: str) -> Any:
    """Return the result of a job; None until it is done."""
    job = jobs(kind).get(key)
    return job.result if job is not None and job.state == "done" else None


def wait(
    kind: JobKind, key: str, title: str, work: Work, *, button: str = "", icon: str = ":material/play_arrow:", place: str = ""
) -> bool:
    """Start a job for this visitor, or continue to wait for it; return True until the job is over.

    Args:
        button: the label of a button that starts it; without one it starts at once.
        place: tells the places of a page apart that wait for the same job.
    """
    who, job = visitor(), jobs(kind).get(key)
    stopped: set[str] = st.session_state.setdefault("stopped", set())
    if job is not None and job.state == "failed":
        st.warning(md(job.error), icon=":material/block:")
    elif job is not None and job.state == "stopped" and job.error:
        st.info(md(job.error), icon=":material/info:")
    if job is not None and key in stopped and _is_stopping(job):
        _watch(kind, key, job, who, place)
        return True
    if key in stopped or (job is not None and job.state == "failed") or (button and (job is None or job.is_over)):
        st.button(button or f"Compute {title}", key=f"again-{key}{place}", icon=icon, on_click=_again, args=(kind, key, title, work, who))
        return False
    _watch(kind, key, jobs(kind).start(key, title, work, who), who, place)
    return True


def _again(kind: JobKind, key: str, title: str, work: Work, who: str) -> None:
    st.session_state["stopped"].discard(key)
    jobs(kind).start(key, title, work, who, again=True)


def _stop(kind: JobKind, key: str, who: str) -> None:
    st.session_state["stopped"].add(key)
    jobs(kind).leave(key, who)


def _is_stopping(job: Job) -> bool:
    """Return whether a job is told to stop and still stores its work."""
    return job.stop.is_set() and not job.is_over


@st.fragment(run_every=0.5)
def _watch(kind: JobKind, key: str, job: Job, who: str, place: str) -> None:
    """Draw a progress bar that moves without the page, and run the page again when the job is over, or goes on for others only."""
    is_left = key in st.session_state["stopped"]
    if job.is_over or (is_left and not _is_stopping(job)):
        st.rerun()
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.progress(job.share, f"{job.title}: {job.doing}")
        if is_left:
            return
        st.button("Stop", key=f"stop-{key}{place}", icon=":material/stop:", on_click=_stop, args=(kind, key, who))
