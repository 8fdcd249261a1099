"""Which words stand beside each other: a small model of two words in a row, for what may stand in another word's place.

It tells of two words whether they stood in a row at least LEAST times in the training texts of SOURCES, and nothing else: a Bloom filter
(Bloom 1970) of hashed pairs, without words, counts or order, from which no text can be read back. It errs to one side: about one pair in a
hundred that was never seen is taken for one that was. `python -m sentviz.explain.bigrams` makes it anew from the data sets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["EDGE", "ENGLISH_AND_KOREAN", "Bigrams", "read_words"]

ENGLISH_AND_KOREAN = Path(__file__).with_name("bigrams.npy")
SOURCES = ("imdb", "yelp_full", "tweeteval_sentiment", "sentiment140", "twitter_financial", "nsmc", "klue_nli", "korean_hate_speech")
LEAST = 5  # times that a pair stood in a row
BITS, HASHES = 8 << 20, 4
EDGE = ""  # what stands before the first word and behind the last
_WORDS = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]")


def read_words(text: str) -> list[str]:
    """The words and marks of a text, lower-cased, between two edges."""
    return [EDGE, *_WORDS.findall(text.lower().replace("’", "'")), EDGE]


@dataclass(frozen=True, eq=False)
class Bigrams:
    """Pairs of words as bits; immutable."""

    bits: npt.NDArray[np.uint8]  # (bytes,)

    @classmethod
    def load(cls) -> Bigrams:
        """The one that ships; one object for all."""
        return _shipped()

    @classmethod
    def of(cls, texts: Iterable[str], *, least: int = LEAST, bits: int = BITS) -> Bigrams:
        """The pairs that stand in a row at least `least` times in some texts."""
        counts: Counter[tuple[str, str]] = Counter()
        for text in texts:
            counts.update(pairwise(read_words(text)))
        table = np.zeros(bits, dtype=bool)
        for (left, right), count in counts.items():
            if count >= least:
                table[_places(left, right, bits)] = True
        return cls(np.packbits(table))

    def seen(self, left: str, right: str) -> bool:
        """Whether two words, lower-cased, are known to stand in a row."""
        return all(self.bits[place >> 3] >> (7 - (place & 7)) & 1 for place in _places(left, right, 8 * len(self.bits)))

    def fits(self, word: str, left: str, right: str) -> bool:
        """Whether a word is known to stand behind the one and before the other."""
        return self.seen(left, word) and self.seen(word, right)


def _places(left: str, right: str, bits: int) -> Sequence[int]:
    """Bits of a pair: two hashes, combined (Kirsch & Mitzenmacher 2006)."""
    digest = blake2b(f"{left}\n{right}".encode(), digest_size=16).digest()
    first, second = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big") | 1
    return [(first + i * second) % bits for i in range(HASHES)]


@lru_cache(maxsize=1)
def _shipped() -> Bigrams:
    bits: npt.NDArray[np.uint8] = np.load(ENGLISH_AND_KOREAN, allow_pickle=False)
    bits.setflags(write=False)
    return Bigrams(bits)


def _main() -> None:
    from sentviz.datasets import load_split

    texts = (text for name in SOURCES for text in load_split(name, "train").frame["text"])
    made = Bigrams.of(texts)
    np.save(ENGLISH_AND_KOREAN, made.bits)
    share = np.unpackbits(made.bits).mean()
    print(f"{share:.1%} of the bits are set: {share**HASHES:.2%} of unseen pairs are taken for seen ones.")


if __name__ == "__main__":
    _main()
