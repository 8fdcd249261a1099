"""Read dataclasses from a TOML file: a table's keys are the names of fields. What is wrong is one sentence with the file and the line.

Lists become tuples, so that what was read cannot change, and line breaks in a text become blanks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from sentviz.errors import InputError, SentvizError
from sentviz.io.documents import read_toml

T = TypeVar("T")
Keys = tuple[str | int, ...]
"""Keys that lead to a value; a table of ``[[name]]`` is counted from 0."""
KINDS: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple: "a list",
    Mapping: "a table",
    Path: "a path",
}


class Misfit(ValueError):
    """A value does not fit what is declared."""

    def __init__(self, keys: Keys, why: str) -> None:
        super().__init__(why.rstrip("."))
        self.keys = keys

    def in_file(self, path: Path) -> InputError:
        """Return it as a sentence with file and line."""
        line = line_of(path.read_text(encoding="utf-8-sig"), self.keys)
        return InputError(f"{file_name(path)}, line {line}: {self}.")


def file_name(path: Path) -> str:
    """Return the name of a file in messages, with its folder."""
    return f"{path.parent.name}/{path.name}"


def read_declared(path: Path, read: Callable[[dict[str, Any]], T]) -> T:
    """Return what `read` makes of the tables of a TOML file; a `Misfit` becomes a sentence."""
    content = read_toml(path, name=file_name(path))
    try:
        return read(content)
    except Misfit as error:
        raise error.in_file(path) from error


def declared(form: type[T], table: Mapping[str, Any], keys: Keys = (), **values: Any) -> T:
    """Return an object of a dataclass.

    Args:
        table: values of its fields, as a TOML file has them.
        keys: where the table is in the file.
        values: of fields that the file does not have.
    Raises:
        Misfit: a field is unknown, missing or has a wrong type, or the dataclass refuses it.
    """
    class_: Any = form
    kinds = {name: kind for name, kind in _fields(class_).items() if name not in values}
    if unknown := [name for name in table if name not in kinds]:
        raise Misfit((*keys, unknown[0]), f"the field {unknown[0]!r} is unknown; the fields are {', '.join(kinds)}")
    if lacking := [name for name in _needed(class_) if name in kinds and not table.get(name)]:
        raise Misfit(keys, f"the field {lacking[0]!r} is missing")
    fitting = {name: _fitting(kinds[name], value, (*keys, name)) for name, value in table.items()}
    try:
        return form(**fitting, **values)
    except SentvizError as error:
        raise Misfit(keys, str(error)) from error


@cache
def _fields(form: type[Any]) -> dict[str, Any]:
    kinds = get_type_hints(form)
    return {item.name: kinds[item.name] for item in fields(form)}


@cache
def _needed(form: type[Any]) -> list[str]:
    return [item.name for item in fields(form) if item.default is MISSING and item.default_factory is MISSING]


def _fitting(kind: Any, value: Any, keys: Keys) -> Any:
    """Return a value of TOML as one of a type."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is Any:
        return frozen(value)
    if origin in (Union, UnionType):
        fitting = [each for each in inner if _is(each, value)]
        if not fitting:
            raise Misfit(keys, f"the field {_last(keys)!r} must be {_either([_words(each) for each in inner if each is not NoneType])}")
        return _fitting(fitting[0], value, keys)
    if origin is Literal:
        if value not in inner:
            raise Misfit(keys, f"the field {_last(keys)!r} is {value!r}; it must be {_either(inner)}")
        return value
    if not _is(kind, value):
        raise Misfit(keys, f"the field {_last(keys)!r} must be {_words(kind)}")
    if is_dataclass(kind):
        return declared(kind, value, keys)  # type: ignore[arg-type]  # a class, not an object of it
    if origin is Mapping:
        return {name: _fitting(inner[1], each, (*keys, name)) for name, each in value.items()}
    if origin is tuple:
        kinds = inner[:1] * len(value) if inner[-1] is ... else inner
        if len(kinds) != len(value):
            raise Misfit(keys, f"the field {_last(keys)!r} must be a list of {len(kinds)}")
        return tuple(_fitting(each_kind, each, keys) for each_kind, each in zip(kinds, value, strict=True))
    if kind is str:
        return " ".join(value.split("\n")).strip()
    return Path(value) if kind is Path else value


def _is(kind: Any, value: Any) -> bool:
    """Return whether a value of TOML has a type, without what is inside it."""
    origin = dict if is_dataclass(kind) else (get_origin(kind) or kind)
    return isinstance(value, {Mapping: dict, tuple: list, Path: str}.get(origin, origin)) and (kind is bool or not isinstance(value, bool))


def _words(kind: Any) -> str:
    return "a table" if is_dataclass(kind) else KINDS.get((get_origin(kind) or kind), "something else")


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def _last(keys: Keys) -> str:
    return next(key for key in reversed(keys) if isinstance(key, str))


def frozen(value: Any) -> Any:
    """Return a value with tuples in place of lists."""
    if isinstance(value, list):
        return tuple(map(frozen, value))
    return {name: frozen(each) for name, each in value.items()} if isinstance(value, dict) else value


def line_of(text: str, keys: Sequence[str | int]) -> int:
    """Return the number of the line of a TOML text on which a value, or the innermost table around it, is written."""
    table: Keys = ()
    counts: dict[str, int] = {}
    number, depth = 1, 0
    for row, line in enumerate(text.splitlines(), 1):
        if header := re.fullmatch(r"\s*(\[\[?)([^\[\]]+)\]\]?\s*(?:#.*)?", line):
            table = _names(header[2])
            if len(header[1]) > 1:
                counts[header[2]] = counts.get(header[2], -1) + 1
                table = (*table, counts[header[2]])
            place = table
        elif entry := re.match(r"""\s*((?:[\w.-]|"[^"]*"|'[^']*')+)\s*=""", line):
            place = (*table, *_names(entry[1]))
        else:
            continue
        if depth < len(place) and place == tuple(keys[: len(place)]):
            number, depth = row, len(place)
    return number


def _names(written: str) -> Keys:
    """Return the parts of a dotted key."""
    return tuple(part.strip(" \"'") for part in re.findall(r"""[\w-]+|"[^"]*"|'[^']*'""", written))
