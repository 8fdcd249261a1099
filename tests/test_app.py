"""A visitor does something on a page, which the page, its link and the visit then say."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app import cache
from app.cache import FIRST_SCREEN
from sentviz.errors import DataMissingError
from sentviz.models.model import Model
from sentviz.runs.catalog import best_run
from sentviz.runs.store import Run, runs
from tests.kit import ROOT, SHIPPED, opened, page_text, sane, words

pytestmark = SHIPPED
TOY, TEXT = "toy/ndt-unit-2", "a warm song and a dull soup"


@pytest.fixture
def toys(tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the app find the two small runs, too."""
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))


def test_a_typed_sentence_gets_its_own_answer(toys: None, tiny_model: Model) -> None:
    app = opened(run=TOY)
    for text in (TEXT, "a cold, hollow garden"):
        app.text_input(key="sentence").set_value(text).run()
        trace = tiny_model.trace(text)
        assert any(element.value.startswith(f"### {trace.label.capitalize()}, ") for element in app.markdown)
        assert "Without “" in sane(app) and "text" not in app.query_params
        assert list(app.session_state["traces"].values())[-1].probabilities == pytest.approx(trace.probabilities, abs=1e-5)
    assert [row["text"] for row in app.session_state["tries"]][1:] == [TEXT, "a cold, hollow garden"]
    assert len(opened(run=TOY).session_state["tries"]) == 1


def test_the_most_accurate_model_is_one_click_away() -> None:
    app = opened("hardmax", run="")
    assert app.session_state["focus"].run == FIRST_SCREEN
    app.button(key="best").click().run()
    readable = [run for run in runs().values() if isinstance(run, Run)]
    assert app.session_state["focus"].run == best_run(readable) and not [b for b in app.button if b.key == "best"]


def test_the_head_with_the_most_effect_is_open_until_a_map_is_chosen(toys: None) -> None:
    """The map that stands for none can be chosen as well; its link opens it, and without it the strongest head is open again."""

    def map_of(app: AppTest) -> tuple[str, str]:
        return app.selectbox(key="focus-layer").value, app.selectbox(key="focus-head").value

    app = opened("attention", run=TOY)
    layer, head = map_of(app)
    assert head.isdecimal() and f"Open: layer {layer}, head {head}: without it alone" in page_text(app)
    assert {"layer", "head", "large"}.isdisjoint(app.query_params)
    app.selectbox(key="focus-head").select("mean").run()
    app.selectbox(key="focus-layer").select("1").run()
    assert map_of(app) == ("1", "mean") == map_of(opened("attention", run=TOY, large="chosen")) and "Open:" not in page_text(app)
    assert app.button(key="strongest-head").label.startswith(f"Layer {layer}, head {head} moves")
    app.button(key="chip-large").click().run()
    assert map_of(app) == (layer, head)


def test_a_long_text_gets_its_reason_from_clauses_until_each_word_is_asked_for(toys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.answers.SCREENED_WORK", 0)
    app = opened(run=TOY, text="a warm song, a dull garden, a clever soup").run()  # The page draws itself again with the clauses.
    assert "Colours: what each clause says on its own." in sane(app) and "Trust in these words" not in sane(app)
    app.button(key="pin").click().run()
    assert "removal" not in app.session_state["pinned"].token_scores
    app.button(key="each-word").click().run().run()
    assert "Trust in these words" in sane(app) and not [button for button in app.button if button.key == "each-word"]
    app.text_input(key="sentence").set_value("a cold song").run()
    assert "**Pinned**" in sane(app) and "**Current**" in sane(app)
    app.button(key="unpin").click().run()
    assert "**Pinned**" not in sane(app)


def test_what_a_model_or_its_rows_lack_is_said(toys: None) -> None:
    for page, query, says in (
        ("attention", {"look": "gates"}, f"{TOY} has no gates"),
        ("attention", {"look": "lexicon"}, f"{TOY} has no lexicon"),
        ("attention", {"look": "bertviz", "run": "imdb/hardmax-d2"}, "no neuron view: its maps are not the softmax"),
        ("causes", {"run": "imdb/hardmax-d2"}, "choose a transformer"),
        ("confusion", {"over": "official_test"}, f"{TOY} has no predictions for the official test. Choose other rows above."),
        ("confusion", {"slice": "nonsense"}, "the selection of rows “nonsense”, which is not available; all rows are shown."),
    ):
        assert says in sane(opened(page, **{"run": TOY} | query))


def test_the_glossary_finds_a_word() -> None:
    app = opened("glossary")
    everything = len(app.latex)
    app.text_input(key="focus-find").set_value("leader").run()
    assert 0 < len(app.latex) < everything
    app.text_input(key="focus-find").set_value("no such **word**").run()
    assert "no such" in words(app) and "**word**" not in words(app)


def test_a_live_page_is_written_once_after_a_click(toys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def write(run: Any, out: Path, *, int8: bool) -> dict[str, Any]:
        calls.append((run.name, int8))
        if len(calls) == 1:
            raise DataMissingError("the registry <b>is away</b>")
        out.write_text("x" * 1_000_000)
        return {"models": [{"cost": {"same": 0.99, "n": 500}}]}

    monkeypatch.setattr("sentviz.serving.live.page.live_page", write)
    cache.live_page.clear()
    app = opened(run=TOY, text=TEXT)
    app.button_group(key="export-what").set_value("live").run()
    app.button(key="live-page").click().run()
    assert any("the registry" in warning.value for warning in app.warning) and not app.exception
    for _ in range(2):
        app.button(key="live-page").click().run()
        assert "Save (1 MB)" in {button.proto.label for button in app.get("download_button")}
    assert calls == [(TOY, False)] * 2 and any("for 99.0\u00a0% of 500 test rows" in caption.value for caption in app.caption)
    cache.live_page.clear()
    monkeypatch.setattr(cache, "LARGE", 1_000)
    app.button(key="live-page").click().run()
    assert any("too large to write here" in warning.value for warning in app.warning) and len(calls) == 2


def test_any_text_gets_an_answer_or_one_sentence(toys: None) -> None:
    for text, says in (
        ("\u200b\u200b", "visible"),
        ("<script>alert(1)</script> **bold** $x^2$ [link](https://x.y) ![image](https://x.y/z.png) `code`", ""),
        ("wonderful " * 100, "were not read"),
        ("\ud800 مرحبا 😀", ""),
        ("?", ""),
    ):
        app = opened(run=TOY)
        app.session_state["focus"] = app.session_state["focus"].with_(text=text)
        app.run()
        assert says in sane(app) and "<script>" not in words(app) and "**bold**" not in words(app)


@pytest.mark.exhaustive
def test_the_first_page_stands_without_torch() -> None:
    code = f"""
import sys
import app.header
app.header.end = lambda: None  # what comes after the first paint
from streamlit.testing.v1 import AppTest
page = AppTest.from_file({str(ROOT / "app" / "navigation.py")!r}, default_timeout=60).run()
assert not page.exception, page.exception
assert any(m.value.startswith("###") for m in page.markdown)
heavy = {{"torch", "sklearn", "scipy", "umap", "transformers", "openTSNE", "bertviz", "huggingface_hub"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
