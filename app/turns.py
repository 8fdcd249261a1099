"""Who may ask the machine next, and what is loaded beside the page that stands."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import streamlit as st

from sentviz.background import Turns

__all__ = ["torch_is_here", "turn", "turns", "visitor", "warm", "warming"]


def visitor() -> str:
    """A name for whoever looks, for this visit."""
    who: str = st.session_state.setdefault("visitor", uuid.uuid4().hex)
    return who


@st.cache_resource(show_spinner=False)
def turns(work: str) -> Turns:
    """The queue of all visitors for one kind of work that takes the machine."""
    return Turns()


@contextmanager
def turn(work: str = "model") -> Iterator[None]:
    """This visitor's turn at such work; the page says how many are before. Not to be asked for within a turn."""
    shown: list[Any] = []

    def say(before: int) -> None:
        if not shown:
            shown.append(st.empty())
        shown[0].caption(f":material/hourglass_empty: {before} before you")

    with turns(work).turn(visitor(), say):
        if shown:
            shown[0].empty()
        yield


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
