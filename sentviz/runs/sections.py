"""Blocks of a page as data: sentences, figures, tables, and parts with code of their own.

The app draws every block (`app/blocks/sections.py`), on the pages of papers and on other pages. A page has a subject: a run, several
runs, or what a `Section` of a paper is about (`Studied`). A function of the subject is given itself or, where nothing heavy may be
imported, as "package.module:function". A figure or a table that lacks runs or measurements raises InputError; the page then shows that
sentence, which names the command that helps, in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sentviz.runs.store import Run

OfSubject = str | Callable[[Any], Any]
"""A function of a page's subject, or its name as "package.module:function"."""


def resolved(function: OfSubject) -> Callable[[Any], Any]:
    """Return a function that a block names."""
    named: Callable[[Any], Any] = resolve_name(function) if isinstance(function, str) else function
    return named


@dataclass(frozen=True)
class Studied:
    """The subject of a section of a paper's page."""

    paper: str
    runs: Sequence[Run]  # Studies read them.
    dataset: str  # The visitor chose it; it is "" if the section offers no choice.

    @property
    def name(self) -> str:
        """The data set, or "all"."""
        return self.dataset or "all"


@dataclass(frozen=True)
class TextBlock:
    """A paragraph or a heading in Markdown."""

    markdown: str
    small: bool = False  # True shows it as a caption
    term: str = ""  # entry of the glossary that is the tooltip


@dataclass(frozen=True)
class Says:
    """Sentences that follow from the subject, in plain text with commands between backticks and words between two stars in bold."""

    words: OfSubject  # returns a sentence or several; nothing is shown for none or ""
    form: Literal["title", "heading", "text", "list", "caption"] = "text"
    term: str = ""  # entry of the glossary that is the tooltip


@dataclass(frozen=True)
class Control:
    """A choice of the visitor that sets options of a figure.

    Attributes:
        name: in links; of a field of the focus, if there is one.
        choices: name in links -> words and options, or a function of the subject that returns this; by default the values of `option`.
        option: of the figure; by default `name`.
        usual: function of the subject that returns what is chosen at first; by default the option's default or the first choice.
        width: pixels of a drop-down list; 0 shows the choices side by side.
    """

    label: str
    name: str
    choices: Mapping[str, tuple[str, Mapping[str, Any]]] | Callable[[Any], Mapping[str, tuple[str, Mapping[str, Any]]]] | None = None
    option: str = ""
    usual: Callable[[Any], str] | None = None
    width: int = 0


@dataclass(frozen=True)
class FigureBlock:
    """A figure of the gallery; of a study, for the chosen data set or for each one that it can be drawn for.

    Attributes:
        options: of the figure, or a function of the page's subject that returns them.
        of: function of the page's subject that returns the figure's; without one, the figure is of the page's subject. Nothing is drawn
            if it returns None.
        key: of its widgets, if the figure is on a page twice.
        below: True draws the controls below the figure.
        per_row: figures next to each other, if there are several.
    """

    name: str
    options: Mapping[str, Any] | OfSubject = field(default_factory=dict)
    controls: Sequence[Control] = ()
    of: OfSubject | None = None
    key: str = ""
    below: bool = False
    per_row: int = 1


@dataclass(frozen=True)
class TableBlock:
    """A table: of the paper, by its name in the mapping that `Paper.tables` points to, or a function of the subject that returns it."""

    table: OfSubject


@dataclass(frozen=True)
class OwnBlock:
    """A part that is drawn by a function of the subject: itself, "package.module:function", or a name that the app knows."""

    draw: OfSubject


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
    icon: str = ""


@dataclass(frozen=True)
class Where:
    """Blocks that are shown only for some subjects."""

    test: OfSubject  # returns True or False
    blocks: Sequence[Block]
    otherwise: Sequence[Block] = ()


Block = TextBlock | Says | FigureBlock | TableBlock | OwnBlock | SideBySide | Drawer | Where


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
        yield from every_block(self.blocks)


def every_block(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield every one of some blocks, those inside of columns and drawers included."""
    for block in blocks:
        yield block
        match block:
            case SideBySide(columns=columns):
                for column in columns:
                    yield from every_block(column)
            case Drawer(blocks=inner):
                yield from every_block(inner)
            case Where(blocks=inner, otherwise=rest):
                yield from every_block([*inner, *rest])
