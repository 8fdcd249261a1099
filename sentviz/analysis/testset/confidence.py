"""Is a run as sure as it is right? The calibration error at its temperature: on validation rows, which fitted it, and on test rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sentviz.analysis.testset.operating import expected_error
from sentviz.errors import RunError
from sentviz.runs.calibration import tempered
from sentviz.runs.store import Run

CLEAR = 0.005  # least distance between mean confidence and accuracy that gets a word


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
        return (
            f"{self.error:.3f} on {self.n:,} test rows: {self.words} (mean confidence {self.confidence:.1%}, accuracy {self.accuracy:.1%})"
        )


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
