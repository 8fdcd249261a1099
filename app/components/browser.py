"""The views of `sentviz.browser` on a page: one function draws them, the others read what the visitor did in them.

What the browser sends is untrusted, so that every reader checks types and ranges and returns nothing for a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from sentviz.browser import canvas, film, particles, points
from sentviz.browser.kit import front

FOLDERS = {"canvas": canvas.HERE, "particles": particles.HERE, "points": points.HERE, "through": film.HERE}
LEAST = {"pick": (0, -1, 0), "silence": (0, 0), "pin": (-1,)}  # smallest places: head -1 means all heads, token -1 unpins
MAX_CORNERS = 5_000  # corners of an outline
FARTHEST = 1e6  # largest coordinate of a click, in the plane's unit


def _component(name: str) -> Callable[..., Any]:
    html, css, js = front(FOLDERS[name], name)
    component: Callable[..., Any] = st.components.v2.component(name, html=html, css=css, js=js)
    return component


RENDER = {name: _component(name) for name in FOLDERS}


def draw(view: str, data: Mapping[str, Any], *, key: str, **on: Callable[[], None] | None) -> None:
    """Draw a view.

    Args:
        view: "canvas", "particles", "points" or "through".
        data: what the view shows, as `canvas_data`, `scene_data`, `points_data` and `through_data` of `sentviz.browser` return it.
        key: key of the component, by which the readers below find its answer.
        on: functions to call after an event of the view, by its name (canvas: pick, silence, pin; particles: token, point;
            points: outline, layer; through: row). With None the page runs again and nothing else happens.
    """
    RENDER[view](data=dict(data), key=key, **{f"on_{event}_change": callback or _rerun for event, callback in on.items()})


def _rerun() -> None:
    """Do nothing: Streamlit runs the script again after every event that has a callback."""


def _answer(key: str, event: str) -> Any:
    return (st.session_state.get(key) or {}).get(event)


def places(key: str, event: str, *sizes: int) -> tuple[int, ...] | None:
    """Return the places that a visitor picked, silenced or pinned on the canvas, each below its size; None if there are none.

    Head -1 stands for the mean of the heads, token -1 for no token.
    """
    answer = _answer(key, event)
    at = answer.get("at") if isinstance(answer, Mapping) else None
    if not isinstance(at, list) or len(at) != len(sizes) or any(type(i) is not int for i in at):
        return None
    return tuple(at) if all(low <= i < size for low, i, size in zip(LEAST[event], at, sizes, strict=True)) else None


@dataclass(frozen=True)
class Picked:
    """The token that a visitor clicked, and the layer that was shown at that time."""

    token: int
    layer: int


def picked_token(key: str, data: Mapping[str, Any]) -> Picked | None:
    """Return which of the drawn tokens was clicked; None if none was, or if the click was in another scene."""
    answer = _answer(key, "token")
    if not isinstance(answer, Mapping) or answer.get("id") != data["id"]:
        return None
    token, layer = answer.get("index"), answer.get("layer")
    if type(token) is not int or type(layer) is not int or not (0 <= token < len(data["words"]) and 0 <= layer <= data["layers"]):
        return None
    return Picked(token, layer)


def new_point(key: str) -> tuple[float, float] | None:
    """Return where a click added a token, in the plane's coordinates; None if no token was added."""
    answer = _answer(key, "point")
    if not isinstance(answer, list) or len(answer) != 2:
        return None
    if not all(type(part) in (int, float) and isfinite(part) and abs(part) < FARTHEST for part in answer):
        return None
    return float(answer[0]), float(answer[1])


def outline(key: str) -> tuple[str, int, npt.NDArray[np.float64]] | None:
    """Return picture, layer and corners (v, 2) of a new outline around points; v is 0 if the visitor removed the outline."""
    answer = _answer(key, "outline")
    if not isinstance(answer, Mapping):
        return None
    picture, layer, corners = answer.get("picture"), answer.get("layer"), answer.get("corners")
    if not isinstance(picture, str) or type(layer) is not int or layer < 0 or not isinstance(corners, list) or len(corners) > MAX_CORNERS:
        return None
    good = (isinstance(at, list) and len(at) == 2 and all(type(c) in (int, float) and isfinite(c) for c in at) for at in corners)
    return (picture, layer, np.array(corners, dtype=np.float64).reshape(-1, 2)) if all(good) else None


def wanted_layer(key: str, last: int) -> int | None:
    """Return the layer of points that a visitor chose, from 0 to `last`; None if none was chosen."""
    layer = _answer(key, "layer")
    return layer if type(layer) is int and 0 <= layer <= last else None


def wanted_row(key: str, ids: tuple[str, ...]) -> str:
    """Return the id of the row that a visitor clicked, one of `ids`; "" if none was clicked."""
    answer = _answer(key, "row")
    place = answer.get("row") if isinstance(answer, Mapping) else None
    return ids[place] if type(place) is int and 0 <= place < len(ids) else ""
