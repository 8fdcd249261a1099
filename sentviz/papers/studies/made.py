"""What the items of a paper are made as: tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sentviz.errors import InputError
from sentviz.figures.figure import Figure
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Table:
    """A frame with its words; ``name`` is a safe file name without suffix."""

    name: str
    title: str
    frame: pd.DataFrame
    caption: str


Made = Table | Figure
Maker = Callable[[Sequence[Run]], list[Made]]


def drawn(*figures: str, **options: Any) -> Maker:
    """A maker of figures of the gallery: of each data set of their study that has runs, or of all together."""

    def made(runs: Sequence[Run]) -> list[Made]:
        from sentviz.gallery import FIGURES, make
        from sentviz.gallery.subjects import Study

        found: list[Made] = []
        for name in dict.fromkeys(name for figure in figures for name in FIGURES[figure].names):
            for figure in figures:
                with suppress(InputError):  # no run of this data set
                    found.append(make(figure, Study.of(name, runs), **options))
        return found

    return made
