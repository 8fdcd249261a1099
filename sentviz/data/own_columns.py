"""The further columns of a table of texts, such as product, price or date, in a compact form by which rows can be grouped."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from sentviz.io.lazy import pd

PREFIX = "own:"  # beginning of the names of these columns among those of rows
MOST_COLUMNS, MOST_VALUES = 50, 1_000
FEW = 12  # different numbers that count as groups, for example stars
LONGEST = 60  # characters of a group's name
SURE = 0.95  # share of a column's values that must be numbers, or dates
IDS = frozenset({"id", "ids", "index", "row", "unnamed: 0", "uuid", "key"})
_DATE = re.compile(r"(\d{4})-(\d\d)(?:-\d\d(?:[T ].*)?)?", re.DOTALL)
NAMED = 5  # columns that a sentence names


def own_columns(frame: pd.DataFrame, used: Collection[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns of a table by which its rows can be grouped, and remarks on those by which they cannot.

    Texts become categories; "" stands for a missing value. Dates written as 2024-05-31 become their year, or their month if they span at
    most two years. Numbers with more than 12 different values become float64, NaN for missing or infinite ones.

    Args:
        used: columns with another role: texts, labels, predictions.
    Returns:
        Columns named own:NAME, at most 50, with the index of the table.
    """
    columns: dict[str, Any] = {}
    ungrouped, empty, further = [], [], 0
    for place, name in enumerate(map(str, frame.columns)):
        if name in used or name.casefold().strip() in IDS or f"{PREFIX}{name}" in columns:
            continue
        if len(columns) == MOST_COLUMNS:
            further += 1
            continue
        codes, different = pd.factorize(frame.iloc[:, place])
        values = [_written(value) for value in different]
        if not any(values):
            empty.append(name)
        elif (grouped := _grouped(codes, values)) is None:
            ungrouped.append(name)
        else:
            columns[f"{PREFIX}{name}"] = grouped
    remarks = []
    if ungrouped:
        remarks.append(f"Columns without groups, because their values are long, almost all different, or all equal: {_few(ungrouped)}.")
    if empty:
        remarks.append(f"Columns without a value: {_few(empty)}.")
    if further:
        remarks.append(f"The first {MOST_COLUMNS} columns form groups; {further:,} more do not.")
    return pd.DataFrame(columns, index=frame.index), remarks


def _few(names: Sequence[str]) -> str:
    listed = ", ".join(f"“{name[:LONGEST]}”" for name in names[:NAMED])
    return listed + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")


def _written(value: Any) -> str:
    """Return a value as text, a whole number without a fraction."""
    if isinstance(value, (float, np.floating)):
        return f"{value:.12g}" if np.isfinite(value) else ""
    return " ".join(str(value).encode("utf-8", "replace").decode().split())


def _grouped(codes: Any, values: list[str]) -> Any:
    """Return a column as categories or numbers (n,); None if it forms no groups.

    Args:
        codes: (n,) place of each row's value among `values`, -1 = missing.
    """
    known = np.array([bool(value) for value in values])
    counts = np.bincount(codes[codes >= 0], minlength=len(values)) * known
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=float)
    finite = np.isfinite(numbers)
    if counts[finite].sum() >= SURE * counts.sum():
        if len(np.unique(numbers[finite])) > FEW:
            return np.where(codes >= 0, np.where(finite, numbers, np.nan)[codes], np.nan)
        values = [f"{number:.12g}" if np.isfinite(number) else "" for number in numbers]
    else:
        dates = [_DATE.fullmatch(value) for value in values]
        if counts[[date is not None for date in dates]].sum() >= SURE * counts.sum():
            years = [int(date[1]) for date in dates if date]
            by_month = max(years) - min(years) < 2
            values = ["" if date is None else f"{date[1]}-{date[2]}" if by_month else date[1] for date in dates]
    groups = pd.Series([*values, ""]).iloc[codes].reset_index(drop=True)  # the last entry is that of missing values
    different = len(set(values) - {""})
    is_group = different > 1 or (groups == "").any()
    if not is_group or different > min(MOST_VALUES, max(2, len(codes) // 2)) or max(map(len, values)) > LONGEST:
        return None
    return groups.astype("category").array
