"""Curves, areas, calibration and agreement against scikit-learn, scipy and loops; intervals against a slow bootstrap of the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    precision_recall_fscore_support,
    roc_auc_score,
    roc_curve,
)

from sentviz.analysis.testset import operating
from sentviz.analysis.testset.operating import MACRO
from sentviz.errors import InputError
from sentviz.runs.calibration import tempered

NAMES = ("bad", "fair", "good")


def drawn(n: int = 90, k: int = 3, seed: int = 0, decimals: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return labels, and probabilities that depend on them, with ties."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    logits = rng.normal(size=(n, k)) + 1.2 * np.eye(k)[labels]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    shares = shares.round(decimals)
    shares[:, 0] = 1 - shares[:, 1:].sum(axis=1)
    return labels, shares


# ---- matrix


def test_rates_of_each_class_are_scikit_learns_with_wilsons_intervals() -> None:
    """Intervals are those of scipy, also of three rows; F1's follows from the share of rows in both among those in either."""
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


def test_thresholds_are_those_of_a_loop() -> None:
    """With two classes the prediction from one half on is a point of both curves."""
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


# ---- curves and areas


@pytest.mark.parametrize("k", [2, 3])
def test_curves_and_areas_are_scikit_learns(k: int) -> None:
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


@pytest.mark.parametrize("k", [2, 3])
def test_their_intervals_are_those_of_a_slow_bootstrap_of_the_same_rows(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The intervals equal scikit-learn's on each drawn set of rows; classes that a draw lacks are left out of its mean."""
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


def test_the_area_under_the_mean_curve_is_the_mean_area() -> None:
    labels, shares = drawn(400)
    lines = operating.curves(labels, shares, NAMES)
    values = operating.areas(labels, shares, NAMES, draws=2).set_index(["metric", "class"])["value"]
    roc, pr = operating.macro(lines, "roc", 20_001), operating.macro(lines, "pr", 20_001)
    assert np.trapezoid(roc["recall"], roc["fpr"]) == pytest.approx(values["AUC", MACRO], abs=1e-3)
    assert pr["precision"].to_numpy()[1:].mean() == pytest.approx(values["AP", MACRO], abs=1e-3)


def test_equal_probabilities_and_one_class_say_nothing() -> None:
    """Equal probabilities give one step from nothing to everything: AUC one half, AP the share of the class. One class has no curve."""
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


# ---- calibration

CONFIDENCE = np.array([0.55, 0.58, 0.62, 0.91, 0.95, 0.95])
HITS = np.array([1, 0, 1, 1, 1, 0])


def six() -> tuple[np.ndarray, np.ndarray]:
    """Return six rows of two classes with class 1 always predicted, and the confidences and hits above."""
    return HITS, np.stack([1 - CONFIDENCE, CONFIDENCE], axis=1)


def test_reliability_and_calibration_error_by_hand() -> None:
    """Of ten equal bins (0.5, 0.6] has two rows, (0.6, 0.7] one, (0.9, 1] three: the error is (2 · 0.065 + 0.38 + |2 - 2.81|) / 6."""
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


def test_bins_of_one_mass_keep_equal_confidences_together() -> None:
    assert operating.reliability(*six(), bins=3, by="mass")["n"].tolist() == [2, 2, 2]
    tied = operating.reliability(np.ones(9, np.int64), np.array([[0.1, 0.9]] * 8 + [[0.2, 0.8]]), bins=3, by="mass")
    many = operating.reliability(*drawn(1_000), bins=15, by="mass")["n"]
    assert tied["n"].tolist() == [9] and many.sum() == 1_000 and many.min() >= 1_000 / 15 and len(many) >= 12


def test_its_interval_is_the_basic_bootstrap_of_the_same_rows() -> None:
    """The chance value equals the mean over runs whose labels are drawn from their probabilities, to 10 %."""
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


def test_tempering_is_the_softmax_of_divided_logits() -> None:
    logits = np.random.default_rng(1).normal(size=(20, 3)) * 2
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    want = np.exp(logits / 2.5) / np.exp(logits / 2.5).sum(axis=1, keepdims=True)
    assert tempered(shares, 2.5) == pytest.approx(want)
    assert tempered(shares, 1) == pytest.approx(shares)
    assert np.isfinite(tempered(np.array([[0.0, 1.0]]), 3)).all()


# ---- two runs


def test_agreement_by_hand() -> None:
    """Of seven rows both models have 2 right, only the first 3, only the second 1, neither 1; McNemar's exact p is 10 / 16."""
    first, second = np.array([1, 1, 1, 1, 1, 0, 0], bool), np.array([1, 1, 0, 0, 0, 1, 0], bool)
    agreement = operating.agreement(first, second)
    assert (agreement.both_right, agreement.only_a, agreement.only_b, agreement.neither) == (2, 3, 1, 1)
    assert agreement.difference == pytest.approx(2 / 7) and agreement.p == pytest.approx(10 / 16) == binomtest(1, 4).pvalue
    many, same = operating.agreement(np.tile(first, 70), np.tile(second, 70)), operating.agreement(first, first)
    gap, rng = np.tile(first, 70).astype(int) - np.tile(second, 70), np.random.default_rng(1)
    draws = [gap[rng.integers(0, 490, 490)].mean() for _ in range(2_000)]
    assert [many.low, many.high] == pytest.approx(np.percentile(draws, [2.5, 97.5]), abs=0.01)
    assert (same.p, same.difference, same.low, same.high) == (1, 0, 0, 0)


def test_what_cannot_be_counted_is_said() -> None:
    none = np.array([], np.int64)
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: operating.per_class(none, none, NAMES), "no labelled rows"),
        (lambda: operating.accuracy(none, none), "no labelled rows"),
        (lambda: operating.areas(np.array([0, -1]), np.full((2, 3), 1 / 3), NAMES), "from 0 to 2"),
        (lambda: operating.agreement(np.array([True]), np.array([True, False])), "same rows"),
        (lambda: operating.reliability(*six(), by="luck"), "bins of equal width"),
    ]
    for call, why in cases:
        with pytest.raises(InputError, match=why):
            call()
