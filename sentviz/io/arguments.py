"""The arguments of a function, read from its signature, from which a command, an HTTP request and a tool for agents are made.

    def explain(of: Source, text: Annotated[str, Arg("Text to explain.")], *, seconds: Annotated[float | None, Arg("...")] = None)

Arguments before the star have a position on the command line. An argument whose type is a dataclass stands for the fields of that class.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from inspect import Parameter, signature
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

Progress = Callable[[int, int], None]
"""A function of (done, total). An argument of this type is not one of the user's."""

_hints: Callable[[Any], dict[str, Any]] = cache(lambda of: get_type_hints(of, include_extras=True))

Say = Callable[[str], None]
"""Takes a remark that people should read before long work is done. An argument `say` of this type is not one of the user's."""


@dataclass(frozen=True)
class Arg:
    """Description of an argument in a signature, beside its type and its default.

    Attributes:
        help: one line for people.
        name: name of the argument, if it is not that of the parameter or field.
        flags: names on the command line; by default --NAME, for a switch that is on --NAME/--no-NAME.
        also: earlier names in requests.
        metavar: word for the value in help texts.
        least, most: range of a number.
        size: number of characters of a text that strangers may send.
        several: number of values that strangers may send.
        run: names of runs: of a stranger only those that are served.
        local: only for people on this machine, because it names a file or a package: neither over HTTP nor for agents.
        example: value in the example of a request.
    """

    help: str
    name: str = ""
    flags: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    metavar: str = ""
    least: float | None = None
    most: float | None = None
    size: int = 200
    several: int = 64
    run: bool = False
    local: bool = False
    example: Any = None


@dataclass(frozen=True)
class Argument:
    """One argument of the user: its type without None, and whether it has a position, several values, or needs one."""

    name: str
    kind: type
    about: Arg
    default: Any
    positional: bool
    many: bool
    path: tuple[str, ...]  # names of the parameters that hold it, outermost first

    @property
    def required(self) -> bool:
        """Return whether there is no default."""
        return self.default is MISSING

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a type `Literal`."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()


@cache
def arguments(function: Callable[..., Any]) -> tuple[Argument, ...]:
    """Return the arguments of a function in the order of its signature, those of groups in their place."""
    hints = _hints(function)
    result: list[Argument] = []
    for name, parameter in signature(function).parameters.items():
        default = MISSING if parameter.default is Parameter.empty else parameter.default
        result += _read(name, hints[name], default, parameter.kind is not Parameter.KEYWORD_ONLY, ())
    return tuple(result)


def progress_of(function: Callable[..., Any]) -> str:
    """Return what a function counts in its progress; "" if it reports none."""
    hint = _hints(function).get("progress")
    return str(get_args(hint)[1]) if get_origin(hint) is Annotated else ""


def speaks(function: Callable[..., Any]) -> bool:
    """Return whether a function has the argument `say`."""
    return "say" in signature(function).parameters


def bind(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of a call, groups built, from the values of `arguments` by name; missing ones have their default."""
    hints = _hints(function)
    return {name: built for name in signature(function).parameters if (built := _built(hints[name], name, values)) is not MISSING}


def _read(name: str, hint: Any, default: Any, positional: bool, within: tuple[str, ...]) -> list[Argument]:
    base, about = _stripped(hint)
    if is_dataclass(base):
        hints = _hints(base)
        result: list[Argument] = []
        for field in fields(base):
            if get_origin(hints[field.name]) is Annotated:
                result += _read(field.name, hints[field.name], field.default, positional and not field.kw_only, (*within, name))
        return result
    if about is None:
        return []
    many = get_origin(base) is tuple and get_args(base)[1:] == (...,)
    return [Argument(about.name or name, get_args(base)[0] if many else base, about, default, positional, many, (*within, name))]


def _built(hint: Any, name: str, values: Mapping[str, Any]) -> Any:
    base, about = _stripped(hint)
    if not is_dataclass(base):
        return values.get((about and about.name) or name, MISSING)
    hints = _hints(base)
    inner = {field.name: _built(hints[field.name], field.name, values) for field in fields(base)}
    return base(**{key: value for key, value in inner.items() if value is not MISSING})  # type: ignore[operator]


def _stripped(hint: Any) -> tuple[Any, Arg | None]:
    """Return a type without `Annotated` and None, and its `Arg`."""
    about = None
    if get_origin(hint) is Annotated:
        hint, *more = get_args(hint)
        about = next((each for each in more if isinstance(each, Arg)), None)
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    return hint, about
