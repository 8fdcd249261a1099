"""Roles of the columns of a table: texts, labels, splits; proposed by usual names, then by content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sentviz.errors import InputError, nearest
from sentviz.io.lazy import pd

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
