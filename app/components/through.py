"""A training run on one slider, and the row that a visitor asks to follow, which Python hears."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from sentviz.browser.film import HERE
from sentviz.browser.kit import front

_HTML, _CSS, _JS = front(HERE, "through")
_RENDER = st.components.v2.component("through", html=_HTML, css=_CSS, js=_JS)


def through(data: Mapping[str, Any], *, key: str, on_row: Callable[[], None]) -> None:
    """Draw the epochs.

    Args:
        data: as `sentviz.browser.film.through_data` gives it.
        key: Streamlit's key.
        on_row: called where a row is to be followed; `asked_row` says which.
    """
    _RENDER(data=dict(data), key=key, on_row_change=on_row)


def asked_row(key: str, ids: tuple[str, ...]) -> str:
    """The id of the row that was asked for just now, one of these; empty where none was. The browser's answer comes from outside."""
    given = (st.session_state.get(key) or {}).get("row")
    place = given.get("row") if isinstance(given, Mapping) else None
    return ids[place] if type(place) is int and 0 <= place < len(ids) else ""
