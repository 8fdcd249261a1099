"""Roles of the columns of a table: texts, labels, splits; proposed by usual names, then by content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

TEXT_NAMES = ("text", "sentence", "review", "document", "comment", "content", "tweet", "body", "message")
LABEL_NAMES = ("label", "sentiment", "polarity", "class", "target", "rating", "stars", "y")
SPLIT_NAMES = ("split", "fold", "set", "subset", "partition")
USUAL_NAMES = frozenset({*TEXT_NAMES, *LABEL_NAMES, *SPLIT_NAMES, "id", "predicted", "prediction", "pred", "prob", "probability", "score"})


def usual(columns: Sequence[str], names: Sequence[str]) -> str:
    """Return the column with the first of some usual names, in any case; "" if there is none."""
    by_name = {column.casefold().strip(): column for column in columns}
    return next((by_name[name] for name in names if name in by_name), "")


def guess(frame: pd.DataFrame, labels: bool = False) -> str:
    """Return the column that holds the texts or labels: by its usual names, else the one with the longest entries; "" for no labels."""
    columns = [str(column) for column in frame.columns]
    named = usual(columns, LABEL_NAMES if labels else TEXT_NAMES)
    if named or labels:
        return named
    return max(columns, key=lambda column: frame[column].astype(str).str.len().mean())
