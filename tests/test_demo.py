"""The demo set: balanced, ours, and of some length."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sentviz
from sentviz.data import datasets, demo
from sentviz.data.labels import sides
from sentviz.errors import SentvizError
from tests.shipped import often

FRAME = demo.load()


def test_each_phenomenon_has_thirty_sentences_half_of_them_negative() -> None:
    assert set(FRAME["phenomenon"]) == set(demo.PHENOMENA)
    counts = FRAME.groupby(["phenomenon", "label"]).size()
    assert len(counts) == len(demo.PHENOMENA) * len(demo.LABELS)
    assert (counts == 15).all()


def test_ids_are_numbered_within_their_phenomenon() -> None:
    for phenomenon, rows in FRAME.groupby("phenomenon"):
        assert list(rows["id"]) == [f"demo-{phenomenon}-{i:02d}" for i in range(1, 31)]


def plain(text: str) -> str:
    """Return the words in lower case."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def test_no_sentence_stands_twice_and_none_is_a_scrap_or_an_essay() -> None:
    assert FRAME["text"].map(plain).is_unique
    words = FRAME["text"].str.split().str.len()
    assert words.min() >= 5
    assert words.max() <= 40
    assert FRAME["text"].str.match(r"^\S.*[.!?]$").all()
    assert (FRAME["text"].str.count(r"[.!?](?:\s|$)") > 1).sum() >= 3


def test_the_plain_sentences_are_others() -> None:
    """Half of 100 are negative; none stands in the demo set or the development set."""
    sentences = demo.plain()
    assert sentences["label"].value_counts().to_dict() == {"negative": 50, "positive": 50}
    assert list(sentences["id"]) == [f"plain-{i:03d}" for i in range(1, 101)]
    texts = sentences["text"].map(plain)
    assert texts.is_unique and not set(texts) & {*FRAME["text"].map(plain), *demo.development()["text"].map(plain)}


def test_openings_are_no_giveaway() -> None:
    """No first word is common in sentences of one label and absent in the other."""
    first = FRAME.assign(word=FRAME["text"].str.split().str[0]).groupby(["word", "label"]).size().unstack(fill_value=0)
    assert not ((first.min(axis=1) == 0) & (first.max(axis=1) > 10)).any()


def test_a_copy_may_be_changed() -> None:
    mine = demo.load()
    mine["label"] = "neutral"
    assert set(demo.load()["label"]) == set(demo.LABELS)


@pytest.mark.parametrize(
    ("classes", "negative", "positive"),
    [
        (("negative", "positive"), 0, 1),
        (("Positive", "Negative"), 1, 0),
        (("bearish", "bullish", "neutral"), 0, 1),
        (("negative", "neutral", "positive"), 0, 2),
        (("1 star", "2 stars", "3 stars", "4 stars", "5 stars"), 0, 4),
        (("5 stars", "1 star", "10 stars"), 1, 2),
        (("very negative", "negative", "neutral", "positive", "very positive"), 1, 3),
        (("none", "offensive", "hate"), -1, -1),
        (("1 star",), -1, -1),
        ((), -1, -1),
    ],
)
def test_labels_become_classes_by_name(classes: tuple[str, ...], negative: int, positive: int) -> None:
    assert demo.labels_for(classes) == {"negative": negative, "positive": positive}


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (("negative", "positive"), [-1, 1]),
        (("very negative", "negative", "neutral", "positive", "Very positive"), [-1, -1, 0, 1, 1]),
        (("bullish", "neutral", "bearish"), [1, 0, -1]),
        (("1 star", "2 stars", "3 stars", "4 stars", "5 stars"), [-1, -1, 0, 1, 1]),
        (("4 stars", "1 star"), [1, -1]),
        (("none", "hate"), [0, 0]),
    ],
)
def test_classes_lie_on_a_side(classes: tuple[str, ...], expected: list[int]) -> None:
    assert sides(classes) == expected


def test_the_failure_modes_are_phenomena() -> None:
    assert set(demo.FAILURES) < set(demo.PHENOMENA)


def test_it_ships_with_the_package() -> None:
    assert (Path(sentviz.__file__).parent / "data" / "demo.csv").is_file()


@pytest.mark.exhaustive
@pytest.mark.data
@pytest.mark.parametrize("name", often(["sst2", "sst5", "twitter_financial", "imdb"], "sst2"))
def test_no_sentence_comes_from_a_data_set(name: str) -> None:
    """No demo sentence equals, contains or is part of a text of the data set (five words or more)."""
    ours = [plain(text) for text in FRAME["text"]]
    phrases = set()
    for text in ours:
        words = text.split()
        phrases |= {" ".join(words[i:j]) for i in range(len(words)) for j in range(i + 5, len(words) + 1)}
    for split in datasets.info(name).splits:
        if name == "imdb" and split != "test":
            continue  # long reviews by the ten thousand
        try:
            texts = datasets.load_split(name, split).frame["text"]
        except SentvizError as error:
            pytest.skip(str(error))
        short = texts[texts.str.len() <= 300]
        assert not [text for text in short if plain(text) in phrases]
        everything = "\n".join(texts).casefold()
        assert not [text for text in FRAME["text"] if text.casefold() in everything]
