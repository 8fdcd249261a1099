"""Describe a selection of rows against the other rows: its typical words, its mistakes, and the rows nearest to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import wilson
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.word_counts import Counts, count_words, keyness, largest
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SIDES = ("the other rows", "the selection")
NEAREST = 10  # rows
BLOCK = 1 << 22  # numbers held at once


def require_some(chosen: npt.ArrayLike) -> Bools:
    """Return which rows are selected, (n,) bool."""
    mask = np.asarray(chosen, dtype=bool)
    if not mask.any():
        raise InputError("The selection holds no row. Draw a larger outline, or double-click to remove it.")
    return mask


def selection_words(rows: Rows, chosen: npt.ArrayLike, *, most: int = 0, step: Callable[[], object] = lambda: None) -> Counts:
    """Count the words of the selection (cell (-1, 1)) and of the other rows (cell (-1, 0)).

    Args:
        chosen: (n,) bool. most, step: as for `count_words`.
    """
    sides = require_some(chosen).astype(np.int64)
    return count_words(replace(rows, classes=SIDES, frame=rows.frame.assign(label=-1, predicted=sides)), most=most, step=step)


def typical(counts: Counts, stops: frozenset[str] = frozenset(), most: int = 24) -> pd.DataFrame:
    """Return the words of `selection_words` that are typical of the selection, as `keyness` and `largest` return them.

    A word counts once per row. The intervals are those of the log-odds ratio against the other rows.
    """
    if not counts.sizes[0]:
        raise InputError("All rows are selected, so there are no others to compare with.")
    return largest(keyness(counts, (-1, 1), once=True), "keyness", most, stops)


def accuracy_of_sides(rows: Rows, chosen: npt.ArrayLike) -> pd.DataFrame:
    """Return the accuracy on the labelled rows of the selection and on the others; sides without a labelled row are left out.

    Frame:
        side (one of `SIDES`), n, right, value, low, high (Wilson's 95 % interval).
    """
    mask, right = require_some(chosen), rows.frame["right"].to_numpy(bool)
    records = []
    for side, part in zip(SIDES[::-1], (mask, ~mask), strict=True):
        known = part & (rows.labels >= 0)
        if n := int(known.sum()):
            hits = int(right[known].sum())
            records.append((side, n, hits, hits / n, *map(float, wilson(hits, n))))
    return pd.DataFrame(records, columns=["side", "n", "right", "value", "low", "high"])


def describe_errors(rows: Rows, chosen: npt.ArrayLike) -> str:
    """Say how often the predictions for the selection are right, against the other rows, and which mistake is the most frequent."""
    frame, mask = accuracy_of_sides(rows, chosen), require_some(chosen)
    n = int(mask.sum())
    text = f"{n:,} row{'s' * (n != 1)} selected."
    by_side = frame.set_index("side")
    if SIDES[1] not in by_side.index:
        return f"{text} None of them has a label."
    parts = [percent(by_side.loc[side, "value"], ends=(by_side.loc[side, "low"], by_side.loc[side, "high"])) for side in by_side.index]
    text += f" {rows.source.name} is right on {parts[0]}" + (f", and on {parts[1]} of the other rows." if len(parts) > 1 else ".")
    bad = rows.frame[mask & (rows.labels >= 0) & ~rows.frame["right"].to_numpy(bool)]
    if bad.empty:
        return text
    counts = bad.groupby(["label", "predicted"]).size().sort_values(ascending=False, kind="stable")
    (label, predicted), most = next(iter(counts.items()))
    return f"{text} Most frequent mistake: {rows.classes[label]} predicted as {rows.classes[predicted]} ({most:,} of {len(bad):,})."


def nearest_to(vectors: npt.ArrayLike, chosen: npt.ArrayLike, k: int = NEAREST) -> tuple[Ints, Floats]:
    """Return the k rows outside a selection that are nearest to the mean of its vectors, nearest first, and their euclidean distances.

    For a single row these are its neighbours. Equal distances are ordered by place; the result is exact.

    Args:
        vectors: (n, d). chosen: (n,) bool.
    """
    x, mask = np.asarray(vectors), require_some(chosen)
    centre, away = x[mask].astype(np.float64).mean(axis=0), np.empty(len(x))
    for start in range(0, len(x), step := max(1, BLOCK // max(x.shape[1], 1))):
        away[start : start + step] = np.sqrt(((x[start : start + step].astype(np.float64) - centre) ** 2).sum(axis=1))
    outside = np.flatnonzero(~mask)
    order = outside[np.argsort(away[outside], kind="stable")][:k]
    return order.astype(np.int64), away[order]
