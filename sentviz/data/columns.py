"""Roles of the columns of a table: texts, labels, splits; proposed by usual names, then by content.

`own_columns` finds the columns of the user that form groups of rows, numbers or dates.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sentviz.errors import InputError, nearest
from sentviz.io.lazy import np, pd

TEXT_NAMES = (
    *("text", "sentence", "review", "document", "comment", "content", "tweet", "body", "message"),
    *("텍스트", "문장", "리뷰", "내용", "댓글", "본문"),
)
LABEL_NAMES = (
    *("y_true", "true_label", "label_true", "gold", "gold_label", "ground_truth", "actual"),  # beside these, "label" is a prediction
    *("label", "sentiment", "polarity", "class", "target", "rating", "stars", "y"),
    *("라벨", "레이블", "정답", "감정", "감성", "극성", "분류", "평점", "별점"),
)
SPLIT_NAMES = ("split", "fold", "set", "subset", "partition")
LISTED = 20  # columns that an error message lists
USUAL_NAMES = frozenset({*TEXT_NAMES, *LABEL_NAMES, *SPLIT_NAMES, "id", "predicted", "prediction", "pred", "prob", "probability", "score"})
PREFIX = "own:"  # beginning of the names of these columns among those of rows
MOST_COLUMNS, MOST_VALUES = 50, 1_000
FEW = 12  # different numbers that count as groups, for example stars
LONGEST = 60  # characters of a group's name
SURE = 0.95  # share of a column's values that must be numbers, or dates
IDS = frozenset({"id", "ids", "index", "row", "unnamed: 0", "uuid", "key"})
_DATE = re.compile(r"(\d{4})-(\d\d)(?:-\d\d(?:[T ].*)?)?", re.DOTALL)
NAMED = 5  # columns that a sentence names


def usual(columns: Sequence[str], names: Sequence[str]) -> str:
    """Return the column with the first of some usual names, in any case, also after a dot as in review.text; "" if there is none."""
    names_of = {column: column.casefold().strip() for column in columns}
    by_name = {name.rpartition(".")[2]: column for column, name in names_of.items()} | {name: column for column, name in names_of.items()}
    return next((by_name[name] for name in names if name in by_name), "")


def check_columns(chosen: Iterable[str], columns: Sequence[str], name: str) -> None:
    """Check that a table has the chosen columns. The name "" stands for no column."""
    for column in filter(None, chosen):
        if column not in columns:
            listed = ", ".join(columns[:LISTED]) + (f" and {len(columns) - LISTED:,} more" if len(columns) > LISTED else "")
            raise InputError(f"{name} has no column {column!r}; {nearest(column, columns)}its columns are {listed or 'empty'}.")


def guess(frame: pd.DataFrame, labels: bool = False) -> str:
    """Return the column that holds the texts or labels: by its usual names, else the one with the longest entries; "" for no labels."""
    columns = [str(column) for column in frame.columns]
    named = usual(columns, LABEL_NAMES if labels else TEXT_NAMES)
    if named or labels:
        return named
    return max(columns, key=lambda column: frame[column].astype(str).str.len().mean())


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
        if name in used or f"{PREFIX}{name}" in columns:
            continue
        is_id = name.casefold().strip() in IDS
        if len(columns) == MOST_COLUMNS:
            further += 1
            continue
        codes, different = pd.factorize(frame.iloc[:, place])
        values = [_written(value) for value in different]
        grouped = _grouped(codes, values) if any(values) else None
        if is_id and not isinstance(grouped, pd.Categorical):  # A column that numbers or names the rows has no groups.
            continue
        if not any(values):
            empty.append(name)
        elif grouped is None:
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
