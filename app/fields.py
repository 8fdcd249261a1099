"""Declarations of the focus's fields: default, form in the URL, chip, and the changes that reset a field. Needs no Streamlit."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Annotated, Any

from sentviz.errors import SentvizError
from sentviz.io.typed import Misfit, read, within
from sentviz.runs.configs import Capabilities
from sentviz.runs.intervention import UNCHANGED, Edit, Intervention, Taken

STRONGEST = 10.0  # largest new value of an edit: a strength, a lambda
LONGEST = 20_000  # characters of a text that a model reads
TEXT_IN_URL = 2_000  # characters; longer links break in mail programs and proxies
LISTED = 1_000  # entries of a list; enough for the heads of the largest encoders
LARGEST = 999  # largest whole number in a link

Reading = tuple[Any, Sequence[str]]
"""The value of a text in the URL, None if it has no meaning, and the parts without meaning."""
Options = Sequence[str] | Callable[[], Sequence[str]]


@dataclass(frozen=True)
class LinkNames:
    """Names on this machine that a link may use."""

    runs: Collection[str]
    scores: Collection[str]
    run: str  # run to show if the link names no run or an unknown one


def moves_if_different(old: Any, new: Any) -> bool:
    """Count a field as changed if the value differs."""
    return bool(old != new)


def moves_always(old: Any, new: Any) -> bool:
    """Count a field as changed every time it is set, even to the same value."""
    return True


def moves_if_set(old: Any, new: Any) -> bool:
    """Count a field as changed if it is set to a value that is not empty."""
    return bool(new)


@dataclass(frozen=True)
class Field:
    """One field of the focus.

    Attributes:
        read: reader of a value in the URL; None for fields that no link carries.
        write: writer of a value for the URL.
        chip: text shown once the value differs from the default: a pattern for the value, texts by value, or a function of it.
        called, instead: words of the note about a value without meaning; `{run}` is the run that is shown.
        options: allowed words of a choice; a function if a registry lists them.
        resets: other fields; after a change of one of them this field goes back to its default.
        moved: returns whether an old and a new value count as a change for the fields that it resets.
        fits: returns the value that a model with given capabilities can show.
        private: True for a text that a visitor typed; a link carries it only on request.
        of_classes: True if the chip also depends on the names of the classes.
        of_pairs: True if only runs that read pairs of texts use the field; other runs show no chip of it.
    """

    default: Any
    read: Callable[[str, LinkNames], Reading] | None = None
    write: Callable[[Any], str] = str
    chip: str | Mapping[str, str] | Callable[..., str] = ""
    called: str = ""
    instead: str = "the default is shown"
    options: Options = ()
    resets: frozenset[str] = frozenset()
    moved: Callable[[Any, Any], bool] = moves_if_different
    fits: Callable[[Any, Capabilities], Any] | None = None
    private: bool = False
    of_classes: bool = False
    of_pairs: bool = False


def declared(of: Any) -> dict[str, Field]:
    """Return the declared fields of a focus by name."""
    return {item.name: item.metadata["field"] for item in dataclasses.fields(of)}


def chip_text(name: str, field: Field, value: Any, classes: Sequence[str] = ()) -> str:
    """Return the text of a chip for a value that is not the default."""
    chip = field.chip
    if callable(chip):
        return chip(value, classes) if field.of_classes else chip(value)
    if isinstance(chip, Mapping):
        return chip.get(value, str(value))
    return (chip or f"{name} {{}}").format(value)


# ---- kinds of fields


def _field(default: Any, read: Callable[[str, LinkNames], Reading] | None, **more: Any) -> Any:
    return dataclasses.field(default=default, metadata={"field": Field(default, read, **more)})


def _one(read: Callable[[str], Any]) -> Callable[[str, LinkNames], Reading]:
    """Return a reader of single values, made from a function that returns None for a text without meaning."""

    def reads(value: str, names: LinkNames) -> Reading:
        meaning = read(value)
        return (None, (value,)) if meaning is None else (meaning, ())

    return reads


def hidden(default: Any, **more: Any) -> Any:
    """Declare a field that no link carries."""
    return _field(default, None, **more)


def choice(options: Options, default: str = "", **more: Any) -> Any:
    """Declare one of a few words, by default the first. Options that are a function are read again for each link."""

    def there() -> Sequence[str]:
        return options() if callable(options) else options

    default = default or there()[0]
    return _field(default, _one(lambda value: value if value in there() else None), options=options, **more)


def whole(default: int, least: int = 1, **more: Any) -> Any:
    """Declare a whole number from `least` to 999; the default may lie below."""
    return _field(default, _one(reader(Annotated[int, within(least, LARGEST)])), **more)


def real(default: float, low: float, high: float, **more: Any) -> Any:
    """Declare a number from `low` to `high`; the default may lie below."""
    return _field(default, _one(reader(Annotated[float, within(low, high)])), **more)


def characters(default: str = "", most: int = TEXT_IN_URL, means: Callable[[str], bool] = lambda value: True, **more: Any) -> Any:
    """Declare a text that `means` accepts; a text of more than `most` characters is cut."""
    return _field(default, _one(lambda value: text if means(text := as_sent(value[:most])) else None), **more)


def one_of(default: str, there: Callable[[LinkNames], Collection[str]], **more: Any) -> Any:
    """Declare a name out of those on this machine that `there` returns."""
    return _field(default, lambda value, names: (value, ()) if value in there(names) else (None, (value,)), **more)


def several_of(there: Callable[[LinkNames], Collection[str]], **more: Any) -> Any:
    """Declare a list of names out of those on this machine that `there` returns, each once."""

    def read(value: str, names: LinkNames) -> Reading:
        parts, allowed = value.split("~"), there(names)
        known = dict.fromkeys(name for name in parts if name in allowed)
        return tuple(known)[:LISTED], [name for name in parts if name not in allowed]

    return _field((), read, write="~".join, **more)


def place_or(words: Sequence[str], axis: str, default: str = "", **more: Any) -> Any:
    """Declare one of a few words, by default the first, or a place, counted from 1, on an axis that the capabilities name."""
    default = default or words[0]

    def fits(value: str, has: Capabilities) -> str:
        return default if value.isdecimal() and int(value) > getattr(has, axis) else value

    return _field(default, _one(lambda value: value if value in words or _place(value) is not None else None), fits=fits, **more)


def edits(**more: Any) -> Any:
    """Declare an intervention as `Intervention.text` writes it. Of two edits of the same quantity, the later one is used."""

    def read(value: str, names: LinkNames) -> Reading:
        parts = as_sent(value).split("~")
        read_edits = {part: _edit(part) for part in parts[:LISTED] if part and not part.startswith("donor:")}
        unique = {edit.target: edit.text() for edit in read_edits.values() if edit}
        change = Intervention.parse("~".join([*unique.values(), *(part for part in parts if part.startswith("donor:"))]))
        return change, [*(part for part, edit in read_edits.items() if edit is None), *parts[LISTED : LISTED + 1]]

    return _field(UNCHANGED, read, write=Intervention.text, **more)


def earlier_edits(called: str, instead: str, *spellings: tuple[str, str], prefix: str = "") -> Field:
    """Return the reader of a list of edits in links of earlier versions. What follows a mistake is left out.

    Args:
        called, instead: words of a note, as in `Field`.
        spellings: a pattern of a part, and the text of the edit that it means.
        prefix: what is added before a value without a colon.
    """

    def read(value: str, names: LinkNames) -> Reading:
        parts = (value if ":" in value else prefix + value).split("~")
        meanings = (_edit(next((re.sub(old, new, part) for old, new in spellings if re.fullmatch(old, part)), "")) for part in parts)
        valid = list(takewhile(bool, islice(meanings, LISTED)))
        return Intervention(tuple({edit.target: edit for edit in valid if edit}.values())), parts[len(valid) : len(valid) + 1]

    return Field(UNCHANGED, read, called=called, instead=instead)


# ---- values


def as_sent(value: str) -> str:
    """Return a text that can be sent to a browser: half characters are replaced, and it is cut at `LONGEST` characters."""
    return value[:LONGEST].encode("utf-8", "replace").decode()


def reader(kind: Any) -> Callable[[str], Any]:
    """Return a function that gives the value of a type that a text names; None for any other text."""

    def reads(value: str) -> Any:
        try:
            return read(kind, value)
        except Misfit:
            return None

    return reads


whole_number = reader(Annotated[int, within(0, LARGEST)])
_place = reader(Annotated[int, within(1, LARGEST)])  # counted from 1
_places = reader(tuple[Annotated[int, within(1, LARGEST)], Annotated[int, within(1, LARGEST)]])


def two_places(value: str) -> tuple[int, int] | None:
    """Return the two places, counted from 1, that a text such as 1.3 names; None for any other text."""
    places: tuple[int, int] | None = _places(value.replace(".", ","))
    return places


def _edit(text: str) -> Edit | None:
    """Return the edit that a part of a link names; None for any other text, and for the mean over a data set, which no page has."""
    try:
        edit = Edit.parse(text)
    except SentvizError:
        return None
    is_small = not isinstance(edit.to, str) and (isinstance(edit.to, Taken) or abs(edit.to) <= STRONGEST)
    return edit if is_small and min(edit.at, default=0) >= 0 else None
