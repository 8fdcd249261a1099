"""The kinds of a figure's options: which values there are, how people type them, and how they are written. Needs neither plotly nor torch.

The kind of an option is in the annotation of the maker's parameter, as in `layer: Layer = 0`. For a plain type (bool, int, float, str, a
sequence of str) it follows from the type.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, signature
from sys import modules
from typing import Annotated, Any, get_args, get_origin

from sentviz.errors import InputError
from sentviz.io.typed import Finite, Whole, read, within, words
from sentviz.runs.configs import Capabilities

LARGEST_PLACE = 999_999_999


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of option, by default a text.

    Attributes:
        wants: end of the sentence "NAME must be ...".
        read: returns the value of a typed text; raises LookupError, ValueError or InputError for a text without meaning.
        write: returns a value as people type it.
        values: titles of the values, if there are only a few.
        axis, first: axis of a place in a model, and the number that people give to its first place.
    """

    wants: str = "a text"
    read: Callable[[str], Any] = str
    write: Callable[[Any], str] = str
    values: Mapping[Any, str] = field(default_factory=dict)
    axis: str = ""
    first: int = 1

    def lacks(self, value: Any, has: Capabilities) -> str:
        """Return what a model has instead of a place, as in "the layers 1 to 2"; empty if it has the place."""
        last = getattr(has, f"{self.axis}s", 10**9) - self.first
        if not self.axis or not isinstance(value, int) or value <= last:
            return ""
        return f"the {self.axis}s {self.first} to {last + self.first}" if last else f"one {self.axis}"


def choice(titles: Mapping[Any, str]) -> Kind:
    """Return the kind of one of a few values, each with a title for people."""
    return Kind(" or ".join(map(str, titles)), {str(value): value for value in titles}.__getitem__, values=titles)


def place(axis: str, *also: str, first: int = 1) -> Kind:
    """Return the kind of a place, which code counts from 0 and people from `first`, or of a word for several places."""

    def number(typed: str) -> int | str:
        return typed if typed in also else read(at_least, typed) - first

    at_least: Any = Annotated[int, within(first, LARGEST_PLACE)]
    wants = ", or ".join(filter(None, (f"a number from {first}", " or ".join(also))))
    return Kind(wants, number, lambda value: str(value + first if isinstance(value, int) and value >= 0 else value), axis=axis, first=first)


def several(of: Kind) -> Kind:
    """Return the kind of several values, joined by commas."""
    wants = f"{of.wants}, or several joined by commas"
    return Kind(wants, lambda typed: tuple(map(of.read, typed.split(","))), lambda value: ",".join(map(of.write, value)))


SWITCH = Kind("yes or no", partial(read, bool), lambda value: "yes" if value else "no", {True: "", False: ""})
WHOLE, REAL = Kind(words(Whole), partial(read, Whole)), Kind(words(Finite), partial(read, Finite), "{:g}".format)
UNWRITTEN = Kind("given in a notebook", dict[str, Any]().__getitem__)
_OF_TYPES = {bool: SWITCH, int: WHOLE, float: REAL, Sequence: several(Kind())}

Layer = Annotated[int, place("layer")]
Depth = Annotated[int, place("layer", first=0)]  # 0 = the input of the first layer; -1 in code = the last layer
Head = Annotated[int, place("head")]
Heads = Annotated[int | str, place("head", "mean", "max")]
Component = Annotated[int, place("component")]
Components = Annotated[int | str, place("component", "effective")]
Token = Annotated[int, place("token")]
Series = Annotated[Sequence[int], several(WHOLE)]  # number of each run's colour, counted from 0


@dataclass(frozen=True)
class Option:
    """An option of a figure."""

    name: str
    default: Any
    kind: Kind

    @property
    def text(self) -> str:
        """The default as people type it; empty for none."""
        return "" if self.default in (None, ()) else self.kind.write(self.default)

    @property
    def help(self) -> str:
        """Name and default, and the other values if there are only a few."""
        rest = [text for value in self.kind.values if (text := self.kind.write(value)) != self.text]
        return f"{self.name}={'|'.join([self.text, *rest]) or '...'}"

    def read(self, typed: str) -> Any:
        """Return the value that a person typed."""
        try:
            return self.default if typed == self.text != "" else self.kind.read(typed)
        except (LookupError, ValueError, InputError):
            raise InputError(f"{self.name} must be {self.kind.wants}, not {typed!r:.60}.") from None

    def check(self, value: Any) -> None:
        """Check a value from a notebook. Whether a model or a text has a place is not known here."""
        if self.kind.values and value not in (*self.kind.values, self.default):
            raise InputError(f"{self.name} must be {self.kind.wants}, not {value!r:.60}.")


def options_of(function: Callable[..., Any]) -> dict[str, Option]:
    """Return the options of a maker or of a subject by name: its parameters with a default."""
    names = ChainMap(*(vars(modules[of.__module__]) for of in getattr(function, "__mro__", (function,))))
    parameters = (each for each in signature(function).parameters.values() if each.default is not Parameter.empty)
    return {each.name: Option(each.name, each.default, _kind(eval(str(each.annotation), {}, names))) for each in parameters}


def _kind(annotation: Any) -> Kind:
    """Return the kind that an annotation names, or that follows from its type."""
    parts = list(_parts(annotation))
    named = [part for part in parts if isinstance(part, Kind)]
    return (named or [*(_OF_TYPES[part] for part in parts if part in _OF_TYPES), Kind()])[0]


def _parts(annotation: Any) -> Iterator[Any]:
    """Yield an annotation, its generic type, and all of its arguments."""
    yield from (annotation, get_origin(annotation))
    for part in get_args(annotation):
        yield from _parts(part)
