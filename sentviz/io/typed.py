"""Fit values from outside into declared types. The first fault is one sentence: the place, what must stand there, and what does.

A type is a plain one, `Any`, a `Literal`, a list, tuple or table of types, a `TypedDict` or a dataclass; `within`, `sized` and `spelled`
limit it. Fields that are not declared are ignored in a `TypedDict`, which may come from a newer version, and refused in a dataclass.
`read` does the same for a text that a person typed: an option, a part of a link, a selection of rows.
msgspec converts and checks; its messages have Python's words, so a fault is put into words from the declared type.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec

from sentviz.errors import InputError

T = TypeVar("T")
Keys = tuple[str | int, ...]
"""Keys that lead to a value: names of fields and entries, and positions in lists."""
LARGEST = (1 << 63) - 1  # largest whole number, since tables store 64 bits
NAMES: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
    Path: "a path",
}
SWITCH = {"yes": True, "true": True, "no": False, "false": False}
DIGITS = {
    int: re.compile(r"-?[0-9]{1,19}"),
    float: re.compile(r"[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})(e[+-]?[0-9]{1,3})?", re.IGNORECASE),
}
INSIDE = re.compile(r" - at `(key` in `)?\$(?P<path>(\.\w+|\[\d+\]|\[\.\.\.\])*)`$")  # the end of msgspec's messages: a place


def within(least: float | None, most: float | None = None, *, below: float | None = None) -> msgspec.Meta:
    """Return the limits of a number: the smallest and the largest one, or one that it does not reach."""
    limits: dict[str, Any] = {"ge": least, "le": most, "lt": below}
    meta: msgspec.Meta = msgspec.Meta(**limits)
    return meta


def above(least: float) -> msgspec.Meta:
    """Return the limit of a number that must be larger than another one."""
    return msgspec.Meta(gt=least, le=1e300)


def sized(least: int | None, most: int) -> msgspec.Meta:
    """Return the limits of the number of entries or characters."""
    return msgspec.Meta(min_length=least, max_length=most)


def spelled(pattern: str, words: str) -> msgspec.Meta:
    """Return the pattern of a whole text, with what it is in words."""
    return msgspec.Meta(pattern=rf"\A(?:{pattern})\Z", title=words)


Whole = Annotated[int, within(-LARGEST, LARGEST)]
"""A whole number of 64 bits."""
Finite = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300, title="a finite number")]


class Form(TypedDict):
    """Field that a file has in every version."""

    format: Whole


class Misfit(InputError):
    """A value does not fit its type."""

    def __init__(self, keys: Keys, why: str) -> None:
        super().__init__(why.rstrip("."))
        self.keys = keys


def fitted(kind: type[T], value: Any, keys: Keys = ()) -> T:
    """Return a value as one of a type: lists become tuples and tables become objects of dataclasses, as the type says.

    Args:
        keys: where the value is, for the sentence.
    Raises:
        Misfit: a part does not fit.
    """
    form: Any = kind
    if _is_strict(form):
        _look_inside(form, value, keys)
    try:
        return msgspec.convert(value, kind, dec_hook=_built)
    except UnicodeEncodeError:
        raise Misfit(keys, f"{dotted(keys)} has half of a character") from None
    except msgspec.ValidationError as error:
        raise _misfit(kind, value, error, keys) from error


def read(kind: Any, text: str, keys: Keys = ()) -> Any:
    """Return the value of a type that a person typed: entries are joined by commas, numbers are ASCII digits, true is yes.

    Args:
        keys: what the value is, for the sentence.
    Raises:
        Misfit: the text names no such value.
    """
    return fitted(kind, _typed(kind, text), keys)


def _typed(kind: Any, text: str) -> Any:
    """Return the value that a text may mean; the text if it does not look like a value of the type."""
    kind = bare(_members(kind)[0])
    if get_origin(kind) is tuple:
        return [_typed(inner(kind, i), part) for i, part in enumerate(text.split(","))]
    if get_origin(kind) is Literal:
        return next((each for each in get_args(kind) if str(each) == text), text)
    if kind is bool:
        return SWITCH.get(text.casefold(), text)
    return kind(text) if kind in DIGITS and DIGITS[kind].fullmatch(text) else text


@cache
def _is_strict(kind: Any) -> bool:
    """Return whether a dataclass is in a type."""
    return is_dataclass(kind) or any(map(_is_strict, (*fields_of(bare(kind)).values(), *get_args(bare(kind)))))


def refuse_unknown(known: Mapping[str, Any], table: Mapping[str, Any], keys: Keys) -> None:
    """Refuse a table with a field that is not declared.

    Raises:
        Misfit: there is such a field.
    """
    if unknown := [name for name in table if name not in known]:
        raise Misfit((*keys, unknown[0]), f"{dotted((*keys, unknown[0]))} is unknown; there may be {', '.join(known)}")


def _look_inside(kind: Any, value: Any, keys: Keys) -> None:
    if isinstance(value, Mapping):
        for form in _members(kind):
            if is_dataclass(form):
                refuse_unknown(fields_of(bare(form)), value, keys)
    parts: Any = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, part in parts:
        _look_inside(inner(kind, key), part, (*keys, key))


def check(settings: Any) -> None:
    """Check the fields of an object of a dataclass against their types. Call it when the object is made.

    Raises:
        Misfit: a field does not fit.
    """
    form: Any = type(settings)
    values = {item.name: getattr(settings, item.name) for item in fields(form)}
    fitted(table_of(form, tuple(values)), values)


@cache
def table_of(form: Any, names: tuple[str, ...]) -> Any:
    """Return the type of a table with some fields of a dataclass; the types of its other fields may be such as no file has."""
    return TypedDict("Table", {name: _written(fields_of(form)[name]) for name in names})  # type: ignore[operator]


def _written(kind: Any) -> Any:
    """Return a type without functions, which only code can give."""
    members = [each for each in get_args(kind) if get_origin(each) is not Callable]
    return Union[tuple(members)] if get_origin(kind) in (Union, UnionType) else kind  # noqa: UP007  # made of a list


def _built(kind: type[Any], value: Any) -> Any:
    return kind(value)  # a path from its text


def _misfit(kind: Any, value: Any, error: msgspec.ValidationError, keys: Keys) -> Misfit:
    """Return the fault that msgspec found, in words of the declared type."""
    message = str(error)
    place = INSIDE.search(message)
    for name, position in re.findall(r"(?:\.(\w+)|\[(\d+|\.\.\.)\])", place["path"] if place else ""):
        key = _misfitting(kind, value) if position == "..." else int(position) if position else name
        kind, value, keys = inner(kind, key), value[key], (*keys, key)
    if place and place[1]:
        key = next(key for key in value if not fits(get_args(bare(kind))[0], key))
        return Misfit((*keys, str(key)), f"{dotted(keys)} names {short(key)}, which is not {words(get_args(bare(kind))[0])}")
    if error.__cause__ is not None:  # the type itself refuses it
        return Misfit(keys, str(error.__cause__))
    if missing := re.match(r"Object missing required field `(\w+)`", message):
        return Misfit((*keys, missing[1]), f"{dotted((*keys, missing[1]))} is missing")
    if isinstance(value, int) and abs(value) > LARGEST:
        return Misfit(keys, f"{dotted(keys)} is {short(value)}, a number that is too large")
    return Misfit(keys, f"{dotted(keys)} must be {words(kind)}, not {short(value)}")


def fits(kind: Any, value: Any) -> bool:
    """Return whether a value fits a type."""
    try:
        fitted(kind, value)
    except Misfit:
        return False
    return True


def _misfitting(kind: Any, table: Mapping[str, Any]) -> str:
    """Return the first entry of a table that does not fit; msgspec does not name it."""
    return next(name for name, value in table.items() if not fits(inner(kind, name), value))


def bare(kind: Any) -> Any:
    """Return a type without its limits."""
    while get_origin(kind) in (Annotated, NotRequired, Required):
        kind = get_args(kind)[0]
    return kind


def _members(kind: Any) -> tuple[Any, ...]:
    """Return the types of which a value may have one."""
    kind = bare(kind)
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


@cache
def fields_of(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass or a `TypedDict`; empty for other types."""
    if not (is_dataclass(kind) or is_typeddict(kind)):
        return {}
    hints = get_type_hints(kind, include_extras=True)
    return {item.name: hints[item.name] for item in fields(kind)} if is_dataclass(kind) else hints


def inner(kind: Any, key: str | int) -> Any:
    """Return the type of what a key of a value leads to."""
    if len(members := _members(kind)) > 1:
        return next((part for each in members if (part := inner(each, key)) is not Any), Any)
    kind = bare(kind)
    if fields_of(kind):
        return fields_of(kind).get(str(key), Any)
    parts, origin = get_args(kind), get_origin(kind)
    if not isinstance(origin, type) or isinstance(key, str) != issubclass(origin, Mapping):
        return Any
    if isinstance(key, str):
        return parts[1]
    if origin is tuple and parts[-1] is not ...:
        return parts[key] if key < len(parts) else Any
    return parts[0]


def words(kind: Any) -> str:
    """Return what a value of a type is, in words: "a whole number from 1 to 100"."""
    if get_origin(kind) in (NotRequired, Required):
        return words(get_args(kind)[0])
    limits = [each for each in getattr(kind, "__metadata__", ()) if isinstance(each, msgspec.Meta)]
    if title := next((each.title for each in limits if each.title), None):
        return title
    plain = bare(kind)
    return _plain(plain) + "".join(_limits(each, "characters" if plain is str else "entries") for each in limits)


def _plain(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if len(members := _members(kind)) > 1:
        return either([words(each) for each in members if each is not NoneType])
    if origin is Literal:
        return either(get_args(kind))
    if origin is tuple and get_args(kind)[-1] is not ...:
        return f"a list of {len(get_args(kind))} entries"
    if fields_of(kind) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return "a table"
    return "a list" if origin is tuple else NAMES.get(origin, "something else")


def _limits(limit: msgspec.Meta, counted: str) -> str:
    least, most, above_, below = (None if end is None else f"{end:,.6g}" if end % 1 else f"{int(end):,}" for end in _ends(limit))
    if limit.max_length is not None:
        return (
            f" of {limit.min_length} to {limit.max_length:,} {counted}"
            if limit.min_length
            else f" of at most {limit.max_length:,} {counted}"
        )
    lower = f" of at least {least}" if least else f" above {above_}" if above_ else ""
    if least and most:
        return f" from {least} to {most}"
    return f"{lower} and below {below}" if below else lower or (f" of at most {most}" if most else "")


def _ends(limit: msgspec.Meta) -> tuple[float | None, ...]:
    """Return the least, the largest, and the two ends that are not reached; None if there is none that matters."""
    most = None if limit.le is None or limit.le >= LARGEST else limit.le
    return (None if limit.ge is not None and limit.ge <= -LARGEST else limit.ge), most, limit.gt, limit.lt


def either(choices: Sequence[Any]) -> str:
    """Return words as a choice: "a, b or c"."""
    *first, last = map(str, choices)
    return f"{', '.join(first)} or {last}" if first else last


def dotted(keys: Keys) -> str:
    """Return a place as text, for example `scores[2].value`; "it" for the whole."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key[:60]}" for key in keys).lstrip(".") or "it"


def short(value: Any) -> str:
    """Return a value as text, shortened to at most 40 characters."""
    value = list(value) if isinstance(value, tuple) else value
    text = reprlib.repr(value) if isinstance(value, list | dict) else repr(value[:40] if isinstance(value, str) else value)
    return text if len(text) <= 40 else f"{text[:39]}…"
