"""A sentence as one linked picture; a head that is to be shown large, or silenced, is what Python hears."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from sentviz.canvas import HERE
from sentviz.kit import front

__all__ = ["canvas", "chosen"]

_HTML, _CSS, _JS = front(HERE, "canvas")
_RENDER = st.components.v2.component("canvas", html=_HTML, css=_CSS, js=_JS)


def canvas(data: Mapping[str, Any], *, key: str, on_pick: Callable[[], None], on_silence: Callable[[], None]) -> None:
    """Draw a sentence.

    Args:
        data: as `sentviz.canvas.canvas_data` gives it.
        key: Streamlit's key.
        on_pick: called where a map is chosen, on_silence: where a head is to be silenced or let speak; `chosen` says which.
    """
    _RENDER(data=dict(data), key=key, on_pick_change=on_pick, on_silence_change=on_silence)


def chosen(key: str, name: str, *sizes: int) -> tuple[int, ...] | None:
    """The places that were picked or silenced just now, each below its size; None where there are none. A head of -1 is the mean.

    The browser's answer comes from outside.
    """
    given = (st.session_state.get(key) or {}).get(name)
    at = given.get("at") if isinstance(given, Mapping) else None
    if not isinstance(at, list) or len(at) != len(sizes) or any(type(i) is not int for i in at):
        return None
    least = [-1 if axis == 1 and name == "pick" else 0 for axis in range(len(at))]
    return tuple(at) if all(low <= i < size for low, i, size in zip(least, at, sizes, strict=True)) else None
