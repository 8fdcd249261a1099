"""The long map on its page: its units, its limit, and what the browser sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from app.components.attention_map import Picked, content, picked
from sentviz.analysis.maps.coarse_map import map_of_trace, pack, tile, units
from tests.kit import fake_trace, opened, sane


def test_units_follow_their_control_and_beyond_the_limit_blocks_are_shown(tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says how sentences are combined; above the limit, averages are shown, and no cell is called the strongest."""
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))
    view = {"run": "toy/ndt-unit-2", "look": "long", "text": "a warm, clever song! a dull soup. I say"}
    app = opened("attention", **view)
    assert "The strongest" in sane(app)
    app.button_group(key="map-unit").set_value("sentences").run()
    assert "3 sentences per side" in sane(app) and "the sum over the keys, then the mean over the queries" in sane(app)
    app.selectbox(key="map-keys").set_value("max").run()
    assert "the value farthest from 0 over the keys" in sane(app)
    monkeypatch.setattr("sentviz.analysis.maps.coarse_map.EXACT_UNITS", 5)
    text = sane(opened("attention", **view))
    assert "mean of 1 × 1" not in text and "The strongest" not in text and "Click a cell" in text


def test_what_the_browser_says_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message with a cell of these units is accepted; another text, a cell outside the map, and nonsense are not."""
    unit = units(fake_trace(6))
    packed = pack(tile(map_of_trace(fake_trace(6), 0), unit))
    raw = content(unit, [(packed, 0, 0, 1)], "a map")
    name = raw.split(b'"id":"')[1].split(b'"')[0].decode()
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", {"map": state})

    def seen(**fields: Any) -> Picked:
        state.clear()
        state.update(fields)
        return picked(unit, "map")

    assert seen(cell={"id": name, "at": [2, 5]}) == Picked((2, 5))
    assert seen(window={"id": name, "at": [0, 6, 1, 3]}) == Picked(None, (0, 6, 1, 3))
    for at in ([2, 6], [-1, 0], [1], [1, 2, 3], ["1", 2], [True, 1], [1.0, 2], None, "12"):
        assert seen(cell={"id": name, "at": at}) == Picked()
    assert seen(window={"id": name, "at": [3, 3, 0, 1]}) == Picked()
    assert seen(cell={"id": "another", "at": [1, 1]}) == Picked() == seen(cell=None) == seen(cell=[1, 1])
