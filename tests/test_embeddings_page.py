"""The page Embeddings: work that is stopped and begun again, and vectors that cannot be drawn."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.blocks import pictures
from sentviz.errors import RunError
from tests.kit import SHIPPED, opened, words

pytestmark = SHIPPED


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))


def titled(app: AppTest) -> str:
    """Return method and layer of the picture; empty if the page shows no picture."""
    assert not app.exception, app.exception
    data = [json.loads(component.proto.json) for component in app.get("bidi_component")]
    return f"{data[0]['title']}, {data[0]['layers'][data[0]['layer']]}" if data else ""


def keyed(app: AppTest, start: str) -> list[Any]:
    return [button for button in app.button if (button.key or "").startswith(start)]


def run_until(app: AppTest, title: str, start: str = "") -> None:
    """Run the page until it shows a picture, and a button whose key has a beginning."""
    end = time.monotonic() + 120
    while titled(app) != title or not keyed(app, start):
        assert time.monotonic() < end, words(app)
        time.sleep(0.05)
        app.run()


@pytest.mark.exhaustive
def test_work_can_be_stopped_and_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """PCA is shown while another picture is computed; stopped work is not resumed before it is requested."""
    go, really = threading.Event(), pictures.pictures

    def slow(*args: Any, compute: bool = True, tick: Any = None, **more: Any) -> Any:
        while tick is not None and not go.is_set():
            tick(0.5, "t-SNE")
            time.sleep(0.02)
        return really(*args, compute=compute, **more)

    monkeypatch.setattr(pictures, "pictures", slow)
    app = opened("embeddings", method="tsne", over="demo", run="sst2/ndt-unit-3")
    run_until(app, "PCA, layer 2, the last", "stop-")
    keyed(app, "stop-")[0].click().run()
    run_until(app, "PCA, layer 2, the last", "again-")
    go.set()
    keyed(app, "again-")[0].click().run()
    run_until(app, "t-SNE, layer 2, the last")


@pytest.mark.parametrize("damaged", [True, False])
def test_vectors_that_cannot_be_drawn_are_one_sentence(damaged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def sample(*_: object) -> Any:
        if damaged:
            raise RunError("The sample is damaged.")
        return np.arange(40), np.full((40, 8), np.nan, dtype=np.float16)

    monkeypatch.setattr(pictures, "_sample", sample)
    monkeypatch.setattr(pictures, "_pca", lambda rows, key, dims, missing, vectors: pictures.pictures(None, key, vectors, "pca", 2))
    app = opened("embeddings")
    assert ("The sample is damaged" if damaged else "40 of 40 vectors") in words(app) and not titled(app)
