"""The demo set: balanced, ours, and of some length."""

from __future__ import annotations

import re

import pytest

from sentviz.data import demo
from sentviz.data.labels import sides

FRAME = demo.load()


def test_each_phenomenon_has_thirty_sentences_half_of_them_negative() -> None:
    assert set(FRAME["phenomenon"]) == set(demo.PHENOMENA)
    counts = FRAME.groupby(["phenomenon", "label"]).size()
    assert len(counts) == len(demo.PHENOMENA) * len(demo.LABELS)
    assert (counts == 15).all()


def plain(text: str) -> str:
    """Return the words in lower case."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def test_the_plain_sentences_are_others() -> None:
    """Half of 100 are negative; none stands in the demo set or the development set."""
    sentences = demo.plain()
    assert sentences["label"].value_counts().to_dict() == {"negative": 50, "positive": 50}
    assert list(sentences["id"]) == [f"plain-{i:03d}" for i in range(1, 101)]
    texts = sentences["text"].map(plain)
    assert texts.is_unique and not set(texts) & {*FRAME["text"].map(plain), *demo.development()["text"].map(plain)}


@pytest.mark.parametrize(
    ("classes", "negative", "positive", "on_side"),
    [
        (("Positive", "Negative"), 1, 0, [1, -1]),
        (("bearish", "bullish", "neutral"), 0, 1, [-1, 1, 0]),
        (("1 star", "2 stars", "3 stars", "4 stars", "5 stars"), 0, 4, [-1, -1, 0, 1, 1]),
        (("5 stars", "1 star", "10 stars"), 1, 2, [-1, -1, 1]),
        (("very negative", "negative", "neutral", "positive", "Very positive"), 1, 3, [-1, -1, 0, 1, 1]),
        (("none", "offensive", "hate"), -1, -1, [0, 0, 0]),
        (("1 star",), -1, -1, [0]),
        ((), -1, -1, []),
    ],
)
def test_labels_become_classes_by_name(classes: tuple[str, ...], negative: int, positive: int, on_side: list[int]) -> None:
    assert demo.labels_for(classes) == {"negative": negative, "positive": positive}
    assert sides(classes) == on_side
