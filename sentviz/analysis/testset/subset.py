"""Rows chosen by several slices: a row belongs to the subset if it is in each of them; of slices by the same property, one is enough.

The text form has a tilde between slices, for example ``col=product:phone~col=product:tablet~has=negation``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.slices import Slice
from sentviz.errors import InputError

MOST = 12  # slices
EITHER = ("cell", "length", "script", "source", "tag", "p", "cluster")  # a row is in one slice of these kinds at most, or in adjacent bands
ALONE = ("agree", "lasso")  # slices that need more than the rows


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
