"""Where a figure comes from: the runs that it shows, and the call that draws it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """A run that a figure is of: name, digest and seed, and of which rows, as in "test n = 872"."""

    run: str
    digest: str
    seed: int
    rows: str


@dataclass(frozen=True)
class Call:
    """How a figure is drawn again: what `sentviz.gallery.draw` takes. Its string is the lines that do so in a notebook."""

    of: str  # a run, or a data set of a study
    figure: str
    options: Mapping[str, Any]

    @property
    def drawing(self) -> str:
        """The expression alone."""
        given = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"draw({self.of!r}, {self.figure!r}{given})"

    def __str__(self) -> str:
        lines = "from sentviz.gallery import draw\n\nfigure = {}\nfigure.plot.show()  # numbers: figure.frame"
        return lines.format(self.drawing)
