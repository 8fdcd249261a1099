"""A sentence as one linked picture; a head that is to be shown large or silenced, and a word that is pinned, are what Python hears."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from sentviz.browser.canvas import HERE
from sentviz.browser.kit import front

_HTML, _CSS, _JS = front(HERE, "canvas")
_RENDER = st.components.v2.component("canvas", html=_HTML, css=_CSS, js=_JS)


LEAST = {"pick": (0, -1, 0), "silence": (0, 0), "pin": (-1,)}


def canvas(
    data: Mapping[str, Any], *, key: str, on_pick: Callable[[], None], on_silence: Callable[[], None], on_pin: Callable[[], None]
) -> None:
    """Draw a sentence.

    Args:
        data: as `sentviz.browser.canvas.canvas_data` gives it.
        key: Streamlit's key.
        on_pick: called where a map is chosen, on_silence: where a head is to be silenced or let speak, on_pin: where a token is pinned or
            let go; `chosen` says which.
    """
    _RENDER(data=dict(data), key=key, on_pick_change=on_pick, on_silence_change=on_silence, on_pin_change=on_pin)


def chosen(key: str, name: str, *sizes: int) -> tuple[int, ...] | None:
    """The places that were picked, silenced or pinned just now, each below its size; None where there are none.

    A head of -1 is the mean, a token of -1 none.

    The browser's answer comes from outside.
    """
    given = (st.session_state.get(key) or {}).get(name)
    at = given.get("at") if isinstance(given, Mapping) else None
    if not isinstance(at, list) or len(at) != len(sizes) or any(type(i) is not int for i in at):
        return None
    return tuple(at) if all(low <= i < size for low, i, size in zip(LEAST[name], at, sizes, strict=True)) else None
