"""The long map's part of a page with Streamlit's AppTest, on a small page of its own; what the browser sends is checked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app.components.attention_map import Picked, content, picked
from sentviz.analysis.maps.coarse_map import map_of_trace, pack, tile, units
from tests.kit import fake_trace, page_text

PAGE = """
import streamlit as st
from app import cache
from app.focus import Focus
from app.views.sentence import map_part

query = st.query_params
if "focus" not in st.session_state:
    st.session_state["focus"] = Focus(run="toy/ndt-unit-2", head=query.get("head", "mean"), component=query.get("component", "effective"))
run = cache.run("toy/ndt-unit-2")
model = cache.model(run)
map_part.coarse_map.EXACT_UNITS = int(query.get("exact", "1500"))
text, held = query.get("text", "what a warm, clever song we saw! a dull soup. I say"), "maps" not in query
map_part.show(model.trace(text, maps=held, projections=not held), run)
"""


@pytest.fixture
def page(tmp_path: Path, tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a function that opens the page with URL parameters."""
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))
    monkeypatch.setattr("sentviz.analysis.maps.coarse_map.EXACT_UNITS", 1500)
    st.cache_resource.clear()
    file = tmp_path / "page.py"
    file.write_text(PAGE, encoding="utf-8")

    def opened(**query: str) -> AppTest:
        app = AppTest.from_file(str(file), default_timeout=60)
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception, app.exception
        return app

    yield opened
    st.cache_resource.clear()


def test_units_follow_their_control(page: Any) -> None:
    """The page says how sentences are combined, and follows the two choices."""
    app = page()
    app.button_group(key="map-unit").set_value("sentences").run()
    assert "3 sentences per side" in page_text(app)
    assert "the sum over the keys, then the mean over the queries" in page_text(app)
    app.selectbox(key="map-keys").set_value("max").run()
    assert not app.exception
    assert "the value farthest from 0 over the keys" in page_text(app)


def test_beyond_the_limit_blocks_are_shown(page: Any) -> None:
    """Above the limit averages are shown, and no cell is called the strongest."""
    text = page_text(page(exact="5", maps="none"))
    assert "mean of 1 × 1" not in text and "The strongest" not in text
    assert "Click a cell" in text


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
