"""What a figure is, before it is drawn: its name, what it is of, what that needs, and its options. Needs neither plotly nor torch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sentviz.errors import InputError, nearest
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure

Maker = TypeVar("Maker", bound=Callable[..., Any])


@dataclass(frozen=True)
class Need:
    """Something that not every run has."""

    says: str  # in a list
    lacks: Callable[[Run], str]  # one sentence: what the run lacks and how it is had; empty where it has it


def capability(name: str, says: str, otherwise: str = "") -> Need:
    """A need of the model; `otherwise` is the sentence about a run, `{run}`, without it."""
    otherwise = otherwise or f"{{run}} has no {says}."
    return Need(says, lambda run: "" if getattr(run.capabilities, name) else otherwise.format(run=run.name))


def table(file: str, what: str, command: str) -> Need:
    """A table that a command measures and keeps with a run."""
    missing = "The {what} of {run} are not measured yet: `{command} {run}` measures them."
    return Need(
        f"measured {what}", lambda run: "" if file in run.config["files"] else missing.format(what=what, run=run.name, command=command)
    )


class Subject:
    """What a figure is of: a sentence, some runs, answers to rows, a study. The parameters of a subject are options of its figures."""

    SAYS: ClassVar[str]  # describes its figures, in a list
    NEEDS: ClassVar[tuple[Need, ...]] = ()
    OF_RUN: ClassVar[bool] = True  # whether it begins with the name of a run

    def sourced(self, figure: Figure) -> Figure:
        """Return the figure with where it comes from."""
        raise NotImplementedError

    @property
    def nameable(self) -> bool:
        """Whether names and options alone say what it is, so that anybody can draw its figures again."""
        return True

    @property
    def digests(self) -> tuple[str, ...]:
        """Digests of its runs, if nothing of a visitor decides its figures: they are then drawn once for all visitors."""
        return ()


@dataclass(frozen=True)
class Spec:
    """A figure by name."""

    name: str
    title: str
    of: Any  # the class of its subject
    draws: str  # function of sentviz.figures, as in attention:heatmap
    make: Callable[..., Figure]  # of a subject, with options and a theme
    needs: tuple[Need, ...] = ()
    sets: Callable[[], Sequence[str]] | None = None  # of a study: what can be named
    waits: Callable[[Any], str] = lambda of: ""  # what of a subject takes long the first time, in one sentence; empty where it is there

    @cached_property
    def own(self) -> dict[str, Any]:
        """The figure's own options with their defaults."""
        return _defaults(self.make)

    @cached_property
    def options(self) -> dict[str, Any]:
        """Every option with its default: which sentence or rows, then the figure's own, then the theme."""
        return _defaults(self.of) | self.own | {"theme": "light"}

    @property
    def names(self) -> list[str]:
        """What a study's figure can be of."""
        return ["all"] if self.sets is None else list(self.sets())

    def lacks(self, run: Run) -> str:
        """Why a run cannot give it, in one sentence; empty where it can."""
        return next((why for need in (*self.of.NEEDS, *self.needs) if (why := need.lacks(run))), "")

    def takes(self, names: Collection[str]) -> None:
        """Check that the figure takes options of these names.

        Raises:
            InputError: it does not take an option; the message names all that it takes.
        """
        if unknown := [name for name in names if name not in self.options]:
            raise InputError(f"The figure {self.name} takes no {unknown[0]}; it takes {', '.join(self.options)}.")

    def check(self, options: Mapping[str, Any]) -> None:
        """Check that the figure takes these options, and that each switch is on or off.

        Raises:
            InputError: as `takes`, or a switch is neither True nor False.
        """
        self.takes(options)
        for name, value in options.items():
            if isinstance(self.options[name], bool) and not isinstance(value, bool):
                raise InputError(f"The option {name} of the figure {self.name} is True or False, not {value!r:.40}.")


OF_A_PAGE = ("theme", "selected")  # parameters of a maker that are no options: a page's theme, and what is marked on it

FIGURES: dict[str, Spec] = {}
"""Every figure by name, in the order of the pages."""


def figure(
    name: str,
    title: str,
    of: Any,
    draws: str,
    *needs: Need,
    sets: Callable[[], Sequence[str]] | None = None,
    waits: Callable[[Any], str] = lambda of: "",
) -> Callable[[Maker], Maker]:
    """Register a function that makes a figure of a subject. Its keyword-only parameters with defaults are the figure's options.

    Args:
        name: unique. title: a few words. of: class of the subject.
        draws: the function of sentviz.figures that it calls, as in attention:heatmap.
        needs: what a run must have beside what the subject needs.
        sets: of a study, what can be named.
        waits: what of a subject takes long the first time, in one sentence; a page asks before it draws.
    """

    def register(make: Maker) -> Maker:
        if name in FIGURES:
            raise ValueError(f"There are two figures {name!r}.")
        FIGURES[name] = Spec(name, title, of, draws, make, needs, sets, waits)
        return make

    return register


def find_figure(name: str) -> Spec:
    """A figure by name.

    Raises:
        InputError: there is none; the message names the nearest.
    """
    if name not in FIGURES:
        rest = f"`sentviz export --list` names all {len(FIGURES)}."
        raise InputError(f"There is no figure {name!r}; {nearest(name, list(FIGURES))}{rest}")
    return FIGURES[name]


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    found = signature(function).parameters.items()
    return {name: each.default for name, each in found if each.default is not Parameter.empty and name not in OF_A_PAGE}
