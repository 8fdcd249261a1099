"""Who may ask the machine next, and what is loaded beside the page that stands."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from sentviz.serving.jobs import Turns


def visitor() -> str:
    """A name for whoever looks, for this visit."""
    context = get_script_run_ctx()
    return context.session_id if context else ""


def here(who: str) -> bool:
    """Whether the visitor of that name has not closed the page. One who comes back within the time for that asks anew."""
    return not who or not runtime.exists() or runtime.get_instance().is_active_session(who)


@st.cache_resource(show_spinner=False)
def turns(work: str) -> Turns:
    """The queue of all visitors for one kind of work that takes the machine."""
    return Turns()


@contextmanager
def turn(work: str = "model", *, long: bool = False) -> Iterator[Callable[[], None]]:
    """This visitor's turn at such work; the page says how many are before. Not to be asked for within a turn.

    The work calls what this yields between its steps: it ends there if its visitor has left, and long work lets others go first.
    """
    shown: list[Any] = []
    told: list[int] = []
    who = visitor()

    def say(before: int) -> None:
        _leave(who)
        if not shown:
            shown.append(st.empty())
        if told[-1:] != [before]:
            told.append(before)
            shown[0].caption(f":material/hourglass_empty: {before} before you")

    with turns(work).turn(who, say, long=long) as rest:

        def step() -> None:
            _leave(who)
            if long:
                rest()
                clear()

        def clear() -> None:
            if told:
                shown[0].empty()
                told.clear()

        clear()
        yield step


def _leave(who: str) -> None:
    """End this run of a page whose visitor has left."""
    if not here(who):
        st.stop()


def warming() -> bool:
    """Whether torch is still being loaded beside the page, which has asked nothing yet."""
    return not st.session_state.get("traces") and warm().is_alive() and not torch_is_here()


def torch_is_here() -> bool:
    """Whether the models' own module, and torch with it, is loaded."""
    return hasattr(sys.modules.get("sentviz.models.model"), "Model")


@st.cache_resource(show_spinner=False)
def warm() -> threading.Thread:
    """Load torch and then scikit-learn beside the standing page, once a process, so that nobody waits for them later."""

    def load() -> None:
        for name in ("sentviz.models.model", "sklearn.metrics"):  # with torch, with scipy's statistics
            import_module(name)

    thread = threading.Timer(0.5, load)
    thread.daemon = True
    thread.start()
    return thread
