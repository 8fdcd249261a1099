"""Temperature and intercept against a slow search, one number on all surfaces, and labels that look wrong."""

import json
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy.optimize import minimize

from sentviz.analysis.calibration import Calibration, calibration_report, fit_calibration, source_weights
from sentviz.analysis.evaluation import evaluate, wilson
from sentviz.analysis.explain import explained
from sentviz.analysis.explain.leave_out import leaving_out, words
from sentviz.analysis.testset.label_errors import (
    NEAREST,
    describe,
    describe_check,
    flipped,
    label_errors,
    planted,
    summarised,
    suspected_pairs,
)
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted_rows, stored
from sentviz.browser.canvas import canvas_data, scene_of
from sentviz.charts import gallery
from sentviz.charts.subjects import Answers
from sentviz.errors import InputError, RunError
from sentviz.io.numbers import percent
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


def test_sources_weigh_the_same_and_temperatures_keep_the_order() -> None:
    assert source_weights(np.array(["a", "b", "a", "a"]), 4).tolist() == pytest.approx([1 / 6, 1 / 2, 1 / 6, 1 / 6])
    assert source_weights(None, 4).tolist() == [0.25] * 4
    fitted = fit_calibration(np.array([[3, 0], [0, 3], [2, 0]], dtype=np.float32), np.array([0, 1, 0]), intercept=True)
    assert math.exp(-3) - 1e-4 <= fitted.temperature < 0.2 and max(map(abs, fitted.intercept)) <= 10
    logits, labels = sample(300, 2, seed=5)
    report = calibration_report(fit_calibration(logits, labels), logits, labels, np.full(300, "all"))
    assert report["error_after"] < report["error_before"] and (report["n"], report["sources"], report["intercept"]) == (300, 1, [0, 0])
    logits = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
    raw = softmax(logits).astype(np.float64)
    warm = tempered(raw, 1.7)
    assert warm == pytest.approx(softmax(logits / 1.7), abs=1e-5) and softmax(logits, 1.7) == pytest.approx(warm, abs=1e-5)
    assert untempered(warm, 1.7) == pytest.approx(raw, abs=1e-6)
    assert (warm.argmax(axis=1) == raw.argmax(axis=1)).all() and np.isfinite(tempered(np.array([[0.0, 1.0]]), 3)).all()


def test_a_run_has_its_intercept_in_the_biases_and_an_older_one_a_temperature_only(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_toy_data(patch)
        run, plain = (train(toy_recipe(epochs=1, intercept=wanted), tmp_path / f"{wanted}", progress=False) for wanted in (True, False))
    validation, stored = toy_splits()["validation"], run.config["calibration"]
    assert not any(plain.config["calibration"]["intercept"]) and any(stored["intercept"])
    biases = [load_file(each.path("model.safetensors"))["classifier.bias"].float() for each in (run, plain)]
    torch.testing.assert_close(biases[0] - biases[1], run.calibration * torch.tensor(stored["intercept"]), atol=2e-3, rtol=0)
    before = evaluate(load(plain), validation)
    assert fit_calibration(before.logits, before.labels, intercept=True) == Calibration(run.calibration, tuple(stored["intercept"]))
    after = evaluate(load(run), validation)
    assert run.metrics()["validation"]["stored_accuracy"] == (after.logits.argmax(axis=1) == after.labels).mean()
    again = fit_calibration(after.logits, after.labels, intercept=True)
    assert again.temperature == pytest.approx(run.calibration, rel=1e-2) and again.intercept == pytest.approx((0, 0), abs=5e-3)
    for name, entry in (("old", None), ("bad", {"intercept": "none"})):
        shutil.copytree(run.folder, tmp_path / name)
        path = tmp_path / name / "config.json"
        config = json.loads(path.read_text())
        config.pop("calibration")
        path.write_text(json.dumps(config | ({"calibration": entry} if entry else {})))
    assert Run.open(tmp_path / "old").calibration == run.calibration
    refused(RunError, "calibration", Run.open, tmp_path / "bad")
    refused(InputError, "temperature only", Recipe.of, {"dataset": "toy", "source": "bert", "intercept": True})
    refused(InputError, "does not take intercept", Recipe.of, {"dataset": "toy", "model": "hardmax-d2", "intercept": True})


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
    trace = explained(tiny_model, tiny_model.trace("a warm, clever song"), ["removal"])
    best, falls = int(trace.probabilities.argmax()), trace.token_scores["removal"]
    data = canvas_data(scene_of(trace, tiny_model.capabilities))
    for word in words(trace):
        logits = leaving_out(tiny_model, trace, [word.indices])[0]
        expected = slow_share(logits, tiny_model.calibration, best)
        assert trace.without(float(falls[word.indices[0]])) == pytest.approx(expected, abs=1e-5)
        unit = data["units"].index(list(word.indices))
        assert 1 / (1 + math.exp(data["falls"][unit] - data["odds"])) == pytest.approx(expected, abs=1e-3)


NAMES = ("bad", "fair", "good")


def judged(n: int = 300, wrong: int = 12, classes: int = 3, seed: int = 0) -> tuple[Rows, set[str]]:
    """Return rows whose probabilities fit the labels of all but the first `wrong` rows, and the ids of these."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    shares = rng.dirichlet(np.full(classes, 9.0), n) * 0.1 + 0.9 * np.eye(classes)[truth]
    labels = np.where(np.arange(n) < wrong, (truth + 1) % classes, truth)
    columns = {"id": [f"r{i}" for i in range(n)], "label": labels, "text": [f"row {i}" for i in range(n)]}
    return predicted_rows(RowsSource("a file", "0" * 12), "mine", NAMES[:classes], columns, shares), {f"r{i}" for i in range(wrong)}


@pytest.mark.parametrize("classes", [2, 3])
def test_wrong_labels_are_flagged_and_come_first(classes: int) -> None:
    rows, wrong = judged(classes=classes)
    marked = label_errors(rows)
    flagged = marked.frame[marked.frame["suspect"]]
    assert set(flagged["id"]) == wrong == set(marked.frame["id"].head(len(wrong)))
    own = [marked.frame[f"p{label}"].iloc[i] for i, label in enumerate(marked.labels)]
    assert marked.frame["own"].tolist() == own and own[: len(wrong)] == sorted(own[: len(wrong)])
    first = flagged.iloc[0]
    assert f"Labelled {NAMES[first['label']]}, which gets {percent(first['own'])}; {NAMES[first['likely']]} gets" in first["reason"]
    assert not any(marked.frame["reason"].iloc[len(wrong) :])
    assert describe(marked).startswith(f"{len(wrong)} of 300 labels look wrong: 4.0\u00a0%")


def test_suspected_pairs_and_nearest_rows_are_counted() -> None:
    rows, _ = judged()
    marked = label_errors(rows)
    frame = suspected_pairs(marked)
    for row in frame.to_dict("records"):
        n = int((marked.frame["suspect"] & (marked.frame["label"] == row["label"]) & (marked.frame["likely"] == row["likely"])).sum())
        of = sum(label == row["label"] for label in rows.labels)
        low, high = wilson(n, of)
        assert (row["n"], row["of"], row["low"], row["high"]) == (n, of, pytest.approx(float(low)), pytest.approx(float(high)))
    assert frame["n"].sum() == 12 and frame["n"].is_monotonic_decreasing
    figure = gallery.make("label-errors", Answers.of(rows))
    assert figure.frame["n"].tolist() == frame["n"].tolist() and figure.frame["label"].tolist() == [NAMES[k] for k in frame["label"]]
    rows, _ = judged(60, wrong=5)
    rows.frame.loc[50:52, "label"] = -1
    places = np.arange(10, 58)
    vectors = np.random.default_rng(1).normal(size=(len(places), 4))
    marked = label_errors(rows, vectors, places).frame.set_index("id")["near"]
    labels, likely = rows.labels, rows.probabilities.argmax(axis=1)
    for i in range(60):
        if labels[i] < 0:
            assert f"r{i}" not in marked
        elif i not in places:
            assert np.isnan(marked[f"r{i}"])
        else:
            away = sorted((float(np.linalg.norm(vectors[i - 10] - vectors[j - 10])), j) for j in places if j != i and labels[j] >= 0)
            assert marked[f"r{i}"] == sum(labels[j] == likely[i] for _, j in away[:NEAREST])
    rows, _ = judged(classes=2)
    shares = np.column_stack([rows.probabilities * 0.9, np.full(len(rows), 0.1)])
    shares[200:210] = [0.01, 0.01, 0.98]
    wide = predicted_rows(rows.source, "mine", NAMES, {name: rows.frame[name] for name in ("id", "label", "text")}, shares)
    marked = label_errors(wide)
    assert set(marked.frame.loc[marked.frame["suspect"], "id"]) == {f"r{i}" for i in range(12)}


def test_flipped_labels_and_rows_that_cannot_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.random.default_rng(0).integers(0, 3, 1_000)
    new, is_flipped = flipped(labels, 3, 0.05, seed=4)
    assert is_flipped.sum() == 50 and ((new != labels) == is_flipped).all() and new.min() >= 0 and new.max() <= 2
    assert (flipped(labels, 3, 0.05, seed=4)[0] == new).all() and (flipped(labels, 3, 0.05, seed=5)[0] != new).any()
    rows, _ = judged(400, wrong=0, classes=2, seed=2)
    rng = np.random.default_rng(3)
    shares = 0.6 * rows.probabilities + 0.4 * rng.dirichlet([1, 1], len(rows))
    frame = planted(rows.labels, shares, share=0.1, first=30, seeds=range(3))
    values = []
    for seed in range(3):
        new_labels, is_flipped = flipped(rows.labels, 2, 0.1, seed)
        ranked = sorted(range(len(rows)), key=lambda i: (shares[i, new_labels[i]], i))
        values.append(sum(bool(is_flipped[i]) for i in ranked[:30]) / 30)
    assert frame.loc[frame["method"] == "probability", "precision"].tolist() == values
    table = summarised(frame).set_index("method")
    spread = 4.302653 * np.std(values, ddof=1) / np.sqrt(3)
    assert table.loc["probability", "value"] == pytest.approx(np.mean(values))
    assert table.loc["probability", "low"] == pytest.approx(np.mean(values) - spread, abs=1e-5)
    assert table.loc["chance", "value"] == 0.1 and table.loc["cleanlab", "value"] > 0.5
    assert "against 10\u00a0% by chance" in describe_check(table.reset_index())
    rows, _ = judged(classes=2)
    for changes, message in (
        ({"frame": rows.frame.assign(label=(rows.labels + 1) % 2)}, "labels are probably swapped"),
        ({"frame": rows.frame.assign(label=1)}, "All labelled rows are “fair”"),
        ({"frame": rows.frame.head(5)}, "at least 20 labelled rows, and a file has 5"),
        ({"source": replace(rows.source, gives="classes")}, "only predicted classes"),
        ({"source": replace(rows.source, gives="scores")}, "scores that are not probabilities"),
    ):
        refused(InputError, message, label_errors, replace(rows, **changes))
    monkeypatch.setitem(sys.modules, "cleanlab.filter", None)
    refused(RunError, r"cleanlab: `python -m pip install 'sentviz\[labels\]'`", label_errors, judged()[0])
