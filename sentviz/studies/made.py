"""What the items of a paper are made as: tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sentviz.figures.figure import Figure
from sentviz.runs import Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Made", "Maker", "Table"]


@dataclass(frozen=True, eq=False)
class Table:
    """A frame with its words; ``name`` is a safe file name without suffix."""

    name: str
    title: str
    frame: pd.DataFrame
    caption: str


Made = Table | Figure
Maker = Callable[[Sequence[Run]], list[Made]]
