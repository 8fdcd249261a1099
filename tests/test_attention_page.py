"""The page Attention opens on the head with the most effect, says why, and keeps a map that was chosen."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

import sentviz.models.model  # noqa: F401 - with torch loaded, the heads of a small model are measured at once
from app.focus import Focus
from sentviz.analysis.explain import SCORES
from tests.kit import RUN, SHIPPED, opened, page_text

pytestmark = [pytest.mark.slow, SHIPPED]


def open_map(app: AppTest) -> tuple[str, str]:
    return app.selectbox(key="focus-layer").value, app.selectbox(key="focus-head").value


def test_the_head_with_the_most_effect_is_open_until_a_map_is_chosen() -> None:
    """The map that stands for none can be chosen as well; its link opens it, and without it the strongest head is open again."""
    app = opened("attention")
    layer, head = open_map(app)
    assert head.isdecimal() and f"Open: layer {layer}, head {head}: without it alone, the log-odds of" in page_text(app)
    assert {"layer", "head", "large"}.isdisjoint(app.query_params)
    app.selectbox(key="focus-head").select("mean").run()
    app.selectbox(key="focus-layer").select("1").run()
    assert open_map(app) == ("1", "mean") and "Open:" not in page_text(app)
    assert app.button(key="strongest-head").label == f"Layer {layer}, head {head} moves the answer most"
    assert open_map(opened("attention", large="chosen")) == ("1", "mean")
    app.button(key="chip-large").click().run()
    assert open_map(app) == (layer, head)


def test_a_map_in_a_link_is_open() -> None:
    for query, at in (({"head": "mean"}, ("1", "mean")), ({"layer": "2"}, ("2", "mean")), ({"layer": "1", "head": "2"}, ("1", "2"))):
        app = opened("attention", **query)
        assert open_map(app) == at and "Open:" not in page_text(app)
    assert Focus.parse({"layer": "1"}, [RUN], SCORES)[0].large == "chosen"
    assert Focus.parse({"layer": "x"}, [RUN], SCORES)[0].large == "strongest"


def test_a_large_model_opens_without_measuring_its_heads() -> None:
    """A map that is known at once is open: of the head that attends most to the word with the most effect."""
    app = opened("attention", run="english/minilm")
    assert "which attends most to “not”" in page_text(app)
    typed = opened("attention", run="english/minilm", text="A plain film.")
    assert open_map(typed) == ("6", "mean") and "no effect of a head on this text is known yet" in page_text(typed)
