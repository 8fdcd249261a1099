"""Evaluate a classifier: confusion matrices, ROC and precision-recall curves, areas, calibration.

The functions take labels (n,) of classes 0 .. K-1 and probabilities (n, K), and return frames. Intervals are seeded 95 % bootstrap
intervals over the rows. Undefined values are NaN: the recall of a class without rows, or the curve of a class that has all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import (
    RESAMPLES,
    Floats,
    Ints,
    auc_of_counts,
    bounds,
    confusion,
    count_draws,
    interval,
    nan_mean,
    rates,
    row_draws,
    ties,
    wilson,
)
from sentviz.errors import InputError
from sentviz.io.lazy import pd, special
from sentviz.runs.calibration import tempered

MACRO = "macro mean"
METRICS = {"precision": "precision", "recall": "recall", "f1": "F1"}
BINS = 15
DRAWS = 500  # bootstrap draws for values that are sorted or binned again for each draw


def accuracy(labels: Ints, predicted: Ints) -> dict[str, Any]:
    """Return the share of right predictions with Wilson's interval: value, low, high, n."""
    n = len(labels)
    if not n:
        raise InputError("There are no labelled rows to count.")
    right = int((labels == predicted).sum())
    low, high = wilson(right, n)
    return {"value": right / n, "low": float(low), "high": float(high), "n": n}


def per_class(labels: Ints, predicted: Ints, classes: Sequence[str]) -> pd.DataFrame:
    """Return precision, recall and F1 of each class: class, metric, value, low, high, n (rows of the class), said (rows predicted as it).

    Precision and recall are shares of the rows that are predicted as the class, or have it, with Wilson's intervals. F1 = 2 J / (1 + J)
    rises with J, the share of rows with label and prediction among those with either, so its interval is that of J. A share of no rows is
    NaN.
    """
    _check(labels, len(classes))
    counts = confusion(labels, predicted, len(classes))
    hits, labelled, predicted_as = np.diagonal(counts), counts.sum(axis=1), counts.sum(axis=0)
    rows = []
    for i, name in enumerate(classes):
        for metric, n in (("precision", predicted_as[i]), ("recall", labelled[i]), ("f1", labelled[i] + predicted_as[i] - hits[i])):
            share = np.array([hits[i] / n, *wilson(hits[i], n)]) if n else np.full(3, np.nan)
            value, low, high = (2 * share / (1 + share) if metric == "f1" else share).tolist()
            rows.append({"class": name, "metric": METRICS[metric], "value": value, "low": low, "high": high})
            rows[-1] |= {"n": int(labelled[i]), "said": int(predicted_as[i])}
    return pd.DataFrame(rows)


def operating_points(labels: Ints, predicted: Ints, classes: Sequence[str]) -> pd.DataFrame:
    """Return the point of the predictions on the curves of each class: class, fpr, recall, precision."""
    _check(labels, len(classes))
    counts = confusion(labels, predicted, len(classes))
    values = rates(counts[None])
    with np.errstate(invalid="ignore"):
        fpr = (counts.sum(axis=0) - np.diagonal(counts)) / (len(labels) - counts.sum(axis=1))
    return pd.DataFrame({"class": list(classes), "fpr": fpr, "recall": values["recall"][0], "precision": values["precision"][0]})


def thresholds(labels: Ints, positive: Floats, steps: int = 101) -> pd.DataFrame:
    """Return metrics of two classes by threshold of the second: threshold, accuracy, recall of each class, precision of the second.

    Args:
        positive: (n,) probability of class 1.
    """
    _check(labels, 2)
    at = np.linspace(0, 1, steps)
    is_one = labels == 1
    ones, zeros = np.sort(positive[is_one]), np.sort(positive[~is_one])
    true_positives = len(ones) - np.searchsorted(ones, at)  # rows of class 1 that are predicted as class 1
    false = len(zeros) - np.searchsorted(zeros, at)
    with np.errstate(invalid="ignore"):
        return pd.DataFrame(
            {
                "threshold": at,
                "accuracy": (true_positives + len(zeros) - false) / len(labels),
                "recall_0": np.divide(len(zeros) - false, len(zeros)) if len(zeros) else np.nan,
                "recall_1": np.divide(true_positives, len(ones)) if len(ones) else np.nan,
                "precision_1": true_positives / (true_positives + false),
            }
        )


# ---- curves: one class against the rest


def curves(labels: Ints, probabilities: Floats, classes: Sequence[str]) -> pd.DataFrame:
    """Return ROC and precision-recall curves of each class against the rest: class, threshold (falling), fpr, recall, precision.

    There is one point per distinct probability, after a first point without predictions (threshold infinite, precision 1). A class without
    rows, or with all rows, has no curve.
    """
    _check(labels, len(classes))
    parts, scores = [], _scores(probabilities)
    for k, name in enumerate(classes):
        at, code = ties(labels == k, scores[:, k])
        false, true_positives = np.cumsum(np.bincount(code, minlength=2 * len(at)).reshape(2, -1), axis=1)
        if not (true_positives[-1] and false[-1]):
            continue
        points = {
            "class": name,
            "threshold": np.r_[np.inf, at],
            "fpr": np.r_[0, false / false[-1]],
            "recall": np.r_[0, true_positives / true_positives[-1]],
            "precision": np.r_[1, true_positives / (true_positives + false)],
        }
        parts.append(pd.DataFrame(points))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["class", "threshold", "fpr", "recall", "precision"])


def macro(curves: pd.DataFrame, kind: Literal["roc", "pr"], points: int = 201) -> pd.DataFrame:
    """Return the mean of the classes' curves at even steps of the horizontal axis; the area below it is the mean of the areas.

    Returns:
        the same columns with class = `MACRO`; columns without a mean are NaN.
    """
    at, each = np.linspace(0, 1, points), []
    for _, line in curves.groupby("class", sort=False):
        if kind == "roc":
            each.append(np.interp(at, line["fpr"], line["recall"]))
        else:
            each.append(line["precision"].to_numpy()[np.searchsorted(line["recall"], at)])
    mean = np.mean(each, axis=0) if each else np.full(points, np.nan)
    values = {"fpr": at, "recall": mean} if kind == "roc" else {"recall": at, "precision": mean}
    frame = pd.DataFrame({"class": MACRO, "threshold": np.nan, "fpr": np.nan, "recall": np.nan, "precision": np.nan, **values})
    return frame if each else frame.head(0)


def areas(labels: Ints, probabilities: Floats, classes: Sequence[str], *, seed: int = 0, draws: int = DRAWS) -> pd.DataFrame:
    """Areas under the curves of each class and their mean: class, metric (AUC, AP), value, low, high, n, positives.

    AUC counts ties as half (Mann-Whitney); AP is the average precision Σ (R_i - R_{i-1}) P_i, as in scikit-learn. The last class is the
    macro mean over the classes that have both, in a draw over those that have them there. A draw resamples rows, the same for every class;
    rows of the same probability and kind are alike, so they are only counted.
    """
    _check(labels, len(classes))
    n, k = len(labels), len(classes)
    scores = _scores(probabilities)
    kinds = [ties(labels == c, scores[:, c]) for c in range(k)]
    if k == 2:
        kinds = kinds[1:]  # the other class is the same count read backwards

    def measured(counts: list[Ints]) -> Floats:
        """(2, R, K) of each class's counts (R, 2, G)."""
        sides = [counts[0][:, ::-1, ::-1], counts[0]] if k == 2 else counts
        return np.stack([_areas(side) for side in sides], axis=-1)

    def drawn(rows: Ints) -> list[Ints]:
        return [count_draws(code[rows], 2 * len(at)).reshape(len(rows), 2, -1) for at, code in kinds]

    values = measured(drawn(np.arange(n)[None]))[:, 0]
    every = np.concatenate([measured(drawn(rows)) for rows in row_draws(n, np.random.default_rng(seed), draws)], axis=1)
    rows: list[dict[str, Any]] = []
    for m, metric in enumerate(("AUC", "AP")):
        for c, name in enumerate(classes):
            own = interval(float(values[m, c]), every[m, :, c])
            rows.append({"class": name, "metric": metric, **own, "n": n, "positives": int((labels == c).sum())})
        mean = interval(float(nan_mean(values[m])), nan_mean(every[m]))
        rows.append({"class": MACRO, "metric": metric, **mean, "n": n, "positives": n})
    return pd.DataFrame(rows)


def _scores(probabilities: Floats) -> Floats:
    """The probabilities; of two classes the first is what the second leaves, not a number rounded by itself."""
    return np.stack([1 - probabilities[:, 1], probabilities[:, 1]], axis=1) if probabilities.shape[1] == 2 else probabilities


def _areas(counts: Ints) -> Floats:
    """Return AUC and average precision, (2, R), of counts of negatives and positives (R, 2, G) by falling score; NaN if one is empty."""
    negative, positive = counts[:, 0], counts[:, 1].astype(np.float64)
    area = auc_of_counts(negative, positive)
    true_positives, predicted_positives = np.cumsum(positive, axis=1), np.cumsum(counts.sum(axis=1), axis=1)
    with np.errstate(invalid="ignore"):
        precision = np.einsum("rg,rg->r", positive, true_positives / np.maximum(predicted_positives, 1)) / true_positives[:, -1]
    return np.stack([area, np.where(np.isnan(area), np.nan, precision)])


# ---- calibration


def reliability(labels: Ints, probabilities: Floats, *, bins: int = BINS, by: str = "width") -> pd.DataFrame:
    """Return accuracy by confidence (the largest probability) in bins: left, right, n, confidence (mean), accuracy, low, high.

    Args:
        by: "width" = bins (left, right] of equal width from 0 to 1 (Guo et al. 2017); "mass" = bins of n / bins rows or a few more, since
            equal confidences stay together.
    Returns:
        one row per bin with rows; low and high are Wilson's score interval of the accuracy (Wilson 1927).
    """
    confidence, right = _confidence(labels, probabilities)
    edges, place = _binned(confidence, bins, by)
    n = np.bincount(place, minlength=len(edges) - 1)
    filled = n > 0
    total = n[filled]
    hits = np.bincount(place, right, minlength=len(n))[filled]
    low, high = wilson(hits, total)
    return pd.DataFrame(
        {
            "left": edges[:-1][filled],
            "right": edges[1:][filled],
            "n": total,
            "confidence": np.bincount(place, confidence, minlength=len(n))[filled] / total,
            "accuracy": hits / total,
            "low": low,
            "high": high,
        }
    )


def expected_error(labels: Ints, probabilities: Floats) -> float:
    """Return the expected calibration error over `BINS` bins of equal width (Guo et al. 2017)."""
    bins = reliability(labels, probabilities)
    return float((bins["n"] * (bins["accuracy"] - bins["confidence"]).abs()).sum() / bins["n"].sum())


def calibration(
    labels: Ints, probabilities: Floats, factor: float = 1.0, *, bins: int = BINS, seed: int = 0, draws: int = DRAWS
) -> pd.DataFrame:
    """The expected calibration error as it is and at a factor: state, by, value, low, high, chance, confidence, accuracy, n.

    ECE = Σ_b n_b / n |accuracy_b - confidence_b| (Guo et al. 2017), over bins of one width and of one mass, the bins of a draw those of the
    rows. Noise only adds to it, and a resample adds it twice, so the interval is the basic bootstrap, 2 ECE - draws, which undoes one
    helping; in simulations of 200 to 10,000 rows it holds the true ECE 8 to 9 times in 10, 0 included, which the percentiles never hold.
    `chance` is what a perfectly calibrated run would show on as many rows of these confidences (expected, by the normal approximation).
    """
    rows, parts = [], []
    for state, shares in (("as it is", probabilities), ("calibrated", tempered(probabilities, factor))):
        confidence, right = _confidence(labels, shares)
        for by in ("width", "mass"):
            edges, place = _binned(confidence, bins, by)
            noise = np.sqrt(np.bincount(place, confidence * (1 - confidence), minlength=len(edges) - 1))
            chance = float(np.sqrt(2 / np.pi) * noise.sum() / len(labels))
            rows.append({"state": state, "by": by, "chance": chance, "confidence": confidence.mean(), "accuracy": right.mean()})
            gaps = np.zeros((len(labels), len(edges) - 1))
            gaps[np.arange(len(labels)), place] = right - confidence
            parts.append(gaps)
    n, every, starts = len(labels), np.hstack(parts), np.cumsum([0, *(part.shape[1] for part in parts[:-1])])

    def errors(weights: Floats) -> Floats:
        """(R, 4) of rows counted (R, n)."""
        summed: Floats = np.add.reduceat(np.abs(weights @ every), starts, axis=1)
        return summed / n

    values = errors(np.ones((1, n)))[0]
    spread = np.concatenate(
        [errors(count_draws(drawn, n).astype(np.float64)) for drawn in row_draws(n, np.random.default_rng(seed), draws)]
    )
    high, low = 2 * values - np.transpose([bounds(column) for column in spread.T])
    frame = pd.DataFrame(rows).assign(value=values, low=np.clip(low, 0, values), high=np.maximum(high, values), n=n)
    return frame[["state", "by", "value", "low", "high", "chance", "confidence", "accuracy", "n"]]


def _confidence(labels: Ints, probabilities: Floats) -> tuple[Floats, Floats]:
    """Largest probability, and 1 where it is that of the label."""
    _check(labels, probabilities.shape[1])
    return probabilities.max(axis=1), (probabilities.argmax(axis=1) == labels).astype(np.float64)


def _binned(confidence: Floats, bins: int, by: str) -> tuple[Floats, Ints]:
    """Edges, and the bin (left, right] of each row."""
    if by not in ("width", "mass"):
        raise InputError(f"`by` must be 'width' (bins of equal width) or 'mass' (bins of equal row count), not {by!r}.")
    edges = np.linspace(0, 1, bins + 1) if by == "width" else _even(confidence, bins)
    return edges, np.clip(np.searchsorted(edges, confidence) - 1, 0, len(edges) - 2)


def _even(confidence: Floats, bins: int) -> Floats:
    """Edges of bins of at least n / bins rows each, equal confidences together; what is left at the end joins the last bin."""
    at, n = np.unique(confidence, return_counts=True)
    upto, ends = np.cumsum(n), [-1]
    while (rest := len(confidence) - (upto[ends[-1]] if len(ends) > 1 else 0)) >= len(confidence) / bins and ends[-1] < len(at) - 1:
        ends.append(int(np.searchsorted(upto, len(confidence) - rest + len(confidence) / bins - 1e-9)))
    return np.concatenate([at[:1], at[ends[1:-1]], at[-1:]])


# ---- two runs


@dataclass(frozen=True)
class Paired:
    """Two runs on the same rows: counts of rows, and accuracies as shares (0..1)."""

    n: int
    both_right: int
    only_a: int
    only_b: int
    neither: int
    difference: float  # accuracy of a minus that of b
    low: float  # paired bootstrap over the rows, by default of 95 %
    high: float
    p: float  # McNemar's exact test, two-sided


def agreement(
    first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_], *, seed: int = 0, resamples: int = RESAMPLES, level: float = 0.95
) -> Paired:
    """Compare two runs row by row, from correctness (n,) bool: counts, difference of accuracy with its interval, McNemar's exact test.

    The interval is the percentile bootstrap over rows, drawn as what it is for two runs: a multinomial over the cells. McNemar's exact test
    asks whether only_a is a fair coin's share of only_a + only_b (McNemar 1947; Dietterich 1998); 1 where the two never part.
    """
    n = len(first)
    if not n or len(second) != n:
        raise InputError("A comparison of two runs needs the same rows for both, at least one row.")
    both, only_a, only_b = (int(cell.sum()) for cell in (first & second, first & ~second, ~first & second))
    cells = np.array([only_a, only_b, n - only_a - only_b])
    drawn = np.random.default_rng(seed).multinomial(n, cells / n, size=resamples)
    low, high = bounds((drawn[:, 0] - drawn[:, 1]) / n, level)
    p = min(1.0, 2 * float(special.bdtr(min(only_a, only_b), only_a + only_b, 0.5)))
    return Paired(n, both, only_a, only_b, n - both - only_a - only_b, (only_a - only_b) / n, low, high, p)


def _check(labels: Ints, classes: int) -> None:
    if (labels < 0).all():
        raise InputError("There are no labelled rows to count.")
    if labels.min() < 0 or labels.max() >= classes:
        raise InputError(f"Labels must be from 0 to {classes - 1}. Remove rows without a label first.")
