"""Every page with Streamlit's AppTest, on the runs that ship."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.cache import FIRST_SCREEN
from app.places import place_of
from sentviz.charts.look import SIZES
from sentviz.runs.catalog import best_run
from sentviz.runs.store import Run, runs
from tests.kit import PAGES, ROOT, RUN, SHIPPED, opened, page_text, switched, words
from tests.shipped import often

pytestmark = [pytest.mark.slow, SHIPPED]


@pytest.mark.exhaustive  # tests/golden opens each page
def test_every_page_opens_and_the_focus_travels_with_it() -> None:
    """Each page but Explore opens with two sentences on what it shows and cannot show; the run of a link stays in the focus and the URL."""
    app = opened(run="sst2/diff")
    for page in PAGES:
        switched(app, page)
        opening = next(c.value for c in app.caption if not c.value.startswith("This view"))
        assert (opening.count(".") >= 2 or page == "explore") and not app.error, page  # Explore opens with the answer.
        assert app.query_params["run"] == app.session_state["focus"].run == "sst2/diff", page


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


@pytest.mark.exhaustive
def test_a_text_in_another_script_is_given_to_a_run_that_reads_it() -> None:
    """For a Korean text an English model's answer is called meaningless, and a click chooses a run that learned Korean."""
    app = opened(text="나쁘지 않은 영화", run="english/ndt-unit-2")
    assert "the prediction means nothing" in words(app)
    app.button(key="reader").click().run()
    assert not app.exception and app.session_state["focus"].run == best_run(korean().values(), "ko")
    assert "means nothing" not in words(app) and not [button for button in app.button if button.key == "reader"]


@pytest.mark.exhaustive
def test_one_of_the_examples_is_wrong_and_says_so() -> None:
    notes = []
    app = opened(run=RUN)
    for kind in ("Contrast", "Plain", "Negation", "Intensity", "Sarcasm", "Mixed"):
        app.button(key=f"example-{kind}").click().run()
        assert not app.exception
        assert [each.label for each in app.button if each.key.startswith("example-") and each.proto.type == "primary"] == [kind]
        notes.append("gets this wrong" in words(app))
    assert any(notes)
    assert not all(notes)


@pytest.mark.exhaustive
def test_runs_are_chosen_by_plain_name_in_groups() -> None:
    """A plain name comes before the run's name, then whether it is the best of its language; each option is a run."""
    app = opened()
    box = app.selectbox(key="focus-run")
    best = [option for option in box.options if option.endswith(" · most accurate")]
    assert box.options[0] == best[0] and best[0].split(" · ")[1] in runs() and len(best) <= 2
    assert {option.split(" · ")[1] for option in box.options} <= runs().keys()
    assert next(option for option in box.options if option.endswith(" · sst2/diff")).startswith("Differential Transformer, SST-2 ")
    box.set_value("sst2/diff").run()
    assert not app.exception and app.query_params["run"] in ("sst2/diff", ["sst2/diff"])


@pytest.mark.exhaustive
def test_lambda_sliders_move_the_answer_and_the_url() -> None:
    app = opened(whatif="open")
    before = next(m.value for m in app.markdown if m.value.startswith("###"))
    app.button(key="lambda-flip").click().run()
    assert not app.exception
    assert "change" in app.query_params
    app.slider(key="lambda-1-2").set_value(-1.0).run()
    assert next(m.value for m in app.markdown if m.value.startswith("###")) != before
    app.button(key="lambda-learned").click().run()
    assert "change" not in app.query_params
    assert next(m.value for m in app.markdown if m.value.startswith("###")) == before


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
@pytest.mark.parametrize("query", [{"run": "no/such"}, {"layer": "99"}, {"mix": "9.9:1"}, {"head": "x"}])
def test_an_unknown_value_in_the_url_is_a_note(query: dict[str, str]) -> None:
    app = opened(**query)
    assert len(app.info) == 1
    assert query.keys().isdisjoint(app.query_params)


@pytest.mark.exhaustive
def test_a_damaged_run_is_named_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-written run folder is named with its fault on the Runs page, and the other pages open."""
    broken = tmp_path / "sst2" / "half"
    broken.mkdir(parents=True)
    (broken / "config.json").write_text('{"format": 1')
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    import streamlit as st

    st.cache_resource.clear()
    try:
        app = opened("runs")
        assert "sst2/half" in page_text(app)
        assert "config.json" in page_text(app)
    finally:
        st.cache_resource.clear()


@pytest.mark.exhaustive
def test_a_figure_can_be_made_in_every_size_of_paper() -> None:
    """Each size in the strip's menu has its slider of letters, and the rest of the page is drawn."""
    app = opened()
    app.button_group(key="export-what").set_value("strip").run()
    for size in SIZES:
        app.button_group(key="size-strip").set_value(size).run()
        assert not app.exception, app.exception
        assert app.slider(key=f"points-strip-{size}").value == SIZES[size].points
        assert any(element.value.startswith("###") for element in app.markdown) and app.button(key="example-Contrast")


@pytest.mark.exhaustive
def test_the_runs_of_one_data_set() -> None:
    """Choosing a data set shows its runs only, with the paper's number; runs without weights are marked."""
    app = opened("runs", data="twitter_financial")
    table = app.dataframe[0].value
    assert set(table["data"]) == {"twitter_financial"}
    available = runs()
    assert dict(zip(table["run"], table["weights"], strict=True)) == {name: "✓" * available[name].has_weights for name in table["run"]}
    assert table["printed"].dtype == "Float64"
    app.button_group(key="focus-data").set_value("all").run()
    assert len(app.dataframe[0].value) > len(table)


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


@pytest.mark.exhaustive
def test_a_page_says_its_place_and_the_run_that_it_shows() -> None:
    """The bar has the view and the model. Hardmax clusters has its own if another kind is in focus; papers and library have none."""
    for name, run, place, view, in_bar in (
        ("embeddings", RUN, "Rows", "Map: t-SNE, UMAP", RUN),
        ("hardmax", RUN, "Sentence", "Hardmax clusters", "imdb/hardmax-d2"),
        ("claims", "", "Papers", "Board", ""),
        ("runs", RUN, "Library", "Runs", ""),
    ):
        app = opened(name, run=run)
        assert (place_of(app.session_state["view"]).title, app.session_state["view"].title) == (place, view)
        assert [box.value for box in app.selectbox if box.key == "focus-run"] == [in_bar] * bool(in_bar)


@pytest.mark.slow
def test_every_page_has_the_mark_the_places_and_the_finder() -> None:
    for page in ("glossary", "explore"):
        app = opened(page)
        marks = [element for element in app.get("html") if 'alt="sentviz"' in element.proto.body]
        assert len(marks) == 1 and app.selectbox(key="finder").value is None
        labels = [link.proto.label for link in app.get("page_link")]
        assert labels[:4] == ["Sentence", "Rows", "Model", "Papers"] and {"Bring yours", "Library", "Help"} <= set(labels)
