"""Gates of tokens that a visitor opens and shuts, on a small run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from sentviz.models.loading import load
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from tests.kit import opened, page_text, sane

GATED, TEXT = "toy/sentiformer", "a warm garden, and not a dull song"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, gated_runs: Path) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("SENTVIZ_RUNS", str(gated_runs))
        st.cache_resource.clear()
        yield gated_runs
    st.cache_resource.clear()


def last_trace(app: AppTest) -> Trace:
    """Return the newest trace of the session."""
    return list(app.session_state["traces"].values())[-1]


def test_a_shut_gate_changes_the_answer_the_url_and_the_history(folder: Path) -> None:
    """The trace is that of the changed model; the chip of a gate resets it; another sentence takes all back."""
    app = opened(whatif="open", run=GATED, text=TEXT)
    app.multiselect(key="gates-shut").set_value([2, 7]).run()
    assert app.query_params["change"] == "gate:3=0~gate:8=0"
    assert "the gate of “warm” (3), “a” (8) is shut in every layer" in sane(app)
    assert "gate of token 3 shut" in app.session_state["tries"][-1]["changed"]
    model = load(Run.open(folder / GATED, GATED))
    np.testing.assert_allclose(last_trace(app).logits, model.trace(TEXT, gates_shut=[2, 7]).logits, atol=1e-5)
    assert np.abs(last_trace(app).logits - model.trace(TEXT).logits).max() > 1e-4
    app.multiselect(key="gates-open").set_value([2]).run()
    assert (app.query_params["change"], app.multiselect(key="gates-shut").value) == ("gate:3=1~gate:8=0", [7])
    app.button(key="chip-gate:3=1").click().run()
    assert app.query_params["change"] == "gate:8=0"
    app.text_input(key="sentence").set_value("what a cold song").run()
    assert "change" not in app.query_params and not last_trace(app).change.gates_shut
    app.multiselect(key="gates-shut").set_value([2]).run()
    assert last_trace(app).change.gates_shut == (2,)
    assert "change" not in app.query_params, "the text that they are of is private"


def test_another_language_is_said_once() -> None:
    assert page_text(opened(run=GATED, text="영화는 차갑다")).count("its tagger knows only English") == 1


def test_a_damaged_table_of_tags_is_one_sentence(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(folder / GATED, tmp_path / GATED)
    (tmp_path / GATED / "tagger.json.gz").write_bytes(b"tags")
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    st.cache_resource.clear()
    app = opened(run=GATED, text=TEXT)
    assert ["tagger.json.gz is damaged" in str(each.value).replace("\\", "") for each in app.warning] == [True]
    st.cache_resource.clear()


def test_a_blank_text_leaves_the_box_to_type_another() -> None:
    app = opened("attention", run=GATED, look="gates")
    for text, is_blank in (("   ", True), (TEXT, False)):
        app.text_input(key="attention-sentence").set_value(text).run()
        assert not app.exception and ("The text is empty" in page_text(app)) == is_blank
    assert last_trace(app).text == TEXT
