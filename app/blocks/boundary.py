"""A part of a page that shows an error of the library in its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from app.text import with_code
from sentviz.errors import SentvizError
from sentviz.models.budget import Budget, Spent


@contextmanager
def boundary(name: str = "", *, quiet: bool = False, page: bool = False) -> Iterator[None]:
    """Show an error of the library as one sentence in place of the rest of the block, or of a function that this decorates.

    If only the computing time is over, a button goes on. A decorated function returns None after an error.

    Args:
        name: tells the buttons of a page apart.
        quiet: whether the sentence is a small remark.
        page: whether the page ends with the error.
    """
    try:
        yield
    except SentvizError as error:
        if quiet:
            st.caption(with_code(str(error)))
        else:
            st.warning(with_code(str(error)), icon=":material/hourglass_bottom:" if isinstance(error, Spent) else ":material/block:")
        if isinstance(error, Spent):
            go_on(error.budget, name)
        if page:
            st.stop()


def go_on(budget: Budget, name: str) -> None:
    """Draw the button that gives a search more time; `name` tells the buttons of a page apart."""
    label = f"Go on for {budget.more:.0f} seconds"
    help = "What was computed until now is kept. Other visitors' answers go first."
    st.button(label, icon=":material/play_arrow:", key=f"go-on-{name}", on_click=budget.extend, help=help)
