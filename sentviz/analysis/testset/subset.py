"""Rows chosen by several slices: a row belongs to the subset if it is in each of them; of slices by the same property, one is enough.

The text form has a tilde between slices, for example ``col=product:phone~col=product:tablet~has=negation``.
`facets` returns the slices that can be chosen for given rows: by source, own columns, length, script and phenomena.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sentviz.analysis.testset import groups
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.slices import Slice
from sentviz.data.columns import PREFIX
from sentviz.errors import InputError

MOST = 12  # slices
EITHER = ("cell", "length", "script", "source", "tag", "p", "cluster")  # a row is in one slice of these kinds at most, or in adjacent bands
ALONE = ("agree", "lasso")  # slices that need more than the rows
Bools = npt.NDArray[np.bool_]
MOST_VALUES = 40  # slices of one column: those with most rows
BANDS = 4  # ranges of a number, each with about as many rows


@dataclass(frozen=True)
class Subset:
    """Slices that are combined; `str()` gives the text that `parse` reads."""

    parts: tuple[Slice, ...] = ()

    def __str__(self) -> str:
        return "~".join(str(part) for part in self.parts)

    @classmethod
    def parse(cls, text: str) -> Subset:
        """Return the subset of a text; all rows for an empty text."""
        parts = list(dict.fromkeys(part for part in map(Slice.parse, text.split("~", MOST)) if part is not None))
        if len(parts) > MOST:
            raise InputError(f"At most {MOST} selections of rows can be combined.")
        if alone := next((part for part in parts if part.kind in ALONE), None):
            raise InputError(f"The selection “{alone.kind}” cannot be combined with others.")
        return cls(tuple(parts))

    @classmethod
    def of(cls, parts: Iterable[Slice]) -> Subset:
        """Return the subset of slices, in the order of their texts."""
        return cls(tuple(sorted(parts, key=str)))

    @property
    def alternatives(self) -> list[tuple[Slice, ...]]:
        """The slices by property: a row is in the subset if it is in one of each tuple."""
        by_property: dict[str, list[Slice]] = {}
        for part in self.parts:
            of = part.kind if part.kind in EITHER else part.named if part.kind in ("col", "range") else str(part)
            by_property.setdefault(f"{part.kind in ('col', 'range')} {of}", []).append(part)
        return [*map(tuple, by_property.values())]

    def says(self, classes: tuple[str, ...]) -> str:
        """Return the subset in words; "" for all rows."""
        return "; ".join(" or ".join(part.says(classes) for part in each) for each in self.alternatives)

    def mask(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return which rows are in the subset, (n,)."""
        inside = np.ones(len(rows), dtype=bool)
        for each in self.alternatives:
            inside &= np.any([part.mask(rows) for part in each], axis=0)
        return inside

    def chosen(self, *sources: Rows, inside: npt.NDArray[np.bool_] | None = None) -> list[Rows]:
        """Return the rows of the subset, as the first of some sources with the same rows has them.

        Args:
            inside: (n,) the mask of the first source, if it is known.
        """
        if not self.parts:
            return [*sources]
        first = sources[0]
        inside = self.mask(first) if inside is None else inside
        if not inside.any():
            raise InputError(f"None of the {len(first):,} rows is in the slice “{self.says(first.classes)}”.")
        text, words = str(self), self.says(first.classes)
        return [replace(rows, frame=rows.frame[inside].reset_index(drop=True), among=text, described=words) for rows in sources]


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
