"""Tokens that move from layer to layer on a canvas, and a click that Python hears."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import streamlit as st

from sentviz.browser.kit import front
from sentviz.browser.particles import HERE

_HTML, _CSS, _JS = front(HERE, "particles")
_RENDER = st.components.v2.component("particles", html=_HTML, css=_CSS, js=_JS)


@dataclass(frozen=True)
class Picked:
    """The token that was clicked, and the layer that was shown then."""

    token: int
    layer: int


def particles(data: Mapping[str, Any], *, key: str, on_point: Callable[[], None] | None = None) -> Picked | None:
    """Draw a scene, and say which token was picked, if any.

    Args:
        data: as `sentviz.browser.particles.scene_data` gives it.
        key: Streamlit's key.
        on_point: called where a click asks for another token; `put` says where.
    """
    _RENDER(data=dict(data), key=key, on_token_change=_rerun, on_point_change=on_point or _rerun)
    return picked(key, data)


def picked(key: str, data: Mapping[str, Any]) -> Picked | None:
    """What was picked of these tokens; the browser's answer is checked, for it comes from outside."""
    given = (st.session_state.get(key) or {}).get("token")
    if not isinstance(given, Mapping) or given.get("id") != data["id"]:
        return None
    token, layer = given.get("index"), given.get("layer")
    if type(token) is not int or type(layer) is not int or not (0 <= token < len(data["words"]) and 0 <= layer <= data["layers"]):
        return None
    return Picked(token, layer)


def put(key: str) -> tuple[float, float] | None:
    """Where a click asked for another token just now, in the plane's coordinates."""
    given = (st.session_state.get(key) or {}).get("point")
    if not isinstance(given, list) or len(given) != 2:
        return None
    if not all(type(part) in (int, float) and isfinite(part) and abs(part) < 1e6 for part in given):
        return None
    return float(given[0]), float(given[1])


def _rerun() -> None:
    """A pick runs the script again, and that is all."""
