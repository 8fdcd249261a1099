"""The film of a training gets what the link names, and it may ask for one of its rows only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import streamlit as st

from app.blocks import get_data  # noqa: F401 - imported before the data sets are replaced, because it binds their description
from app.components.browser import RENDER, wanted_row
from tests import kit
from tests.kit import opened

NAME = "toy/ndt-unit-2-epochs"


@pytest.fixture
def runs(kept_epochs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Copy the run into a separate folder; make the toy set available."""
    copytree(kept_epochs, tmp_path / NAME)
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    kit.use_toy_data(monkeypatch)
    st.cache_resource.clear()
    yield tmp_path
    st.cache_resource.clear()


def test_what_is_sent_follows_the_link_and_leaves_out_torn_epochs(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page sends the epochs, the stored example or the typed sentence, and rows with texts. Damaged measurements of epoch 3 and missing
    weights of epoch 4 give a sentence each; the other epochs are shown.
    """
    seen: list[dict[str, Any]] = []
    monkeypatch.setitem(RENDER, "through", lambda data, **_: seen.append(data))
    app = opened("curves", run=NAME, layer="2")
    assert seen[-1]["epochs"] == seen[-1]["sentence"]["epochs"] == [2, 3, 4] and seen[-1]["asks"] and not app.warning
    assert seen[-1]["sentence"]["title"] == "Effective attention, layer 2, mean of heads"
    texts = kit.toy_splits()["validation"].frame.set_index("id")["text"]
    assert all(row["text"] == texts[row["id"]] for row in seen[-1]["rows"])
    measured = runs / NAME / "epochs" / "3.measured.safetensors"
    measured.write_bytes(measured.read_bytes()[:99])
    (runs / NAME / "epochs" / "4.safetensors").unlink()
    st.cache_resource.clear()
    app = opened("curves", run=NAME)
    assert seen[-1]["epochs"] == [2, 4] and "3.measured" in app.warning[0].value.replace("\\", "")
    app.text_input(key="through-sentence").input("a dull soup").run()
    assert seen[-1]["sentence"]["epochs"] == [2] and seen[-1]["sentence"]["tokens"] == ["a", "dull", "soup"]
    assert any("epochs/4.safetensors is missing" in box.value.replace("\\", "") for box in app.warning)


@pytest.mark.parametrize(
    ("row", "wanted"),
    [({"row": 1, "id": "zzz"}, "b"), *((odd, "") for odd in (None, 7, {"row": "1"}, {"row": -1}, {"row": 3}, {"row": True}, {}))],
)
def test_a_row_that_a_browser_asks_for_is_one_of_them(row: object, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {"through": {"row": row}})
    assert wanted_row("through", ("a", "b", "c")) == wanted
