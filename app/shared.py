"""Results that are computed once: for all visitors or, of rows in a visitor's own file, for that visit only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

import pandas as pd
import streamlit as st

from app.server.queue import turn
from app.visit import keep_result
from sentviz.analysis.testset.rows import Rows
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run

P = ParamSpec("P")
R = TypeVar("R")


def run_key(run: Run) -> str:
    """Return what a result of a run depends on. The digest covers the epoch of its weights and the number of tokens that it reads."""
    return f"{run.name} {run.digest}"


def rows_key(rows: Rows) -> str:
    """Return what a result of rows depends on: the digest of the table, and everything else that is known of the rows."""
    return f"{rows.digest} {replace(rows, frame=pd.DataFrame(), source=replace(rows.source, run=None))}"


KEYS: dict[str | type, Callable[[Any], object]] = {
    Run: run_key,
    "sentviz.models.in_memory.OpenModel": run_key,  # The module loads torch, so the class is named.
    Rows: rows_key,
    Studied: lambda of: (of.paper, of.dataset, key_of(list(of.runs))),
    FunctionType: lambda function: f"{function.__module__} {function.__qualname__}",
}
"""The keys of the arguments that Streamlit cannot hash, by exact type."""


def key_of(argument: Any) -> Any:
    """Return the key of an argument for the results of one visit; lists and tuples have one key for each item."""
    if isinstance(argument, list | tuple):
        return tuple(map(key_of, argument))
    return KEYS[type(argument)](argument) if type(argument) in KEYS else argument


KEYS[list] = lambda argument: repr(key_of(argument))  # Streamlit takes long to hash hundreds of runs one by one


def is_own(argument: Any) -> bool:
    """Return whether an argument is, or contains, rows of a visitor's own file."""
    return any(map(is_own, argument)) if isinstance(argument, list | tuple) else isinstance(argument, Rows) and argument.over == "mine"


class Once(Generic[P, R]):
    """A function whose result is computed once for the same arguments; see `once`."""

    def __init__(self, make: Callable[P, R], most: int, own: int, spinner: str, ttl: float | None) -> None:
        self._make: Callable[..., R] = make
        self._own, self._spinner = own, spinner
        self._name = f"{make.__code__.co_filename} {make.__qualname__}"  # pages are all called __main__
        self._signature = signature(make)
        self._is_slow = "step" in self._signature.parameters
        self._shared = st.cache_resource(max_entries=most, ttl=ttl, show_spinner=spinner or False, hash_funcs=KEYS)(make)

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        """Return the result, computed if there is none for these arguments."""
        arguments = self._signature.bind_partial(*args, **named).arguments
        # No result depends on what begins with "_". An unreadable run raises its error here, before Streamlit hides it.
        key = key_of([value for name, value in arguments.items() if not name.startswith("_")])
        if not is_own([*args, *named.values()]):
            shared: R = self._shared(*args, **named)
            return shared

        def alone() -> R:
            if not self._is_slow:
                return self._make(*args, **named)
            with st.spinner(self._spinner), turn(long=True) as step:
                return self._make(*args, **named, step=step)

        return keep_result(self._name, key, alone, most=self._own)

    def clear(self) -> None:
        """Delete the results that all visitors share."""
        self._shared.clear()


def once(most: int, spinner: str = "", *, own: int = 1, ttl: float | None = None) -> Callable[[Callable[P, R]], Once[P, R]]:
    """Decorate a function whose result is computed once for the same arguments.

    All visitors share the result, so nobody may change it. If an argument holds rows of a visitor's own file, the result is stored for that
    visit only. A function with a parameter `step` is slow: for a visitor's own rows it waits for its turn, and calls `step` between its
    steps. Arguments whose names begin with "_" are not part of the key, so the others must decide the result.

    Args:
        most, own: results that are stored for all visitors, and for one visit. The oldest is deleted first.
        spinner: what the page says while the result is computed; "" shows nothing.
        ttl: seconds after which a shared result is computed again.
    """
    return lambda make: Once(make, most, own, spinner, ttl)
