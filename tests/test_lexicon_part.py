"""The lexicon in the app with Streamlit's AppTest: strength, polarity, one token's walk, before and after; on small runs made here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from sentviz.analysis.maps.injection import by_accident
from sentviz.charts.gallery import draw
from sentviz.models.loading import load
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from tests.injected import TEXT, train_runs
from tests.kit import fake_trace, opened, page_text

pytestmark = pytest.mark.slow

ALL, LAST, XIA, PLAIN = "toy/cls-all", "toy/cls-last-scaled", "toy/cls-xia", "toy/vanilla-matched"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_runs: Path) -> Iterator[Path]:
    """Provide runs with and without a lexicon, and the lexicon's file."""
    root = tmp_path_factory.mktemp("injected")
    train_runs(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_DATA", str(root / "data"))
        patch.setenv("SENTVIZ_HOME", str(root / "home"))
        patch.setenv("SENTVIZ_RUNS", f"{root / 'runs'}:{tiny_runs}")
        st.cache_resource.clear()
        yield root
    st.cache_resource.clear()


def traces(app: AppTest) -> list[Trace]:
    return list(app.session_state["traces"].values())


# ---- strength


def strengths(app: AppTest) -> list[float]:
    """Return the strengths of the lexicon for which the model was run, sorted."""
    return sorted({trace.change.strength.get("lexicon", 1) for trace in traces(app)})


@pytest.mark.exhaustive
def test_strength_changes_the_answer_its_words_and_the_url() -> None:
    """The slider sets the focus, the trace is that of the changed model, and notice, chip and history say so; it can be reset."""
    app = opened(whatif="open", run=ALL)
    assert "This is an intervention" not in page_text(app)
    app.slider(key="strength-lexicon").set_value(4.0).run()
    assert not app.exception, app.exception
    assert app.query_params["change"] == "term:lexicon=4"
    assert "4 times the trained strength of its lexicon" in page_text(app)
    assert app.button(key="chip-term:lexicon=4").label.replace("\\", "") == "lexicon × 4"
    assert app.session_state["tries"][-1]["changed"] == "lexicon × 4"
    model = load(Run.open(Path(_folder(ALL)), ALL))
    now = next(trace for trace in traces(app) if trace.change.strength == {"lexicon": 4})
    np.testing.assert_allclose(now.probabilities, model.trace(TEXT, strength=4).probabilities, atol=1e-6)
    assert np.abs(now.logits - model.trace(TEXT).logits).max() > 1e-6
    app.button(key="strength-lexicon-off").click().run()
    assert app.query_params["change"] == "term:lexicon=0" and "the model runs without its lexicon" in page_text(app)
    app.button(key="strength-lexicon-trained").click().run()
    assert "change" not in app.query_params and "This is an intervention" not in page_text(app)


def _folder(name: str) -> Path:
    from app import cache

    return cache.runs()[name].folder


@pytest.mark.exhaustive
def test_a_notebook_makes_the_same_figure() -> None:
    """The notebook lines contain the strength, and `draw` uses it."""
    app = opened(run=ALL, strength="0.5", text=TEXT)
    lines = [block.value for block in app.code if "draw(" in block.value]
    assert lines and all("change='term:lexicon=0.5'" in line for line in lines)
    model = load(Run.open(_folder(ALL), ALL))
    trace = model.trace(TEXT, strength=0.5)
    figure = draw(str(_folder(ALL)), "attention", text=TEXT, strength=0.5, layer=1, head=1)
    np.testing.assert_allclose(figure.frame["attention"], trace.map(1, 1).ravel(), atol=1e-6)


# ---- polarity and the walk


@pytest.mark.exhaustive
def test_the_walk_begins_with_the_strongest_token_and_follows_the_choice() -> None:
    """The walk shows entries, arithmetic and scores of the strongest token or of the chosen one, which is in the URL until the text
    changes.
    """
    app = opened("attention", run=ALL, look="lexicon", text=TEXT)
    assert "VADER" in page_text(app) and "adds σ to the scores of all heads" in page_text(app)
    assert "**1 · Entries with “warm”**" in page_text(app)
    assert "2 entries of VADER" in page_text(app)
    assert sorted(app.dataframe[0].value["term"]) == ["warm", "warm song"]
    assert "**3 · σ, and the scores before softmax**" in page_text(app) and "**4 · Attention" in page_text(app)
    dull = [i for i, option in enumerate(app.selectbox(key="focus-token").options, start=1) if option.endswith("dull")]
    app.selectbox(key="focus-token").set_value(dull[0]).run()
    assert not app.exception, app.exception
    assert app.query_params["token"] == str(dull[0])
    assert "**1 · Entries with “dull”**" in page_text(app) and "1 entry of VADER" in page_text(app)
    app.text_input(key="attention-sentence").set_value("a tender garden").run()
    assert "token" not in app.query_params and "**1 · Entries with “tender”**" in page_text(app)


@pytest.mark.exhaustive
def test_before_and_after_are_the_model_without_and_with_its_lexicon() -> None:
    """The model is run at strength 0 and at the page's strength, which a slider moves."""
    app = opened("attention", run=ALL, look="lexicon", text=TEXT)
    assert strengths(app) == [0, 1]
    before, after = sorted(traces(app), key=lambda trace: trace.change.strength.get("lexicon", 1))
    assert np.abs(after.map(0) - before.map(0))[1:].max() > 1e-4
    assert np.abs(after.map(0) - before.map(0))[0].max() < 1e-6  # not from the stored example, whose halves would not cancel
    app.slider(key="strength-lexicon").set_value(2.0).run()
    assert not app.exception, app.exception
    assert strengths(app) == [0, 1, 2]
    app.session_state["lexicon-both"] = True
    app.run()
    assert "**With · strength 2**" in page_text(app)


def test_without_the_lexicons_file_lambda_is_the_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the lexicon's file its entries cannot be listed, and all numbers after them are shown."""
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
    trace = trace.replace(
        polarity=polarity,
        text="The bad er",
        offsets=np.array([[0, 0], [0, 1], [1, 3], [4, 7], [8, 10]]),
        specials=np.array([True, False, False, False, False]),
    )
    assert by_accident(trace) == [(2, "The")]
    assert by_accident(trace.replace(polarity=None)) == []
