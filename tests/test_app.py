"""Every page with Streamlit's AppTest, on the runs that ship."""

from __future__ import annotations

import subprocess
import sys

import pytest

from app.cache import FIRST_SCREEN
from sentviz.runs.catalog import best_run
from sentviz.runs.store import Run, runs
from tests.kit import ROOT, SHIPPED, opened, page_text, words
from tests.shipped import often

pytestmark = [pytest.mark.slow, SHIPPED]


@pytest.mark.data
@pytest.mark.parametrize("page", ["confusion", "comparison", "labels", "words", "embeddings", "explanations"])
def test_pages_of_rows_show_the_texts_of_an_installed_data_set(page: str) -> None:
    """No part of the page says that the rows are missing, and none fails."""
    app = opened(page)
    assert "on this machine" not in page_text(app) and "This part failed" not in page_text(app) and not app.error


def test_a_typed_sentence_gets_its_own_answer() -> None:
    app = opened()
    before = [m.value for m in app.markdown if m.value.startswith("###")]
    app.text_input(key="sentence").set_value("A warm, funny and wonderful film.").run()
    after = [m.value for m in app.markdown if m.value.startswith("###")]
    assert not app.exception
    assert before != after
    assert "Positive" in after[0]
    assert "text" not in app.query_params
    app.text_input(key="sentence").set_value("not bad at all").run()
    answer = page_text(app)
    assert "**Without “not bad” it would " in answer and "Trust in these words: **" in answer


def korean() -> dict[str, Run]:
    return {name: run for name, run in runs().items() if isinstance(run, Run)}


@pytest.mark.exhaustive
def test_a_korean_sentence_is_answered_by_a_run_that_reads_korean() -> None:
    """A Korean text is answered by a Korean run at once, and an English text after it by the default, if no run was chosen."""
    reader, default = best_run(korean().values(), "ko"), FIRST_SCREEN
    app = opened(text="나쁘지 않은 영화", run="")
    assert app.session_state["focus"].run == reader and "means nothing" not in words(app)
    app = opened(run="")
    assert app.session_state["focus"].run == default
    app.text_input(key="sentence").set_value("나쁘지 않은 영화").run()
    assert not app.exception and app.session_state["focus"].run == reader
    app.text_input(key="sentence").set_value("A dull film.").run()
    assert app.session_state["focus"].run == default
    app = opened(run="sst2/ndt-unit-2")
    app.text_input(key="sentence").set_value("나쁘지 않은 영화").run()
    assert app.session_state["focus"].run == "sst2/ndt-unit-2" and "means nothing" in words(app)


@pytest.mark.slow
def test_the_most_accurate_model_is_one_click_away() -> None:
    """Views of a sentence open on `FIRST_SCREEN`, and offer the most accurate run until the visitor chooses one."""
    app = opened("hardmax", run="")
    assert app.session_state["focus"].run == FIRST_SCREEN
    app.button(key="best").click().run()
    assert app.session_state["focus"].run == best_run(korean().values()) and not [b for b in app.button if b.key == "best"]


def test_a_link_of_an_earlier_version_is_written_as_one_change() -> None:
    """Each edit has a chip, and a click on it takes back that edit."""
    app = opened("explore", off="1.2", mix="2.2:0.5")
    assert app.query_params["change"] in ("lambda:2.2=0.5~head:1.2=0", ["lambda:2.2=0.5~head:1.2=0"]) and "off" not in app.query_params
    assert app.button(key="chip-head:1.2=0").label.replace("\\", "") == "layer 1 head 2 off"
    app.button(key="chip-lambda:2.2=0.5").click().run()
    assert not app.exception and app.query_params["change"] in ("head:1.2=0", ["head:1.2=0"])


ODD_TEXTS = {  # a part of the sentence that answers, if the text gets one
    "\u200b\u200b": "visible",
    "<script>alert(1)</script> </script> <b>bold</b>": "",
    "   ": "",
    "a" * 100_000: "",
    "wonderful " * 10_000: "were not read",
    "\ud800 broken": "",
    "**bold** $x^2$ :red[red] [link](https://x.y) ![image](https://x.y/z.png) `code` # h": "",
    "مرحبا بالعالم": "",
    "😀😀😀 👩‍👩‍👧‍👦": "",
    "?": "",
}


@pytest.mark.parametrize("text", often(ODD_TEXTS, "<script>alert(1)</script> </script> <b>bold</b>"))
def test_any_text_gets_an_answer_or_one_sentence(text: str) -> None:
    """Hostile, very long and unusual texts give an answer or one sentence, never an exception or markup."""
    app = opened(run="twitter_financial/ndt-unit-2")
    app.session_state["focus"] = app.session_state["focus"].with_(text=text)
    app.run()
    assert not app.exception, app.exception
    assert ODD_TEXTS[text] in words(app)
    assert "<script>" not in words(app)
    assert "**bold**" not in words(app)


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
