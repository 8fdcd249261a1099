"""The runs that ship: whole, small, honest."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from sentviz.errors import DataMissingError
from sentviz.examples import EXAMPLES
from sentviz.runs import FILES, Run, runs

ROOT = Path(__file__).parents[1] / "checkpoints"
SHIPPED = sorted(name for name in runs([ROOT]) if (ROOT / name).is_dir())
pytestmark = pytest.mark.skipif(not SHIPPED, reason="checkpoints/ is empty")


@pytest.fixture(params=SHIPPED)
def run(request: pytest.FixtureRequest) -> Run:
    return Run.open(ROOT / request.param, request.param)


def test_every_file_is_the_one_written_with_the_run(run: Run) -> None:
    optional = {"model.safetensors", "tokenizer.json", "embeddings.safetensors", "example.safetensors"}  # of what needs weights
    for file in FILES if run.askable else set(FILES) - optional:
        assert run.path(file).stat().st_size > 0


def test_the_accuracy_is_that_of_the_stored_answers(run: Run) -> None:
    answers, stored = run.frame("test.parquet"), run.metrics()
    for split, rows in answers.groupby("split", observed=True):
        right = rows[list(run.labels)].to_numpy().argmax(axis=1) == rows["label"].to_numpy()
        assert stored[split]["accuracy"]["value"] == pytest.approx(right.mean(), abs=6e-6)


def test_the_stored_trace_is_what_the_model_says(run: Run) -> None:
    """The first paint's trace against one made now from the stored weights, to half precision; its scores as well."""
    from sentviz.explain import explained
    from sentviz.models.loading import load

    if not run.askable:
        pytest.skip("ships without weights")
    stored, model = run.example(), load(run)
    fresh = explained(model, model.trace(stored.text, stored.text_pair))
    assert stored.tokens == fresh.tokens
    np.testing.assert_allclose(stored.probabilities, fresh.probabilities, atol=1e-5)
    np.testing.assert_allclose(stored.attention, fresh.attention, atol=1e-3)
    np.testing.assert_allclose(stored.token_scores["removal"], fresh.token_scores["removal"], atol=1e-3)


def test_the_parameters_said_are_those_stored(run: Run) -> None:
    """The count in config.json against the entries of model.safetensors; scales of rows and a lexicon's polarities are no parameters."""
    from safetensors.numpy import load_file

    if not run.askable:
        pytest.skip("ships without weights")
    weights = load_file(run.path("model.safetensors"))
    counted = (array.size for name, array in weights.items() if not name.startswith("polarity") and not name.endswith(".scale"))
    assert run.config["parameters"] == sum(counted)


def test_the_example_is_one_of_our_own_sentences(run: Run) -> None:
    if not run.askable:
        pytest.skip("ships without weights")
    stored = run.example()
    assert (stored.text, stored.text_pair) in {(example.text, example.pair) for example in EXAMPLES}


def test_metrics_are_those_of_the_stored_predictions(run: Run) -> None:
    """Accuracy recomputed from test.parquet equals metrics.json, inside its interval."""
    frame, metrics = run.frame("test.parquet"), run.metrics()
    for split, rows in frame.groupby("split"):
        said = metrics[str(split)]["accuracy"]
        right = rows[list(run.labels)].to_numpy().argmax(axis=1) == rows["label"].to_numpy()
        assert abs(right.mean() - said["value"]) < 2e-4
        assert said["low"] <= said["value"] <= said["high"]
        assert len(rows) == metrics[str(split)]["n"]


def test_no_text_of_a_data_set_ships(run: Run) -> None:
    """The stored predictions hold ids and numbers; ids name no words."""
    frame = run.frame("test.parquet")
    assert set(frame.columns) == {"split", "id", "label", *run.labels}
    assert frame["id"].astype(str).str.fullmatch(r"[a-z0-9_-]+\d+").all()


def test_what_ships_stays_small() -> None:
    total = sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file())
    assert total <= 150e6


@pytest.mark.skipif("SENTVIZ_DATA" not in os.environ, reason="SENTVIZ_DATA names no folder of data sets")
def test_predictions_come_back_from_the_weights(run: Run) -> None:
    """A slice of the test split predicted anew equals what the run stored."""
    from sentviz import datasets
    from sentviz.models.loading import load

    if not run.askable:
        pytest.skip("ships without weights")
    try:
        split = datasets.load_split(run.config["data"]["name"], "test")
    except DataMissingError as error:
        pytest.skip(str(error))
    frame = split.frame.head(300)
    texts = [frame[name].tolist() for name in ("text", "text_pair") if name in frame]
    stored = run.frame("test.parquet").query("split == 'test'")[list(run.labels)].to_numpy()[:300]
    fresh = load(run).predict(*texts)[list(run.labels)].to_numpy()
    np.testing.assert_allclose(fresh, stored, atol=2e-4)
