"""The registry of figures: name, subject, requirements and options of each. Needs neither plotly nor torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sentviz.charts.options import Kind, Option, choice, options_of
from sentviz.errors import InputError, nearest
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.charts.figure import Figure

Maker = TypeVar("Maker", bound=Callable[..., Any])


@dataclass(frozen=True)
class RunRequirement:
    """A property that not every run has."""

    says: str  # name in lists
    lacks: Callable[[Run], str]  # message about a run that does not meet the requirement; empty if it does


def capability(name: str, says: str, otherwise: str = "") -> RunRequirement:
    """Return the requirement of a capability; `otherwise` is the message for a run, `{run}`, without it."""
    otherwise = otherwise or f"{{run}} has no {says}."
    return RunRequirement(says, lambda run: "" if getattr(run.capabilities, name) else otherwise.format(run=run.name))


def table(file: str, what: str, command: str) -> RunRequirement:
    """Return the requirement of a table that a command measures and stores with a run."""
    missing = "The {what} of {run} are not measured yet: `{command} {run}` measures them."
    return RunRequirement(
        f"measured {what}", lambda run: "" if file in run.files else missing.format(what=what, run=run.name, command=command)
    )


class FigureSubject:
    """The subject of a figure: a sentence, some runs, predictions of rows, a study. Its parameters are options of its figures."""

    SAYS: ClassVar[str]  # description of its figures in lists
    NEEDS: ClassVar[tuple[RunRequirement, ...]] = ()
    OF_RUN: ClassVar[bool] = True  # True if its first parameter is the name of a run
    EARLIER: ClassVar[Mapping[str, Kind]] = {}  # options of earlier versions, which `sentviz.charts.gallery.draw` reads

    def sourced(self, figure: Figure) -> Figure:
        """Return the figure with its origin."""
        raise NotImplementedError

    @property
    def nameable(self) -> bool:
        """True if names and options define the subject, so that anybody can draw its figures again."""
        return True

    @property
    def digests(self) -> tuple[str, ...]:
        """Digests of the runs if they alone decide the figures, which are then drawn once for all visitors; else empty."""
        return ()


@dataclass(frozen=True)
class FigureSpec:
    """A registered figure."""

    name: str
    title: str
    of: Any  # class of its subject
    make: Callable[..., Figure]  # draws a subject with options and a theme
    needs: tuple[RunRequirement, ...] = ()
    sets: Callable[[], Iterable[str]] | None = None  # names that a study takes
    waits: Callable[[Any], str] = lambda of: ""  # message about a slow first drawing; empty if it is fast

    @cached_property
    def own(self) -> dict[str, Option]:
        """The figure's own options."""
        return {name: option for name, option in options_of(self.make).items() if name not in OF_A_PAGE}

    @cached_property
    def options(self) -> dict[str, Option]:
        """All options: those of the subject, those of the figure, the theme."""
        return options_of(self.of) | self.own | {"theme": THEME}

    def option(self, name: str) -> Option:
        """Return an option by name, also one of earlier versions."""
        if name in self.of.EARLIER:
            return Option(name, None, self.of.EARLIER[name])
        if name not in self.options:
            raise InputError(f"The figure {self.name} takes no {name}; it takes {', '.join(self.options)}.")
        return self.options[name]

    @property
    def names(self) -> list[str]:
        """Names that a study's figure takes in place of a run."""
        return ["all"] if self.sets is None else list(self.sets())

    def lacks(self, run: Run) -> str:
        """Return the first requirement that a run does not meet, as a message; empty if it meets all."""
        return next((why for need in (*self.of.NEEDS, *self.needs) if (why := need.lacks(run))), "")

    def check(self, options: Mapping[str, Any]) -> None:
        """Check that the figure takes these options, and that each value is of the option's kind."""
        for name, value in options.items():
            self.option(name).check(value)


THEME = Option("theme", "light", choice({"light": "light", "dark": "dark"}))
OF_A_PAGE = ("theme", "selected")  # parameters of a maker that are not options: the theme and the marked element of a page

FIGURES: dict[str, FigureSpec] = {}
"""All figures by name, in the order of the pages."""


def figure(
    name: str,
    title: str,
    of: Any,
    *needs: RunRequirement,
    sets: Callable[[], Iterable[str]] | None = None,
    waits: Callable[[Any], str] = lambda of: "",
) -> Callable[[Maker], Maker]:
    """Register a function that makes a figure of a subject. Its keyword-only parameters with defaults are the figure's options.

    Args:
        name: unique name of small letters, digits and hyphens. title: a few words. of: class of the subject.
        needs: requirements on a run in addition to those of the subject.
        sets: names that a study takes.
        waits: returns a message if the first drawing of a subject is slow; a page then asks before it draws.
    """

    def register(make: Maker) -> Maker:
        if name in FIGURES:
            raise InputError(f"There are two figures {name!r}. Give one of them another name.")
        if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name):
            raise InputError(f"The figure name {name!r} may have only small letters and digits with hyphens between them.")
        FIGURES[name] = FigureSpec(name, title, of, make, needs, sets, waits)
        return make

    return register


def find_figure(name: str) -> FigureSpec:
    """Return a figure by name."""
    if name not in FIGURES:
        rest = f"`sentviz figures` lists all {len(FIGURES)} figures."
        raise InputError(f"There is no figure {name!r}; {nearest(name, list(FIGURES))}{rest}")
    return FIGURES[name]
