"""Test whether two words are known to be neighbours, to find plausible replacements for a word.

A Bloom filter (Bloom 1970) of hashed pairs tells whether two words were neighbours at least LEAST times in the training texts of SOURCES.
It holds no words, counts or order, so no text can be recovered. It errs in one direction: 2 in 1,000 pairs that were never seen count as
seen. `python -m sentviz.analysis.explain.bigrams` builds it again from the data sets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sentviz.io.numbers import percent

ENGLISH_AND_KOREAN = Path(__file__).with_name("bigrams.npy")
SOURCES = ("imdb", "yelp_full", "tweeteval_sentiment", "sentiment140", "twitter_financial", "nsmc", "klue_nli", "korean_hate_speech")
LEAST = 3  # number of times that a pair must occur
BITS, HASHES = 8 << 20, 4
EDGE = ""  # neighbour of the first and of the last word of a text
Hashes = npt.NDArray[np.uint64]

_WORDS = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]")


def read_words(text: str) -> list[str]:
    """Return the words and punctuation marks of a text in lower case, between two `EDGE` entries."""
    return [EDGE, *_WORDS.findall(text.lower().replace("’", "'")), EDGE]


def hashed(words: Iterable[str]) -> Hashes:
    """Return a 64-bit hash of each word, (n,) uint64; upper and lower case are equal."""
    return np.array([int.from_bytes(blake2b(word.lower().encode(), digest_size=8).digest(), "big") for word in words], dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Bigrams:
    """Bloom filter of neighbouring words. Immutable."""

    bits: npt.NDArray[np.uint8]  # (bytes,)

    @classmethod
    def load(cls) -> Bigrams:
        """Return the shipped filter, the same object for all callers."""
        return _shipped()

    @classmethod
    def of(cls, texts: Iterable[str], *, least: int = LEAST, bits: int = BITS) -> Bigrams:
        """Return the filter of the pairs that are neighbours at least `least` times in some texts."""
        counts: Counter[tuple[str, str]] = Counter()
        for text in texts:
            counts.update(pairwise(read_words(text)))
        lefts, rights = zip(*(pair for pair, count in counts.items() if count >= least), strict=True)
        table = np.zeros(bits, dtype=bool)
        table[_places(hashed(lefts), hashed(rights), bits)] = True
        return cls(np.packbits(table))

    def seen(self, left: Hashes, right: Hashes) -> npt.NDArray[np.bool_]:
        """Return whether pairs of words, given by their hashes, are known neighbours, (n,) bool."""
        places = _places(left, right, 8 * len(self.bits))
        return np.asarray((self.bits[places >> 3] >> (7 - (places & 7)) & 1).all(axis=0))

    def fits(self, words: Hashes, left: str, right: str) -> npt.NDArray[np.bool_]:
        """Return whether each word is a known neighbour both after `left` and before `right`, (n,) bool."""
        before, after = hashed([left, right])
        return self.seen(np.full_like(words, before), words) & self.seen(words, np.full_like(words, after))


def _places(left: Hashes, right: Hashes, bits: int) -> npt.NDArray[np.int64]:
    """Return the bit positions of pairs, (HASHES, n): two hashes, combined (Kirsch & Mitzenmacher 2006) and mixed as in SplitMix64."""
    first = _mixed(left + np.uint64(0x9E3779B97F4A7C15) ^ _mixed(right))
    second = _mixed(first) | np.uint64(1)
    times = np.arange(HASHES, dtype=np.uint64)[:, None]
    return ((first + times * second) % np.uint64(bits)).astype(np.int64)


def _mixed(z: Hashes) -> Hashes:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@lru_cache(maxsize=1)
def _shipped() -> Bigrams:
    bits: npt.NDArray[np.uint8] = np.load(ENGLISH_AND_KOREAN, allow_pickle=False)
    bits.setflags(write=False)
    return Bigrams(bits)


def _main() -> None:
    import click

    from sentviz.data.datasets import load_split

    texts = (text for name in SOURCES for text in load_split(name, "train").frame["text"])
    bigrams = Bigrams.of(texts)
    np.save(ENGLISH_AND_KOREAN, bigrams.bits)
    share = np.unpackbits(bigrams.bits).mean()
    click.echo(f"{percent(share)} of the bits are set: {percent(share**HASHES, 2)} of unseen pairs are wrongly counted as seen.")


if __name__ == "__main__":
    _main()
