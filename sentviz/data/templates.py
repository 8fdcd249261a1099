"""Sentences generated from our own templates (`templates.toml`): how negation, contrast, degree and irony change words of sentiment.

The method follows Ribeiro et al. 2020 (CheckList), but generates training rows instead of tests. Each word of sentiment appears equally
often in both classes, so only its context tells the class. Some sentences lie between the classes.

For training and evaluation the sentences are split once, by template and by word, into halves that share neither (`halves`). The halves
also contain two kinds of sentences of their own (`more_templates.toml`): implicit sentences and idioms. Korean sentences are split in the
same way (`korean_templates.toml`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sentviz.io.lazy import pd

LABELS = ("negative", "positive")
BETWEEN = "between"
HALVES = ("train", "test")
EACH = 64  # sentences per template
SPLIT = 46  # seed of the split into halves
LOWER, BARE = 0.3, 0.15  # shares of sentences without capitals, and without the final full stop
ENGLISH, KOREAN = ("templates.toml", "more_templates.toml"), ("korean_templates.toml",)
_PARTICLE = re.compile(r"([가-힣])\(([가-힣]+)/([가-힣]+)\)")  # form after a consonant / form after a vowel
SLOT = re.compile(r"\{([a-z ]+?)(?: \d)?\}")


def patterns() -> dict[tuple[str, str], list[str]]:
    """Return the templates of each kind and label (`LABELS` and `BETWEEN`)."""
    stored = _stored()
    return {(kind, label): list(texts) for kind in stored if kind != "slots" for label, texts in stored[kind].items()}


def slots() -> dict[str, list[str]]:
    """Return the possible entries of each slot."""
    return _stored()["slots"]


def frame(seed: int = 0) -> pd.DataFrame:
    """Return all sentences, each once: id (kind and number), text, label (0, 1; 2 = between). Equal seeds give equal sentences."""
    return _rows(patterns(), slots(), np.random.default_rng(seed))


def halves(part: str) -> pd.DataFrame:
    """Return all sentences of one of the `HALVES`, with the columns of `frame`."""
    return _rows(*half(part), np.random.default_rng(HALVES.index(part)))


def korean(part: str) -> pd.DataFrame:
    """Return all Korean sentences of one of the `HALVES`, with the columns of `frame`."""
    return _rows(*half(part, KOREAN), np.random.default_rng(HALVES.index(part)))


def half(part: str, files: Sequence[str] = ENGLISH) -> tuple[dict[tuple[str, str], list[str]], dict[str, list[str]]]:
    """Return the templates and the slot entries of one of the `HALVES`; the rest belongs to the other half.

    Templates that differ only in their slots stay in one half, whatever their label, and so do entries that end with the same word.
    """
    rng, kinds = np.random.default_rng(SPLIT), [item for file in files for item in _stored(file).items()]
    entries = {name: entry for kind, each in kinds if kind == "slots" for name, entry in each.items()}
    templates = {(kind, label): list(pattern) for kind, each in kinds if kind != "slots" for label, pattern in each.items()}
    frames = _shared((sorted({_bare(pattern) for pattern in each}) for each in templates.values()), rng)
    words = _shared((sorted({_last(entry) for entry in each} - {""}) for each in entries.values()), rng)
    return (
        {key: [pattern for pattern in each if frames[_bare(pattern)] == part] for key, each in templates.items()},
        {name: [entry for entry in each if words.get(_last(entry), part) == part] for name, each in entries.items()},
    )


def _shared(groups: Iterable[list[str]], rng: np.random.Generator) -> dict[str, str]:
    """Assign each member of some groups to a half, so that each group is divided as evenly as the groups before it allow."""
    half_of: dict[str, str] = {}
    for group in groups:
        counts = {part: sum(half_of.get(member) == part for member in group) for part in HALVES}
        for i in rng.permutation(len(group)):
            if group[i] not in half_of:
                half_of[group[i]] = min(HALVES, key=lambda part: counts[part])
                counts[half_of[group[i]]] += 1
    return half_of


def _bare(pattern: str) -> str:
    """Return a template without the names of its slots."""
    return SLOT.sub("{}", pattern).replace("{}{}", "{}").removeprefix("{}").casefold()


def _last(entry: str) -> str:
    """Return the last word of a slot entry, without a plural s, in lower case."""
    return entry.strip(" ,").rpartition(" ")[2].casefold().removesuffix("s")


def _rows(templates: Mapping[tuple[str, str], list[str]], entries: Mapping[str, list[str]], rng: np.random.Generator) -> pd.DataFrame:
    rows: list[tuple[str, str, int]] = []
    seen: set[str] = set()
    for (kind, label), texts in templates.items():
        for pattern in texts:
            for _ in range(EACH):
                text = _sentence(pattern, entries, rng)
                if text.casefold() not in seen:
                    seen.add(text.casefold())
                    rows.append((f"{kind}-{len(rows)}", text, (*LABELS, BETWEEN).index(label)))
    return pd.DataFrame(rows, columns=["id", "text", "label"])


def _sentence(pattern: str, entries: Mapping[str, list[str]], rng: np.random.Generator) -> str:
    used: dict[str, list[str]] = {}

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        left = [entry for entry in entries[name] if entry not in used.get(name, ())]
        word = left[rng.integers(len(left))]
        used.setdefault(name, []).append(word)
        return word

    text = SLOT.sub(fill, pattern)
    text = with_particles(text)
    text = re.sub(r"\b([aA]) (?=[aeiou])", r"\1n ", text)
    starts = re.compile(r"(?:^|(?<=[.!?] ))[a-z]")
    text = text.lower() if rng.random() < LOWER else starts.sub(lambda match: match[0].upper(), text)
    return text.rstrip(".") if rng.random() < BARE else text


def with_particles(text: str) -> str:
    """Return a Korean text with the form of each particle, written as in (은/는), that follows the last letter of the word before it."""
    return _PARTICLE.sub(lambda match: match[1] + match[2 if (ord(match[1]) - ord("가")) % 28 else 3], text)


def _stored(file: str = "templates.toml") -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))
