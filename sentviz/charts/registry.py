"""The registry of figures: name, subject, requirements and options of each. Needs neither plotly nor torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args, get_origin

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
    sets: Callable[[], Sequence[str]] | None = None  # names that a study takes
    waits: Callable[[Any], str] = lambda of: ""  # message about a slow first drawing; empty if it is fast

    @cached_property
    def own(self) -> dict[str, Any]:
        """The figure's own options with their defaults."""
        return _defaults(self.make)

    @cached_property
    def options(self) -> dict[str, Any]:
        """All options with their defaults: those of the subject, those of the figure, the theme."""
        return _defaults(self.of) | self.own | {"theme": "light"}

    def choices(self, option: str) -> tuple[Any, ...]:
        """Values that an option of the figure may have; empty if it is not one of a few."""
        annotation = str(signature(self.make).parameters[option].annotation) if option in self.own else ""
        kind = eval(annotation, self.make.__globals__) if "Literal" in annotation or annotation in self.make.__globals__ else None
        return get_args(kind) if get_origin(kind) is Literal else ()

    @property
    def names(self) -> list[str]:
        """Names that a study's figure takes in place of a run."""
        return ["all"] if self.sets is None else list(self.sets())

    def lacks(self, run: Run) -> str:
        """Return the first requirement that a run does not meet, as a message; empty if it meets all."""
        return next((why for need in (*self.of.NEEDS, *self.needs) if (why := need.lacks(run))), "")

    def takes(self, names: Collection[str]) -> None:
        """Check that the figure takes options of these names."""
        if unknown := [name for name in names if name not in self.options]:
            raise InputError(f"The figure {self.name} takes no {unknown[0]}; it takes {', '.join(self.options)}.")

    def check(self, options: Mapping[str, Any]) -> None:
        """Check that the figure takes these options, that each switch is on or off, and that each choice is one of its values."""
        self.takes(options)
        for name, value in options.items():
            if isinstance(self.options[name], bool) and not isinstance(value, bool):
                raise InputError(f"The option {name} of the figure {self.name} is True or False, not {value!r:.40}.")
            if (choices := self.choices(name)) and value not in choices:
                raise InputError(f"The option {name} of the figure {self.name} is {' or '.join(map(str, choices))}, not {value!r:.40}.")


OF_A_PAGE = ("theme", "selected")  # parameters of a maker that are not options: the theme and the marked element of a page

FIGURES: dict[str, FigureSpec] = {}
"""All figures by name, in the order of the pages."""


def figure(
    name: str,
    title: str,
    of: Any,
    *needs: RunRequirement,
    sets: Callable[[], Sequence[str]] | None = None,
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
        rest = f"`sentviz export --list` lists all {len(FIGURES)} figures."
        raise InputError(f"There is no figure {name!r}; {nearest(name, list(FIGURES))}{rest}")
    return FIGURES[name]


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = signature(function).parameters.items()
    return {name: each.default for name, each in parameters if each.default is not Parameter.empty and name not in OF_A_PAGE}
