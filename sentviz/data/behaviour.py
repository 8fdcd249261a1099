"""Cases of the behaviour card: sentences from templates of our own that test one capability each, in English and Korean.

Ribeiro et al. 2020 (CheckList) have three kinds of tests: minimum functionality (the class is known), invariance (an edit must not change
the predicted class) and directional expectation (an edit must not move the probability in one direction). `behaviour.toml` and
`korean_behaviour.toml` hold our templates. They share nothing with the half of `sentviz.data.templates` that runs are trained on.

Minimal pairs are two sentences that differ in one word, with names exchanged as the control. The adjective, a negation, a word of degree or
a name is exchanged (`minimal_pairs.toml` and `korean_minimal_pairs.toml`, in the form of the behaviour card). English pairs have the same
number of words, so their tokens align.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sentviz.data.templates import SLOT, with_particles
from sentviz.errors import InputError, nearest
from sentviz.io.documents import read_toml
from sentviz.io.lazy import pd
from sentviz.io.spreadsheet import plain_csv

LANGUAGES = {"en": "English", "ko": "Korean"}
FUNCTIONALITY, INVARIANCE, DIRECTION = "minimum functionality", "invariance", "direction"
KINDS = {  # key of a capability -> kind of its test
    "negative": FUNCTIONALITY,
    "positive": FUNCTIONALITY,
    "same": INVARIANCE,
    "typos": INVARIANCE,
    "rises": DIRECTION,
    "falls": DIRECTION,
}
EACH = 125  # cases per capability: 1,500 for 12 capabilities
MOST = 2_000  # cases per capability, at most
MOST_BYTES = 1_000_000  # largest file of templates
TRIES = 40  # texts drawn per wanted case before a capability is smaller
LETTERS = 5  # letters of a word that gets a typing error, at least
_FILES = {"en": "behaviour.toml", "ko": "korean_behaviour.toml"}
_EDIT = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
_ARTICLE = re.compile(r"\b([aA]) (?=[aeiou])(?!use|uni|eu|one\b)")
_START = re.compile(r"(?:^|(?<=[.!?] ))(?!https?:|www\.)[a-z]")
PAIRS = ("adjective", "negation", "intensifier", "name")
MOST_PAIRS = 200  # pairs of a kind, at most
_PAIR_FILES = {"en": "minimal_pairs.toml", "ko": "korean_minimal_pairs.toml"}


@dataclass(frozen=True)
class Capability:
    """A capability with its templates, by their key in `KINDS`."""

    name: str
    says: str  # description, one sentence
    templates: Mapping[str, Sequence[str]]

    @property
    def kind(self) -> str:
        """Kind of its test."""
        return KINDS[next(iter(self.templates))]


@dataclass(frozen=True)
class Templates:
    """Capabilities and the lists that fill their templates."""

    capabilities: tuple[Capability, ...]
    slots: Mapping[str, Sequence[str]]


@cache
def built_in(language: str) -> Templates:
    """Return the templates of a language."""
    if language not in _FILES:
        raise InputError(f"There are cases in {' and '.join(LANGUAGES.values())}, not in the language {language!r}.")
    path = Path(__file__).with_name(_FILES[language])
    return _checked(tomllib.loads(path.read_text(encoding="utf-8")), path.name, {})


def read_templates(path: str | Path, language: str = "en") -> Templates:
    """Return the templates of a user's file, which may also use the lists of the built-in templates of a language."""
    name = Path(path).name
    return _checked(read_toml(path, MOST_BYTES, name), name, built_in(language).slots)


def cases(language: str = "en", *, seed: int = 0, each: int = EACH, templates: Templates | None = None) -> pd.DataFrame:
    """Return the cases of a card; equal arguments give equal cases.

    Args:
        each: cases per capability, from 1 to `MOST`; fewer if the templates give fewer different texts.
        templates: templates of the user; default: the built-in ones of the language.
    Frame:
        id; capability; kind; text; before (the text before the edit, "" for minimum functionality); expects (a key of `KINDS` without
        "typos"); random (the text before after a random edit of the same size, "" for minimum functionality).
    """
    if not 1 <= each <= MOST:
        raise InputError(f"A capability has 1 to {MOST:,} cases, not {each:,}.")
    return _cases(language, seed, each, templates).copy() if templates is None else _drawn(templates, language, seed, each)


def digest(frame: pd.DataFrame) -> str:
    """Return eight hexadecimal digits that change if any case changes."""
    return hashlib.sha256(plain_csv(frame)).hexdigest()[:8]


def find_case(name: str) -> pd.Series[Any] | None:
    """Return the built-in case (seed 0) with this id; the text is that before the edit if the id ends in "-before"; None if unknown."""
    language, _, rest = name.partition("-")
    if language not in LANGUAGES or not rest:
        return None
    frame = _cases(language, 0, EACH, None)
    rows = frame[frame["id"] == name.removesuffix("-before")]
    if rows.empty:
        return None
    row = rows.iloc[0]
    return row if not name.endswith("-before") else row.replace({row["text"]: row["before"]}) if row["before"] else None


@cache
def _cases(language: str, seed: int, each: int, templates: None) -> pd.DataFrame:
    return _drawn(built_in(language), language, seed, each)


def _drawn(templates: Templates, language: str, seed: int, each: int) -> pd.DataFrame:
    rows = []
    for place, capability in enumerate(templates.capabilities):
        rng = np.random.default_rng([seed, place])
        drawn = _texts(capability, templates.slots, each, rng)
        rows += [(f"{language}-{capability.name}-{i}", capability.name, capability.kind, *row) for i, row in enumerate(drawn)]
    frame = pd.DataFrame(rows, columns=["id", "capability", "kind", "text", "before", "expects"])
    words = " ".join(frame["text"]).split()
    rng = np.random.default_rng([seed, len(templates.capabilities)])
    edited = [random_edit(before, text, words, rng) if before else "" for before, text in zip(frame["before"], frame["text"], strict=True)]
    return frame.assign(random=edited)


def _texts(capability: Capability, slots: Mapping[str, Sequence[str]], each: int, rng: np.random.Generator) -> list[tuple[str, str, str]]:
    """Return text, text before the edit, and what is expected; the keys take turns, and so do the templates of each key."""
    keys = list(capability.templates)
    turns = {key: _in_turn(capability.templates[key], rng) for key in keys}
    drawn: dict[str, tuple[str, str, str]] = {}
    for i in range(each * TRIES):
        key = keys[i % len(keys)]
        before, text = _filled(next(turns[key]), slots, rng)
        if key == "typos":
            text = typing_error(before, rng)
        is_edited = KINDS[key] != FUNCTIONALITY
        if text.casefold() not in drawn and (not is_edited or text != before):
            drawn[text.casefold()] = text, before if is_edited else "", "same" if key == "typos" else key
        if len(drawn) == each:
            break
    return list(drawn.values())


def _in_turn(templates: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    while True:
        for place in rng.permutation(len(templates)):
            yield templates[place]


def _filled(template: str, slots: Mapping[str, Sequence[str]], rng: np.random.Generator) -> tuple[str, str]:
    """Return a template's text before and after the edit; equal if it has none."""
    used: dict[str, str] = {}

    def fill(match: re.Match[str]) -> str:
        if match[0] not in used:
            used_entries = {entry for slot, entry in used.items() if SLOT.sub(r"\1", slot) == match[1]}
            left = [entry for entry in slots[match[1]] if entry not in used_entries]
            used[match[0]] = left[rng.integers(len(left))]
        return used[match[0]]

    filled = SLOT.sub(fill, template)
    return _finished(_EDIT.sub(r"\1", filled)), _finished(_EDIT.sub(r"\2", filled))


def _finished(text: str) -> str:
    """Return a text with its particles, its articles and a capital at the start of each sentence."""
    text = _ARTICLE.sub(r"\1n ", with_particles(text))
    return _START.sub(lambda match: match[0].upper(), text)


def typing_error(text: str, rng: np.random.Generator) -> str:
    """Return a text with one typing error: two neighbouring letters swapped within a long word, in Korean a missing space."""
    if re.search("[가-힣]", text):
        spaces = [match.start() for match in re.finditer(" ", text)]
        at = spaces[rng.integers(len(spaces))] if spaces else len(text)
        return text[:at] + text[at + 1 :]
    places = [
        match.start() + i
        for match in re.finditer(rf"[a-z]{{{LETTERS},}}", text)
        for i in range(1, len(match[0]) - 2)
        if match[0][i] != match[0][i + 1]
    ]
    if not places:
        return text
    at = places[rng.integers(len(places))]
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def edit_size(before: str, after: str) -> tuple[int, int, int]:
    """Return how many words an edit replaces, deletes and inserts, without regard to case and marks; an edit has at least one."""
    old, new = ([re.sub(r"[^\w@#']", "", word).casefold() for word in text.split()] for text in (before, after))
    replaced = deleted = inserted = 0
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            both = min(i2 - i1, j2 - j1)
            replaced, deleted, inserted = replaced + both, deleted + i2 - i1 - both, inserted + j2 - j1 - both
    return (replaced, deleted, inserted) if replaced + deleted + inserted else (1, 0, 0)


def random_edit(before: str, after: str, words: Sequence[str], rng: np.random.Generator) -> str:
    """Return a text after a random edit of the size of another edit: random words at random places.

    Args:
        words: words to draw from, as often as they occur.
    """
    replaced, deleted, inserted = edit_size(before, after)
    result = before.split()
    places = rng.permutation(len(result))
    for place in places[:replaced]:
        start = int(rng.integers(len(words)))
        result[place] = next((word for word in words[start:] if word != result[place]), words[0])
    for place in sorted(places[replaced : replaced + min(deleted, len(result) - replaced - 1)], reverse=True):
        del result[place]
    for _ in range(inserted):
        result.insert(int(rng.integers(len(result) + 1)), words[int(rng.integers(len(words)))])
    return " ".join(result)


# ---- files of templates


def _checked(tables: Mapping[str, Any], file: str, more: Mapping[str, Sequence[str]]) -> Templates:
    """Return the templates of a file's tables, which may also name the lists of `more`."""
    slots = {**more, **_table(tables.get("slots", {}), f"[slots] of {file}")}
    for name, entries in slots.items():
        if not _is_texts(entries):
            raise InputError(f"The list {name!r} of {file} must be a list of at least one text.")
    capabilities = tuple(_capability(name, table, slots, file) for name, table in tables.items() if name != "slots")
    if not capabilities:
        raise InputError(f"{file} has no capability. Add a table such as [negation] with the keys {', '.join(KINDS)}.")
    return Templates(capabilities, slots)


def _capability(name: str, table: Any, slots: Mapping[str, Sequence[str]], file: str) -> Capability:
    table = _table(table, f"[{name}] of {file}")
    if unknown := [key for key in table if key not in (*KINDS, "says")]:
        raise InputError(f"[{name}] of {file} has the unknown key {unknown[0]!r}. The keys are says, {', '.join(KINDS)}.")
    templates = {key: table[key] for key in KINDS if key in table}
    if len({KINDS[key] for key in templates}) != 1 or not all(map(_is_texts, templates.values())):
        raise InputError(
            f"[{name}] of {file} needs lists of templates of one kind of test: negative and positive, same and typos, or rises and falls."
        )
    for key, texts in templates.items():
        for text in texts:
            _check(text, key, name, slots, file)
    return Capability(name, str(table.get("says", "")), templates)


def _check(text: str, key: str, name: str, slots: Mapping[str, Sequence[str]], file: str) -> None:
    slots_of_text = list(SLOT.finditer(text))
    for match in slots_of_text:
        if match[1] not in slots:
            near = nearest(match[1], list(slots)).rstrip("; ")
            raise InputError(
                f"The template “{text}” of [{name}] in {file} names the list {match[1]!r}, which does not exist"
                f"{f' ({near})' if near else ''}. Add it to [slots]."
            )
        different = {each[0] for each in slots_of_text if each[1] == match[1]}
        if len(different) > len(set(slots[match[1]])):
            raise InputError(f"The template “{text}” of [{name}] in {file} needs {len(different)} different entries of {match[1]!r}.")
    without = SLOT.sub("x", _EDIT.sub(r"\1\2", text))
    if re.search(r"[\[\]{}|]", without):
        raise InputError(f"The template “{text}” of [{name}] in {file} has a bracket that is not {{list}} or [before|after].")
    if (key in ("same", "rises", "falls")) != bool(_EDIT.search(text)):
        needs = "needs an edit such as [before|after]" if key in ("same", "rises", "falls") else "must not have an edit [before|after]"
        raise InputError(f"The template “{text}” of [{name}] in {file} {needs}, because it is listed under {key}.")


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where} must be a table.")
    return value


def _is_texts(value: Any) -> bool:
    return (
        isinstance(value, Sequence) and not isinstance(value, str) and bool(value) and all(isinstance(each, str) and each for each in value)
    )


def minimal_pairs(kind: str, language: str = "en", *, count: int = 40, seed: int = 0) -> list[tuple[str, str]]:
    """Return (first, second) sentences of one kind of change; equal arguments give equal pairs, fewer if the templates give fewer."""
    if kind not in PAIRS:
        raise InputError(f"Minimal pairs exchange {', '.join(PAIRS)}, not {kind!r}.")
    if language not in _PAIR_FILES:
        raise InputError(f"There are minimal pairs in {' and '.join(LANGUAGES.values())}, not in the language {language!r}.")
    if not 2 <= count <= MOST_PAIRS:
        raise InputError(f"Take 2 to {MOST_PAIRS} pairs, not {count:,}.")
    frame = cases(language, seed=seed, each=count, templates=_templates(language))
    some = frame[frame["capability"] == kind]
    return list(zip(some["before"], some["text"], strict=True))


@cache
def _templates(language: str) -> Templates:
    return read_templates(Path(__file__).with_name(_PAIR_FILES[language]), language)
