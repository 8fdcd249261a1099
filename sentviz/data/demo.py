"""The demo set: 270 of our own sentences about films, food, things, travel and money, each an example of one phenomenon.

Half of each phenomenon's 30 sentences are negative, half positive. The set is small and written by us: it shows which kinds of sentences a
model gets wrong, but it cannot rank models of similar accuracy. Implicit sentences name no feeling; what happened tells it. Code-mixed
sentences change between English and Hindi, Spanish or German.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sentviz.data.labels import by_name, stars_of
from sentviz.io.lazy import pd

LABELS = ("negative", "positive")
PHENOMENA = ("plain", "intensity", "contrast", "negation", "comparison", "idiom", "sarcasm", "implicit", "code-mixed")
FAILURES = ("implicit", "sarcasm", "code-mixed")  # phenomena that SentiFormer, section VI, lists as limits of its model


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
    return pd.read_csv(Path(__file__).with_name(f"{name}.csv"), dtype=str, keep_default_na=False)


def labels_for(classes: Sequence[str]) -> dict[str, int]:
    """Return the class index of a model for "negative" and for "positive", -1 if no class name fits.

    Bearish and bullish count as negative and positive. On a scale of stars the two labels are the ends of the scale, so a model that gives
    a good sentence four of five stars counts as wrong: the accuracy is a lower bound.
    """
    if stars := stars_of(classes):
        return {"negative": stars.index(min(stars)), "positive": stars.index(max(stars))}
    return by_name(LABELS, classes)
