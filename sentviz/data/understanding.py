"""Understand a table of labelled texts: its columns, classes and splits, and the rows that are left out.

Nothing is written here: `sentviz.data.user_datasets` stores what `understand` returns.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.data.columns import SPLIT_NAMES, check_columns, guess, own_columns, usual
from sentviz.data.labels import canonical, in_order, meaning
from sentviz.data.texts import is_blank
from sentviz.errors import InputError
from sentviz.io.lazy import pd

SPLITS = ("train", "validation", "test")
SHARES = (70, 15, 15)  # percent of the texts in each split
MOST_TESTED = 5_000  # different texts in validation and in test, if the user chose no shares
MOST_CLASSES = 50
PROPOSED_CLASSES = 20  # maximum number of different values of a column that is proposed as labels without a usual name
LONGEST_NAME = 60  # characters of a class name
LEAST = len(SPLITS)  # different texts that a class needs: one for each split
NAMELESS = "The classes have no names"
NAMED = 3  # left-out values that a sentence names
STAR_COLUMNS = ("rating", "stars", "평점", "별점")
ALIASES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev", "development"), "validation"),
    **dict.fromkeys(("test", "testing", "eval"), "test"),
}


@dataclass(frozen=True)
class Choices:
    """The user's choices for a table. Empty values are proposed from the table."""

    text: str = ""  # column of the texts
    label: str = ""  # column of the labels
    split: str = ""  # column that names the split of each row
    classes: Sequence[str] | Mapping[str, str] = ()  # class names in the order of the labels, or the name of each label that is kept
    shares: tuple[int, ...] = ()  # percent of train, validation and test; if given, no column is proposed for the splits
    seed: int = 0  # seed of the division by shares
    language: str = ""  # "en" or "ko"


@dataclass(frozen=True, eq=False)
class Understood:
    """Rows of a table as a data set."""

    text: str  # column of the texts
    label: str  # column of the labels
    split: str  # column of the splits; "" = divided by shares
    language: str
    labels: tuple[str, ...]
    parts: Mapping[str, pd.DataFrame]  # split -> id, text, label (class number)
    division: str  # origin of the splits, as half a sentence
    left_out: Mapping[str, int] = field(default_factory=dict)  # reason -> rows
    remarks: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences that say how the table was understood."""
        counts = sum((np.bincount(part["label"], minlength=len(self.labels)) for part in self.parts.values()), np.zeros(1, dtype=np.int64))
        classes = ", ".join(f"{name} ({count:,})" for name, count in zip(self.labels, counts.tolist(), strict=True))
        rows = ", ".join(f"{split} {len(part):,}" for split, part in self.parts.items())
        out = "; ".join(f"{rows:,} {reason}" for reason, rows in self.left_out.items())
        return (
            f"Texts are in the column “{self.text}”, labels in “{self.label}”.",
            f"Classes and rows: {classes}.",
            f"Splits: {rows}, {self.division}.",
            f"Rows left out: {out}." if out else "No row is left out.",
            *self.remarks,
        )


def understand(frame: pd.DataFrame, name: str, choices: Choices | None = None) -> Understood:
    """Return the rows of a table as a data set, divided into train, validation and test.

    Args:
        frame: the table. name: name of the table in error messages.
    """
    choices = choices or Choices()
    columns = [str(column) for column in frame.columns]
    if len(set(columns)) < len(columns):
        twice = next(column for column, n in Counter(columns).items() if n > 1)
        raise InputError(f"{name} has several columns named {twice!r}. Rename them so that all names differ.")
    frame = frame.set_axis(columns, axis=1).reset_index(drop=True)
    check_columns((choices.text, choices.label, choices.split), columns, name)
    if frame.empty:
        raise InputError(f"{name} has no rows.")
    text = choices.text or _text_column(frame, choices, name)
    label = choices.label or _label_column(frame, text, name)
    if text == label:
        raise InputError(f"{name}: the column {text!r} cannot hold both texts and labels. Name the other column with --text or --label.")

    texts = [_readable(value) for value in _cells(frame[text])]
    written = [canonical(value) for value in _cells(frame[label])]
    seen = np.array([not is_blank(each) for each in texts], dtype=bool)
    has_label = np.array([bool(value) for value in written], dtype=bool)
    left_out = {"without a text": int((~seen).sum()), "without a label": int((seen & ~has_label).sum())}
    numbers, labels, unnamed, remarks = _classes(written, seen & has_label, label, name, choices.classes)
    left_out |= unnamed

    column, places = _split_column(frame, choices, name)
    known = np.array([place >= 0 for place in places], dtype=bool) if column else np.ones(len(frame), dtype=bool)
    left_out["without a split"] = int((~known & (numbers >= 0)).sum())
    chosen_rows = np.flatnonzero((numbers >= 0) & known)
    keys = pd.Series([" ".join(texts[i].casefold().split()) for i in chosen_rows], dtype=object)
    groups = pd.factorize(keys)[0]
    numbers = numbers[chosen_rows]
    if not column:
        few = [k for k in range(len(labels)) if 0 < len(np.unique(groups[numbers == k])) < LEAST]
        rare = np.isin(numbers, few)
        which = f"class “{labels[few[0]]}”, which has" if len(few) == 1 else f"{len(few)} classes that have"
        left_out[f"of {which} fewer than {LEAST} different texts"] = int(rare.sum())
        chosen_rows, groups, numbers = chosen_rows[~rare], groups[~rare], numbers[~rare]
    remaining = [k for k in range(len(labels)) if (numbers == k).any()]
    if len(remaining) < 2:
        has = f"one class, {labels[remaining[0]]}" if remaining else "no class"
        out = "; ".join(f"{rows:,} {reason}" for reason, rows in left_out.items() if rows)
        raise InputError(
            f"{name}: with the labels of {label!r} there is {has}; a data set needs two or more."
            + (f" Rows left out: {out}." if out else "")
        )
    numbers, labels = np.searchsorted(remaining, numbers), tuple(labels[k] for k in remaining)

    shares = _shares(choices.shares, len(np.unique(groups)))
    total = sum(shares)
    stated = f"{' / '.join(f'{100 * share / total:.3g} %' for share in shares)} with seed {choices.seed}, equal texts together"
    if column:
        split_of = np.array(places)[chosen_rows]
        absent = [k for k in range(len(SPLITS)) if not (split_of == k).any()]
        if 0 in absent:
            raise InputError(f"{name}: no row of the column {column!r} says train.")
        division = f"from the column “{column}”"
        if absent:
            own = split_of == 0
            part = [shares[0] if k == 0 else shares[k] * (k in absent) for k in range(len(SPLITS))]
            split_of[own] = divided(groups[own], numbers[own], part, choices.seed)
            division += f"; {' and '.join(SPLITS[k] for k in absent)} from rows of train, {stated}"
    else:
        split_of, division = divided(groups, numbers, shares, choices.seed), f"divided {stated}"
    if bare := [name_ for k, name_ in enumerate(labels) if not ((numbers == k) & (split_of == 0)).any()]:
        raise InputError(f"{name}: no row of train has the class {bare[0]!r}. Divide the rows by shares, or leave the class out.")
    if empty := [SPLITS[k] for k in range(len(SPLITS)) if not (split_of == k).any()]:
        raise InputError(f"{name}: no row is left for {empty[0]}.")
    remarks += _repeats(groups, numbers, split_of, bool(column))
    own, ungrouped = own_columns(frame, {text, label, column})
    remarks += ungrouped
    parts = {}
    for k, split in enumerate(SPLITS):
        chosen = np.flatnonzero(split_of == k)
        rows = [(f"{chosen_rows[i] + 1}-{_mark(texts[chosen_rows[i]])}", texts[chosen_rows[i]], numbers[i]) for i in chosen]
        plain = pd.DataFrame(rows, columns=["id", "text", "label"]).astype({"id": str, "text": str, "label": "int64"})
        parts[split] = pd.concat([plain, own.iloc[chosen_rows[chosen]].reset_index(drop=True)], axis=1)
    language = choices.language or _language(texts)
    return Understood(text, label, column, language, labels, parts, division, {why: n for why, n in left_out.items() if n}, tuple(remarks))


# ---- columns


def _text_column(frame: pd.DataFrame, choices: Choices, name: str) -> str:
    """Return the column of the texts: one with a usual name, else the one with the longest entries."""
    from pandas.api.types import is_numeric_dtype

    rest = frame.drop(columns=[*filter(None, (choices.label, choices.split))])
    rest = rest[[column for column in rest if not is_numeric_dtype(rest[column])]]
    if rest.columns.empty:
        raise InputError(f"{name}: no column holds texts; the columns are {', '.join(frame.columns[:20])}.")
    return guess(rest)


def _label_column(frame: pd.DataFrame, text: str, name: str) -> str:
    """Return the column of the labels: one with a usual name, else the only one with few different values."""
    if (named := guess(frame, labels=True)) and named != text:
        return named
    likely = []
    for column in frame.columns:
        if column in (text, usual([column], SPLIT_NAMES)):
            continue
        values = {canonical(value) for value in _cells(frame[column])} - {""}
        if 2 <= len(values) <= min(PROPOSED_CLASSES, len(frame) // 2) and max(map(len, values)) <= LONGEST_NAME:
            likely.append(column)
    if len(likely) == 1:
        return str(likely[0])
    what = f"several columns may hold labels ({', '.join(likely)})" if likely else "no column is known to hold labels"
    raise InputError(f"{name}: {what}. Name the column with --label; the columns are {', '.join(frame.columns[:20])}.")


def _split_column(frame: pd.DataFrame, choices: Choices, name: str) -> tuple[str, list[int]]:
    """Return the column of the splits, "" if there is none, and the number of each row's split in `SPLITS`, -1 if it has none."""
    column = choices.split
    if column and choices.shares:
        raise InputError(f"{name}: the splits come either from the column {column!r} or from shares, not from both.")
    if not column and not choices.shares:
        column = usual(list(frame.columns), SPLIT_NAMES)
    if not column:
        return "", []
    values = [canonical(value).casefold() for value in _cells(frame[column])]
    unknown = sorted({value for value in values if value and value not in ALIASES})
    if unknown and choices.split:
        raise InputError(f"{name}: the column {column!r} has {unknown[0]!r}, which is not one of {', '.join(SPLITS)}.")
    if unknown or "train" not in {ALIASES.get(value) for value in values}:
        if choices.split:
            raise InputError(f"{name}: no row of the column {column!r} says train.")
        return "", []
    return column, [SPLITS.index(ALIASES[value]) if value else -1 for value in values]


# ---- texts and labels


def _readable(value: Any) -> str:
    """Return a cell as a text that can be stored; "" if it is missing."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    return "" if value is None else str(value)


def _cells(column: pd.Series) -> list[Any]:
    """Return the cells of a column; None for every kind of missing value."""
    return column.astype(object).where(column.notna(), None).tolist()


def _mark(text: str) -> str:
    """Return four hex digits of a text: the id of a row of another file differs, even if its number is the same."""
    return hashlib.sha256(text.encode()).hexdigest()[:4]


def _language(texts: Sequence[str]) -> str:
    letters = "".join(texts[:1_000])
    hangul = len(re.findall("[\uac00-\ud7a3]", letters))
    return "ko" if hangul > 0.3 * sum(map(str.isalpha, letters)) else "en"


def _classes(
    written: Sequence[str], usable: npt.NDArray[np.bool_], column: str, name: str, chosen: Sequence[str] | Mapping[str, str]
) -> tuple[npt.NDArray[np.int64], tuple[str, ...], dict[str, int], list[str]]:
    """Return the class number of each row (-1 = left out), the class names, the rows left out by reason, and remarks."""
    counts = Counter(value for value, use in zip(written, usable, strict=True) if use)
    same = str.casefold if isinstance(chosen, Mapping) else meaning  # labels that are one class without a word of the user
    spellings: dict[str, list[str]] = {}
    for value, _ in counts.most_common():
        spellings.setdefault(same(value), []).append(value)
    if len(spellings) > MOST_CLASSES:
        raise InputError(
            f"{name}: the column {column!r} has {len(spellings):,} different values, so it does not hold classes (at most {MOST_CLASSES})."
            " Choose another column with --label."
        )
    values = in_order([first for first, *_ in spellings.values()])
    if long := [value for value in values if len(value) > LONGEST_NAME]:
        raise InputError(f"{name}: a label in the column {column!r} has {len(long[0]):,} characters; at most {LONGEST_NAME} are possible.")
    numeric = bool(values) and all(re.fullmatch(r"[-+]?\d+", value) for value in values)
    remarks = [
        f"“{'”, “'.join(variants)}” count{'s' * (len(variants) == 1)} as “{first}”." for first, *variants in spellings.values() if variants
    ]
    name_of = named(values, chosen, column, name) if chosen else usual_names(values, column)
    if numeric and name_of == {value: value for value in values}:
        example = ",".join(f"{value}=NAME" for value in values[:3]) + ",..." * (len(values) > 3)
        remarks.append(f"The classes have no names; --classes {example} names them.")
    labels = tuple(dict.fromkeys(name_of.values()))
    number = {same(value): labels.index(name_of[value]) for value in values if value in name_of}
    numbers = np.array([number.get(same(value), -1) if use else -1 for value, use in zip(written, usable, strict=True)], dtype=np.int64)
    excluded = [value for value in values if value not in name_of]
    without = f"with a label that is not in --classes ({', '.join(excluded[:NAMED])}{', ...' * (len(excluded) > NAMED)})"
    return numbers, labels, {without: int((usable & (numbers < 0)).sum())}, remarks


def usual_names(values: Sequence[str], column: str) -> dict[str, str]:
    """Return the class name of each label without choices: the label, or its number of stars if the column is one of ratings."""
    whole = [int(value) for value in values if re.fullmatch(r"[1-9]\d?", value)]
    if column.casefold().strip() not in STAR_COLUMNS or len(whole) < len(values) or max(whole, default=11) > 10:
        return {value: value for value in values}
    return {value: "1 star" if value == "1" else f"{value} stars" for value in values}


def named(values: Sequence[str], chosen: Sequence[str] | Mapping[str, str], column: str, name: str) -> dict[str, str]:
    """Return the class name of each label that is kept, in the order of the classes.

    Args:
        values: the labels of the table, in order. chosen: names in this order, or the name of each label that is kept.
    """
    by_case = {value.casefold(): value for value in values}
    if not isinstance(chosen, Mapping):
        if len(chosen) != len(values):
            raise InputError(
                f"{name}: the column {column!r} has {len(values)} labels ({', '.join(values[:10])}), but {len(chosen)} class names"
                " are given."
            )
        return _distinct(dict(zip(values, (entry.strip() for entry in chosen), strict=True)), name)
    name_of: dict[str, str] = {}
    for value, title in chosen.items():
        if (known := by_case.get(canonical(value).casefold())) is None:
            raise InputError(f"{name}: {value!r} is not a label in the column {column!r}; its labels are {', '.join(values[:10])}.")
        name_of[known] = title.strip()
    return _distinct(name_of, name)


def _distinct(name_of: dict[str, str], name: str) -> dict[str, str]:
    titles = set(name_of.values())
    if len({title.casefold() for title in titles}) < len(titles) or "" in titles or max(map(len, titles)) > LONGEST_NAME:
        raise InputError(f"{name}: class names must differ in more than case, and have 1 to {LONGEST_NAME} characters.")
    if len(titles) < 2:
        raise InputError(f"{name}: a data set needs two or more classes.")
    return name_of


# ---- splits


def _shares(percent: Sequence[int], texts: int) -> tuple[int, ...]:
    """Return the proportions of the splits, which need not sum to 100."""
    if not percent and texts * SHARES[-1] > 100 * MOST_TESTED:
        return texts - 2 * MOST_TESTED, MOST_TESTED, MOST_TESTED
    shares = tuple(percent) or SHARES
    if len(shares) != len(SPLITS) or min(shares) < 1 or sum(shares) != 100:
        raise InputError("The shares of train, validation and test must be three whole percentages above 0 with the sum 100, as 70,15,15.")
    return shares


def divided(groups: npt.NDArray[np.int64], labels: npt.NDArray[np.int64], shares: Sequence[int], seed: int) -> npt.NDArray[np.int64]:
    """Return the split of each row (index of `SPLITS`): each class is divided by the shares, and rows of one group stay together.

    A split with a share above 0 gets at least one group of each class, if there are enough.

    Args:
        groups: (n,) number of each row's group of equal texts. labels: (n,) class numbers; a group counts as the class of its first row.
    """
    rng = np.random.default_rng(seed)
    numbers, first = np.unique(groups, return_index=True)
    split_of = np.zeros(int(groups.max(initial=0)) + 1, dtype=np.int64)
    total = sum(shares)
    for k in np.unique(labels):
        own = rng.permutation(numbers[labels[first] == k])
        start = 0
        for split in (1, 2):
            size = max(1, round(len(own) * shares[split] / total)) if shares[split] else 0
            size = min(size, max(0, len(own) - 1 - start))
            split_of[own[start : start + size]] = split
            start += size
    return split_of[groups]


def _repeats(groups: npt.NDArray[np.int64], labels: npt.NDArray[np.int64], split_of: npt.NDArray[np.int64], by_column: bool) -> list[str]:
    remarks = []
    again = len(groups) - len(np.unique(groups))
    if again and not by_column:
        remarks.append(f"Rows that repeat the text of another row: {again:,}. They are in the same split.")
    leaked = int(np.isin(groups[split_of > 0], groups[split_of == 0]).sum()) if by_column else 0
    if leaked:
        remarks.append(f"Rows of validation and test whose text is also in train: {leaked:,}. They make the measured accuracy too high.")
    pairs = np.unique(np.stack([groups, labels]), axis=1)[0]
    if several := int((np.unique(pairs, return_counts=True)[1] > 1).sum()):
        remarks.append(f"Texts with more than one label: {several:,}. All their rows are kept.")
    return remarks
