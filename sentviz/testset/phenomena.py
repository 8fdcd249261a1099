"""Accuracy by phenomenon, on rows that have a tag."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import TYPE_CHECKING

from sentviz.errors import InputError
from sentviz.testset.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EVERY", "accuracy_by_phenomenon", "wilson"]

EVERY = "all"
Z = 1.959963984540054  # 97.5 % of the normal distribution lie below


def wilson(right: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a share of n rows (Wilson 1927, "Probable inference"): (low, high) in 0..1.

    Raises:
        InputError: no rows, or more right than there are.
    """
    if not 0 <= right <= n or not n:
        raise InputError(f"{right} of {n} rows is no share.")
    p, z2 = right / n, Z * Z
    middle, reach = p + z2 / (2 * n), Z * sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    low, high = (middle - reach) / (1 + z2 / n), (middle + reach) / (1 + z2 / n)
    return min(max(low, 0.0), p), max(min(high, 1.0), p)


def accuracy_by_phenomenon(rows_by_run: Mapping[str, Rows]) -> pd.DataFrame:
    """run, phenomenon, n, right, accuracy, low, high: a row for each run and tag over its labelled rows, and one for all of them.

    Accuracy is a share (0..1) with Wilson's 95 % interval.

    Raises:
        InputError: a run's rows have no tags or no labels; the sentence names it.
    """
    import pandas as pd

    measured = []
    for run, rows in rows_by_run.items():
        if "tag" not in rows.frame:
            raise InputError(f"The rows of {run} have no tags; the demo set has.")
        known = rows.frame[rows.frame["label"] >= 0]
        if known.empty:
            raise InputError(f"The classes of {run} ({', '.join(rows.classes)}) are not those of the demo set, so its rows have no labels.")
        parts = [(str(tag), part) for tag, part in known.groupby("tag", sort=False)]
        for phenomenon, part in [*parts, (EVERY, known)]:
            n, right = len(part), int(part["right"].sum())
            low, high = wilson(right, n)
            measured.append({"run": run, "phenomenon": phenomenon, "n": n, "right": right, "accuracy": right / n, "low": low, "high": high})
    return pd.DataFrame(measured, columns=["run", "phenomenon", "n", "right", "accuracy", "low", "high"])
