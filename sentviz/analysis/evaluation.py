"""Evaluation of a model on a split: probabilities, pooled vectors, and metrics with bootstrap intervals.

Runs that did not learn (`not_learned`) are not more often right than always predicting the most frequent class, so they settle no claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.data.datasets import Split
from sentviz.errors import InputError, RunError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.runs.calibration import softmax
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
RESAMPLES = 2_000
BLOCK = 100_000  # row numbers drawn at a time: they fit into the processor's cache
SILHOUETTE_SAMPLE = 2_000
Z = 1.959963984540054  # 97.5 % of the normal distribution lie below


@dataclass(frozen=True)
class Evaluation:
    """Outputs of a model on a split: ids, labels and numbers, never the texts."""

    split: str
    ids: tuple[str, ...]
    labels: Ints  # (N,)
    logits: npt.NDArray[np.float32]  # (N, K)
    pooled: npt.NDArray[np.float32]  # (N, d)
    classes: tuple[str, ...]

    @property
    def probabilities(self) -> npt.NDArray[np.float32]:
        """Class probabilities, (N, K)."""
        return softmax(self.logits)

    def frame(self) -> pd.DataFrame:
        """Return split, id, label and one probability per class, rounded to five decimals.

        If rounding makes another class as probable as the predicted one, the predicted one gets 1e-5 more.
        """
        frame = pd.DataFrame({"split": self.split, "id": list(self.ids), "label": self.labels.astype(np.int8)})
        shares, predicted = self.probabilities.astype(np.float32).round(5), self.probabilities.argmax(axis=1)
        lost = np.flatnonzero(shares.argmax(axis=1) != predicted)
        shares[lost, predicted[lost]] = (shares[lost, predicted[lost]] + np.float32(1e-5)).round(5)
        return frame.assign(**dict(zip(self.classes, shares.T, strict=True)))

    def sample(self, size: int = SILHOUETTE_SAMPLE, seed: int = 0) -> Ints:
        """Return the row numbers of a seeded sample, in ascending order."""
        rows = np.random.default_rng(seed).permutation(len(self.labels))[:size]
        return np.sort(rows)


def evaluate(model: Model, split: Split, progress: Progress | None = None) -> Evaluation:
    """Run a split through a model."""
    logits, pooled = model.forward(model.read(split.frame), progress=progress)
    return Evaluation(
        split.split,
        tuple(split.frame["id"].astype(str)),
        split.frame["label"].to_numpy(np.int64, copy=True),
        logits,
        pooled,
        tuple(split.labels),
    )


def confusion(labels: Ints, predicted: Ints, classes: int) -> Ints:
    """Return counts of labels (rows) and predictions (columns), (K, K). Raises InputError if a row has no label."""
    if (labels < 0).any():
        raise InputError("No row has a label." if (labels < 0).all() else "Remove rows without a label first.")
    return np.bincount(labels * classes + predicted, minlength=classes**2).reshape(classes, classes)


def metrics(evaluation: Evaluation, *, seed: int = 0, resamples: int = RESAMPLES) -> dict[str, Any]:
    """Return the metrics of a split, each `{value, low, high}` with a 95 % percentile bootstrap interval over its rows, and `n`.

    accuracy; precision, recall and F1 as macro and weighted means and, with two classes, of the positive class; AUC (one-vs-rest, macro,
    for more than two classes; equal probabilities count half, before any rounding); silhouette of the pooled vectors, if there are any
    (euclidean, on a stated seeded sample); loss (cross-entropy, nats).
    """
    from sklearn.metrics import silhouette_samples

    rng = np.random.default_rng(seed)
    labels, probabilities = evaluation.labels, evaluation.probabilities.astype(np.float64)
    classes, n = len(evaluation.classes), len(labels)
    counts = confusion(labels, probabilities.argmax(axis=1), classes)
    draws = rng.multinomial(n, counts.ravel() / n, size=resamples).reshape(-1, classes, classes)
    result: dict[str, Any] = {"n": n, "confusion": counts.tolist()}
    values, spread = from_confusion(counts[None]), from_confusion(draws)
    for name, value in values.items():
        result[name] = interval(float(value[0]), spread[name])
    result["auc"] = interval(*_aucs(labels, probabilities, rng, resamples))
    losses = -np.log(np.maximum(probabilities[np.arange(n), labels], 1e-12))
    result["loss"] = interval(float(losses.mean()), mean_draws(losses, rng, resamples))
    rows = evaluation.sample()
    if evaluation.pooled.shape[1] and 1 < len(set(labels[rows])) < len(rows):
        s = silhouette_samples(evaluation.pooled[rows], labels[rows])
        result["silhouette"] = interval(float(s.mean()), mean_draws(s, rng, resamples)) | {
            "n": len(rows),
            "sample_seed": 0,
        }
    return result


def interval(value: float, draws: Floats) -> dict[str, Any]:
    """Return `{value, low, high}`: the estimate with the 2.5 % and 97.5 % percentiles of its bootstrap draws."""
    low, high = bounds(draws)
    return {"value": round(value, 5), "low": round(low, 5), "high": round(high, 5)}


def bounds(draws: Floats, level: float = 0.95) -> tuple[float, float]:
    """Return the percentiles of (R,) bootstrap draws without NaN between which `level` of them lie; NaN if all are NaN."""
    known, tail = draws[~np.isnan(draws)], round(50 * (1 - level), 9)
    low, high = np.percentile(known, [tail, 100 - tail]) if len(known) else (np.nan, np.nan)
    return float(low), float(high)


def wilson(right: npt.ArrayLike, n: npt.ArrayLike, z: float = Z) -> tuple[Floats, Floats]:
    """Return low and high (0 to 1) of Wilson's score intervals of shares of n rows (Wilson 1927, "Probable inference").

    Args:
        z: quantile of the normal distribution; by default that of 95 % intervals.
    """
    hits, rows = np.asarray(right, np.float64), np.asarray(n, np.float64)
    if ((rows <= 0) | (hits < 0) | (hits > rows)).any():
        raise InputError(f"{hits} of {rows} rows is not a share: right rows must be from 0 to the number of rows, which must be above 0.")
    p, z2 = hits / rows, z * z
    middle, reach = p + z2 / (2 * rows), z * np.sqrt(p * (1 - p) / rows + z2 / (4 * rows**2))
    low, high = (middle - reach) / (1 + z2 / rows), (middle + reach) / (1 + z2 / rows)
    return np.clip(low, 0, p), np.clip(high, p, 1)


def from_confusion(counts: Ints) -> dict[str, Floats]:
    """Return metrics of (R, K, K) confusion matrices; a class that is never predicted has precision 0, as in scikit-learn."""
    total = counts.sum(axis=(1, 2))
    weight = counts.sum(axis=2) / total[:, None]
    result = {"accuracy": np.trace(counts, axis1=1, axis2=2) / total}
    for name, shares in rates(counts).items():
        value = np.nan_to_num(shares, nan=0.0)
        result[f"{name}_macro"], result[f"{name}_weighted"] = value.mean(axis=1), (value * weight).sum(axis=1)
        if counts.shape[1] == 2:
            result[f"{name}_positive"] = value[:, 1]
    return result


def rates(counts: Ints) -> dict[str, Floats]:
    """Return precision, recall and f1 (R, K) of each class of (R, K, K) confusion matrices; NaN if it is never predicted or has no rows."""
    right = np.diagonal(counts, axis1=1, axis2=2).astype(np.float64)
    support, predicted = counts.sum(axis=2), counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return {"precision": right / predicted, "recall": right / support, "f1": 2 * right / (support + predicted)}


def areas_drawn(sides: Sequence[tuple[npt.NDArray[np.bool_], Floats]], rng: np.random.Generator, resamples: int) -> tuple[Floats, Floats]:
    """Return the areas under the ROC curves of K pairs (positive, score), each (N,), and the areas under bootstrap draws of the rows.

    All pairs get the same draws.

    Returns:
        Areas (K,) and bootstrap areas (R, K), as `auc_of_counts`.
    """
    kinds = [ties(positive, scores) for positive, scores in sides]

    def measured(rows: Ints) -> Floats:
        counts = (count_draws(code[rows], 2 * len(at)).reshape(len(rows), 2, -1) for at, code in kinds)
        return np.stack([auc_of_counts(each[:, 0], each[:, 1]) for each in counts], axis=1)

    n = len(sides[0][0])
    drawn = [np.empty((0, len(sides))), *(measured(rows) for rows in row_draws(n, rng, resamples))]
    return measured(np.arange(n)[None])[0], np.concatenate(drawn)


def ties(positive: npt.NDArray[np.bool_], scores: Floats) -> tuple[Floats, Ints]:
    """Return the G distinct scores in falling order, and each row's position among them, plus G for positives."""
    at, place = np.unique(-scores, return_inverse=True)
    return -at, place + len(at) * positive


def count_draws(codes: Ints, size: int) -> Ints:
    """Count the codes (below `size`) in each row of (b, n) codes: (b, size)."""
    b = len(codes)
    return np.bincount((codes + np.arange(b)[:, None] * size).ravel(), minlength=b * size).reshape(b, size)


def row_draws(n: int, rng: np.random.Generator, resamples: int) -> Iterator[Ints]:
    """Yield bootstrap draws of n rows, in blocks (b, n) so that memory stays bounded."""
    block = max(1, BLOCK // n)
    for start in range(0, resamples, block):
        yield rng.integers(0, n, size=(min(block, resamples - start), n))


def auc_of_counts(negative: npt.NDArray[Any], positive: npt.NDArray[Any]) -> Floats:
    """Return the area under the ROC curve (R,) from the numbers of negative and positive rows with each distinct score, (R, G).

    Scores are in falling order. The area is the Mann-Whitney count, ties count half; NaN where a side has no rows.
    """
    below, at = negative.astype(np.float64), positive.astype(np.float64)
    above = np.cumsum(at, axis=1)
    won = np.einsum("rg,rg->r", below, above) - 0.5 * np.einsum("rg,rg->r", below, at)
    with np.errstate(invalid="ignore"):
        areas: Floats = won / (above[:, -1] * below.sum(axis=1))
    return areas


def _aucs(labels: Ints, probabilities: Floats, rng: np.random.Generator, resamples: int) -> tuple[float, Floats]:
    """Return the one-vs-rest area, the mean over classes that have rows on both sides, and its bootstrap draws.

    For two classes it is the area of the second one.
    """
    classes = probabilities.shape[1]
    value, draws = areas_drawn([(labels == k, probabilities[:, k]) for k in ([1] if classes == 2 else range(classes))], rng, resamples)
    return float(nan_mean(value)), nan_mean(draws)


def nan_mean(values: Floats) -> Floats:
    """Return the mean over the last axis, ignoring NaN; NaN where all values are NaN."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means: Floats = np.where(known, values, 0).sum(axis=-1) / known.sum(axis=-1)
    return means


def mean_draws(values: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """Return bootstrap means (resamples,) of (N,) values."""
    return np.concatenate([values[rows].mean(axis=1) for rows in row_draws(len(values), rng, resamples)])


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted for their number (Holm 1979), in the same order.

    An adjusted value below α is significant at familywise level α.
    """
    if wrong := [name for name, p in p_values.items() if not 0 <= p <= 1]:
        raise InputError(f"A p-value must be from 0 to 1. Outside this range: {', '.join(wrong)}.")
    adjusted, largest = dict(p_values), 0.0
    for rank, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        largest = adjusted[name] = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
    return adjusted


def why_not_learned(run: Run) -> str:
    """Return the numbers that show that a run did not learn; "" if it learned, or if its metrics cannot be read.

    A run learned if the 95 % Wilson interval of its accuracy lies above the share of the most frequent class of the same rows. These are
    the validation rows, or the test rows if the run stores no confusion matrix of the validation rows.
    """
    try:
        metrics = run.metrics()
    except RunError:
        return ""
    split = "validation" if "confusion" in metrics.get("validation", {}) else "test"
    if split not in metrics:  # a model without test rows
        return ""
    counts = np.array(metrics[split]["confusion"])
    right, n, most = np.trace(counts), counts.sum(), counts.sum(axis=1).max()
    low, high = map(float, wilson(right, n))
    if low > most / n:
        return ""
    return f"{run.name} {percent(right / n, ends=(low, high))} on {split} (most frequent class {percent(most / n)})"


def not_learned(runs: Iterable[Run]) -> dict[str, str]:
    """Return `why_not_learned` of the runs that did not learn, by name."""
    return {run.name: why for run in runs if (why := why_not_learned(run))}


def not_learned_in_words(runs: Iterable[Run]) -> str:
    """Return which runs did not learn, with their learning rates and numbers; "" if all learned."""
    every = list(runs)
    failed = not_learned(every)
    rates = {run.config["recipe"].get("learning_rate") for run in every if run.name in failed} - {None}
    trained = f" at learning rate {' or '.join(f'{rate:g}' for rate in sorted(rates))}" if rates else ""
    return f"the run{'s' * (len(failed) > 1)} did not learn{trained}: {', '.join(failed.values())}" if failed else ""


def not_learned_sentence(runs: Iterable[Run]) -> str:
    """Return `not_learned_in_words` as a sentence."""
    words = not_learned_in_words(runs)
    return words and f"{words[0].upper()}{words[1:]}."
