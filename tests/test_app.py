"""A visitor does something on a page, which the page, its link and the visit then say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app import cache
from app.cache import FIRST_SCREEN
from sentviz.analysis.explain.exact import exact
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


def answer(app: AppTest) -> str:
    return next(element.value for element in app.markdown if element.value.startswith("### ")).replace("\\", "")


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("page", ["confusion", "comparison", "labels", "words", "embeddings", "explanations"])
def test_pages_of_rows_show_the_texts_of_an_installed_data_set(page: str) -> None:
    assert "on this machine" not in sane(opened(page))


def test_a_typed_sentence_gets_its_own_answer(toys: None, tiny_model: Model) -> None:
    """The answer is the model's, the text stays out of the link, and what was tried is kept for this visit only."""
    app = opened(run=TOY)
    for text in (TEXT, "a cold, hollow garden"):
        app.text_input(key="sentence").set_value(text).run()
        trace = tiny_model.trace(text)
        assert answer(app).startswith(f"### {trace.label.capitalize()}, ") and "Without “" in sane(app) and "text" not in app.query_params
        assert list(app.session_state["traces"].values())[-1].probabilities == pytest.approx(trace.probabilities, abs=1e-5)
    assert [row["text"] for row in app.session_state["tries"]][1:] == [TEXT, "a cold, hollow garden"]
    assert len(opened(run=TOY).session_state["tries"]) == 1


def readable() -> list[Run]:
    return [run for run in runs().values() if isinstance(run, Run)]


@pytest.mark.exhaustive
def test_a_korean_sentence_is_answered_by_a_run_that_reads_korean() -> None:
    """Without a chosen run, a Korean text is answered by a Korean run and an English one by the default; a chosen run stays."""
    reader = best_run(readable(), "ko")
    app = opened(text="나쁘지 않은 영화", run="")
    assert app.session_state["focus"].run == reader and "means nothing" not in words(app)
    for text, run in (("A dull film.", FIRST_SCREEN), ("나쁘지 않은 영화", reader)):
        app.text_input(key="sentence").set_value(text).run()
        assert not app.exception and app.session_state["focus"].run == run
    app = opened(text="나쁘지 않은 영화", run="english/ndt-unit-2")
    assert app.session_state["focus"].run == "english/ndt-unit-2" and "the prediction means nothing" in words(app)
    app.button(key="reader").click().run()
    assert app.session_state["focus"].run == reader and "means nothing" not in words(app)


@pytest.mark.slow
def test_the_most_accurate_model_is_one_click_away() -> None:
    """Views of a sentence open on `FIRST_SCREEN`, and offer the most accurate run until the visitor chooses one."""
    app = opened("hardmax", run="")
    assert app.session_state["focus"].run == FIRST_SCREEN
    app.button(key="best").click().run()
    assert app.session_state["focus"].run == best_run(readable()) and not [b for b in app.button if b.key == "best"]


def test_a_link_of_an_earlier_version_is_written_as_one_change(toys: None) -> None:
    """Each edit has a chip, and a click on it takes back that edit."""
    app = opened(run=TOY, off="1.2", mix="2.2:0.5")
    assert app.query_params["change"] in ("lambda:2.2=0.5~head:1.2=0", ["lambda:2.2=0.5~head:1.2=0"]) and "off" not in app.query_params
    assert app.button(key="chip-head:1.2=0").label.replace("\\", "") == "layer 1 head 2 off"
    app.button(key="chip-lambda:2.2=0.5").click().run()
    assert not app.exception and app.query_params["change"] in ("head:1.2=0", ["head:1.2=0"])


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
    """A pinned sentence stands beside the next one; both keep what was measured of them."""
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


@pytest.mark.parametrize(
    ("page", "query", "says"),
    [
        ("attention", {"look": "gates"}, f"{TOY} has no gates"),
        ("attention", {"look": "lexicon"}, f"{TOY} has no lexicon"),
        ("attention", {"look": "bertviz", "run": "imdb/hardmax-d2"}, "no neuron view: its maps are not the softmax"),
        ("causes", {"run": "imdb/hardmax-d2"}, "choose a transformer"),
        ("confusion", {"over": "official_test"}, f"{TOY} has no predictions for the official test. Choose other rows above."),
        ("confusion", {"slice": "nonsense"}, "the selection of rows “nonsense”, which is not available; all rows are shown."),
    ],
)
def test_what_a_model_or_its_rows_lack_is_said(page: str, query: dict[str, str], says: str, toys: None) -> None:
    assert says in sane(opened(page, **{"run": TOY} | query))


def test_the_glossary_finds_a_word() -> None:
    app = opened("glossary")
    everything = len(app.latex)
    app.text_input(key="focus-find").set_value("leader").run()
    assert 0 < len(app.latex) < everything
    app.text_input(key="focus-find").set_value("no such **word**").run()
    assert "no such" in words(app) and "**word**" not in words(app)


def test_a_live_page_is_written_once_after_a_click(toys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of a run is kept for all visitors without their sentences; one sentence says why there is none."""
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


@pytest.mark.exhaustive
def test_pasted_scores_are_judged(toys: None, tiny_model: Model) -> None:
    """Exact values are believed and inverted ones are not; each bad input gets one sentence."""
    truth = exact(tiny_model, tiny_model.trace(TEXT))
    scores = [(player.text, round(value, 3)) for player, value in zip(truth.players, truth.values.tolist(), strict=True)]
    app = opened("attention", run=TOY, text=TEXT, look="scores")
    for pasted, says in (
        (json.dumps(scores), "These scores explain this prediction well."),
        (json.dumps([(word, -value) for word, value in scores]), "These scores do not explain this prediction."),
        ("slow -1", "What was pasted is not JSON"),
        ('[["zebra", 1], ["crossing", 2]]', "zebra"),
    ):
        app.text_area(key="judge-scores").set_value(pasted).run()
        assert not app.exception and says in page_text(app)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\u200b\u200b", "visible"),
        ("<script>alert(1)</script> **bold** $x^2$ [link](https://x.y) ![image](https://x.y/z.png) `code`", ""),
        ("wonderful " * 100, "were not read"),
        ("\ud800 مرحبا 😀", ""),
        ("?", ""),
    ],
)
def test_any_text_gets_an_answer_or_one_sentence(text: str, says: str, toys: None) -> None:
    app = opened(run=TOY)
    app.session_state["focus"] = app.session_state["focus"].with_(text=text)
    app.run()
    assert says in sane(app) and "<script>" not in words(app) and "**bold**" not in words(app)


@pytest.mark.exhaustive
def test_the_first_page_stands_without_torch() -> None:
    """In a new process the Explore page is drawn without torch, sklearn, scipy, umap and transformers."""
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
