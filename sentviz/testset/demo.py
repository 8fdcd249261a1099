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

__all__ = ["FAILURES", "LABELS", "PHENOMENA", "labels_for", "load"]

LABELS = ("negative", "positive")
PHENOMENA = ("plain", "intensity", "contrast", "negation", "comparison", "idiom", "sarcasm", "implicit", "code-mixed")
FAILURES = ("implicit", "sarcasm", "code-mixed")  # what SentiFormer, section VI, says that it cannot do
_NAMES = {"negative": ("negative", "bearish"), "positive": ("positive", "bullish")}


def load() -> pd.DataFrame:
    """id (demo-<phenomenon>-<number>), text, label (of `LABELS`), phenomenon (of `PHENOMENA`); a fresh copy each time."""
    return _read().copy()


@cache
def _read() -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(Path(__file__).with_name("demo.csv"), dtype=str, keep_default_na=False)


def labels_for(classes: Sequence[str]) -> dict[str, int]:
    """Which class of a model "negative" and "positive" are, -1 where no name fits.

    Bearish and bullish count as negative and positive. On a scale of stars they are its ends, so that a model which gives a good sentence
    four of five stars counts as wrong: accuracy there is no more than a lower bound.
    """
    names = [name.casefold() for name in classes]
    stars = {k: int(found[1]) for k, name in enumerate(names) if (found := re.fullmatch(r"(\d+) stars?", name))}
    if stars and len(stars) == len(names) > 1:
        return {"negative": min(stars, key=stars.__getitem__), "positive": max(stars, key=stars.__getitem__)}
    return {label: next((k for k, name in enumerate(names) if name in _NAMES[label]), -1) for label in LABELS}
