"""The view Training: a run with measured epochs, one without, one whose epochs are damaged; curves with seeds as bands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app.blocks import get_data  # noqa: F401 - imported before the data sets are replaced, because it binds their description
from app.components.browser import RENDER, wanted_row
from sentviz.papers.studies.runner import light
from sentviz.runs.store import Run
from tests import kit
from tests.kit import opened, page_text

pytestmark = pytest.mark.slow

NAME, SHIPPED = "toy/ndt-unit-2-epochs", "sst2/ndt-unit-2-epochs"


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the toy set available."""
    kit.use_toy_data(monkeypatch)
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture
def runs(kept_epochs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the run into a separate folder, with a light copy of it."""
    copytree(kept_epochs, tmp_path / NAME)
    light(Run.open(kept_epochs), tmp_path / "toy" / "light")
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    return tmp_path


def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Record the data that is sent to the browser, newest last."""
    seen: list[dict[str, Any]] = []
    monkeypatch.setitem(RENDER, "through", lambda data, **_: seen.append(data))
    return seen


def page(run: str = NAME, **query: str) -> AppTest:
    return opened("curves", run=run, **query)


@pytest.mark.exhaustive
def test_the_slider_has_every_epoch_and_the_texts(runs: Path, data: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page sends three epochs, the stored example, rows with texts that can be followed, and the chosen layer."""
    seen = drawn(monkeypatch)
    app = page(layer="2")
    sent = seen[-1]
    assert sent["epochs"] == sent["sentence"]["epochs"] == [2, 3, 4] and sent["asks"]
    assert sent["sentence"]["title"] == "Effective attention, layer 2, mean of heads"
    texts = kit.toy_splits()["validation"].frame.set_index("id")["text"]
    assert all(row["text"] == texts[row["id"]] for row in sent["rows"])
    assert "60 rows of validation" in page_text(app)
    assert not app.warning


@pytest.mark.exhaustive
def test_a_torn_epoch_is_said_and_the_rest_works(runs: Path, data: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The damaged measurements of epoch 3 and the missing weights of epoch 4 give a sentence each; the other epochs are shown."""
    seen = drawn(monkeypatch)
    measured = runs / NAME / "epochs" / "3.measured.safetensors"
    measured.write_bytes(measured.read_bytes()[:99])
    app = page()
    assert seen[-1]["epochs"] == [2, 4] and len(app.warning) == 1 and "3.measured" in app.warning[0].value.replace("\\", "")
    (runs / NAME / "epochs" / "4.safetensors").unlink()
    app.text_input(key="through-sentence").input("a dull soup").run()
    assert seen[-1]["sentence"]["epochs"] == [2]
    assert any("epochs/4.safetensors is missing" in box.value.replace("\\", "") for box in app.warning)


@pytest.mark.parametrize("message", [None, 7, "x", {"row": "1"}, {"row": -1}, {"row": 3}, {"row": True}, {}])
def test_what_a_browser_should_not_send_is_no_row(message: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {"through": {"row": message}})
    assert wanted_row("through", ("a", "b", "c")) == ""


def test_a_row_that_is_asked_for_is_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {"through": {"row": {"row": 1, "id": "zzz"}}})
    assert wanted_row("through", ("a", "b", "c")) == "b"
