"""The demo set: 270 of our own sentences about films, food, things, travel and money, each an example of one phenomenon.

Half of each phenomenon's 30 sentences are negative, half positive. The set is small and written by us: it shows which kinds of sentences a
model gets wrong, but it cannot rank models of similar accuracy. Implicit sentences name no feeling; what happened tells it. Code-mixed
sentences change between English and Hindi, Spanish or German.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

LABELS = ("negative", "positive")
PHENOMENA = ("plain", "intensity", "contrast", "negation", "comparison", "idiom", "sarcasm", "implicit", "code-mixed")
FAILURES = ("implicit", "sarcasm", "code-mixed")  # phenomena that SentiFormer, section VI, lists as limits of its model
_NAMES = {"negative": ("negative", "bearish"), "positive": ("positive", "bullish")}


def load() -> pd.DataFrame:
    """Return the demo set: id (demo-<phenomenon>-<number>), text, label (of `LABELS`), phenomenon (of `PHENOMENA`); a new copy per call."""
    return _read("demo").copy()


def development() -> pd.DataFrame:
    """Return other sentences of ours, for making choices without the demo set; sentences with mixed sentiment are labelled "neutral"."""
    return _read("development").copy()


def plain() -> pd.DataFrame:
    """Return 100 further plain sentences of ours, half of them negative, which no choice about a model rests on."""
    return _read("plain").copy()


@cache
def _read(name: str) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(Path(__file__).with_name(f"{name}.csv"), dtype=str, keep_default_na=False)


def sides(classes: Sequence[str]) -> list[int]:
    """Return the side of each class of a model: -1 negative, 1 positive, 0 in the middle or without sentiment.

    "very positive" is on the side of "positive". On a scale of stars, the lower half is negative.
    """
    names = [name.casefold() for name in classes]
    if stars := _stars(names):
        middle = (min(stars) + max(stars)) / 2
        return [int(star > middle) - int(star < middle) for star in stars]
    of = {word: side for side, label in ((-1, LABELS[0]), (1, LABELS[1])) for word in _NAMES[label]}
    return [of.get(name.removeprefix("very ").strip(), 0) for name in names]


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return class names from negative to positive, then by the number in them, then by alphabet."""
    side = dict(zip(names, sides(names), strict=True))

    def key(name: str) -> tuple[int, int, str]:
        number = re.search(r"[-+]?\d+", name)
        strength = 2 if name.casefold().startswith(("very ", "strong")) else 1
        return side[name] * strength, int(number[0]) if number else 0, name.casefold()

    return tuple(sorted(names, key=key))


def _stars(names: Sequence[str]) -> list[int]:
    """Return the number of stars of each class; empty if a class is not a number of stars."""
    matches = [re.fullmatch(r"(\d+) stars?", name) for name in names]
    return [int(match[1]) for match in matches if match] if all(matches) and len(names) > 1 else []


def labels_for(classes: Sequence[str]) -> dict[str, int]:
    """Return the class index of a model for "negative" and for "positive", -1 if no class name fits.

    Bearish and bullish count as negative and positive. On a scale of stars the two labels are the ends of the scale, so a model that gives
    a good sentence four of five stars counts as wrong: the accuracy is a lower bound.
    """
    names = [name.casefold() for name in classes]
    if stars := _stars(names):
        return {"negative": stars.index(min(stars)), "positive": stars.index(max(stars))}
    return {label: next((k for k, name in enumerate(names) if name in _NAMES[label]), -1) for label in LABELS}
