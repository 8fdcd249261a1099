"""The origin of a figure: the runs that it shows, and the call that draws it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sentviz.io.typed import Whole


@dataclass(frozen=True)
class Source:
    """A run that a figure shows: name, digest, seed, and the rows, for example "test n = 872"."""

    run: str
    digest: str
    seed: Whole
    rows: str


@dataclass(frozen=True)
class Call:
    """The arguments of `sentviz.charts.gallery.draw` that draw a figure again. As a string: the lines that do so in a notebook."""

    of: str  # a run, or a data set of a study
    figure: str
    options: Mapping[str, Any]

    @property
    def drawing(self) -> str:
        """The call alone, without imports."""
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"draw({self.of!r}, {self.figure!r}{options})"

    def __str__(self) -> str:
        lines = "from sentviz import draw\n\nfigure = {}\nfigure.plot.show()  # numbers: figure.frame"
        return lines.format(self.drawing)
