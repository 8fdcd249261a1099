"""Sections of a paper's page as data: texts, figures of the gallery, tables of the paper, and parts with code of their own.

The app draws every block (`app/views/papers/sections.py`). A figure or a table that lacks runs or measurements raises InputError; the page
then shows that sentence, which names the command that helps, in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TextBlock:
    """A paragraph or a heading in Markdown."""

    markdown: str
    small: bool = False  # True shows it as a caption
    term: str = ""  # entry of the glossary that is the tooltip


@dataclass(frozen=True)
class FigureBlock:
    """A figure of the gallery, drawn for the chosen data set, or for each one that it can be drawn for."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    per_row: int = 1  # figures next to each other, if there are several
    switch: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)  # name in links -> words, more options


@dataclass(frozen=True)
class TableBlock:
    """A table of the paper, named in the mapping that `Paper.tables` points to."""

    name: str


@dataclass(frozen=True)
class OwnBlock:
    """A part that is drawn by a function of (runs, data set or ""): "package.module:function", or a name that the app knows."""

    draw: str


@dataclass(frozen=True)
class SideBySide:
    """Columns of blocks, one above the other on a narrow screen."""

    columns: Sequence[Sequence[Block]]
    shares: tuple[float, ...] = ()  # relative widths; equal by default


@dataclass(frozen=True)
class Drawer:
    """Blocks that are made only after a visitor opens them."""

    title: str
    blocks: Sequence[Block]
    key: str = ""  # key of the widget; default: the section's name and the block's position
    only: tuple[str, ...] = ()  # data sets for which the drawer is shown; all by default


Block = TextBlock | FigureBlock | TableBlock | OwnBlock | SideBySide | Drawer


@dataclass(frozen=True)
class Section:
    """A part of a paper's page. Nothing of it is made before a visitor opens it."""

    name: str  # in links
    title: str
    blocks: Sequence[Block] = ()
    group: str = "Results"  # group of parts in which the page offers it
    datasets: str = ""  # "package.module:NAME" of a mapping from data sets to titles, of which a visitor chooses one

    def walk(self) -> Iterator[Block]:
        """Yield every block, those inside of columns and drawers included."""
        yield from _walk(self.blocks)


def _walk(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, SideBySide):
            for column in block.columns:
                yield from _walk(column)
        elif isinstance(block, Drawer):
            yield from _walk(block.blocks)
