"""Compare the predictions of two models on the same rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.testset.rows import Rows
from sentviz.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def aligned(first: Rows, second: Rows) -> Rows:
    """Return the second run's rows in the order of the first's.

    Raises:
        InputError: the runs do not have the same rows with the same labels.
    """
    ids = first.frame["id"]
    second_frame = second.frame.set_index("id", drop=False)
    if not (second_frame.index.is_unique and ids.is_unique) or set(ids) != set(second_frame.index) or first.classes != second.classes:
        raise InputError(f"{first.source.name} and {second.source.name} have predictions for different rows.")
    ordered = replace(second, frame=second_frame.loc[list(ids)].reset_index(drop=True))
    if (ordered.labels != first.labels).any():
        raise InputError(f"{first.source.name} and {second.source.name} have predictions for rows with different labels.")
    return ordered


def disagreements(first: Rows, second: Rows) -> pd.DataFrame:
    """Return both runs' predictions for the same rows (`aligned`), with the largest difference first.

    Returns:
        row (position in the first), id, label, first, second (classes), first_right, second_right, first_confidence, second_confidence,
        difference: of two classes the second's probability of class 1 minus the first's; of more, half the summed absolute differences of
        all (total variation); text if the texts are available.
    """
    import pandas as pd

    gap = second.probabilities - first.probabilities
    difference = gap[:, 1] if len(first.classes) == 2 else np.abs(gap).sum(axis=1) / 2
    frame = pd.DataFrame(
        {
            "row": np.arange(len(first)),
            "id": first.frame["id"].to_numpy(),
            "label": first.labels,
            "first": first.predicted,
            "second": second.predicted,
            "first_right": first.frame["right"].to_numpy(bool),
            "second_right": second.frame["right"].to_numpy(bool),
            "first_confidence": first.frame["confidence"].to_numpy(float),
            "second_confidence": second.frame["confidence"].to_numpy(float),
            "difference": difference,
        }
        | ({"text": first.texts.to_numpy()} if first.has_text else {})
    )
    return frame.iloc[np.argsort(-np.abs(difference), kind="stable")].reset_index(drop=True)
