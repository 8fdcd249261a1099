"""Temperature and intercept: the fit against a slow search, the runs that store them, and one number on all surfaces."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy.optimize import minimize

from sentviz.analysis.calibration import Calibration, calibration_report, fit_calibration, source_weights
from sentviz.analysis.evaluation import evaluate
from sentviz.analysis.explain import explained
from sentviz.analysis.explain.leave_out import leaving_out, words
from sentviz.analysis.testset.rows import stored
from sentviz.browser.canvas import canvas_data, scene_of
from sentviz.errors import InputError, RunError
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs.calibration import softmax, tempered, untempered
from sentviz.runs.store import Run
from sentviz.training.recipe import Recipe
from sentviz.training.run import train
from tests.kit import refused, toy_recipe, toy_splits, use_toy_data


def sample(n: int, classes: int, seed: int, *, scale: float = 2.0, shift: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    """Return logits (n, K) that are `scale` too steep, with `shift` too much for the first class, and labels drawn from the right ones."""
    rng = np.random.default_rng(seed)
    right = rng.normal(size=(n, classes))
    labels = np.array([rng.choice(classes, p=softmax(row)) for row in right])
    wrong = scale * right
    wrong[:, 0] += shift
    return wrong.astype(np.float32), labels


@pytest.mark.parametrize(("classes", "intercept"), [(2, True), (3, True), (2, False), (4, False)])
def test_the_fit_is_that_of_a_slow_search(classes: int, intercept: bool) -> None:
    logits, labels = sample(90, classes, seed=classes)
    sources = np.array(["many"] * 60 + ["some"] * 20 + ["few"] * 10)
    weights = [1 / (3 * {"many": 60, "some": 20, "few": 10}[name]) for name in sources]
    fitted = fit_calibration(logits, labels, sources, intercept=intercept)

    def loss(x: np.ndarray) -> float:
        """Return the weighted cross-entropy with log T and the intercepts of all classes but the first, with loops over single numbers."""
        total, added = 0.0, [0.0, *x[1:]] if intercept else [0.0] * classes
        for row, label, weight in zip(logits.tolist(), labels.tolist(), weights, strict=True):
            s = [value / math.exp(x[0]) + each for value, each in zip(row, added, strict=True)]
            total += weight * (math.log(sum(math.exp(value - s[label]) for value in s)))
        return total

    best = minimize(loss, np.zeros(classes if intercept else 1), method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-9}).x
    added = np.array([0.0, *best[1:]] if intercept else [0.0] * classes)
    assert fitted.temperature == pytest.approx(math.exp(best[0]), rel=2e-3)
    assert fitted.intercept == pytest.approx((added - added.mean()).tolist(), abs=2e-3)
    assert sum(fitted.intercept) == pytest.approx(0, abs=2e-4)
    assert fitted == fit_calibration(logits, labels, sources, intercept=intercept)
    assert intercept == any(fitted.intercept)


def test_each_source_weighs_the_same() -> None:
    assert source_weights(np.array(["a", "b", "a", "a"]), 4).tolist() == pytest.approx([1 / 6, 1 / 2, 1 / 6, 1 / 6])
    assert source_weights(None, 4).tolist() == [0.25] * 4
    fitted = fit_calibration(np.array([[3, 0], [0, 3], [2, 0]], dtype=np.float32), np.array([0, 1, 0]), intercept=True)
    assert math.exp(-3) - 1e-4 <= fitted.temperature < 0.2 and max(map(abs, fitted.intercept)) <= 10
    logits, labels = sample(300, 2, seed=5)
    report = calibration_report(fit_calibration(logits, labels), logits, labels, np.full(300, "all"))
    assert report["error_after"] < report["error_before"] and (report["n"], report["sources"], report["intercept"]) == (300, 1, [0, 0])


def test_tempered_probabilities_are_those_of_the_logits() -> None:
    logits = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
    raw = softmax(logits).astype(np.float64)
    warm = tempered(raw, 1.7)
    assert warm == pytest.approx(softmax(logits / 1.7), abs=1e-5) and softmax(logits, 1.7) == pytest.approx(warm, abs=1e-5)
    assert untempered(warm, 1.7) == pytest.approx(raw, abs=1e-6)
    assert (warm.argmax(axis=1) == raw.argmax(axis=1)).all() and np.isfinite(tempered(np.array([[0.0, 1.0]]), 3)).all()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Train a small run with an intercept on toy rows."""
    with pytest.MonkeyPatch.context() as patch:
        use_toy_data(patch)
        return train(toy_recipe(intercept=True, epochs=1), tmp_path, progress=False)


def test_a_run_has_its_intercept_in_the_biases(run: Run, tmp_path: Path) -> None:
    validation, stored = toy_splits()["validation"], run.config["calibration"]
    with pytest.MonkeyPatch.context() as patch:
        use_toy_data(patch)
        plain = train(toy_recipe(epochs=1), tmp_path / "plain", progress=False)
    assert not any(plain.config["calibration"]["intercept"]) and any(stored["intercept"])
    biases = [load_file(each.path("model.safetensors"))["classifier.bias"].float() for each in (run, plain)]
    torch.testing.assert_close(biases[0] - biases[1], run.calibration * torch.tensor(stored["intercept"]), atol=2e-3, rtol=0)
    before = evaluate(load(plain), validation)
    assert fit_calibration(before.logits, before.labels, intercept=True) == Calibration(run.calibration, tuple(stored["intercept"]))
    after = evaluate(load(run), validation)
    assert run.metrics()["validation"]["stored_accuracy"] == (after.logits.argmax(axis=1) == after.labels).mean()
    again = fit_calibration(after.logits, after.labels, intercept=True)
    assert again.temperature == pytest.approx(run.calibration, rel=1e-2) and again.intercept == pytest.approx((0, 0), abs=5e-3)


def test_an_older_run_has_a_temperature_only(run: Run, tmp_path: Path) -> None:
    for name, entry in (("old", None), ("bad", {"intercept": "none"})):
        shutil.copytree(run.folder, tmp_path / name)
        path = tmp_path / name / "config.json"
        config = json.loads(path.read_text())
        config.pop("calibration")
        path.write_text(json.dumps(config | ({"calibration": entry} if entry else {})))
    assert Run.open(tmp_path / "old").calibration == run.calibration
    refused(RunError, "calibration", Run.open, tmp_path / "bad")


def test_an_intercept_needs_the_classifier_of_our_networks() -> None:
    refused(InputError, "temperature only", Recipe.of, {"dataset": "toy", "source": "bert", "intercept": True})
    refused(InputError, "does not take intercept", Recipe.of, {"dataset": "toy", "model": "hardmax-d2", "intercept": True})


# ---- one number


def slow_share(logits: np.ndarray, temperature: float, k: int) -> float:
    """Return the probability of a class at a temperature, with loops over single numbers."""
    powers = [math.exp((float(value) - float(max(logits))) / temperature) for value in logits]
    return powers[k] / sum(powers)


def test_answers_are_calibrated_everywhere(tiny_run: Path, tiny_model: Model) -> None:
    run, texts = Run.open(tiny_run), ["a warm, clever song", "a dull story", "we saw a film"]
    assert run.calibration == tiny_model.calibration != 1
    frame, raw = tiny_model.predict(texts), tiny_model.calibrated(1.0).predict(texts)
    for text, positive, before in zip(texts, frame["positive"], raw["positive"], strict=True):
        trace = tiny_model.trace(text)
        assert trace.probabilities[1] == pytest.approx(slow_share(trace.logits, run.calibration, 1), abs=1e-6)
        assert positive == pytest.approx(trace.probabilities[1], abs=1e-6)
        assert before == pytest.approx(trace.calibrated(1.0).probabilities[1], abs=1e-6)
        assert 1 / (1 + math.exp(-trace.odds)) == pytest.approx(trace.confidence, abs=1e-6)
    assert frame["label"].tolist() == raw["label"].tolist() and tiny_model.calibration == run.calibration
    example = run.example()
    assert example.calibration == run.calibration
    assert example.probabilities[1] == pytest.approx(slow_share(example.logits, run.calibration, 1), abs=1e-6)
    rows, table = stored(run), run.frame("test.parquet")
    shares = table[list(run.labels)].to_numpy(np.float64)
    assert rows.probabilities == pytest.approx(tempered(shares, run.calibration))
    assert rows.calibrated(1.0).probabilities == pytest.approx(shares, abs=2e-5)
    assert rows.predicted.tolist() == shares.argmax(axis=1).tolist() == rows.calibrated(1.0).predicted.tolist()
    assert [rows.calibration, rows.calibrated(1.0).calibration] == [run.calibration, 1]
    assert rows.calibrated(1.7).probabilities == pytest.approx(tempered(shares, 1.7)) and rows.calibrated(1.7).calibration == 1.7


def test_a_probability_without_a_word_is_that_of_the_shorter_text(tiny_model: Model) -> None:
    trace = explained(tiny_model, tiny_model.trace("a warm, clever song"), ["removal"])
    best, falls = int(trace.probabilities.argmax()), trace.token_scores["removal"]
    data = canvas_data(scene_of(trace, tiny_model.capabilities))
    for word in words(trace):
        logits = leaving_out(tiny_model, trace, [word.indices])[0]
        expected = slow_share(logits, tiny_model.calibration, best)
        assert trace.without(float(falls[word.indices[0]])) == pytest.approx(expected, abs=1e-5)
        unit = data["units"].index(list(word.indices))
        assert 1 / (1 + math.exp(data["falls"][unit] - data["odds"])) == pytest.approx(expected, abs=1e-3)
