"""The lexicon and the gates in the app, on small runs: strength, one token's walk from its entries to attention, and shut gates."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app import cache
from sentviz.analysis.maps.injection import by_accident
from sentviz.charts.gallery import draw
from sentviz.models.loading import load
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from tests.injected import TEXT, train_runs
from tests.kit import fake_trace, opened, page_text, sane

ALL = "toy/cls-all"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, gated_runs: Path) -> Iterator[Path]:
    """Provide runs with and without a lexicon, and the lexicon's file."""
    root = tmp_path_factory.mktemp("injected")
    train_runs(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_DATA", str(root / "data"))
        patch.setenv("SENTVIZ_HOME", str(root / "home"))
        patch.setenv("SENTVIZ_RUNS", f"{root / 'runs'}:{gated_runs}")
        st.cache_resource.clear()
        yield root
    st.cache_resource.clear()


def traces(app: AppTest) -> list[Trace]:
    return list(app.session_state["traces"].values())


def test_strength_changes_the_answer_its_words_and_the_url() -> None:
    app = opened(whatif="open", run=ALL, text=TEXT)
    app.slider(key="strength-lexicon").set_value(4.0).run()
    assert app.query_params["change"] == "term:lexicon=4" and "4 times the trained strength of its lexicon" in sane(app)
    assert app.button(key="chip-term:lexicon=4").label.replace("\\", "") == "lexicon × 4" == app.session_state["tries"][-1]["changed"]
    lines = [block.value for block in app.code if "draw(" in block.value]
    assert lines and all("change='term:lexicon=4'" in line for line in lines)
    folder = cache.runs()[ALL].folder
    model, now = load(Run.open(folder, ALL)), traces(app)[-1]
    np.testing.assert_allclose(now.probabilities, model.trace(TEXT, strength=4).probabilities, atol=1e-6)
    assert now.change.strength == {"lexicon": 4} and np.abs(now.logits - model.trace(TEXT).logits).max() > 1e-6
    figure = draw(str(folder), "attention", text=TEXT, strength=4, layer=1, head=1)
    np.testing.assert_allclose(figure.frame["attention"], now.map(1, 1).ravel(), atol=1e-3)
    app.button(key="strength-lexicon-trained").click().run()
    assert "change" not in app.query_params and "This is an intervention" not in page_text(app)


def test_the_walk_begins_with_the_strongest_token_and_follows_the_choice() -> None:
    app = opened("attention", run=ALL, look="lexicon", text=TEXT)
    assert "**1 · Entries with “warm”**" in page_text(app) and "2 entries of VADER" in page_text(app)
    assert sorted(app.dataframe[0].value["term"]) == ["warm", "warm song"]
    before, after = sorted(traces(app), key=lambda trace: trace.change.strength.get("lexicon", 1))
    change = np.abs(after.map(0) - before.map(0))
    assert change[1:].max() > 1e-4 and change[0].max() < 1e-6  # not from the stored example, whose halves would not cancel
    app.slider(key="strength-lexicon").set_value(2.0).run()
    assert sorted({trace.change.strength.get("lexicon", 1) for trace in traces(app)}) == [0, 1, 2]
    dull = next(i for i, option in enumerate(app.selectbox(key="focus-token").options, start=1) if option.endswith("dull"))
    app.selectbox(key="focus-token").set_value(dull).run()
    assert app.query_params["token"] == str(dull) and "**1 · Entries with “dull”**" in sane(app) and "1 entry of VADER" in sane(app)
    app.text_input(key="attention-sentence").set_value("a tender garden").run()
    assert "token" not in app.query_params and "**1 · Entries with “tender”**" in page_text(app)


def test_without_the_lexicons_file_lambda_is_the_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "vaderSentiment.vaderSentiment", None)
    st.cache_resource.clear()
    app = opened("attention", run=ALL, look="lexicon", text=TEXT)
    assert "is not installed, so its entries cannot be listed. λ itself is stored in the model" in page_text(app)
    assert "**4 · Attention" in page_text(app) and not app.dataframe
    st.cache_resource.clear()


def test_a_part_of_a_word_with_a_polarity_is_warned_of() -> None:
    """ "he" of "The" has the polarity of the entry with its letters; complete words, neutral parts and special tokens are not warned of."""
    trace = fake_trace(tokens=["T", "he", "bad", "er"])
    polarity = np.full((5, 3), 1 / 3)
    polarity[[2, 3]] = [0.8, 0.1, 0.1], [0.1, 0.1, 0.8]
    specials, offsets = np.array([True, *[False] * 4]), np.array([[0, 0], [0, 1], [1, 3], [4, 7], [8, 10]])
    trace = trace.replace(polarity=polarity, text="The bad er", offsets=offsets, specials=specials)
    assert by_accident(trace) == [(2, "The")] and by_accident(trace.replace(polarity=None)) == []


GATED, GATED_TEXT = "toy/sentiformer", "a warm garden, and not a dull song"


def last_trace(app: AppTest) -> Trace:
    return list(app.session_state["traces"].values())[-1]


def test_a_shut_gate_changes_the_answer_the_url_and_the_history(gated_runs: Path) -> None:
    app = opened(whatif="open", run=GATED, text=GATED_TEXT)
    app.multiselect(key="gates-shut").set_value([2, 7]).run()
    assert app.query_params["change"] == "gate:3=0~gate:8=0"
    assert "the gate of “warm” (3), “a” (8) is shut in every layer" in sane(app)
    assert "gate of token 3 shut" in app.session_state["tries"][-1]["changed"]
    model = load(Run.open(gated_runs / GATED, GATED))
    np.testing.assert_allclose(last_trace(app).logits, model.trace(GATED_TEXT, gates_shut=[2, 7]).logits, atol=1e-5)
    assert np.abs(last_trace(app).logits - model.trace(GATED_TEXT).logits).max() > 1e-4
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
    app = opened("attention", run=GATED, look="gates")
    for text, is_blank in (("   ", True), (GATED_TEXT, False)):
        app.text_input(key="attention-sentence").set_value(text).run()
        assert not app.exception and ("The text is empty" in page_text(app)) == is_blank
    assert last_trace(app).text == GATED_TEXT


def test_a_damaged_table_of_tags_is_one_sentence(gated_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(gated_runs / GATED, tmp_path / GATED)
    (tmp_path / GATED / "tagger.json.gz").write_bytes(b"tags")
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    st.cache_resource.clear()
    app = opened(run=GATED, text=GATED_TEXT)
    assert ["tagger.json.gz is damaged" in str(each.value).replace("\\", "") for each in app.warning] == [True]
    st.cache_resource.clear()
