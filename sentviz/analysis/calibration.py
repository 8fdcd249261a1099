"""Calibrate a classifier on validation rows: a temperature, and an intercept for each class.

    p = softmax(z / T + b)        z: logits    T > 0: temperature    b: intercepts, whose sum is 0

T and b maximise the likelihood of the labels (Guo et al. 2017, and Platt 1999 for two classes). The loss is convex in 1 / T and b. Every
source of a mixture has the same weight. The intercept can change which class is predicted, so it belongs to the model: `finish` adds
T x b to the stored biases of the classifier. The temperature changes no prediction and is applied where probabilities are reported.

`Confidence` tells whether a run is as sure as it is right: on validation rows, which fitted the temperature, and on test rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.testset.operating import expected_error
from sentviz.errors import RunError
from sentviz.io.numbers import percent
from sentviz.runs.calibration import softmax, tempered
from sentviz.runs.store import Run

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LOG_T = 3.0  # temperatures are from exp(-3) to exp(3)
MAX_INTERCEPT = 10.0  # largest size of an intercept, in log-odds; reached only if the rows of a class are told apart without a mistake
CLEAR = 0.005  # least distance between mean confidence and accuracy that gets a word


@dataclass(frozen=True)
class Calibration:
    """A fitted calibration: probabilities are softmax(logits / temperature + intercept)."""

    temperature: float
    intercept: tuple[float, ...]  # one value per class, sum 0

    def logits(self, raw: npt.NDArray[np.float32]) -> Floats:
        """Return the calibrated logits of raw ones, (n, K)."""
        return np.asarray(raw.astype(np.float64) / self.temperature + np.array(self.intercept))


def fit_calibration(
    logits: npt.NDArray[np.float32], labels: Ints, sources: npt.NDArray[np.str_] | None = None, *, intercept: bool = False
) -> Calibration:
    """Return the calibration with the highest likelihood of the labels; all numbers are rounded to four decimals.

    Args:
        logits: (n, K). labels: (n,) classes from 0.
        sources: (n,) source of each row; all sources have the same weight. None: all rows have the same weight.
        intercept: whether intercepts are fitted; otherwise they are 0.
    """
    from scipy.optimize import minimize

    z, (n, classes) = logits.astype(np.float64), logits.shape
    weights, hits = source_weights(sources, n), np.eye(classes)[labels]

    def loss(x: Floats) -> tuple[float, Floats]:
        """Return the weighted cross-entropy and its gradient; x: 1 / T, then the intercepts of the later classes, if any."""
        s = x[0] * z
        s[:, 1 : len(x)] += x[1:]
        s -= s.max(axis=1, keepdims=True)
        exponentials = np.exp(s)
        total = exponentials.sum(axis=1, keepdims=True)
        slopes = weights[:, None] * (exponentials / total - hits)
        value = float(weights @ (np.log(total[:, 0]) - (s * hits).sum(axis=1)))
        return value, np.append((slopes * z).sum(), slopes.sum(axis=0)[1 : len(x)])

    start = np.eye(1, classes if intercept else 1)[0]
    bounds = [(np.exp(-LOG_T), np.exp(LOG_T)), *[(-2 * MAX_INTERCEPT, 2 * MAX_INTERCEPT)] * (len(start) - 1)]
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1_000}
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    added = np.zeros(classes)
    added[1 : len(best)] = best[1:]
    added = np.clip(added - added.mean(), -MAX_INTERCEPT, MAX_INTERCEPT)
    return Calibration(round(float(1 / best[0]), 4), tuple(round(float(value), 4) + 0.0 for value in added))


def source_weights(sources: npt.NDArray[np.str_] | None, n: int) -> Floats:
    """Return a weight for each of n rows, with sum 1: the same sum for each source."""
    if sources is None:
        return np.full(n, 1 / n)
    _, place, counts = np.unique(sources, return_inverse=True, return_counts=True)
    return np.asarray(1 / (len(counts) * counts[place]))


def calibration_report(fitted: Calibration, logits: npt.NDArray[np.float32], labels: Ints, sources: npt.NDArray[np.str_]) -> dict[str, Any]:
    """Return the entry `calibration` of config.json: intercept, n, sources, and the expected calibration error before and after."""
    errors = [expected_error(labels, softmax(z).astype(np.float64)) for z in (logits, fitted.logits(logits))]
    return {
        "intercept": list(fitted.intercept),
        "n": len(labels),
        "sources": len(np.unique(sources)),
        "error_before": round(errors[0], 5),
        "error_after": round(errors[1], 5),
    }


def leaning(confidence: float, accuracy: float) -> str:
    """Return in words whether a model with this mean confidence and accuracy, both from 0 to 1, is too sure."""
    gap = confidence - accuracy
    if abs(gap) <= CLEAR:
        return "well calibrated on average"
    return f"{'over' if gap > 0 else 'under'}confident by {100 * abs(gap):.1f} points"


@dataclass(frozen=True)
class Confidence:
    """Mean confidence of a model on some rows beside its accuracy; all shares are from 0 to 1."""

    n: int
    error: float  # expected calibration error
    confidence: float  # mean probability of the predicted class
    accuracy: float

    @classmethod
    def of(cls, labels: npt.NDArray[np.int64], probabilities: npt.NDArray[np.float64]) -> Confidence:
        """Compare labels (n,) with probabilities (n, K)."""
        right = probabilities.argmax(axis=1) == labels
        return cls(len(labels), expected_error(labels, probabilities), float(probabilities.max(axis=1).mean()), float(right.mean()))

    @property
    def words(self) -> str:
        """Return whether the model is too sure, with the distance in points."""
        return leaning(self.confidence, self.accuracy)

    def __str__(self) -> str:
        both = f"mean confidence {percent(self.confidence)}, accuracy {percent(self.accuracy)}"
        return f"{self.error:.3f} on {self.n:,} test rows: {self.words} ({both})"


def on_test_rows(run: Run, temperature: float | None = None) -> Confidence:
    """Return the confidence of a run on its test rows, from their stored predictions.

    Args:
        temperature: by default the run's own.
    Raises:
        RunError: the run has no test rows, or they are not installed.
    """
    frame = run.frame("test.parquet")
    frame = frame[(frame["split"] == "test") & (frame["label"] >= 0)]
    if frame.empty:
        raise RunError(f"{run.name} has no labelled test rows.")
    probabilities = tempered(frame[list(run.labels)].to_numpy(np.float64), run.calibration if temperature is None else temperature)
    return Confidence.of(frame["label"].to_numpy(np.int64), probabilities)


def calibration_line(run: Run) -> str:
    """Return in one or two sentences the calibration error of a run at its temperature on validation and on test rows."""
    report = run.config.get("calibration", {})
    fitted = ""
    if "error_after" in report:
        fitted = (
            f"On the {report['n']:,} validation rows that fitted the temperature, the calibration error is {report['error_after']:.3f}. "
        )
    try:
        return f"{fitted}At temperature {run.calibration:.2f}, the calibration error is {on_test_rows(run)}."
    except RunError as error:
        return f"{fitted}The calibration error on test rows is unknown: {error}"
