"""One attention map on a canvas: zoom, pan, search, and a click that Python hears."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from sentviz.analysis.maps.coarse_map import Packed, Units, WindowVisibility, payload
from sentviz.browser.kit import front
from sentviz.charts import palette
from sentviz.charts.text import visible

__all__ = ["Layer", "Picked", "attention_map", "content", "picked"]

LABEL = 160  # characters; sentences are cut

Layer = tuple[Packed, int, int, int]
"""A packed map, the unit of its first row, of its first column, and units a side of each of its cells."""


_HTML, _CSS, _JS = front(Path(__file__).parent, "map")
_RENDER = st.components.v2.component("attention_map", html=_HTML, css=_CSS, js=_JS)


@dataclass(frozen=True)
class Picked:
    """The click of a visitor in the map that is shown now."""

    cell: tuple[int, int] | None = None  # query unit, key unit
    window: tuple[int, int, int, int] | None = None  # top, bottom, left, right: the part of an overview to be sent exactly


def content(
    units: Units, layers: Sequence[Layer], title: str, mark: tuple[int, int] | None = None, sight: WindowVisibility | None = None
) -> bytes:
    """Return the bytes for the browser. The text of tokens in them is data, which the browser only draws or sets as text."""
    looks = {theme: palette(theme) for theme in ("light", "dark")}
    head = {
        "id": _identity(units),
        "kind": units.kind,
        "title": title,
        "mark": mark,
        "sight": None if sight is None else {name: getattr(sight, name).tolist() for name in ("low", "high", "everywhere")},
        "labels": [visible(label if len(label) <= LABEL else f"{label[: LABEL - 1]}…") for label in units.labels],
        "palettes": {theme: {"sequential": look.sequential, "signed": look.signed} for theme, look in looks.items()},
    }
    return payload(head, layers)


def picked(units: Units, key: str) -> Picked:
    """Return the pick before this run of the script; an empty one if the click was in a map of other units."""
    return _picked(st.session_state.get(key) or {}, units)


def attention_map(
    units: Units,
    layers: Sequence[Layer],
    *,
    title: str,
    key: str,
    mark: tuple[int, int] | None = None,
    sight: WindowVisibility | None = None,
) -> Picked:
    """Draw a map and return the pick.

    Args:
        units: the tokens, words or sentences on both sides.
        layers: the map; for a long text the overview first, then exact tiles.
        title: name of the map for a screen reader.
        key: Streamlit's key.
        mark: a cell (query unit, key unit) that is outlined as long as none is picked.
        sight: what a window lets each unit see, drawn as edges, and units that all see, drawn as columns.
    """
    data = content(units, layers, title, mark, sight)
    return _picked(_RENDER(data=data, key=key, on_cell_change=_rerun, on_window_change=_rerun), units)


def _rerun() -> None:
    """Do nothing: Streamlit runs the script again after every pick."""


def _identity(units: Units) -> str:
    words = "\0".join((units.kind, *units.labels)).encode("utf-8", "replace")
    return hashlib.blake2b(words, digest_size=8).hexdigest()


def _picked(state: Mapping[str, Any], units: Units) -> Picked:
    """Return the browser's answer after a check of its types and ranges, because it is untrusted."""
    places = {}
    for name, count in (("cell", 2), ("window", 4)):
        answer = state.get(name)
        if isinstance(answer, Mapping) and answer.get("id") == _identity(units):
            at = answer.get("at")
            if isinstance(at, list) and len(at) == count and all(type(i) is int and 0 <= i <= len(units) for i in at):
                places[name] = tuple(at)
    cell, window = places.get("cell"), places.get("window")
    return Picked(
        (cell[0], cell[1]) if cell and max(cell) < len(units) else None,
        (window[0], window[1], window[2], window[3]) if window and window[0] < window[1] and window[2] < window[3] else None,
    )
