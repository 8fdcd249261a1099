"""Gates, tags and positions in the app with Streamlit's AppTest, on small runs made here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from sentviz.io.numbers import percent
from sentviz.models.loading import load
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from tests.kit import opened, page_text, words

pytestmark = pytest.mark.slow

GATED, UNTAGGED, PLAIN = "toy/sentiformer", "toy/sentiformer-sinusoid", "toy/vanilla-matched"
TEXT = "a warm garden, and not a dull song"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_runs: Path, gated_runs: Path) -> Iterator[Path]:
    """Provide runs with and without gates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("SENTVIZ_RUNS", f"{gated_runs}:{tiny_runs}")
        st.cache_resource.clear()
        yield gated_runs
    st.cache_resource.clear()


def last_trace(app: AppTest) -> Trace:
    """Return the newest trace of the session."""
    return list(app.session_state["traces"].values())[-1]


@pytest.mark.exhaustive
def test_gates_are_offered_for_models_that_have_them() -> None:
    app = opened(whatif="open", run=GATED)
    assert {"gates-open", "gates-shut"} <= {each.key for each in app.multiselect}
    assert "strength-gate" in [each.key for each in app.slider]
    app = opened(whatif="open", run=PLAIN)
    assert not app.multiselect and "gates" not in page_text(app)


@pytest.mark.exhaustive
def test_a_shut_gate_changes_the_answer_the_url_and_the_history(folder: Path) -> None:
    """The list sets the focus, the trace is that of the changed model, and notice, chip and history say so; the chip resets it."""
    app = opened(whatif="open", run=GATED, text=TEXT)
    app.multiselect(key="gates-shut").set_value([2, 7]).run()
    assert not app.exception, app.exception
    assert app.query_params["change"] == "gate:3=0~gate:8=0"
    assert "the gate of “warm” (3), “a” (8) is shut in every layer" in page_text(app)
    assert "gate of token 3 shut" in app.session_state["tries"][-1]["changed"]
    model = load(Run.open(folder / GATED, GATED))
    np.testing.assert_allclose(last_trace(app).logits, model.trace(TEXT, gates_shut=[2, 7]).logits, atol=1e-5)
    assert np.abs(last_trace(app).logits - model.trace(TEXT).logits).max() > 1e-4
    app.multiselect(key="gates-open").set_value([2]).run()
    assert app.query_params["change"] == "gate:3=1~gate:8=0"
    assert app.multiselect(key="gates-shut").value == [7]
    app.button(key="chip-gate:3=1").click().run()
    app.button(key="chip-gate:8=0").click().run()
    assert "change" not in app.query_params and "This is an intervention" not in page_text(app)


@pytest.mark.exhaustive
def test_word_removal_and_faithfulness_are_asked_of_the_changed_model(folder: Path) -> None:
    from sentviz.analysis.explain.leave_out import removal

    app = opened(run=GATED, text=TEXT, gates="3:shut")
    model = load(Run.open(folder / GATED, GATED))
    trace = model.trace(TEXT, gates_shut=[2])
    np.testing.assert_allclose(last_trace(app).token_scores["removal"], removal(model, trace), atol=1e-5)


@pytest.mark.exhaustive
def test_another_sentence_takes_the_gates_back() -> None:
    app = opened(whatif="open", run=GATED, text=TEXT, gates="3:shut")
    app.text_input(key="sentence").set_value("what a cold song").run()
    assert "change" not in app.query_params and not last_trace(app).change.gates_shut
    app.multiselect(key="gates-shut").set_value([2]).run()
    assert last_trace(app).change.gates_shut == (2,)
    assert "change" not in app.query_params, "the text that they are of is private"


@pytest.mark.exhaustive
def test_swapped_words_are_asked_without_the_gates_of_this_text(folder: Path) -> None:
    """The button's probability is the page's after the click, and the page says before that changed gates are dropped."""
    app = opened(run=GATED, text=TEXT, gates="3:shut")
    app.session_state["swap-section"] = True
    app.run()
    assert "belong to this text. Another text has the gates as trained" in page_text(app)
    promised = next(button for button in app.button if str(button.key).startswith("swap-near"))
    promised.click().run()
    assert not app.exception and not last_trace(app).change.gates_shut
    probabilities = dict(zip(last_trace(app).labels, last_trace(app).probabilities, strict=True))
    before = load(Run.open(folder / GATED, GATED)).trace(TEXT, gates_shut=[2])
    assert promised.label.endswith(f"{percent(probabilities[before.label], 0)}")


@pytest.mark.exhaustive
def test_both_can_change_where_the_tokens_are_the_same() -> None:
    """The pinned answer can use the page's gates if the sentence is the same; another sentence has other tokens."""
    app = opened(whatif="open", run=GATED, text=TEXT)
    app.button(key="pin").click().run()
    app.multiselect(key="gates-shut").set_value([2]).run()
    assert "**Pinned**" in page_text(app) and "**Current**" in page_text(app)
    app.toggle(key="change-both").set_value(True).run()
    assert not app.exception and "**Current**" not in page_text(app)
    app.text_input(key="sentence").set_value("what a cold song").run()
    app.multiselect(key="gates-open").set_value([1]).run()
    assert "the pinned sentence has other tokens" in page_text(app)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"run": PLAIN, "gates": "3:shut"}, "This change is left out"),
        ({"run": GATED, "gates": "3:ajar"}, "The link asks for the gates “3:ajar”, which is not available"),
        ({"run": GATED, "gates": "60:shut"}, "There is no token 60. The tokens are 1 to"),
    ],
)
@pytest.mark.exhaustive
def test_a_link_that_asks_for_gates_that_are_not_there(query: dict[str, str], sentence: str) -> None:
    app = opened(text=TEXT, **query)
    assert [sentence in str(each.value).replace("\\", "") for each in (*app.info, *app.warning)] == [True]


@pytest.mark.exhaustive
def test_the_look_shows_gates_tags_and_positions() -> None:
    app = opened("attention", run=GATED, look="gates", text=TEXT, gates="3:shut")
    assert "The gate multiplies a token's weight" in page_text(app) and "● 1 shut" in page_text(app)
    assert "Learned weights: α = " in page_text(app) and "93.4\u00a0% of 21,885 words" in page_text(app)
    assert "As trained **" in page_text(app)
    looks = next(item for item in app.button_group if item.key == "focus-look")
    assert "Gates and positions" in looks.options
    app = opened("attention", run=GATED, look="gates", text=TEXT)
    assert "As trained **" not in page_text(app)


def test_a_run_that_reads_no_tags_shows_its_gates_only() -> None:
    app = opened("attention", run=UNTAGGED, look="gates", text=TEXT)
    assert "The gate multiplies" in page_text(app) and "Learned weights" not in page_text(app) and "Tags are" not in page_text(app)


def test_a_model_without_either_says_so_and_names_some() -> None:
    app = opened("attention", run=PLAIN, look="gates")
    assert "has no gates" in app.info[0].value.replace("\\", "") and "sentiformer" in app.info[0].value
    looks = next(item for item in opened("attention", run=PLAIN).button_group if item.key == "focus-look")
    assert "Gates and positions" not in looks.options


@pytest.mark.exhaustive
def test_explore_leads_to_them() -> None:
    app = opened(run=GATED)
    app.button(key="to-gates").click().run()
    assert not app.exception and app.session_state["focus"].look == "gates"
    assert "to-gates" not in [button.key for button in opened(run=PLAIN).button]


def test_another_language_is_said_once() -> None:
    assert page_text(opened(run=GATED, text="영화는 차갑다")).count("its tagger knows only English") == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", ["?!", "warm " * 20_000, "<script>alert(1)</script> $x$ **b**"])
def test_odd_texts_are_no_trouble(text: str) -> None:
    for page in ("attention", "explore"):
        app = opened(page, run=GATED, look="gates", text=text)
        assert not app.warning and "<script>" not in words(app) and "**b**" not in words(app)


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
    box = next(each for each in app.text_input if each.key == "attention-sentence")
    box.set_value("   ").run()
    assert "The text is empty" in page_text(app)
    app.text_input(key="attention-sentence").set_value(TEXT).run()
    assert not app.exception and "The text is empty" not in page_text(app)
    assert last_trace(app).text == TEXT
