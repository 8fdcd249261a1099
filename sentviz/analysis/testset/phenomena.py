"""Accuracy by phenomenon, on rows that have a tag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.evaluation import wilson
from sentviz.analysis.testset.rows import Rows
from sentviz.data import demo
from sentviz.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

EVERY = "all"


def accuracy_by_phenomenon(rows_by_run: Mapping[str, Rows], *, sided: bool = False) -> pd.DataFrame:
    """run, phenomenon, n, right, accuracy, low, high: a row for each run and tag over its labelled rows, and one for all of them.

    Accuracy is a share (0..1) with Wilson's 95 % interval. With `sided` an answer on the side of the label is right: "very positive" for
    "positive"; "neutral" never is.

    Raises:
        InputError: a run's rows have no tags or no labels; the sentence names it.
    """
    import pandas as pd

    measured = []
    for run, rows in rows_by_run.items():
        if "tag" not in rows.frame:
            raise InputError(f"The rows of {run} have no tags; the demo set has.")
        known = rows.frame[rows.frame["label"] >= 0]
        if sided:
            side = np.array(demo.sides(rows.classes))
            known = known.assign(right=side[known["label"]] == side[known["predicted"]])
        if known.empty:
            raise InputError(f"The classes of {run} ({', '.join(rows.classes)}) are not those of the demo set, so its rows have no labels.")
        parts = [(str(tag), part) for tag, part in known.groupby("tag", sort=False)]
        for phenomenon, part in [*parts, (EVERY, known)]:
            n, right = len(part), int(part["right"].sum())
            low, high = map(float, wilson(right, n))
            measured.append({"run": run, "phenomenon": phenomenon, "n": n, "right": right, "accuracy": right / n, "low": low, "high": high})
    return pd.DataFrame(measured, columns=["run", "phenomenon", "n", "right", "accuracy", "low", "high"])
