"""Slices that can be chosen for given rows, with the number of rows in each: by source, own columns, length, script and phenomena."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sentviz.analysis.testset import groups
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.slices import Slice
from sentviz.data.own_columns import PREFIX

Bools = npt.NDArray[np.bool_]
MOST_VALUES = 40  # slices of one column: those with most rows
BANDS = 4  # ranges of a number, each with about as many rows


@dataclass(frozen=True)
class Facet:
    """A slice and the number of its rows."""

    part: Slice
    rows: int


def facets(rows: Rows) -> list[Facet]:
    """Return the slices of rows that hold some but not all of them, by property; of a column, those with most rows come first."""
    sizes = ((part, int(inside.sum())) for part, inside in masks(rows))
    return [Facet(part, size) for part, size in sizes if 0 < size < len(rows)]


def masks(rows: Rows) -> Iterator[tuple[Slice, Bools]]:
    """Yield each slice with its rows (n,), also slices without a row; equal to `Slice.mask`, which reads the texts again for each slice."""
    if "tag" in rows.frame:
        yield from _with_masks(rows, (Slice("tag", str(name)) for name in rows.frame["tag"].unique()))
    sources = groups.sources(rows)
    yield from ((Slice("source", name), np.asarray(sources == name)) for name in dict.fromkeys(sources) if name)
    for name in rows.own:
        column = rows.frame[f"{PREFIX}{name}"]
        if column.dtype == np.float64:
            ends = bands(column.dropna().to_numpy())
            yield from _with_masks(rows, (*(Slice.between(name, *band) for band in ends), Slice.column(name, "")))
        else:
            yield from _with_masks(rows, (Slice.column(name, str(value)) for value in column.value_counts().index[:MOST_VALUES]))
    if rows.has_text:
        yield from ((Slice("has", name), inside) for name, inside in groups.by_phenomenon(rows).items())
        count = groups.lengths(rows)
        yield from ((Slice.between("", low, high), np.asarray((count >= low) & (count < high))) for low, high in bands(count))
        yield from ((Slice("script", name), inside) for name, inside in groups.by_script(rows).items())


def _with_masks(rows: Rows, parts: Iterable[Slice]) -> Iterator[tuple[Slice, Bools]]:
    return ((part, part.mask(rows)) for part in parts)


def bands(numbers: npt.NDArray[np.generic]) -> list[tuple[float, float]]:
    """Return ranges [low, high) with about a quarter of the numbers (n,) each; the first and the last one are open; [] for equal ones."""
    if not len(numbers):
        return []
    values = numbers.astype(float)
    at = np.unique(np.quantile(values, np.linspace(0, 1, BANDS + 1)[1:-1], method="higher"))
    inner = sorted({_short(end, 0.01 * np.ptp(values)) for end in at[at > values.min()].tolist()})
    ends = [-np.inf, *inner, np.inf] if inner else []
    return list(pairwise(ends))


def _short(number: float, apart: float) -> float:
    """Return the number with the fewest digits that is at most `apart` from a number."""
    return next((short for digits in range(1, 12) if abs((short := float(f"{number:.{digits}g}")) - number) <= apart), number)
