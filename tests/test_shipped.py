"""The runs that ship: whole, small, honest."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

from sentviz.epochs.course import course, examples
from sentviz.errors import DataMissingError
from sentviz.examples import EXAMPLES
from sentviz.runs import FILES, Run
from tests.shipped import ASKABLE, ROOT, SHIPPED, of_each


@of_each(SHIPPED)
def test_every_file_is_the_one_written_with_the_run(run: Run) -> None:
    optional = {"model.safetensors", "tokenizer.json", "embeddings.safetensors", "example.safetensors"}  # of what needs weights
    for file in FILES if run.askable else set(FILES) - optional:
        assert run.path(file).stat().st_size > 0


@pytest.mark.slow
@of_each(ASKABLE)
def test_the_stored_trace_is_what_the_model_says(run: Run) -> None:
    """The first paint's trace against one made now from the stored weights, to half precision; its scores as well."""
    from sentviz.explain import explained
    from sentviz.models.loading import load

    stored, model = run.example(), load(run)
    fresh = explained(model, model.trace(stored.text, stored.text_pair))
    assert stored.tokens == fresh.tokens
    np.testing.assert_allclose(stored.probabilities, fresh.probabilities, atol=1e-5)
    assert (stored.attention is None) == (not run.capabilities.maps)
    if stored.attention is not None:
        np.testing.assert_allclose(stored.attention, fresh.attention, atol=1e-3)
    np.testing.assert_allclose(stored.token_scores["removal"], fresh.token_scores["removal"], atol=1e-3)


@of_each(ASKABLE)
def test_the_parameters_said_are_those_stored(run: Run) -> None:
    """The count in config.json against the entries of model.safetensors; scales of rows and a lexicon's polarities are no parameters."""
    from safetensors.numpy import load_file

    weights = load_file(run.path("model.safetensors"))
    counted = (array.size for name, array in weights.items() if not name.startswith("polarity") and not name.endswith(".scale"))
    assert run.config["parameters"] == sum(counted)


@of_each(ASKABLE)
def test_the_example_is_one_of_our_own_sentences(run: Run) -> None:
    stored = run.example()
    assert (stored.text, stored.text_pair) in {(example.text, example.pair) for example in EXAMPLES}


@pytest.mark.slow
@of_each(SHIPPED)
def test_metrics_are_those_of_the_stored_predictions(run: Run) -> None:
    """Accuracy recomputed from test.parquet equals metrics.json, inside its interval."""
    frame, metrics = run.frame("test.parquet"), run.metrics()
    for split, rows in frame.groupby("split", observed=True):
        said = metrics[str(split)]["accuracy"]
        right = rows[list(run.labels)].to_numpy().argmax(axis=1) == rows["label"].to_numpy()
        assert said["value"] == pytest.approx(right.mean(), abs=6e-6)
        assert said["low"] <= said["value"] <= said["high"]
        assert len(rows) == metrics[str(split)]["n"]


@pytest.mark.slow
@of_each(SHIPPED)
def test_no_text_of_a_data_set_ships(run: Run) -> None:
    """The stored predictions hold ids and numbers; ids name no words."""
    frame = run.frame("test.parquet")
    assert set(frame.columns) == {"split", "id", "label", *run.labels}
    assert frame["id"].astype(str).str.fullmatch(r"[a-z0-9_/-]+\d+").all()


@of_each(run for run in SHIPPED if run.measured)
def test_measured_epochs_are_whole_and_small(run: Run) -> None:
    """Every epoch and the example after it can be read; rows are ids; beside the weights they take less than a megabyte."""
    seen, (traces, problems) = course(run), examples(run)
    assert not seen.problems and not problems and tuple(traces) == seen.epochs == run.measured
    assert all(re.fullmatch(r"[a-z0-9_/-]+\d+", row) for row in seen.first.ids)
    files = [path for path in (run.folder / "epochs").iterdir() if path.name.count(".") > 1]
    assert sum(path.stat().st_size for path in files) < 1e6


@pytest.mark.slow
@pytest.mark.skipif("SENTVIZ_DATA" not in os.environ, reason="SENTVIZ_DATA names no folder of data sets")
@of_each(run for run in SHIPPED if run.epochs)
def test_kept_epochs_answer_as_measured(run: Run) -> None:
    """The first rows of the sample asked again with the weights after each kept epoch."""
    from sentviz import datasets
    from sentviz.models.loading import load

    frame = datasets.load_split(run.config["data"]["name"], "validation").frame.set_index("id")
    for one in course(run).measured:
        if one.epoch in run.epochs:
            fresh = load(run, epoch=one.epoch).predict(frame.loc[list(one.ids[:40]), "text"].tolist())
            np.testing.assert_allclose(fresh[list(run.labels)].to_numpy(), one.probabilities[:40], atol=2e-4)


def test_what_ships_stays_small() -> None:
    total = sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file())
    assert total <= 200e6


@pytest.mark.slow
@pytest.mark.skipif("SENTVIZ_DATA" not in os.environ, reason="SENTVIZ_DATA names no folder of data sets")
@pytest.mark.parametrize("data", sorted({run.config["data"]["name"] for run in ASKABLE}))
def test_predictions_come_back_from_the_weights(data: str) -> None:
    """A slice of the test split predicted anew equals what each run stored."""
    from sentviz import datasets
    from sentviz.models.loading import load

    try:
        frame = datasets.load_split(data, "test").frame.head(50)
    except DataMissingError as error:
        pytest.skip(str(error))
    texts = [frame[name].tolist() for name in ("text", "text_pair") if name in frame]

    @of_each(run for run in ASKABLE if run.config["data"]["name"] == data)
    def told_again(run: Run) -> None:
        stored = run.frame("test.parquet").query("split == 'test'")[list(run.labels)].to_numpy()[:50]
        fresh = load(run).predict(*texts)[list(run.labels)].to_numpy()
        np.testing.assert_allclose(fresh, stored, atol=2e-4)

    told_again()
