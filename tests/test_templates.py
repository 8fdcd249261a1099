"""The demo set and sentences by rule: balanced, ours, and alike each time."""

from __future__ import annotations

import re

import pytest

from sentviz.data import demo, templates
from sentviz.data.labels import sides

FRAME = templates.frame()
COMMON = {"about", "been", "better", "comes", "gave", "have", "less", "like", "made", "more", "never", "nine", "once", "other", "second"}
COMMON |= {"than", "that", "they", "three", "well", "whole", "without"}


def words(text: str) -> set[str]:
    """Return the words of four letters or more that are not common."""
    return set(re.findall(r"[\w']{4,}", text.casefold())) - COMMON


def test_a_word_of_sentiment_alone_tells_nothing() -> None:
    """Words of one class are negated, outweighed or wished for in sentences of the other; each kind has both classes."""
    assert not FRAME["text"].str.contains(r"[{}]|\ba [aeiou]|\s\s|^\s|\s$", case=False).any() and FRAME["id"].is_unique
    patterns = [*templates.patterns()]
    assert all({label for each, label in patterns if each == kind} >= set(templates.LABELS) for kind, _ in patterns)
    assert abs((FRAME["label"] == 0).mean() - (FRAME["label"] == 1).mean()) < 0.03
    for word in ("excellent", "wonderful", "boring", "tedious", "mediocre"):
        share = FRAME.loc[FRAME["text"].str.contains(rf"\b{word}\b", case=False) & (FRAME["label"] < 2), "label"].mean()
        assert 0.3 < share < 0.7, word


# ---- halves

LANGUAGES = {"en": templates.ENGLISH, "ko": templates.KOREAN}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_halves_share_neither_templates_nor_words(language: str) -> None:
    (ours, own), (second_patterns, theirs) = (templates.half(part, LANGUAGES[language]) for part in templates.HALVES)
    if language == "en":
        for key, compiled in templates.patterns().items():
            assert sorted(ours[key] + second_patterns[key]) == sorted(compiled)
    bare = [
        {re.sub(r"\{[^}]*\}", "*", pattern).casefold() for each in half.values() for pattern in each} for half in (ours, second_patterns)
    ]
    assert not bare[0] & bare[1] and min(map(len, bare)) > 50
    for name, entries in own.items():
        assert entries and theirs[name]
    last = [{entry.split()[-1].strip(",").casefold() for each in half.values() for entry in each if entry} for half in (own, theirs)]
    assert not last[0] & last[1]


DEMO = demo.load()


def test_each_phenomenon_has_thirty_sentences_half_of_them_negative() -> None:
    assert set(DEMO["phenomenon"]) == set(demo.PHENOMENA)
    counts = DEMO.groupby(["phenomenon", "label"]).size()
    assert len(counts) == len(demo.PHENOMENA) * len(demo.LABELS)
    assert (counts == 15).all()


def plain(text: str) -> str:
    """Return the words in lower case."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def test_the_plain_sentences_are_others() -> None:
    sentences = demo.plain()
    assert sentences["label"].value_counts().to_dict() == {"negative": 50, "positive": 50}
    assert list(sentences["id"]) == [f"plain-{i:03d}" for i in range(1, 101)]
    texts = sentences["text"].map(plain)
    assert texts.is_unique and not set(texts) & {*DEMO["text"].map(plain), *demo.development()["text"].map(plain)}


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
