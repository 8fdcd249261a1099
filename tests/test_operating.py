"""Curves, areas, calibration and agreement against scikit-learn, scipy and loops; intervals against a slow bootstrap of the same rows."""

from __future__ import annotations

import math

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


def test_rates_of_each_class_are_scikit_learns() -> None:
    labels, shares = drawn()
    predicted = shares.argmax(axis=1)
    frame = operating.per_class(labels, predicted, NAMES)
    want = precision_recall_fscore_support(labels, predicted)
    for i, metric in enumerate(("precision", "recall", "F1")):
        got = frame[frame["metric"] == metric]
        assert got["value"].to_numpy() == pytest.approx(want[i], abs=1e-5)
        assert got["n"].tolist() == want[3].tolist()
        assert got["said"].tolist() == np.bincount(predicted, minlength=3).tolist()


def test_their_intervals_are_wilsons() -> None:
    """Intervals are those of scipy, also of three rows; F1's follows from the share of rows in both among those in either."""
    for labels, predicted in (drawn(40)[0], drawn(40)[1].argmax(axis=1)), (np.array([0, 0, 0]), np.array([0, 0, 0])):
        frame = operating.per_class(labels, predicted, NAMES).set_index(["class", "metric"])
        for k, name in enumerate(NAMES):
            is_label, is_said = labels == k, predicted == k
            both = int((is_label & is_said).sum())
            for metric, n in (("precision", is_said.sum()), ("recall", is_label.sum()), ("F1", (is_label | is_said).sum())):
                row = frame.loc[(name, metric)]
                if not n:
                    assert row[["value", "low", "high"]].isna().all()
                    continue
                interval = binomtest(both, int(n)).proportion_ci(0.95, method="wilson")
                want = np.array([both / n, interval.low, interval.high])
                want = 2 * want / (1 + want) if metric == "F1" else want
                assert row[["value", "low", "high"]].to_numpy(float) == pytest.approx(want, abs=1e-6)
    assert 0.4 < frame.loc[("bad", "recall"), "low"] < 0.5 and frame.loc[("bad", "recall"), "high"] == 1


def test_a_class_never_predicted_has_no_precision_and_one_without_rows_no_recall() -> None:
    frame = operating.per_class(np.array([0, 0, 1]), np.array([0, 0, 0]), NAMES).set_index(["class", "metric"])["value"]
    assert math.isnan(frame["fair", "precision"])
    assert frame["fair", "recall"] == 0
    assert frame["fair", "F1"] == 0
    assert frame["good"].isna().all()
    assert frame["bad", "precision"] == pytest.approx(2 / 3, abs=1e-5)


def test_accuracy_has_wilsons_interval() -> None:
    """Also of three right answers of three, the interval is that of scipy."""
    for right, n in ((80, 100), (3, 3), (0, 2)):
        labels = np.zeros(n, np.int64)
        got = operating.accuracy(labels, (np.arange(n) >= right).astype(np.int64))
        interval = binomtest(right, n).proportion_ci(0.95, method="wilson")
        assert [got["value"], got["low"], got["high"]] == pytest.approx([right / n, interval.low, interval.high], abs=1e-6) and got[
            "n"
        ] == n


def test_where_it_stands_lies_on_its_curve() -> None:
    """With two classes the prediction from one half on is a point of both curves."""
    labels, shares = drawn(k=2)
    predicted = (shares[:, 1] >= 0.5).astype(int)
    point = operating.operating_points(labels, predicted, NAMES[:2]).iloc[1]
    line = operating.curves(labels, shares, NAMES[:2]).query("`class` == 'fair' and threshold >= 0.5").iloc[-1]
    for name in ("fpr", "recall", "precision"):
        assert point[name] == pytest.approx(line[name])


@pytest.mark.parametrize("at", [0, 0.37, 0.5, 1])
def test_thresholds_are_those_of_a_loop(at: float) -> None:
    labels, shares = drawn(k=2)
    row = operating.thresholds(labels, shares[:, 1]).set_index("threshold").loc[at]
    predicted = [int(p >= at) for p in shares[:, 1]]
    assert row["accuracy"] == pytest.approx(np.mean(predicted == labels))
    for k in (0, 1):
        of_class = [s == k for s, label in zip(predicted, labels, strict=True) if label == k]
        assert row[f"recall_{k}"] == pytest.approx(np.mean(of_class))
    is_hit = [label == 1 for s, label in zip(predicted, labels, strict=True) if s]
    assert math.isnan(row["precision_1"]) if not is_hit else row["precision_1"] == pytest.approx(np.mean(is_hit))


# ---- curves and areas


@pytest.mark.parametrize("k", [2, 3])
def test_curves_are_scikit_learns(k: int) -> None:
    labels, shares = drawn(k=k)
    frame = operating.curves(labels, shares, NAMES[:k])
    for c in range(k):
        line = frame[frame["class"] == NAMES[c]]
        fpr, tpr, at = roc_curve(labels == c, shares[:, c], drop_intermediate=False)
        assert line["fpr"].to_numpy() == pytest.approx(fpr)
        assert line["recall"].to_numpy() == pytest.approx(tpr)
        assert line["threshold"].to_numpy()[1:] == pytest.approx(at[1:])
        precision, recall, _ = precision_recall_curve(labels == c, shares[:, c])
        assert line["precision"].to_numpy() == pytest.approx(precision[::-1])
        assert line["recall"].to_numpy() == pytest.approx(recall[::-1])


@pytest.mark.parametrize("k", [2, 3])
def test_areas_are_scikit_learns(k: int) -> None:
    labels, shares = drawn(k=k)
    frame = operating.areas(labels, shares, NAMES[:k], draws=20).set_index(["metric", "class"])["value"]
    auc = [roc_auc_score(labels == c, shares[:, c]) for c in range(k)]
    ap = [average_precision_score(labels == c, shares[:, c]) for c in range(k)]
    for c in range(k):
        assert frame["AUC", NAMES[c]] == pytest.approx(auc[c], abs=1e-5)
        assert frame["AP", NAMES[c]] == pytest.approx(ap[c], abs=1e-5)
    assert frame["AUC", MACRO] == pytest.approx(np.mean(auc), abs=1e-5)
    assert frame["AP", MACRO] == pytest.approx(np.mean(ap), abs=1e-5)


@pytest.mark.exhaustive
@pytest.mark.parametrize("k", [2, 3])
def test_their_intervals_are_those_of_a_slow_bootstrap_of_the_same_rows(k: int) -> None:
    """The intervals equal scikit-learn's on each drawn set of rows; classes that a draw lacks are left out of its mean."""
    labels, shares = drawn(25, k=k, seed=3)
    labels[labels == 1] = 0
    labels[:2] = 1  # a rare class
    frame = operating.areas(labels, shares, NAMES[:k], seed=5, draws=40).set_index(["metric", "class"])
    rows = np.random.default_rng(5).integers(0, 25, size=(40, 25))
    for metric, score in (("AUC", roc_auc_score), ("AP", average_precision_score)):
        slow = np.full((40, k), np.nan)
        for r, draw in enumerate(rows):
            for c in range(k):
                if 0 < (labels[draw] == c).sum() < 25:
                    slow[r, c] = score(labels[draw] == c, shares[draw, c])
        assert np.isnan(slow).any()
        for c in range(k):
            got = frame.loc[(metric, NAMES[c])]
            assert [got["low"], got["high"]] == pytest.approx(np.nanpercentile(slow[:, c], [2.5, 97.5]), abs=1e-5)
        means = [row[~np.isnan(row)].mean() for row in slow if not np.isnan(row).all()]
        got = frame.loc[(metric, MACRO)]
        assert [got["low"], got["high"]] == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=1e-5)


def test_blocks_of_draws_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, shares = drawn()
    whole = operating.areas(labels, shares, NAMES, draws=30)
    monkeypatch.setattr("sentviz.analysis.evaluation.BLOCK", 200)
    assert operating.areas(labels, shares, NAMES, draws=30).equals(whole)


def test_the_area_under_the_mean_curve_is_the_mean_area() -> None:
    labels, shares = drawn(400)
    lines = operating.curves(labels, shares, NAMES)
    values = operating.areas(labels, shares, NAMES, draws=2).set_index(["metric", "class"])["value"]
    roc, pr = operating.macro(lines, "roc", 20_001), operating.macro(lines, "pr", 20_001)
    assert np.trapezoid(roc["recall"], roc["fpr"]) == pytest.approx(values["AUC", MACRO], abs=1e-3)
    assert pr["precision"].to_numpy()[1:].mean() == pytest.approx(values["AP", MACRO], abs=1e-3)


def test_equal_probabilities_say_nothing() -> None:
    """Equal probabilities give one step from nothing to everything: AUC one half, AP the share of the class."""
    labels, shares = np.array([0, 1, 1, 1]), np.full((4, 2), 0.5)
    frame = operating.areas(labels, shares, NAMES[:2], draws=10).set_index(["metric", "class"])["value"]
    assert frame["AUC"].tolist() == [0.5, 0.5, 0.5]
    assert frame["AP", "fair"] == 0.75
    line = operating.curves(labels, shares, NAMES[:2]).query("`class` == 'fair'")
    assert line[["fpr", "recall"]].to_numpy().tolist() == [[0, 0], [1, 1]]


def test_one_class_only_has_no_curve() -> None:
    labels, shares = np.zeros(3, np.int64), np.array([[0.7, 0.2, 0.1]] * 3)
    assert operating.curves(labels, shares, NAMES).empty
    assert operating.macro(operating.curves(labels, shares, NAMES), "pr").empty
    frame = operating.areas(labels, shares, NAMES, draws=5)
    assert frame[["value", "low", "high"]].isna().all(axis=None)
    assert math.isnan(operating.operating_points(labels, labels, NAMES).loc[0, "fpr"])


# ---- calibration

CONFIDENCE = np.array([0.55, 0.58, 0.62, 0.91, 0.95, 0.95])
HITS = np.array([1, 0, 1, 1, 1, 0])


def six() -> tuple[np.ndarray, np.ndarray]:
    """Return six rows of two classes with class 1 always predicted, and the confidences and hits above."""
    return HITS, np.stack([1 - CONFIDENCE, CONFIDENCE], axis=1)


def test_reliability_by_hand() -> None:
    """Of ten equal bins (0.5, 0.6] has two rows, (0.6, 0.7] one, (0.9, 1] three."""
    bins = operating.reliability(*six(), bins=10)
    assert bins["n"].tolist() == [2, 1, 3]
    assert bins["left"].to_numpy() == pytest.approx([0.5, 0.6, 0.9])
    assert bins["confidence"].to_numpy() == pytest.approx([0.565, 0.62, 2.81 / 3])
    assert bins["accuracy"].to_numpy() == pytest.approx([0.5, 1, 2 / 3])
    for row in bins.to_dict("records"):
        wilson = binomtest(round(row["accuracy"] * row["n"]), row["n"]).proportion_ci(method="wilson")
        assert [row["low"], row["high"]] == pytest.approx([wilson.low, wilson.high], abs=1e-6)


def test_bins_of_one_mass_keep_equal_confidences_together() -> None:
    bins = operating.reliability(*six(), bins=3, by="mass")
    assert bins["n"].tolist() == [2, 2, 2]
    tied = operating.reliability(np.ones(9, np.int64), np.array([[0.1, 0.9]] * 8 + [[0.2, 0.8]]), bins=3, by="mass")
    assert tied["n"].tolist() == [9]
    many = operating.reliability(*drawn(1_000), bins=15, by="mass")
    assert many["n"].sum() == 1_000
    assert many["n"].min() >= 1_000 / 15
    assert len(many) >= 12


def test_calibration_error_by_hand() -> None:
    """With ten bins of equal width the error is (2 · 0.065 + 0.38 + |2 - 2.81|) / 6."""
    frame = operating.calibration(*six(), bins=10, draws=30).set_index(["state", "by"])
    row = frame.loc[("as it is", "width")]
    assert row["value"] == pytest.approx((0.13 + 0.38 + 0.81) / 6)
    assert row["confidence"] == pytest.approx(CONFIDENCE.mean())
    assert row["accuracy"] == pytest.approx(4 / 6)
    assert frame.loc["calibrated", "value"].to_numpy() == pytest.approx(frame.loc["as it is", "value"].to_numpy())  # T = 1


def test_its_interval_is_the_basic_bootstrap_of_the_same_rows() -> None:
    labels, shares = drawn(60, decimals=4)
    temperature = 1.7
    frame = operating.calibration(labels, shares, temperature, bins=5, seed=2, draws=50)
    rows = np.random.default_rng(2).integers(0, 60, size=(50, 60))
    for state, p in (("as it is", shares), ("calibrated", tempered(shares, temperature))):
        place = np.ceil(p.max(axis=1) * 5).astype(int)
        hit, sure = (p.argmax(axis=1) == labels).astype(float), p.max(axis=1)

        def error(draw: np.ndarray, place: np.ndarray = place, hit: np.ndarray = hit, sure: np.ndarray = sure) -> float:
            total = 0.0
            for b in set(place[draw].tolist()):
                inside = draw[place[draw] == b]
                total += len(inside) / len(draw) * abs(hit[inside].mean() - sure[inside].mean())
            return total

        row = frame[(frame["state"] == state) & (frame["by"] == "width")].iloc[0]
        value, draws = error(np.arange(60)), [error(draw) for draw in rows]
        assert row["value"] == pytest.approx(value)
        assert row["low"] == pytest.approx(min(max(2 * value - np.percentile(draws, 97.5), 0), value))
        assert row["high"] == pytest.approx(max(2 * value - np.percentile(draws, 2.5), value))


def test_what_a_calibrated_run_shows_by_chance() -> None:
    """The chance value equals the mean over runs whose labels are drawn from their probabilities, to 10 %."""
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, 2_000)
    shares = np.stack([1 - sure, sure], axis=1)
    frames = [operating.calibration((rng.random(2_000) < sure).astype(int), shares, draws=2) for _ in range(60)]
    assert np.mean([f["value"][0] for f in frames]) == pytest.approx(frames[0]["chance"][0], rel=0.1)


def test_tempering_is_the_softmax_of_divided_logits() -> None:
    logits = np.random.default_rng(1).normal(size=(20, 3)) * 2
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    want = np.exp(logits / 2.5) / np.exp(logits / 2.5).sum(axis=1, keepdims=True)
    assert tempered(shares, 2.5) == pytest.approx(want)
    assert tempered(shares, 1) == pytest.approx(shares)
    assert np.isfinite(tempered(np.array([[0.0, 1.0]]), 3)).all()


def test_a_temperature_that_fits_takes_the_error_away() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4_000, 3)) * 1.5
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(3, p=p) for p in true])
    bold = np.exp(3 * logits) / np.exp(3 * logits).sum(axis=1, keepdims=True)
    values = operating.calibration(labels, bold, 3, draws=20).query("by == 'width'")["value"].tolist()
    assert values[0] > 0.15
    assert values[1] < 0.03


# ---- two runs


def test_agreement_by_hand() -> None:
    """Of seven rows both models have 2 right, only the first 3, only the second 1, neither 1; McNemar's exact p is 10 / 16."""
    first = np.array([1, 1, 1, 1, 1, 0, 0], bool)
    second = np.array([1, 1, 0, 0, 0, 1, 0], bool)
    agreement = operating.agreement(first, second)
    assert (agreement.both_right, agreement.only_a, agreement.only_b, agreement.neither) == (2, 3, 1, 1)
    assert agreement.difference == pytest.approx(2 / 7)
    assert agreement.p == pytest.approx(10 / 16)
    assert agreement.p == pytest.approx(binomtest(1, 4).pvalue)


def test_its_interval_is_that_of_drawn_rows() -> None:
    """The interval equals that of drawing the rows one by one from seventy copies of the seven rows, to 0.01."""
    first, second = np.array([1, 1, 1, 1, 1, 0, 0] * 70, bool), np.array([1, 1, 0, 0, 0, 1, 0] * 70, bool)
    agreement = operating.agreement(first, second)
    slow, gap = np.random.default_rng(1), first.astype(int) - second.astype(int)
    draws = [gap[slow.integers(0, 490, 490)].mean() for _ in range(3_000)]
    assert [agreement.low, agreement.high] == pytest.approx(np.percentile(draws, [2.5, 97.5]), abs=0.01)


def test_runs_that_never_part_are_not_told_apart() -> None:
    same = np.array([True, False, True])
    agreement = operating.agreement(same, same)
    assert (agreement.p, agreement.difference, agreement.low, agreement.high) == (1, 0, 0, 0)


def test_what_cannot_be_counted_is_said() -> None:
    none = np.array([], np.int64)
    with pytest.raises(InputError, match="no labelled rows"):
        operating.per_class(none, none, NAMES)
    with pytest.raises(InputError, match="no labelled rows"):
        operating.accuracy(none, none)
    with pytest.raises(InputError, match="from 0 to 2"):
        operating.areas(np.array([0, -1]), np.full((2, 3), 1 / 3), NAMES)
    with pytest.raises(InputError, match="same rows"):
        operating.agreement(np.array([True]), np.array([True, False]))
    with pytest.raises(InputError, match="bins of equal width"):
        operating.reliability(*six(), by="luck")


@pytest.mark.parametrize("n", [1, 3])
def test_a_handful_of_rows_is_no_trouble(n: int) -> None:
    labels, shares = drawn(n)
    operating.per_class(labels, shares.argmax(axis=1), NAMES)
    operating.curves(labels, shares, NAMES)
    operating.areas(labels, shares, NAMES)
    operating.calibration(labels, shares, 2)
    assert operating.reliability(labels, shares, by="mass")["n"].sum() == n
