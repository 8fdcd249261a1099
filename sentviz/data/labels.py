"""The mapping of labels to classes, for every source of labels: files of predictions, data sets, models, black boxes and comparisons.

A written label is a class by, in this order: the user's choice; its name in any case; its meaning (pos, positive, 긍정); its number.
Numbers are read as one scale of all labels of a column: 0 to K-1, 1 to K, or around 0 (-1 and 1; -1, 0 and 1). The lowest and the highest
number decide which scale it is. If they do not, or if the order of the classes is unknown, the labels are refused with the option that
decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError

MISSING = frozenset({"", "nan", "n/a", "null", "<na>", "nat"})  # cells that stand for a missing label, in any case
MEANINGS = {
    **dict.fromkeys(("negative", "neg", "bearish", "부정", "부정적"), "negative"),
    **dict.fromkeys(("neutral", "neu", "중립", "중립적"), "neutral"),
    **dict.fromkeys(("positive", "pos", "bullish", "긍정", "긍정적"), "positive"),
}
SIDES = {"negative": -1, "neutral": 0, "positive": 1}
STRONG = ("very ", "strongly ", "매우 ", "아주 ")  # beginnings of the names of the outer classes of five
SCALES = ("probability", "percent", "logit", "confidence")  # scales of a column with one number per row
LEAVE = 0.02  # share of a file's rows that may be left out of a number without the user's word
SHOWN = 6  # labels that a sentence names


class ReadingError(InputError):
    """A sentence on what cannot be read, and one on the option of a command that decides; a page has a control for it."""

    def __init__(self, what: str, option: str = "") -> None:
        super().__init__(what, option)
        self.what = what

    def __str__(self) -> str:
        return " ".join(filter(None, self.args))


class LabelsError(ReadingError):
    """Labels that are not known to be classes; `Reading.labels` decides."""


class ScaleError(ReadingError):
    """Numbers that may be probabilities, percentages or logits; `Reading.scale` decides."""


class LeftOutError(ReadingError):
    """Too many rows are left out of a number; `Reading.partial` allows it."""


@dataclass(frozen=True)
class Reading:
    """The user's choices of how a table's labels and numbers are read. Empty values are found from the table."""

    classes: tuple[str, ...] = ()  # names of the classes in their order
    labels: tuple[tuple[str, str], ...] = ()  # written label, and name of its class
    scale: str = ""  # one of `SCALES`, for a column with one number per row
    partial: bool = False  # True = numbers are shown if more than `LEAVE` of the rows are left out

    @classmethod
    def of(cls, classes: Sequence[str] = (), labels: Mapping[str, str] | str = "", scale: str = "", partial: bool = False) -> Reading:
        """Return the choices of a call or of a command.

        Args:
            labels: class of each written label, also as text: 1=negative,2=positive.
        """
        if isinstance(labels, str):
            parts = [part.partition("=") for part in labels.split(",") if part.strip()]
            if wrong := [label for label, sign, name in parts if not (sign and label.strip() and name.strip())]:
                raise InputError(f"{wrong[0].strip()!r} does not name a label and its class. Write labels as in 1=negative,2=positive.")
            labels = {label: name for label, _, name in parts}
        if scale not in ("", *SCALES):
            raise InputError(f"{scale!r} is not a scale. The scales are {', '.join(SCALES)}.")
        names = tuple(name.strip() for name in classes if name.strip())
        pairs = tuple((canonical(label), str(name).strip()) for label, name in dict(labels).items())
        return cls(names, pairs, scale, partial)

    @cached_property
    def named(self) -> dict[str, str]:
        """The chosen name of the class of each written label, in small letters."""
        return {_plain(label): name for label, name in self.labels}

    def value(self, cell: Any) -> str:
        """Return a cell as the label that it stands for: the chosen class, otherwise the written label; "" if it is missing."""
        written = canonical(cell)
        return self.named.get(_plain(written), written)


AS_FOUND = Reading()
"""No choice of the user."""


@dataclass(frozen=True, eq=False)
class Assigned:
    """The class of each row of a column."""

    column: str
    what: str  # "Labels" or "Predictions"
    classes: tuple[str, ...]
    codes: npt.NDArray[np.int64]  # (n,) class of each row, -1 = none
    rows: Mapping[str, int]  # written label -> rows that have it, without missing ones
    class_of: Mapping[str, int]  # written label -> class, -1 = none

    @property
    def unknown(self) -> int:
        """Number of rows with a label that is not a class."""
        return sum(n for label, n in self.rows.items() if self.class_of[label] < 0)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The mapping in words, and the labels that are not classes."""
        return in_words(self.rows, self.class_of, self.classes, len(self.codes), f"{self.what} in “{self.column}”")


def in_words(rows: Mapping[str, int], class_of: Mapping[str, int], classes: Sequence[str], total: int, where: str) -> tuple[str, ...]:
    """Return the mapping in words, and a sentence on the labels that are not classes, if there are any.

    Args:
        rows: written label -> rows that have it. class_of: written label -> class, -1 = none. total: rows of the file.
    """
    spelled = {_plain(label): label for label in sorted(rows, reverse=True) if class_of[label] >= 0}  # one spelling of each label
    by_class = sorted(spelled.values(), key=lambda label: class_of[label])
    pairs = [label if (name := classes[class_of[label]]) in (label, label.casefold()) else f"{label} = {name}" for label in by_class]
    judged = sum(n for label, n in rows.items() if class_of[label] >= 0)
    known = f"{where}: {_some(pairs) or 'none'}; {judged:,} of {total:,} rows."
    unknown = [f"{label!r} ({n:,} row{'s' * (n != 1)})" for label, n in rows.items() if class_of[label] < 0]
    return (
        (known, f"{where} that are not one of {', '.join(classes)}: {_some(unknown, 3)}. Those rows are left out.") if unknown else (known,)
    )


def canonical(value: Any) -> str:
    """Return a label as text: whole numbers without a fraction or a plus sign, without outer white space; "" if it is missing."""
    text = "" if value is None else str(value).encode("utf-8", "replace").decode().strip()
    if whole := re.fullmatch(r"\+?(-?\d+)(\.0*)?", text):
        return whole[1]
    return "" if text.casefold() in MISSING else text


def number(label: str) -> int | None:
    """Return the number of a label: of digits, LABEL_1, 4 stars, and of True and False 1 and 0; None if it has none."""
    text = _plain(canonical(label))
    match = re.fullmatch(r"(?:label )?(-?\d{1,9})|(\d{1,9}) stars?", text)
    return int(match[1] or match[2]) if match else {"false": 0, "true": 1}.get(text)


def meaning(name: str) -> str:
    """Return what a label means: negative, very positive, a number, or its name if that has no usual meaning."""
    plain, strong = _plain(name), ""
    for beginning in STRONG:
        if plain.startswith(beginning):
            plain, strong = plain.removeprefix(beginning), "very "
    return strong + MEANINGS[plain] if plain in MEANINGS else _plain(canonical(name))


def sides(classes: Sequence[str]) -> list[int]:
    """Return the side of each class of a model: -1 negative, 1 positive, 0 in the middle or without sentiment.

    "very positive" is on the side of "positive". On a scale of stars, the lower half is negative.
    """
    if stars := stars_of(classes):
        middle = (min(stars) + max(stars)) / 2
        return [int(star > middle) - int(star < middle) for star in stars]
    return [int(np.sign(_sentiment(name) or 0)) for name in classes]


def stars_of(classes: Sequence[str]) -> list[int]:
    """Return the number of stars of each class; empty if a class is not a number of stars."""
    matches = [re.fullmatch(r"(\d+) stars?", name.casefold()) for name in classes]
    return [int(match[1]) for match in matches if match] if all(matches) and len(classes) > 1 else []


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return class names from negative to positive, then by the number in them, then by alphabet."""

    def key(name: str) -> tuple[int, int, str]:
        digits = re.search(r"[-+]?\d+", name)
        return _sentiment(name) or 0, int(digits[0]) if digits else 0, name.casefold()

    return tuple(sorted(names, key=key))


def is_scale(classes: Sequence[str]) -> bool:
    """Return whether classes are in an order that their names show: by ascending numbers, or from negative to positive."""
    for place in (number, _sentiment):
        places = [place(name) for name in classes]
        known = [each for each in places if each is not None]
        if len(known) == len(places):
            return known == sorted(set(known))
    return False


def merged(values: Iterable[str]) -> tuple[str, ...]:
    """Return labels as the names of classes in order: of labels with one name or meaning, the first; numbers only if there are no names."""
    distinct: dict[str, str] = {}
    for value in values:
        distinct.setdefault(meaning(value), value)
    names = [value for value in distinct.values() if number(value) is None]
    if names:
        return in_order(names)
    numbers = sorted({place for value in distinct.values() if (place := number(value)) is not None})
    if numbers in ([0], [1]):
        numbers = [0, 1]  # a file with one of the two classes
    spelled = {number(value): value for value in distinct.values() if not re.search(r"^(label[ _])?-?\d+$", value.casefold())}
    return tuple(spelled[place] if len(spelled) == len(numbers) else str(place) for place in numbers)  # True and False, 1 star to 5 stars


def check_numbers(labels: Collection[str]) -> None:
    """Check that the labels of one column have different numbers: True and LABEL_1 are one class in two columns, and two in one column.

    Raises:
        LabelsError: two of them have one number.
    """
    written: dict[int, str] = {}
    for label in labels:
        if (place := number(label)) is not None and (first := written.setdefault(place, label)) != label:
            raise LabelsError(
                f"{first!r} and {label!r} in one column may be the same class or two classes.",
                f"Name the class of each with --labels {first}=CLASS,{label}=CLASS.",
            )


def rearranged(classes: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return classes in the order of the user's names for them; unchanged if these are other names."""
    places = [*by_name(names, classes).values()]
    return tuple(classes[k] for k in places) if sorted(places) == list(range(len(classes))) else tuple(classes)


def same_scale(first: Collection[str], second: Collection[str]) -> bool:
    """Return whether labels and predictions that are all numbers can be on one scale; 0 and 1 are not on that of 1 and 2."""
    a, b = ({place for value in values if (place := number(value)) is not None} for values in (first, second))
    if not a or not b or len(a) < len(first) or len(b) < len(second):
        return True
    if (min(a) < 0) != (min(b) < 0) and len(a) > 1 and len(b) > 1:
        return False
    if a <= b or b <= a:
        return not (a != b and {0, 1} in (a, b) and len(a | b) > 2)
    return 2 * len(a & b) > min(len(a), len(b)) and (0 in a) == (0 in b)


def assigned(
    column: Iterable[Any],
    classes: Sequence[str],
    reading: Reading | None = None,
    *,
    name: str = "label",
    what: str = "Labels",
    ordered: bool = True,
) -> Assigned:
    """Return the class of each row of a column.

    Args:
        column: labels as they are written. name: its name, for sentences.
        ordered: whether the classes stand in an order of their own, as those of a model, so that 0 is the first.
    Raises:
        LabelsError: no label is a class, or their numbers may be more than one scale.
    """
    reading = reading or Reading()
    written = [canonical(cell) for cell in column]
    rows = Counter(filter(None, written))
    class_of = classes_of(rows, classes, reading, f"{what} in “{name}”", ordered=ordered)
    codes = np.array([class_of.get(label, -1) for label in written], dtype=np.int64)
    return Assigned(name, what, tuple(classes), codes, rows, class_of)


def classes_of(labels: Collection[str], classes: Sequence[str], reading: Reading, where: str, *, ordered: bool = True) -> dict[str, int]:
    """Return the class of each written label, -1 for none; for the arguments and errors, see `assigned`."""
    chosen = by_name(reading.named.values(), classes)
    if bad := [name for name in reading.named.values() if chosen[name] < 0]:
        raise LabelsError(f"{bad[0]!r} is not one of the classes {', '.join(classes)}. Name the class of each label as one of these.")
    class_of = by_name(labels, classes) | {
        label: chosen[reading.named[_plain(label)]] for label in labels if _plain(label) in reading.named
    }
    rest = {label: place for label in labels if class_of[label] < 0 and (place := number(label)) is not None}
    if rest and not reading.labels:
        by_names = any(place >= 0 for place in class_of.values())
        fractions = any(class_of[label] < 0 and re.fullmatch(r"-?\d*\.\d+", label) for label in labels)
        scale = None if fractions else _scale(rest, classes, ordered, by_names)
        if scale is None and not by_names:
            raise _which(labels, classes, where)
        class_of |= {label: scale.index(place) if scale and place in scale else -1 for label, place in rest.items()}
    if labels and not any(place >= 0 for place in class_of.values()):
        raise _which(labels, classes, where)
    return class_of


def by_name(labels: Iterable[str], classes: Sequence[str]) -> dict[str, int]:
    """Return the class of each label by its name, meaning, or the number that the class has in its name; -1 for none."""
    plain = {_plain(name): k for k, name in reversed([*enumerate(classes)])}
    meanings = Counter(map(meaning, classes))
    by_meaning = {meaning(name): k for k, name in enumerate(classes) if meanings[meaning(name)] == 1}
    numbers = {number(name): k for k, name in enumerate(classes)} if all(number(name) is not None for name in classes) else {}
    class_of = {label: plain.get(_plain(label), by_meaning.get(meaning(label), numbers.get(number(label), -1))) for label in labels}
    if None not in map(number, class_of) and min(class_of.values(), default=0) < 0 and _is_index(class_of, len(classes)):
        return dict.fromkeys(class_of, -1)  # 0 to 4 for classes from 1 to 5 stars
    return class_of


def order_of(own: Sequence[str], classes: Sequence[str], name: str) -> list[int]:
    """Return the class of `own`, a model's classes, for each of a data set's classes.

    Args:
        name: of the model, for messages.
    Raises:
        LabelsError: the names and numbers do not tell.
    """
    if len(own) == len(classes):
        try:
            order = list(classes_of(classes, own, Reading(), "The classes").values())
        except LabelsError:
            order = []
        if sorted(order) == list(range(len(own))):
            return order
        starts = [[k for k, label in enumerate(map(_plain, own)) if label and _either_starts(label, _plain(full))] for full in classes]
        if sorted(k for places in starts for k in places) == list(range(len(own))) and all(len(places) == 1 for places in starts):
            return [places[0] for places in starts]
    what = "both need the same number of classes"
    if len(own) == len(classes):
        what = f"name the model's classes as the data set does, in the model's order: --classes {','.join(classes)}"
    raise LabelsError(f"{name} has the classes {', '.join(own)} and the data set {', '.join(classes)}; {what}.")


def check_complete(judged: int, total: int, reading: Reading, name: str, why: Iterable[str] = ()) -> None:
    """Check that a number about a file's rows may be shown.

    Args:
        judged, total: rows that the number is about, and all rows of the file. why: sentences on the rows that are left out.
    Raises:
        LeftOutError: more than 2 % of the rows are left out, and the user did not allow it.
    """
    if judged < (1 - LEAVE) * total and not reading.partial:
        reasons = " ".join(why)
        raise LeftOutError(
            f"Only {judged:,} of the {total:,} rows of {name} have a known label and prediction.{f' {reasons}' if reasons else ''}",
            f"Mend the rows, or accept numbers of {judged:,} row{'s' * (judged != 1)}: --partial (partial=True in Python).",
        )


def _which(labels: Collection[str], classes: Sequence[str], where: str) -> LabelsError:
    ordered = in_order(labels)
    example = ",".join(f"{label}={name}" for label, name in zip(ordered, classes, strict=False))
    return LabelsError(
        f"{where} are {_some(ordered)}, and the classes are {_some(classes)}: which label is which class is not known.",
        f"Name the class of each label, for example with --labels {example} (labels={{...}} in Python).",
    )


def _some(parts: Sequence[str], most: int = SHOWN) -> str:
    return ", ".join(parts[:most]) + (f" and {len(parts) - most:,} more" if len(parts) > most else "")


def _plain(name: str) -> str:
    """Return a name in small letters with single spaces between its words."""
    return re.sub(r"[\s_]+", " ", name.casefold()).strip()


def _sentiment(name: str) -> int | None:
    """Return the place of a class between very negative, -2, and very positive, 2; None if its name has no sentiment."""
    means = meaning(name)
    side = SIDES.get(means.removeprefix("very "))
    return None if side is None else side * (2 if means.startswith("very ") else 1)


def _either_starts(first: str, second: str) -> bool:
    return first.startswith(second) or second.startswith(first)


def _is_index(labels: Iterable[str], count: int) -> bool:
    """Return whether numbers go from 0 to the last of `count` classes."""
    places = {number(label) for label in labels}
    return places <= set(range(count)) and {0, count - 1} <= places


def _scale(places: Mapping[str, int], classes: Sequence[str], ordered: bool, by_names: bool) -> list[int] | None:
    """Return the number of each class on the only scale that the written numbers can be on; None if there is no such scale.

    Args:
        by_names: whether other labels are names of classes: 1 beside "negative" is then the second of two classes.
    """
    count, numbers = len(classes), set(places.values())
    from_0, rising = list(range(count)), is_scale(classes)
    if ordered and all(_plain(label).startswith("label ") for label in places):
        return from_0 if numbers <= set(from_0) else None
    known = [_sentiment(name) for name in classes]
    if not rising and (not ordered or (None not in known and len(set(known)) == count)):
        return None  # no order, or one that is against the meaning of the names
    half = count // 2
    around_0 = [place for place in range(-half, half + 1) if place or count % 2]
    for scale in (from_0, [*range(1, count + 1)], around_0):
        whole = {min(numbers), max(numbers)} == {scale[0], scale[-1]}
        if scale is from_0 and (not rising or count == 2):
            whole = min(numbers) == 0 or (by_names and count == 2)
        if numbers <= set(scale) and whole and (rising or scale is from_0):
            return scale
    return None
