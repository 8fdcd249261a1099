"""Metrics against scikit-learn and hand-made cases."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk

from sentviz.analysis.evaluation import Evaluation, confusion, evaluate, from_confusion, interval, metrics
from sentviz.runs.schema import read_table
from sentviz.runs.writing import write_predictions
from tests.kit import small_model, toy_splits


def random_evaluation(n: int, classes: int, seed: int = 0, sharp: float = 1.0) -> Evaluation:
    """Return labels of unequal frequency, with logits and pooled vectors that depend on them."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(classes, size=n, p=np.arange(1, classes + 1) / (classes * (classes + 1) / 2))
    logits = rng.normal(size=(n, classes)) + sharp * np.eye(classes)[labels]
    pooled = rng.normal(size=(n, 5)) + 2 * np.eye(5)[labels % 5]
    names = tuple(f"class {k}" for k in range(classes))
    ids = tuple(f"x-{i}" for i in range(n))
    return Evaluation("test", ids, labels, logits.astype(np.float32), pooled.astype(np.float32), names)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_values_are_those_of_scikit_learn(classes: int) -> None:
    """Accuracy, precision, recall and F1 in every mean, AUC, cross-entropy and silhouette equal scikit-learn's."""
    e = random_evaluation(240, classes)
    got, p = metrics(e, resamples=50), e.probabilities.astype(np.float64)
    predicted, k = p.argmax(axis=1), list(range(classes))
    want = {
        "accuracy": sk.accuracy_score(e.labels, predicted),
        "loss": sk.log_loss(e.labels, p / p.sum(axis=1, keepdims=True), labels=k),
        "silhouette": sk.silhouette_score(e.pooled, e.labels),
        "auc": sk.roc_auc_score(e.labels, p[:, 1] if classes == 2 else p / p.sum(1, keepdims=True), multi_class="ovr"),
    }
    for mean in ("macro", "weighted", *(["binary"] if classes == 2 else [])):
        values = sk.precision_recall_fscore_support(e.labels, predicted, average=mean, zero_division=0)
        for name, value in zip(("precision", "recall", "f1"), values[:3], strict=True):
            want[f"{name}_{'positive' if mean == 'binary' else mean}"] = value
    assert set(got) == {*want, "n", "confusion"}
    for name, value in want.items():
        assert got[name]["value"] == pytest.approx(value, abs=2e-5), name
        assert got[name]["low"] <= got[name]["value"] <= got[name]["high"]
        assert got[name]["low"] < got[name]["high"]
    assert got["confusion"] == sk.confusion_matrix(e.labels, predicted, labels=k).tolist() and got["n"] == 240


def test_stored_answers_say_what_the_model_said() -> None:
    """Rounded probabilities keep the predicted class, even if the best two are equal at five decimals."""
    logits = np.array([[0, 4e-6, -9], [4e-6, 0, -9], [1, 2, 0], [0, 0, 0]], dtype=np.float32)
    e = Evaluation("test", ("a", "b", "c", "d"), np.array([1, 0, 2, 0]), logits, np.zeros((4, 2), np.float32), ("x", "y", "z"))
    frame = e.frame()
    shares = frame[["x", "y", "z"]].to_numpy(np.float64)
    assert shares.argmax(axis=1).tolist() == e.probabilities.argmax(axis=1).tolist() == [1, 0, 1, 0]
    assert (frame["x"][0], frame["y"][0]) == pytest.approx((0.49997, 0.49998), abs=1e-7)
    np.testing.assert_allclose(shares[1:], e.probabilities[1:], atol=5.1e-6)
    assert frame["x"].dtype == np.float32


def test_a_small_case_by_hand() -> None:
    """With 3 of 4 negatives and 1 of 2 positives right, the metrics are the computed ones."""
    counts = confusion(np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 0, 1]), 2)
    assert counts.tolist() == [[3, 1], [1, 1]]
    got = {name: float(value[0]) for name, value in from_confusion(counts[None]).items()}
    assert got["accuracy"] == pytest.approx(4 / 6)
    assert got["precision_positive"] == got["recall_positive"] == got["f1_positive"] == pytest.approx(0.5)
    assert got["precision_macro"] == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert got["recall_weighted"] == pytest.approx(4 / 6 * 3 / 4 + 2 / 6 * 1 / 2)


def rigged(labels: list[int], predicted: list[int], classes: int) -> Evaluation:
    """Return an evaluation with certain predictions."""
    n = len(labels)
    logits = 4 * np.eye(classes, dtype=np.float32)[predicted]
    pooled = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    return Evaluation("test", tuple(map(str, range(n))), np.array(labels), logits, pooled, tuple("abcde"[:classes]))


def test_a_class_that_is_never_predicted_or_missing_counts_as_zero() -> None:
    """Precision without predictions is 0, as in scikit-learn; a missing class counts as 0 in macro means and is left out of the AUC."""
    e = rigged([0, 1, 2, 2, 1, 0] * 5, [0, 1, 1, 1, 1, 0] * 5, 3)
    got = metrics(e, resamples=50)
    assert got["precision_macro"]["value"] == pytest.approx((1 + 0.5 + 0) / 3, abs=1e-5)
    want = sk.f1_score(e.labels, e.logits.argmax(1), average="weighted", zero_division=0)
    assert got["f1_weighted"]["value"] == pytest.approx(want, abs=1e-5)
    e = rigged([0, 1, 1, 0] * 5, [0, 1, 0, 2] * 5, 3)
    got = metrics(e, resamples=50)
    assert got["recall_macro"]["value"] == pytest.approx((0.5 + 0.5 + 0) / 3, abs=1e-5)
    want = np.mean([sk.roc_auc_score(e.labels == k, e.probabilities[:, k]) for k in (0, 1)])
    assert got["auc"]["value"] == pytest.approx(want, abs=1e-5)


def test_one_class_alone_and_two_rows() -> None:
    """One class alone has no AUC and no silhouette; two rows have no silhouette."""
    got = metrics(rigged([1] * 8, [1] * 6 + [0] * 2, 2), resamples=50)
    assert got["accuracy"]["value"] == 0.75 and math.isnan(got["auc"]["value"]) and "silhouette" not in got
    got = metrics(rigged([0, 1], [0, 1], 2), resamples=20)
    assert got["accuracy"] == {"value": 1.0, "low": 1.0, "high": 1.0} and "silhouette" not in got
    draws = np.append(np.arange(1001) / 1000, np.nan)
    assert interval(0.5, draws) == {"value": 0.5, "low": 0.025, "high": 0.975}


def test_bootstrap_of_accuracy_is_the_binomial_interval() -> None:
    """Half the 95 % interval is 1.96 standard errors for the accuracy, and for the mean loss; the draws are the same every time."""
    e = random_evaluation(100, 3, sharp=1.5)
    got, p = metrics(e), e.probabilities
    right = p.argmax(axis=1) == e.labels
    losses = -np.log(p[np.arange(100), e.labels])
    for name, spread in (("accuracy", math.sqrt(right.mean() * (1 - right.mean()))), ("loss", losses.std())):
        assert (got[name]["high"] - got[name]["low"]) / 2 == pytest.approx(1.96 * spread / 10, rel=0.12)
    first, again, another = (metrics(e, resamples=50, seed=seed)["auc"] for seed in (0, 0, 1))
    assert first == again != another and first["value"] == another["value"]


def test_a_sample_is_seeded_sorted_and_without_repetition() -> None:
    """A sample is seeded, sorted and without repetition, and has all rows if there are fewer."""
    e = random_evaluation(300, 2)
    rows = e.sample(40)
    assert len(set(rows)) == 40 and (np.diff(rows) > 0).all() and (rows == e.sample(40)).all()
    assert e.sample(1000).tolist() == list(range(300))


def test_evaluate_is_predict_on_the_rows_of_a_split() -> None:
    """Logits and order equal those of one text at a time, and the frame holds no text."""
    model, split, done = small_model(), toy_splits()["validation"], list[tuple[int, int]]()
    e = evaluate(model, split, lambda *at: done.append(at))
    for i in (0, 7, 33):
        trace = model.trace(split.frame["text"][i])
        np.testing.assert_allclose(e.logits[i], trace.logits, atol=1e-5)
        np.testing.assert_allclose(e.pooled[i], trace.pooled, atol=1e-5)
    assert done[-1] == (60, 60) and e.ids == tuple(split.frame["id"]) and e.labels.tolist() == split.frame["label"].tolist()
    assert list(e.frame().columns) == ["split", "id", "label", "negative", "positive"]
    np.testing.assert_allclose(e.frame()["positive"], e.probabilities[:, 1], atol=6e-6)


def test_stored_predictions_are_small_and_exact(tmp_path: Path) -> None:
    """The file has the frame's values, also with ids of any form, and at most 70 % of the bytes of the default encodings."""
    frame = random_evaluation(4000, 2).frame()
    frame.loc[0, "id"], frame.loc[1, "id"] = "", "ein Satz, 문장"
    write_predictions(frame, tmp_path / "test.parquet")
    with (tmp_path / "test.parquet").open("rb") as file:
        pd.testing.assert_frame_equal(read_table(file), frame)
    frame.to_parquet(tmp_path / "default.parquet", index=False, compression="zstd")
    assert (tmp_path / "test.parquet").stat().st_size < 0.7 * (tmp_path / "default.parquet").stat().st_size
