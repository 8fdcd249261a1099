"""The page Embeddings with Streamlit's AppTest, on the runs that ship."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.kit import SHIPPED, opened, words

pytestmark = [pytest.mark.slow, SHIPPED]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))


def charts(app: AppTest) -> list[str]:
    """Return the figures of a page as JSON."""
    return [chart.proto.spec for chart in app.get("plotly_chart")]


def drawn(app: AppTest) -> dict[str, Any]:
    """Return the data that the browser gets for the picture."""
    (component,) = app.get("bidi_component")
    data: dict[str, Any] = json.loads(component.proto.json)
    return data


def titled(app: AppTest) -> str:
    """Return method and layer of the picture; empty if the page shows no picture."""
    data = drawn(app) if app.get("bidi_component") else None
    return f"{data['title']}, {data['layers'][data['layer']]}" if data else ""


def settled(app: AppTest, seconds: float = 120) -> AppTest:
    """Run the page until no work is left in the background."""
    end = time.monotonic() + seconds
    while any((button.key or "").startswith("stop-") for button in app.button):
        assert time.monotonic() < end, words(app)
        time.sleep(0.2)
        app.run()
    assert not app.exception, app.exception
    return app


@pytest.mark.exhaustive
def test_work_can_be_stopped_and_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """PCA is shown while another picture is computed; stopped work is not resumed before it is requested."""
    from app.blocks import pictures

    go, really = threading.Event(), pictures.pictures

    def slow(*args: Any, compute: bool = True, tick: Any = None, **more: Any) -> Any:
        while tick is not None and not go.is_set():
            tick(0.5, "t-SNE")
            time.sleep(0.02)
        return really(*args, compute=compute, **more)

    monkeypatch.setattr(pictures, "pictures", slow)
    app = opened("embeddings", method="tsne", over="demo", run="sst2/ndt-unit-3")
    end = time.monotonic() + 120
    while titled(app) != "PCA, layer 2, the last":  # the vectors come first
        assert time.monotonic() < end, words(app)
        time.sleep(0.1)
        app.run()
    next(button for button in app.button if (button.key or "").startswith("stop-")).click().run()
    assert not app.exception
    assert titled(app) == "PCA, layer 2, the last"
    while not (again := [button for button in app.button if (button.key or "").startswith("again-")]):  # the work ends after its step
        assert time.monotonic() < end
        app.run()
    go.set()
    again[0].click().run()
    assert titled(settled(app)) == "t-SNE, layer 2, the last"


def test_a_damaged_sample_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.blocks import pictures
    from sentviz.errors import RunError

    def damaged(*_: object) -> None:
        raise RunError("The sample is damaged.")

    monkeypatch.setattr(pictures, "_sample", damaged)
    app = opened("embeddings")
    assert "The sample is damaged" in words(app)
    assert not charts(app) and not app.get("bidi_component")


def test_not_a_number_among_the_vectors_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.blocks import pictures

    pooled = np.full((40, 8), np.nan, dtype=np.float16)
    monkeypatch.setattr(pictures, "_sample", lambda *_: (np.arange(40), pooled))
    monkeypatch.setattr(pictures, "_pca", lambda rows, key, dims, missing, vectors: pictures.pictures(None, key, vectors, "pca", 2))
    app = opened("embeddings")
    assert "40 of 40 vectors" in words(app)
