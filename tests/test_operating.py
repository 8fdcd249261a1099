"""Metrics, curves, calibration and agreement against scikit-learn, scipy and loops; intervals against a slow bootstrap."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn import metrics as sk
from sklearn.metrics import average_precision_score, precision_recall_curve, precision_recall_fscore_support, roc_auc_score, roc_curve

from sentviz.analysis.evaluation import Evaluation, evaluate, interval, metrics
from sentviz.analysis.testset import operating
from sentviz.analysis.testset.operating import MACRO
from sentviz.errors import InputError
from sentviz.runs.calibration import tempered
from sentviz.runs.schema import read_table
from sentviz.runs.writing import write_predictions
from tests.kit import refused, small_model, toy_splits

NAMES = ("bad", "fair", "good")
CONFIDENCE = np.array([0.55, 0.58, 0.62, 0.91, 0.95, 0.95])
HITS = np.array([1, 0, 1, 1, 1, 0])


def drawn(n: int = 90, k: int = 3, seed: int = 0, decimals: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    logits = rng.normal(size=(n, k)) + 1.2 * np.eye(k)[labels]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    shares = shares.round(decimals)
    shares[:, 0] = 1 - shares[:, 1:].sum(axis=1)
    return labels, shares


def test_rates_and_thresholds_are_those_of_loops_and_scikit_learn() -> None:
    labels, shares = drawn(40)
    rates = precision_recall_fscore_support(labels, shares.argmax(axis=1))
    frame = operating.per_class(labels, shares.argmax(axis=1), NAMES)
    for i, metric in enumerate(("precision", "recall", "F1")):
        assert frame[frame["metric"] == metric]["value"].to_numpy() == pytest.approx(rates[i], abs=1e-5)
    for of, predicted in (labels, shares.argmax(axis=1)), (np.array([0, 0, 1]), np.array([0, 0, 0])):
        frame = operating.per_class(of, predicted, NAMES).set_index(["class", "metric"])
        for k, name in enumerate(NAMES):
            is_label, is_said = of == k, predicted == k
            both = int((is_label & is_said).sum())
            for metric, n in (("precision", is_said.sum()), ("recall", is_label.sum()), ("F1", (is_label | is_said).sum())):
                row = frame.loc[(name, metric)]
                assert (row["n"], row["said"]) == (is_label.sum(), is_said.sum())
                if not n:
                    assert row[["value", "low", "high"]].isna().all()
                    continue
                interval = binomtest(both, int(n)).proportion_ci(0.95, method="wilson")
                want = np.array([both / n, interval.low, interval.high])
                want = 2 * want / (1 + want) if metric == "F1" else want
                assert row[["value", "low", "high"]].to_numpy(float) == pytest.approx(want, abs=1e-6)
    for right, n in ((80, 100), (3, 3), (0, 2)):
        got = operating.accuracy(np.zeros(n, np.int64), (np.arange(n) >= right).astype(np.int64))
        interval = binomtest(right, n).proportion_ci(0.95, method="wilson")
        assert got == pytest.approx({"value": right / n, "low": interval.low, "high": interval.high, "n": n}, abs=1e-6)
    labels, shares = drawn(k=2)
    for at in (0, 0.37, 1):
        row = operating.thresholds(labels, shares[:, 1]).set_index("threshold").loc[at]
        predicted = shares[:, 1] >= at
        assert row["accuracy"] == pytest.approx(np.mean(predicted == labels))
        for k in (0, 1):
            assert row[f"recall_{k}"] == pytest.approx(np.mean(predicted[labels == k] == k))
        hits = labels[predicted]
        assert row["precision_1"] == pytest.approx(np.mean(hits) if len(hits) else np.nan, nan_ok=True)
    point = operating.operating_points(labels, (shares[:, 1] >= 0.5).astype(int), NAMES[:2]).iloc[1]
    line = operating.curves(labels, shares, NAMES[:2]).query("`class` == 'fair' and threshold >= 0.5").iloc[-1]
    names = ["fpr", "recall", "precision"]
    assert point[names].tolist() == pytest.approx(line[names].tolist())
    none = np.array([], np.int64)
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: operating.per_class(none, none, NAMES), "no labelled rows"),
        (lambda: operating.accuracy(none, none), "no labelled rows"),
        (lambda: operating.areas(np.array([0, -1]), np.full((2, 3), 1 / 3), NAMES), "from 0 to 2"),
        (lambda: operating.agreement(np.array([True]), np.array([True, False])), "same rows"),
        (lambda: operating.reliability(*six(), by="luck"), "bins of equal width"),
    ]
    for call, why in cases:
        refused(InputError, why, call)


@pytest.mark.parametrize("k", [2, 3])
def test_curves_areas_and_their_intervals_are_those_of_scikit_learn(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    labels, shares = drawn(k=k)
    frame = operating.curves(labels, shares, NAMES[:k])
    values = operating.areas(labels, shares, NAMES[:k], draws=20).set_index(["metric", "class"])["value"]
    for c in range(k):
        line = frame[frame["class"] == NAMES[c]]
        fpr, tpr, at = roc_curve(labels == c, shares[:, c], drop_intermediate=False)
        precision, recall, _ = precision_recall_curve(labels == c, shares[:, c])
        for name, want in (("fpr", fpr), ("recall", tpr), ("precision", precision[::-1]), ("recall", recall[::-1])):
            assert line[name].to_numpy() == pytest.approx(want)
        assert line["threshold"].to_numpy()[1:] == pytest.approx(at[1:])
    for metric, score in (("AUC", roc_auc_score), ("AP", average_precision_score)):
        want = [score(labels == c, shares[:, c]) for c in range(k)]
        assert [values[metric, name] for name in (*NAMES[:k], MACRO)] == pytest.approx([*want, np.mean(want)], abs=1e-5)
    monkeypatch.setattr("sentviz.analysis.evaluation.BLOCK", 200)
    labels, shares = drawn(25, k=k, seed=3)
    labels[labels == 1] = 0
    labels[:2] = 1  # a rare class
    frame = operating.areas(labels, shares, NAMES[:k], seed=5, draws=20).set_index(["metric", "class"])[["low", "high"]]
    rows = np.random.default_rng(5).integers(0, 25, size=(20, 25))
    for metric, score in (("AUC", roc_auc_score), ("AP", average_precision_score)):
        slow = np.full((20, k), np.nan)
        for r, draw in enumerate(rows):
            for c in range(k):
                if 0 < (labels[draw] == c).sum() < 25:
                    slow[r, c] = score(labels[draw] == c, shares[draw, c])
        assert np.isnan(slow).any()
        for c in range(k):
            assert frame.loc[(metric, NAMES[c])].tolist() == pytest.approx(np.nanpercentile(slow[:, c], [2.5, 97.5]), abs=1e-5)
        means = [row[~np.isnan(row)].mean() for row in slow if not np.isnan(row).all()]
        assert frame.loc[(metric, MACRO)].tolist() == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=1e-5)


def six() -> tuple[np.ndarray, np.ndarray]:
    """Return six rows of two classes with class 1 always predicted, and the confidences and hits above."""
    return HITS, np.stack([1 - CONFIDENCE, CONFIDENCE], axis=1)


def test_reliability_and_calibration_error_by_hand() -> None:
    bins = operating.reliability(*six(), bins=10)
    assert bins["n"].tolist() == [2, 1, 3]
    for name, want in (("left", [0.5, 0.6, 0.9]), ("confidence", [0.565, 0.62, 2.81 / 3]), ("accuracy", [0.5, 1, 2 / 3])):
        assert bins[name].to_numpy() == pytest.approx(want)
    for row in bins.to_dict("records"):
        wilson = binomtest(round(row["accuracy"] * row["n"]), row["n"]).proportion_ci(method="wilson")
        assert [row["low"], row["high"]] == pytest.approx([wilson.low, wilson.high], abs=1e-6)
    frame = operating.calibration(*six(), bins=10, draws=30).set_index(["state", "by"])
    row = frame.loc[("as it is", "width")]
    assert row[["value", "confidence", "accuracy"]].tolist() == pytest.approx([(0.13 + 0.38 + 0.81) / 6, CONFIDENCE.mean(), 4 / 6])
    assert frame.loc["calibrated", "value"].to_numpy() == pytest.approx(frame.loc["as it is", "value"].to_numpy())  # T = 1
    assert operating.reliability(*six(), bins=3, by="mass")["n"].tolist() == [2, 2, 2]
    tied = operating.reliability(np.ones(9, np.int64), np.array([[0.1, 0.9]] * 8 + [[0.2, 0.8]]), bins=3, by="mass")
    many = operating.reliability(*drawn(1_000), bins=15, by="mass")["n"]
    assert tied["n"].tolist() == [9] and many.sum() == 1_000 and many.min() >= 1_000 / 15 and len(many) >= 12
    labels, shares = drawn(60, decimals=4)
    frame = operating.calibration(labels, shares, 1.7, bins=5, seed=2, draws=50)
    rows = np.random.default_rng(2).integers(0, 60, size=(50, 60))
    for state, p in (("as it is", shares), ("calibrated", tempered(shares, 1.7))):
        place, hit, sure = np.ceil(p.max(axis=1) * 5).astype(int), p.argmax(axis=1) == labels, p.max(axis=1)

        def error(draw: np.ndarray, place: np.ndarray = place, hit: np.ndarray = hit, sure: np.ndarray = sure) -> float:
            inside = [draw[place[draw] == b] for b in set(place[draw].tolist())]
            return sum(len(each) / len(draw) * abs(hit[each].mean() - sure[each].mean()) for each in inside)

        row = frame[(frame["state"] == state) & (frame["by"] == "width")].iloc[0]
        value, (low, high) = error(np.arange(60)), np.percentile([error(draw) for draw in rows], [2.5, 97.5])
        want = [value, min(max(2 * value - high, 0), value), max(2 * value - low, value)]
        assert row[["value", "low", "high"]].tolist() == pytest.approx(want)
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, 500)
    runs = [operating.calibration((rng.random(500) < sure).astype(int), np.stack([1 - sure, sure], axis=1), draws=2) for _ in range(30)]
    assert np.mean([run["value"][0] for run in runs]) == pytest.approx(runs[0]["chance"][0], rel=0.1)
    logits = np.random.default_rng(1).normal(size=(20, 3)) * 2
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    want = np.exp(logits / 2.5) / np.exp(logits / 2.5).sum(axis=1, keepdims=True)
    assert tempered(shares, 2.5) == pytest.approx(want) and tempered(shares, 1) == pytest.approx(shares)
    assert np.isfinite(tempered(np.array([[0.0, 1.0]]), 3)).all()


def test_agreement_and_areas_of_mean_curves_by_hand() -> None:
    first, second = np.array([1, 1, 1, 1, 1, 0, 0], bool), np.array([1, 1, 0, 0, 0, 1, 0], bool)
    agreement = operating.agreement(first, second)
    assert (agreement.both_right, agreement.only_a, agreement.only_b, agreement.neither) == (2, 3, 1, 1)
    assert agreement.difference == pytest.approx(2 / 7) and agreement.p == pytest.approx(10 / 16) == binomtest(1, 4).pvalue
    many, same = operating.agreement(np.tile(first, 70), np.tile(second, 70)), operating.agreement(first, first)
    gap, rng = np.tile(first, 70).astype(int) - np.tile(second, 70), np.random.default_rng(1)
    draws = [gap[rng.integers(0, 490, 490)].mean() for _ in range(2_000)]
    assert [many.low, many.high] == pytest.approx(np.percentile(draws, [2.5, 97.5]), abs=0.01)
    assert (same.p, same.difference, same.low, same.high) == (1, 0, 0, 0)
    labels, shares = drawn(400)
    lines = operating.curves(labels, shares, NAMES)
    values = operating.areas(labels, shares, NAMES, draws=2).set_index(["metric", "class"])["value"]
    roc, pr = operating.macro(lines, "roc", 20_001), operating.macro(lines, "pr", 20_001)
    assert np.trapezoid(roc["recall"], roc["fpr"]) == pytest.approx(values["AUC", MACRO], abs=1e-3)
    assert pr["precision"].to_numpy()[1:].mean() == pytest.approx(values["AP", MACRO], abs=1e-3)
    labels, shares = np.array([0, 1, 1, 1]), np.full((4, 2), 0.5)
    frame = operating.areas(labels, shares, NAMES[:2], draws=10).set_index(["metric", "class"])["value"]
    assert frame["AUC"].tolist() == [0.5, 0.5, 0.5] and frame["AP", "fair"] == 0.75
    line = operating.curves(labels, shares, NAMES[:2]).query("`class` == 'fair'")
    assert line[["fpr", "recall"]].to_numpy().tolist() == [[0, 0], [1, 1]]
    labels, shares = np.zeros(3, np.int64), np.array([[0.7, 0.2, 0.1]] * 3)
    curves = operating.curves(labels, shares, NAMES)
    assert curves.empty and operating.macro(curves, "pr").empty
    assert operating.areas(labels, shares, NAMES, draws=5)[["value", "low", "high"]].isna().all(axis=None)
    assert math.isnan(operating.operating_points(labels, labels, NAMES).loc[0, "fpr"])


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
        assert got[name]["low"] <= got[name]["value"] <= got[name]["high"] and got[name]["low"] < got[name]["high"]
    assert got["confusion"] == sk.confusion_matrix(e.labels, predicted, labels=k).tolist() and got["n"] == 240


def test_stored_answers_are_those_of_the_model_small_and_exact(tmp_path: Path) -> None:
    logits = np.array([[0, 4e-6, -9], [4e-6, 0, -9], [1, 2, 0], [0, 0, 0]], dtype=np.float32)
    e = Evaluation("test", ("a", "b", "c", "d"), np.array([1, 0, 2, 0]), logits, np.zeros((4, 2), np.float32), ("x", "y", "z"))
    frame = e.frame()
    shares = frame[["x", "y", "z"]].to_numpy(np.float64)
    assert shares.argmax(axis=1).tolist() == e.probabilities.argmax(axis=1).tolist() == [1, 0, 1, 0]
    assert (frame["x"][0], frame["y"][0]) == pytest.approx((0.49997, 0.49998), abs=1e-7)
    np.testing.assert_allclose(shares[1:], e.probabilities[1:], atol=5.1e-6)
    assert frame["x"].dtype == np.float32
    model, split, done = small_model(), toy_splits()["validation"], list[tuple[int, int]]()
    e = evaluate(model, split, lambda *at: done.append(at))
    for i in (0, 7, 33):
        trace = model.trace(split.frame["text"][i])
        np.testing.assert_allclose(e.logits[i], trace.logits, atol=1e-5)
        np.testing.assert_allclose(e.pooled[i], trace.pooled, atol=1e-5)
    assert done[-1] == (60, 60) and e.ids == tuple(split.frame["id"]) and e.labels.tolist() == split.frame["label"].tolist()
    assert list(e.frame().columns) == ["split", "id", "label", "negative", "positive"]
    np.testing.assert_allclose(e.frame()["positive"], e.probabilities[:, 1], atol=6e-6)
    frame = random_evaluation(4000, 2).frame()
    frame.loc[0, "id"], frame.loc[1, "id"] = "", "ein Satz, 문장"
    write_predictions(frame, tmp_path / "test.parquet")
    with (tmp_path / "test.parquet").open("rb") as file:
        pd.testing.assert_frame_equal(read_table(file), frame)
    frame.to_parquet(tmp_path / "default.parquet", index=False, compression="zstd")
    assert (tmp_path / "test.parquet").stat().st_size < 0.7 * (tmp_path / "default.parquet").stat().st_size


def rigged(labels: list[int], predicted: list[int], classes: int) -> Evaluation:
    """Return an evaluation with certain predictions."""
    n = len(labels)
    logits = 4 * np.eye(classes, dtype=np.float32)[predicted]
    pooled = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    return Evaluation("test", tuple(map(str, range(n))), np.array(labels), logits, pooled, tuple("abcde"[:classes]))


def test_classes_that_are_never_predicted_or_alone_and_intervals() -> None:
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
    got = metrics(rigged([1] * 8, [1] * 6 + [0] * 2, 2), resamples=50)
    assert got["accuracy"]["value"] == 0.75 and math.isnan(got["auc"]["value"]) and "silhouette" not in got
    got = metrics(rigged([0, 1], [0, 1], 2), resamples=20)
    assert got["accuracy"] == {"value": 1.0, "low": 1.0, "high": 1.0} and "silhouette" not in got
    draws = np.append(np.arange(1001) / 1000, np.nan)
    assert interval(0.5, draws) == {"value": 0.5, "low": 0.025, "high": 0.975}
    e = random_evaluation(100, 3, sharp=1.5)
    got, p = metrics(e), e.probabilities
    right = p.argmax(axis=1) == e.labels
    losses = -np.log(p[np.arange(100), e.labels])
    for name, spread in (("accuracy", math.sqrt(right.mean() * (1 - right.mean()))), ("loss", losses.std())):
        assert (got[name]["high"] - got[name]["low"]) / 2 == pytest.approx(1.96 * spread / 10, rel=0.12)
    first, again, another = (metrics(e, resamples=50, seed=seed)["auc"] for seed in (0, 0, 1))
    assert first == again != another and first["value"] == another["value"]
