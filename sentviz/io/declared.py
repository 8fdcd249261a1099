"""Read dataclasses from a TOML file: a table's keys are the names of fields. What is wrong is one sentence with the file and the line.

Lists become tuples, so that what was read cannot change, and line breaks in a text become blanks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sentviz.errors import InputError, SentvizError
from sentviz.io.documents import read_toml
from sentviz.io.typed import Keys, Misfit, dotted, fields_of, fitted, refuse_unknown, table_of

T = TypeVar("T")


def in_file(fault: Misfit, path: Path) -> InputError:
    """Return a fault of a file as a sentence with file and line."""
    line = line_of(path.read_text(encoding="utf-8-sig"), fault.keys)
    return InputError(f"{file_name(path)}, line {line}: {fault}.")


def file_name(path: Path) -> str:
    """Return the name of a file in messages, with its folder."""
    return f"{path.parent.name}/{path.name}"


def read_declared(path: Path, read: Callable[[dict[str, Any]], T]) -> T:
    """Return what `read` makes of the tables of a TOML file; a `Misfit` becomes a sentence."""
    content = read_toml(path, name=file_name(path))
    try:
        return read(content)
    except Misfit as error:
        raise in_file(error, path) from error


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
    known = {name: kind for name, kind in fields_of(class_).items() if name not in values}
    content = frozen(table)
    refuse_unknown(known, content, keys)
    if lacking := [name for name in _needed(class_) if name in known and not content.get(name)]:
        raise Misfit(keys, f"{dotted((*keys, lacking[0]))} is missing")
    values_of_file: Mapping[str, Any] = fitted(table_of(class_, tuple(content)), content, keys)
    try:
        return form(**values_of_file, **values)
    except SentvizError as error:
        raise Misfit(keys, str(error)) from error


@cache
def _needed(form: Any) -> list[str]:
    return [item.name for item in fields(form) if item.default is MISSING and item.default_factory is MISSING]


def frozen(value: Any) -> Any:
    """Return a value of TOML with tuples in place of lists, and texts on one line."""
    if isinstance(value, str):
        return " ".join(value.split("\n")).strip()
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
