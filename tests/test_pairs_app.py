"""A run of sentence pairs on the pages: both sentences are read, shown, searched, changed and linked."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app import answers, cache
from app.focus import Focus
from sentviz.analysis.embeddings.cache import layer_vectors
from sentviz.analysis.explain.word_swaps import suggestions
from sentviz.analysis.testset.rows import RowsSource, predicted
from sentviz.data import datasets
from sentviz.errors import InputError
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs.store import Run
from sentviz.training import train
from tests.kit import opened, refused, toy_pairs, toy_recipe

RUN = "question_pair/cls"
FIRST, SECOND = "what a warm song", "a dull garden"


@pytest.fixture(scope="module", autouse=True)
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """Return a small run of the shape of a question-pair run on made-up pairs."""
    root = tmp_path_factory.mktemp("pairs")
    data = {split: replace(pairs, name="question_pair", labels=("same", "different")) for split, pairs in toy_pairs().items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_HOME", str(root / "home"))
        patch.setenv("SENTVIZ_RUNS", str(root / "runs"))
        patch.setattr(datasets, "load_split", lambda name, split: data[split])
        recipe = toy_recipe("cls", dataset="question_pair", example=FIRST, example_pair=SECOND, cls=True, max_length=24)
        train(recipe, root / "runs", progress=False)
        st.cache_resource.clear()
        yield load(cache.runs()[RUN])
    st.cache_resource.clear()


def boxes(app: AppTest) -> list[str]:
    return [box.value for box in app.text_input if box.key and box.key.startswith("sentence")]


def test_both_sentences_can_be_typed_over(model: Model) -> None:
    app = opened(run=RUN, text=FIRST, pair="a warm garden")
    expected, seen = model.trace(FIRST, "a warm garden"), app.session_state["traces"]
    assert boxes(app) == [FIRST, "a warm garden"]
    assert next(iter(seen.values())).probabilities == pytest.approx(expected.probabilities, abs=1e-5)
    app.text_input(key="sentence").set_value("a clever song").run()
    assert boxes(app) == ["a clever song", "a warm garden"] and app.session_state["focus"].pair == "a warm garden"
    app.text_input(key="sentence-pair").set_value("").run()
    assert (app.session_state["focus"].text, app.session_state["focus"].pair) == ("a clever song", "")
    assert [tried.get("second text") for tried in app.session_state["tries"]] == ["a warm garden", "a warm garden", None]
    row = datasets.load_split("question_pair", "test").frame.iloc[0]
    assert answers.texts(Focus(run=RUN, row=str(row["id"]))) == (row["text"], row["text_pair"])


def test_the_demo_set_is_for_english_sentences_one_by_one() -> None:
    run = cache.runs()[RUN]
    fitting = {**run.config, "data": {**run.config["data"], "name": "sst2"}, "labels": ["negative", "positive"]}
    configs = {"here": fitting, "other classes": {**fitting, "labels": ["same", "different"]}, "pairs": run.config}
    configs["Korean"] = {**fitting, "data": {**run.config["data"], "name": "nsmc"}}
    results = {}
    for name, config in configs.items():
        other_run = Run(run.folder, name)
        other_run.__dict__["config"] = config
        results[name] = cache.fits_demo(other_run)
    assert results == {"here": True, "other classes": False, "pairs": False, "Korean": False}


def test_vectors_answers_and_swapped_words_are_of_both(model: Model) -> None:
    frame = datasets.load_split("question_pair", "test").frame.head(5)
    vectors = layer_vectors(model, frame)
    rows = predicted(model, RowsSource(model.name, ""), frame, "test")
    answers = model.predict(frame["text"].tolist(), frame["text_pair"].tolist())
    for i, (text, pair) in enumerate(zip(frame["text"], frame["text_pair"], strict=True)):
        trace = model.trace(text, pair)
        np.testing.assert_allclose(vectors[-1, i], trace.pooled, atol=4e-3)
        np.testing.assert_allclose(rows.probabilities[i], trace.probabilities, atol=1e-5)
        np.testing.assert_allclose(answers.loc[i, list(model.labels)].to_numpy(float), trace.probabilities, atol=1e-5)
    alone = model.predict(frame["text"].tolist())
    assert np.abs(alone[list(model.labels)].to_numpy() - answers[list(model.labels)].to_numpy()).max() > 1e-3
    refused(InputError, "2 texts and 1 second texts", model.predict, ["a", "b"], ["c"])
    trace = model.trace(FIRST, SECOND)
    token = trace.tokens.index("warm")
    frame = suggestions(model, trace, token)
    row = frame.iloc[0]
    expected = model.trace(row["text"], SECOND).probabilities[list(model.labels).index(trace.label)]
    assert row["probability"] == pytest.approx(float(expected), abs=1e-5)
