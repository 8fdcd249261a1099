"""Read JSON and TOML that come from outside: files and texts of a user, of a downloaded folder, of another package.

Size, nesting and numbers are limited, so that what was read can be copied, printed and converted. Each fault is an `InputError` that names
the file and the place.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

from sentviz.errors import InputError
from sentviz.io.files import read_regular

DEEPEST = 100  # lists and tables inside each other
DIGITS = 40  # digits of a whole number; the limit "none" of tokenizers has 31
MOST_BYTES = 16 << 20


def read_json(path: str | os.PathLike[str], most: int = MOST_BYTES, name: str = "") -> Any:
    """Return the content of a JSON file of at most `most` bytes.

    Args:
        name: name of the file in error messages; by default its path.
    """
    name = name or os.fspath(path)
    return parse_json(read_regular(path, most, name), name)


def read_toml(path: str | os.PathLike[str], most: int = MOST_BYTES, name: str = "") -> dict[str, Any]:
    """Return the tables of a TOML file of at most `most` bytes; arguments and errors as `read_json`."""
    name = name or os.fspath(path)
    tables: dict[str, Any] = _parsed(read_regular(path, most, name), name, "valid TOML", tomllib.loads)
    return tables


def parse_json(data: bytes | str, name: str, *, gaps: bool = False) -> Any:
    """Return the value that a JSON text holds. A byte order mark is left out.

    Args:
        name: name of the text in error messages.
        gaps: read NaN as null, since programs write missing cells of a table as NaN.
    """
    constant = _gap if gaps else _no_number
    return _parsed(data, name, "JSON", lambda text: json.loads(text, object_pairs_hook=_once, parse_constant=constant))


def _parsed(data: bytes | str, name: str, form: str, parse: Callable[[str], Any]) -> Any:
    try:
        content = parse(_text(data))
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not in UTF-8 (byte {error.start + 1:,}). Save it as UTF-8.") from error
    except RecursionError as error:
        raise InputError(f"{name} cannot be used: its lists are nested too deeply; {DEEPEST} levels are read.") from error
    except ValueError as error:
        if "integer string conversion" in str(error):  # Python's own limit, from 4,300 digits
            raise InputError(f"{name} has a whole number of more than {DIGITS} digits.") from error
        raise InputError(f"{name} is not {form}: {' '.join(str(error).split()).rstrip('.')[:200]}.") from error
    if fault := _fault(content):
        raise InputError(f"{name} cannot be used: {fault}.")
    return content


def _text(data: bytes | str) -> str:
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8-sig")


def _once(entries: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, whose names must differ."""
    table = dict(entries)
    if len(table) < len(entries):
        names = [name for name, _ in entries]
        raise ValueError(f"an entry is named {next(name for name in names if names.count(name) > 1)[:60]!r} twice")
    return table


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")


def _gap(constant: str) -> None:
    if constant != "NaN":
        _no_number(constant)


Place = tuple[Any, ...]  # (place of the list or table, name or position in it); () for the whole


def _fault(content: Any) -> str:
    """Return what is beyond the limits in a value, and where, searched level by level; "" if nothing is."""
    level: list[tuple[Place, Any]] = [((), [content])]
    for _ in range(DEEPEST + 1):
        below: list[tuple[Place, Any]] = []
        for place, values in level:
            for key, value in values.items() if isinstance(values, dict) else enumerate(values):
                if isinstance(value, dict | list):
                    below.append(((place, key), value))
                elif isinstance(value, float) and not math.isfinite(value):
                    return f"{_in_words((place, key))} is {value}, not a finite number"
                elif isinstance(value, int) and abs(value) >= 10**DIGITS:
                    return f"{_in_words((place, key))} has more than {DIGITS} digits"
        if not below:
            return ""
        level = below
    return f"its lists are nested too deeply; {DEEPEST} levels are read"


def _in_words(place: Place) -> str:
    """Return a place as text, for example `the value of scores[2]`."""
    keys: list[Any] = []
    while place:
        place, key = place
        keys.append(key)
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key[:60]}" for key in keys[-2::-1])
    return f"the value of {path.lstrip('.')}" if path else "the value"
