"""Rows as points that travel from layer to layer, and what a visitor does with them, which Python hears."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from sentviz.browser.kit import front
from sentviz.browser.points import HERE

_HTML, _CSS, _JS = front(HERE, "points")
_RENDER = st.components.v2.component("points", html=_HTML, css=_CSS, js=_JS)
MOST = 5_000  # corners of an outline


def points(data: Mapping[str, Any], *, key: str, on_outline: Callable[[], None], on_layer: Callable[[], None]) -> None:
    """Draw the points.

    Args:
        data: as `sentviz.browser.points.points_data` gives it.
        key: Streamlit's key.
        on_outline: called where an outline was drawn or taken away; `drawn` says which. on_layer: where another layer is shown or asked
            for; `asked_layer` says which.
    """
    _RENDER(data=dict(data), key=key, on_outline_change=on_outline, on_layer_change=on_layer)


def drawn(key: str) -> tuple[str, int, npt.NDArray[np.float64]] | None:
    """The picture and layer in which something was drawn just now, and its corners (v, 2), none where it was taken away.

    The browser's answer is checked, for it comes from outside.
    """
    given = (st.session_state.get(key) or {}).get("outline")
    if not isinstance(given, Mapping):
        return None
    picture, layer, corners = given.get("picture"), given.get("layer"), given.get("corners")
    if not isinstance(picture, str) or type(layer) is not int or layer < 0 or not isinstance(corners, list) or len(corners) > MOST:
        return None
    good = (isinstance(at, list) and len(at) == 2 and all(type(c) in (int, float) and isfinite(c) for c in at) for at in corners)
    return (picture, layer, np.array(corners, dtype=np.float64).reshape(-1, 2)) if all(good) else None


def asked_layer(key: str, last: int) -> int | None:
    """The layer that was asked for just now, 0 to `last`; None where no layer was."""
    given = (st.session_state.get(key) or {}).get("layer")
    return given if type(given) is int and 0 <= given <= last else None
