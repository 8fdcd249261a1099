"""How a field of the focus is declared: its default, how the URL says it and reads it, its chip, when it goes. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sentviz.runs.configs import Capabilities

STRONGEST = 10.0  # of the lexicon, and of a lambda
LONGEST = 20_000  # characters of a text that is asked about
TEXT_IN_URL = 2_000  # characters; longer links break in mail programs and proxies
LISTED = 1_000  # entries of a list at most: the heads of the largest encoders fit
LARGEST = 999  # of a whole number

Reading = tuple[Any, Sequence[str]]
"""What a value of the URL means, None for nothing, and the parts of it that mean nothing."""
Options = Sequence[str] | Callable[[], Sequence[str]]


@dataclass(frozen=True)
class Known:
    """What there is on this machine for a link to name."""

    runs: Collection[str]
    scores: Collection[str]
    run: str  # shown where a link names none, or one that is not here


def changed(old: Any, new: Any) -> bool:
    """Moved when the value is another one."""
    return bool(old != new)


def named(old: Any, new: Any) -> bool:
    """Moved whenever it is set, also to what it was."""
    return True


def given(old: Any, new: Any) -> bool:
    """Moved when it is set to something."""
    return bool(new)


@dataclass(frozen=True)
class Field:
    """One field of the focus.

    Attributes:
        read: what a value of the URL means; None for fields that no link carries.
        write: the value as the URL says it.
        chip: its words once it differs from the default: a pattern for the value, words by value, or a function of it.
        called, instead: in the note for what means nothing here; `{run}` is the run that is shown.
        options: what can be chosen, of choices; a function where a registry says so.
        resets: other fields; after a change of one of them this field goes back to its default.
        moved: whether a value, old and new, counts as a change for the fields that go back after it.
        fits: the value that a model of these capabilities can show.
        private: what a visitor typed; in a link only if asked for.
        of_text: it means something beside its text only; in a link with that text.
        by_hand: an intervention, absent from the model as it was trained.
        of_classes: the chip is a function of the names of the classes, too.
        of_pairs: it means nothing beside a run that reads single texts, which shows no chip of it.
    """

    default: Any
    read: Callable[[str, Known], Reading] | None = None
    write: Callable[[Any], str] = str
    chip: str | Mapping[str, str] | Callable[..., str] = ""
    called: str = ""
    instead: str = "the default is shown"
    options: Options = ()
    resets: frozenset[str] = frozenset()
    moved: Callable[[Any, Any], bool] = changed
    fits: Callable[[Any, Capabilities], Any] | None = None
    private: bool = False
    of_text: bool = False
    by_hand: bool = False
    of_classes: bool = False
    of_pairs: bool = False


def declared(of: Any) -> dict[str, Field]:
    """The fields of a focus by name."""
    return {item.name: item.metadata["field"] for item in dataclasses.fields(of)}


def chip_text(name: str, field: Field, value: Any, classes: Sequence[str] = ()) -> str:
    """What the chip of a field says of a value that is not its default."""
    chip = field.chip
    if callable(chip):
        return chip(value, classes) if field.of_classes else chip(value)
    if isinstance(chip, Mapping):
        return chip.get(value, str(value))
    return (chip or f"{name} {{}}").format(value)


# ---- kinds of fields


def _field(default: Any, read: Callable[[str, Known], Reading] | None, **more: Any) -> Any:
    return dataclasses.field(default=default, metadata={"field": Field(default, read, **more)})


def _one(read: Callable[[str], Any]) -> Callable[[str, Known], Reading]:
    """The reader of single values from a function that gives None for what means nothing."""

    def reads(value: str, known: Known) -> Reading:
        found = read(value)
        return (None, (value,)) if found is None else (found, ())

    return reads


def hidden(default: Any, **more: Any) -> Any:
    """A value that no link carries."""
    return _field(default, None, **more)


def choice(options: Options, default: str = "", **more: Any) -> Any:
    """One of a few words; the first unless another one is the default. Functions are asked at each reading, and need a default."""

    def there() -> Sequence[str]:
        return options() if callable(options) else options

    default = default or there()[0]
    return _field(default, _one(lambda value: value if value in there() else None), options=options, **more)


def whole(default: int, least: int = 1, **more: Any) -> Any:
    """A whole number from `least` to 999; the default may lie below."""
    return _field(default, _one(lambda value: number if (number := whole_number(value)) is not None and number >= least else None), **more)


def real(default: float, low: float, high: float, **more: Any) -> Any:
    """A number from `low` to `high`; the default may lie below."""
    return _field(default, _one(lambda value: number if (number := _real(value)) is not None and low <= number <= high else None), **more)


def characters(default: str = "", most: int = TEXT_IN_URL, means: Callable[[str], bool] = lambda value: True, **more: Any) -> Any:
    """Any characters, or those that mean something; a longer text from a link is cut."""
    return _field(default, _one(lambda value: said if means(said := as_sent(value[:most])) else None), **more)


def one_of(default: str, there: Callable[[Known], Collection[str]], **more: Any) -> Any:
    """A name of something on this machine."""
    return _field(default, lambda value, known: (value, ()) if value in there(known) else (None, (value,)), **more)


def several_of(there: Callable[[Known], Collection[str]], **more: Any) -> Any:
    """Names of things on this machine, each once."""

    def read(value: str, known: Known) -> Reading:
        names, here = value.split("~"), there(known)
        found = dict.fromkeys(name for name in names if name in here)
        return tuple(found)[:LISTED], [name for name in names if name not in here]

    return _field((), read, write="~".join, **more)


def place_or(words: Sequence[str], axis: str, default: str = "", **more: Any) -> Any:
    """One of a few words, the first unless told, or a place on an axis of the model (its number in the capabilities), counted from 1."""
    default = default or words[0]

    def fits(value: str, has: Capabilities) -> str:
        return default if value.isdecimal() and int(value) > getattr(has, axis) else value

    return _field(default, _one(lambda value: value if value in words or _place(value) else None), fits=fits, **more)


def places(**more: Any) -> Any:
    """Pairs of places as in `1.4~2.1`; those that mean something are kept."""

    def read(value: str, known: Known) -> Reading:
        parts = value.split("~")
        found = [pair for part in parts[:LISTED] if (pair := two_places(part))]
        return tuple(found), () if len(found) == len(parts) else (value,)

    return _field((), read, write=lambda value: "~".join(f"{first}.{second}" for first, second in value), **more)


def lambdas(**more: Any) -> Any:
    """Changes of lambdas as in `1.2:-0.18~2.2:0`, layer, component and value with four digits; what follows a mistake is left out."""

    def read(value: str, known: Known) -> Reading:
        found: list[tuple[int, int, float]] = []
        for part in value.split("~"):
            place, _, number = part.partition(":")
            pair, weight = two_places(place), _real(number)
            if pair is None or weight is None or not abs(weight) <= STRONGEST or len(found) == LISTED:
                return tuple(found), (part,)
            found.append((*pair, float(f"{weight:.4g}")))
        return tuple(found), ()

    def write(value: Sequence[tuple[int, int, float]]) -> str:
        return "~".join(f"{layer}.{component}:{weight:.4g}" for layer, component, weight in value)

    return _field((), read, write=write, **more)


def strengths(**more: Any) -> Any:
    """Strengths of terms as in `lexicon:0.5~gate:0`; links of earlier versions have a number alone, the lexicon's."""

    def read(value: str, known: Known) -> Reading:
        parts = [f"lexicon:{value}"] if ":" not in value else value.split("~")[:LISTED]
        found: dict[str, float] = {}
        for part in parts:
            term, _, number = part.partition(":")
            factor = _real(number)
            if not term.isidentifier() or len(term) > 40 or factor is None or not abs(factor) <= STRONGEST:
                return tuple(found.items()), (part,)
            found[term] = float(f"{factor:.4g}")
        return tuple((term, factor) for term, factor in found.items() if factor != 1), ()

    return _field((), read, write=lambda value: "~".join(f"{term}:{factor:.4g}" for term, factor in value), **more)


def switches(*states: str, **more: Any) -> Any:
    """Places that are in one of a few states, as in `2:open~4:shut`; what follows a mistake is left out."""

    def read(value: str, known: Known) -> Reading:
        found: dict[int, str] = {}
        for part in value.split("~"):
            at, _, state = part.partition(":")
            place = _place(at)
            if place is None or state not in states:
                return tuple(sorted(found.items())), (part,)
            found[place] = state
        return tuple(sorted(found.items())), ()

    return _field((), read, write=lambda value: "~".join(f"{place}:{state}" for place, state in value), **more)


# ---- values


def as_sent(value: str) -> str:
    """A text as it can travel to a browser, where half characters cannot, cut at the longest that is asked about."""
    return value[:LONGEST].encode("utf-8", "replace").decode()


def whole_number(value: str) -> int | None:
    """Return the whole number from 0 to 999 that a text is; None for any other text."""
    return number if len(value) < 10 and value.isascii() and value.isdecimal() and (number := int(value)) <= LARGEST else None


def _place(value: str) -> int | None:
    """A place, counted from 1; None for anything else."""
    return whole_number(value) or None


def two_places(value: str) -> tuple[int, int] | None:
    """Return the two places, counted from 1, that a text such as 1.3 names; None for any other text."""
    first, _, second = value.partition(".")
    one, other = _place(first), _place(second)
    return (one, other) if one and other else None


def _real(value: str) -> float | None:
    """A number in at most forty characters; it may be none or without end, which lie in no range."""
    try:
        return float(value) if len(value) <= 40 else None
    except ValueError:
        return None
