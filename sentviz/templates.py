"""Sentences made by rule from templates of our own (`templates.toml`): what negation, contrast, degree and irony do to words of sentiment.

After Ribeiro et al. 2020 (CheckList), as training rows instead of tests: a word of sentiment stands as often in one class as in the other,
so that only what is around it tells which. Some sentences are between the classes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BETWEEN", "LABELS", "frame", "patterns", "slots"]

LABELS = ("negative", "positive")
BETWEEN = "between"
EACH = 64  # sentences of a template
LOWER, BARE = 0.3, 0.15  # shares without capitals, without the last full stop
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
    import pandas as pd

    rng, entries = np.random.default_rng(seed), slots()
    rows: list[tuple[str, str, int]] = []
    seen: set[str] = set()
    for (kind, label), made in patterns().items():
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
    text = re.sub(r"\b([aA]) (?=[aeiou])", r"\1n ", text)
    starts = re.compile(r"(?:^|(?<=[.!?] ))[a-z]")
    text = text.lower() if rng.random() < LOWER else starts.sub(lambda found: found[0].upper(), text)
    return text.rstrip(".") if rng.random() < BARE else text


def _stored() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
