"""The demo set: 270 sentences of our own about films, food, things, travel and money, each an example of one phenomenon.

Half of each phenomenon's 30 sentences are negative, half positive. Small and made by hand: it shows what kind of sentence a model gets
wrong, it does not rank models that are close. Implicit sentences name no feeling: what happened tells it. Code-mixed ones change between
English and Hindi, Spanish or German.
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
FAILURES = ("implicit", "sarcasm", "code-mixed")  # what SentiFormer, section VI, says that it cannot do
_NAMES = {"negative": ("negative", "bearish"), "positive": ("positive", "bullish")}


def load() -> pd.DataFrame:
    """id (demo-<phenomenon>-<number>), text, label (of `LABELS`), phenomenon (of `PHENOMENA`); a fresh copy each time."""
    return _read("demo").copy()


def development() -> pd.DataFrame:
    """Other sentences of our own, by which choices are made, so that the demo set can judge; what is mixed is labelled "neutral"."""
    return _read("development").copy()


@cache
def _read(name: str) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(Path(__file__).with_name(f"{name}.csv"), dtype=str, keep_default_na=False)


def sides(classes: Sequence[str]) -> list[int]:
    """On which side each class of a model lies: -1 negative, 1 positive, 0 in the middle, or of another kind.

    "very positive" lies on the side of "positive"; of a scale of stars the lower half is negative.
    """
    names = [name.casefold() for name in classes]
    if stars := _stars(names):
        middle = (min(stars) + max(stars)) / 2
        return [int(star > middle) - int(star < middle) for star in stars]
    of = {word: side for side, label in ((-1, LABELS[0]), (1, LABELS[1])) for word in _NAMES[label]}
    return [of.get(name.removeprefix("very ").strip(), 0) for name in names]


def _stars(names: Sequence[str]) -> list[int]:
    """How many stars each class is; none where one of them is something else."""
    found = [re.fullmatch(r"(\d+) stars?", name) for name in names]
    return [int(each[1]) for each in found if each] if all(found) and len(names) > 1 else []


def labels_for(classes: Sequence[str]) -> dict[str, int]:
    """Which class of a model "negative" and "positive" are, -1 where no name fits.

    Bearish and bullish count as negative and positive. On a scale of stars they are its ends, so that a model which gives a good sentence
    four of five stars counts as wrong: accuracy there is no more than a lower bound.
    """
    names = [name.casefold() for name in classes]
    if stars := _stars(names):
        return {"negative": stars.index(min(stars)), "positive": stars.index(max(stars))}
    return {label: next((k for k, name in enumerate(names) if name in _NAMES[label]), -1) for label in LABELS}
