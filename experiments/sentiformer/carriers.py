"""Count where a text's sentiment words are, and which parts of speech they have (SentiFormer, section IV-A).

Sentiment words are those of a polarity lexicon. A word agrees with its text if both are positive or both are negative; texts with a neutral
label are left out of that count. The data sets must be installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.writing import write
from sentviz.analysis.maps.wordclasses import word_classes
from sentviz.data import datasets
from sentviz.data.parts_of_speech import TAGS
from sentviz.data.tags import Tagger, pieces
from sentviz.papers.sentiformer.measured import CARRIERS, ENDS_MINUS_MIDDLE, PLACES, SPEECH

Counts = npt.NDArray[np.float64]

DATASETS = ("sst5_trees", "imdb", "yelp_polarity", "tweeteval_sentiment")
TENTHS = 10
ENDS, MIDDLE = (0, TENTHS - 1), range(1, TENTHS - 1)
MOST = 4_000  # texts of a test split that are counted, drawn with seed 0
NEGATIVE, POSITIVE = {"negative", "very negative"}, {"positive", "very positive"}


def measure(dataset: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of `PLACES` and of `SPEECH` for the test split of a data set.

    Raises:
        DataMissingError: the data set or a polarity lexicon is not installed.
    """
    classes, tagger, info = word_classes(), Tagger.load(), datasets.info(dataset)
    frame = datasets.load_split(dataset, "test").frame
    frame = frame.sample(min(MOST, len(frame)), random_state=0)
    sides = {word: side for side, name in ((1, "positive words"), (-1, "negative words")) for word in classes.words[name]}
    sign = np.array([(label in POSITIVE) - (label in NEGATIVE) for label in info.labels])[frame["label"].to_numpy()]
    agree, polar = (np.zeros((len(frame), TENTHS)) for _ in range(2))
    tagged = np.zeros((len(frame), len(TAGS)))
    for row, text in enumerate(frame["text"]):
        sentences = [words for words, _ in pieces(text) if words]
        words = [word.casefold() for sentence in sentences for word in sentence]
        tags = [tag for of in (tagger.tag(sentences) if sentences else []) for tag in of.tolist()]
        for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
            if side := sides.get(word):
                tagged[row, tag] += 1
                polar[row, i * TENTHS // len(words)] += 1
                agree[row, i * TENTHS // len(words)] += side == sign[row]
    clear = sign != 0
    places = place_rows(agree[clear], polar[clear]).assign(dataset=dataset, lexicon=classes.lexicon)
    speech = speech_rows(tagged, TAGS).assign(dataset=dataset, lexicon=classes.lexicon, tagger=tagger.version)
    return pd.DataFrame(places)[list(PLACES.columns)], pd.DataFrame(speech)[list(SPEECH.columns)]


def place_rows(agree: Counts, polar: Counts) -> pd.DataFrame:
    """Return the share of sentiment words that agree with their text by tenth of the text, and at the ends minus in the middle.

    Columns: place ("1" to "10", and `ENDS_MINUS_MIDDLE`), value, low, high, words, n (texts). Intervals are for other texts.

    Args:
        agree: (N, 10) number of agreeing sentiment words by text and tenth. polar: the same for all sentiment words.
    """
    rows = [(str(i + 1), *share(agree[:, i], polar[:, i]), polar[:, i].sum()) for i in range(TENTHS) if polar[:, i].any()]
    sides = [(counts[:, list(ENDS)].sum(axis=1), counts[:, list(MIDDLE)].sum(axis=1)) for counts in (agree, polar)]
    (agree_ends, agree_middle), (ends, middle) = sides
    moved = influence(agree_ends, ends) - influence(agree_middle, middle)
    value = agree_ends.sum() / ends.sum() - agree_middle.sum() / middle.sum()
    rows.append((ENDS_MINUS_MIDDLE, *interval(float(value), float((moved**2).sum())), polar.sum()))
    return pd.DataFrame(rows, columns=["place", "value", "low", "high", "words"]).assign(n=int((polar.sum(axis=1) > 0).sum()))


def speech_rows(tagged: Counts, tags: Sequence[str]) -> pd.DataFrame:
    """Return the share of sentiment words that have each part of speech, and of adjectives and adverbs together (`CARRIERS`).

    Columns: tag, value, low, high, words, n (texts with a sentiment word). Intervals are for other texts.

    Args:
        tagged: (N, T) number of sentiment words by text and tag.
    """
    total = tagged.sum(axis=1)
    parts: Mapping[str, Counts] = {
        CARRIERS: tagged[:, [tags.index("ADJ"), tags.index("ADV")]].sum(axis=1),
        **{tag: tagged[:, i] for i, tag in enumerate(tags) if tagged[:, i].sum()},
    }
    rows = [(name, *share(part, total), part.sum()) for name, part in parts.items()]
    return pd.DataFrame(rows, columns=["tag", "value", "low", "high", "words"]).assign(n=int((total > 0).sum()))


def share(part: Counts, of: Counts) -> tuple[float, float, float]:
    """Return the share of summed counts (N,) in summed counts (N,), with a 95 % interval for other texts."""
    return interval(float(part.sum() / of.sum()), float((influence(part, of) ** 2).sum()))


def influence(part: Counts, of: Counts) -> Counts:
    """Return what each text adds to a ratio of sums, (N,), linearised (Cochran 1977): the sum of squares is the ratio's variance."""
    return np.asarray((part - part.sum() / of.sum() * of) / of.sum())


def interval(value: float, variance: float) -> tuple[float, float, float]:
    """Return an estimate with its normal 95 % interval."""
    half = 1.96 * variance**0.5
    return value, value - half, value + half


def main(arguments: Sequence[str] = ()) -> None:
    """Count all data sets and store both tables."""
    places, speech = zip(*map(measure, DATASETS), strict=True)
    write(PLACES, pd.concat(places), "%.5g")
    write(SPEECH, pd.concat(speech), "%.5g")
