"""Sentences made by rule from templates of our own (`templates.toml`): what negation, contrast, degree and irony do to words of sentiment.

After Ribeiro et al. 2020 (CheckList), as training rows instead of tests: a word of sentiment stands as often in one class as in the other,
so that only what is around it tells which. Some sentences are between the classes.

For training and for judging what was trained they are split once, by template and by word, into halves that share neither (`halves`).
Two more kinds of sentences are in the halves only (`more_templates.toml`): what is implied, and idioms. Korean sentences are in halves, too
(`korean_templates.toml`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

LABELS = ("negative", "positive")
BETWEEN = "between"
HALVES = ("train", "test")
EACH = 64  # sentences of a template
SPLIT = 46  # seed of the halves
LOWER, BARE = 0.3, 0.15  # shares without capitals, without the last full stop
ENGLISH, KOREAN = ("templates.toml", "more_templates.toml"), ("korean_templates.toml",)
_PARTICLE = re.compile(r"([가-힣])\(([가-힣]+)/([가-힣]+)\)")  # the form behind a consonant, the form behind a vowel
_SLOT = re.compile(r"\{([a-z ]+?)(?: \d)?\}")


def patterns() -> dict[tuple[str, str], list[str]]:
    """The templates of each kind and label (`LABELS` and `BETWEEN`)."""
    stored = _stored()
    return {(kind, label): list(made) for kind in stored if kind != "slots" for label, made in stored[kind].items()}


def slots() -> dict[str, list[str]]:
    """What each slot may hold."""
    return _stored()["slots"]


def frame(seed: int = 0) -> pd.DataFrame:
    """All sentences, no two alike: id (kind and number), text, label (0, 1; 2 = between). The same seed gives the same sentences."""
    return _rows(patterns(), slots(), np.random.default_rng(seed))


def halves(part: str) -> pd.DataFrame:
    """All sentences of a half (`HALVES`), as `frame` has them."""
    return _rows(*half(part), np.random.default_rng(HALVES.index(part)))


def korean(part: str) -> pd.DataFrame:
    """All Korean sentences of a half (`HALVES`), as `frame` has the English ones."""
    return _rows(*half(part, KOREAN), np.random.default_rng(HALVES.index(part)))


def half(part: str, files: Sequence[str] = ENGLISH) -> tuple[dict[tuple[str, str], list[str]], dict[str, list[str]]]:
    """The templates and the entries of the slots of one half (`HALVES`); those of the other half are all others.

    Templates that differ in their slots only are one, whichever their label, and so are entries that end with the same word.
    """
    rng, kinds = np.random.default_rng(SPLIT), [item for file in files for item in _stored(file).items()]
    entries = {name: entry for kind, each in kinds if kind == "slots" for name, entry in each.items()}
    made = {(kind, label): list(pattern) for kind, each in kinds if kind != "slots" for label, pattern in each.items()}
    frames = _shared((sorted({_bare(pattern) for pattern in each}) for each in made.values()), rng)
    words = _shared((sorted({_last(entry) for entry in each} - {""}) for each in entries.values()), rng)
    return (
        {key: [pattern for pattern in each if frames[_bare(pattern)] == part] for key, each in made.items()},
        {name: [entry for entry in each if words.get(_last(entry), part) == part] for name, each in entries.items()},
    )


def _shared(groups: Iterable[list[str]], rng: np.random.Generator) -> dict[str, str]:
    """A half for each member of some groups, so that each group is shared out as evenly as those before it allow."""
    found: dict[str, str] = {}
    for group in groups:
        counts = {part: sum(found.get(one) == part for one in group) for part in HALVES}
        for i in rng.permutation(len(group)):
            if group[i] not in found:
                found[group[i]] = min(HALVES, key=lambda part: counts[part])
                counts[found[group[i]]] += 1
    return found


def _bare(pattern: str) -> str:
    """A template without the names of its slots."""
    return _SLOT.sub("{}", pattern).replace("{}{}", "{}").removeprefix("{}").casefold()


def _last(entry: str) -> str:
    """The last word of an entry of a slot, as it tells entries apart."""
    return entry.strip(" ,").rpartition(" ")[2].casefold().removesuffix("s")


def _rows(made_of: Mapping[tuple[str, str], list[str]], entries: Mapping[str, list[str]], rng: np.random.Generator) -> pd.DataFrame:
    import pandas as pd

    rows: list[tuple[str, str, int]] = []
    seen: set[str] = set()
    for (kind, label), made in made_of.items():
        for pattern in made:
            for _ in range(EACH):
                text = _sentence(pattern, entries, rng)
                if text.casefold() not in seen:
                    seen.add(text.casefold())
                    rows.append((f"{kind}-{len(rows)}", text, (*LABELS, BETWEEN).index(label)))
    return pd.DataFrame(rows, columns=["id", "text", "label"])


def _sentence(pattern: str, entries: Mapping[str, list[str]], rng: np.random.Generator) -> str:
    taken: dict[str, list[str]] = {}

    def fill(found: re.Match[str]) -> str:
        name = found[1]
        left = [entry for entry in entries[name] if entry not in taken.get(name, ())]
        word = left[rng.integers(len(left))]
        taken.setdefault(name, []).append(word)
        return word

    text = _SLOT.sub(fill, pattern)
    text = _PARTICLE.sub(lambda found: found[1] + found[2 if (ord(found[1]) - ord("가")) % 28 else 3], text)
    text = re.sub(r"\b([aA]) (?=[aeiou])", r"\1n ", text)
    starts = re.compile(r"(?:^|(?<=[.!?] ))[a-z]")
    text = text.lower() if rng.random() < LOWER else starts.sub(lambda found: found[0].upper(), text)
    return text.rstrip(".") if rng.random() < BARE else text


def _stored(file: str = "templates.toml") -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))
