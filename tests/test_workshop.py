"""The attention workshop's pages with Streamlit's AppTest, on the runs that ship."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app import cache
from sentviz.errors import DataMissingError
from tests.kit import RUN, SHIPPED, opened, words

pytestmark = [pytest.mark.slow, SHIPPED]


@pytest.mark.exhaustive
def test_what_was_tried_is_kept_for_this_visit() -> None:
    app = opened()
    for text in ("A fine film.", "A poor film."):
        app.text_input(key="sentence").set_value(text).run()
    tried = app.session_state["tries"]
    assert [row["text"] for row in tried][-2:] == ["A fine film.", "A poor film."]
    assert len(opened().session_state["tries"]) == 1


def test_the_glossary_finds_a_word() -> None:
    app = opened("glossary")
    everything = len(app.latex)
    app.text_input(key="focus-find").set_value("leader").run()
    assert 0 < len(app.latex) < everything
    app.text_input(key="focus-find").set_value("no such **word**").run()
    assert "no such" in words(app)


@pytest.mark.exhaustive
def test_a_live_page_is_written_once_after_a_click(monkeypatch: pytest.MonkeyPatch) -> None:
    """Explore writes the page of its run, keeps it for all visitors without their sentences, and says in one sentence why there is none."""
    calls = []

    def write(run: Any, out: Path, *, int8: bool) -> dict[str, Any]:
        calls.append((run.name, int8))
        if len(calls) == 1:
            raise DataMissingError("the registry <b>is away</b>")
        out.write_text("x" * 1_000_000)
        return {"models": [{"cost": {"same": 0.99, "n": 500}}]}

    monkeypatch.setattr("sentviz.serving.live.page.live_page", write)
    cache.live_page.clear()
    app = opened(run=RUN, text="warm and kind")
    app.button_group(key="export-what").set_value("live").run()
    app.button(key="live-page").click().run()
    assert any("the registry" in warning.value for warning in app.warning) and not app.exception
    for _ in range(2):
        app.button(key="live-page").click().run()
        assert "Save (1 MB)" in {button.proto.label for button in app.get("download_button")}
    assert calls == [(RUN, False)] * 2 and any("for 99.0\u00a0% of 500 test rows" in caption.value for caption in app.caption)
    cache.live_page.clear()
    monkeypatch.setattr(cache, "LARGE", 1_000)
    app.button(key="live-page").click().run()
    assert any("too large to write here" in warning.value for warning in app.warning) and len(calls) == 2
