"""The runs that ship: whole, small, honest."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from sentviz.analysis.epochs import epoch_series, examples
from sentviz.analysis.explain import explained
from sentviz.data import datasets
from sentviz.errors import DataMissingError, InputError
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.models.protocol import Capture
from sentviz.papers.studies.timing import threads
from sentviz.runs.catalog import reads_pairs
from sentviz.runs.run_files import FILES
from sentviz.runs.store import Run
from tests.shipped import ASKABLE, ROOT, SHIPPED, of_each

STORED = np.load(Path(__file__).with_name("shipped_logits.npz"))
DIGESTS = dict(zip(STORED["names"].tolist(), STORED["digests"].tolist(), strict=True))
ASKED = [(str(text), str(pair) or None) for text, pair in STORED["asked"]]  # our examples of then: one more needs no new file


@of_each(SHIPPED)
def test_every_file_is_the_one_written_with_the_run(run: Run) -> None:
    of_weights = {"model.safetensors", "tokenizer.json", "embeddings.safetensors", "example.safetensors"}
    elsewhere = {"tokenizer.json"} if run.config.get("base") else set()  # a run on a base has the tokenizer of the base
    for file in set(FILES) - (elsewhere if run.has_weights else of_weights):
        assert run.path(file).stat().st_size > 0


@pytest.mark.skipif(not ROOT.is_dir(), reason="checkpoints/ is not here")
def test_no_digest_has_changed_and_what_ships_stays_small() -> None:
    assert not [name for name, digest in DIGESTS.items() if not Run.open(ROOT / name, name).had_digest(digest)]
    sizes = [path.stat().st_size for path in ROOT.rglob("*") if path.is_file()]
    assert sum(sizes) <= 330e6 and max(sizes) < 50e6


@pytest.mark.exhaustive
@of_each(ASKABLE, few=True)
def test_a_model_says_what_is_stored(run: Run) -> None:
    model = load(run)
    traced_as_stored(run, model)
    answered_as_before(run, model)
    predicted_as_stored(run, model.calibrated(1.0))


def traced_as_stored(run: Run, model: Model) -> None:
    """Compare the stored example trace with a new one."""
    stored = run.example()
    fresh = explained(model, model.trace(stored.text, stored.text_pair), ["removal"])
    assert stored.tokens == fresh.tokens
    np.testing.assert_allclose(stored.probabilities, fresh.probabilities, atol=1e-5)
    assert (stored.attention is None) == (not run.capabilities.maps)
    if stored.attention is not None:
        np.testing.assert_allclose(stored.attention, fresh.attention, atol=1e-3)
    np.testing.assert_allclose(stored.token_scores["removal"], fresh.token_scores["removal"], atol=1e-3)


def answered_as_before(run: Run, model: Model) -> None:
    """Check logits of the examples against the stored ones to 2e-5, which processors with other instructions need, on both paths."""
    if (key := run.name.replace("/", ".")) not in STORED.files:
        return
    logits: list[object] = []
    every: list[object] = []
    with threads(1):
        for text, pair in ASKED:
            if (pair is not None) != reads_pairs(run):
                continue
            try:
                encoded = model.encode(text, pair)
            except InputError:
                continue
            logits.append(model.forward([encoded.reading])[0][0])
            if model.capabilities.maps:
                with torch.inference_mode():
                    every.append(model.network(model.batch([encoded.reading]), Capture(maps=False)).logits[0].numpy())
    np.testing.assert_allclose(np.array(every or logits), STORED[key], rtol=0, atol=2e-5)
    np.testing.assert_allclose(np.array(logits), STORED[key], rtol=0, atol=2e-5)


def predicted_as_stored(run: Run, model: Model) -> None:
    stored = run.frame("test.parquet").query("split == 'test'").head(50)
    if rows := texts_of(run.config["data"]["name"], tuple(stored["id"])):
        fresh = model.predict(*rows)[list(run.labels)]
        np.testing.assert_allclose(fresh.to_numpy(), stored[list(run.labels)].to_numpy(), atol=2e-4)


@cache
def texts_of(data: str, ids: tuple[str, ...]) -> list[list[str]]:
    """Return the texts, and second texts, of some test rows; empty if the data set is not available."""
    try:
        frame = datasets.load_split(data, "test").frame.set_index("id").loc[list(ids)]
    except DataMissingError:
        return []
    return [frame[name].tolist() for name in ("text", "text_pair") if name in frame]


@of_each(ASKABLE)
def test_the_parameters_said_are_those_stored(run: Run) -> None:
    if run.config.get("base"):
        sizes = run.config["model"]
        width, wide, classes = sizes["width"], sizes["ffn_width"], len(run.labels)
        layer = 4 * (width * width + width) + (width * wide + wide) + (wide * width + width) + 2 * 2 * width
        layer += (sizes["components"] - 1) * (2 * (width * width + width) + 2 * width // sizes["heads"] + 1)  # Q and K, and lambda's parts
        once = (sizes["vocab_size"] + sizes["max_length"]) * width + 2 * width + sizes["relative"] * sizes["heads"]
        assert run.config["parameters"] == once + sizes["layers"] * layer + (width + 1) * classes
        return
    weights = load_file(run.path("model.safetensors"))
    counted = (array.size for name, array in weights.items() if not name.startswith("polarity") and not name.endswith(".scale"))
    assert run.config["parameters"] == sum(counted)


@of_each(SHIPPED, few=True)
def test_metrics_are_those_of_the_stored_predictions(run: Run) -> None:
    frame, metrics = run.frame("test.parquet"), run.metrics()
    assert set(frame.columns) == {"split", "id", "label", *run.labels}
    assert frame["id"].astype(str).str.fullmatch(r"[a-z0-9_/-]+\d+").all()
    for split, rows in frame.groupby("split", observed=True):
        accuracy = metrics[str(split)]["accuracy"]
        right = rows[list(run.labels)].to_numpy().argmax(axis=1) == rows["label"].to_numpy()
        assert accuracy["value"] == pytest.approx(right.mean(), abs=6e-6)
        assert accuracy["low"] <= accuracy["value"] <= accuracy["high"] and len(rows) == metrics[str(split)]["n"]


@of_each(run for run in SHIPPED if run.measured)
def test_measured_epochs_are_whole_and_small(run: Run) -> None:
    seen, (traces, problems) = epoch_series(run), examples(run)
    assert not seen.problems and not problems and tuple(traces) == seen.epochs == run.measured
    assert all(re.fullmatch(r"[a-z0-9_/-]+\d+", row) for row in seen.first.ids)
    files = [path for path in (run.folder / "epochs").iterdir() if path.name.count(".") > 1]
    assert sum(path.stat().st_size for path in files) < 3e5 * len(seen.epochs)
