"""Words by class: negators, intensifiers and function words from our own lists (wordclasses.toml), polar ones from a lexicon.

A word that the model does not know belongs to no class.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sentviz.data import datasets
from sentviz.data.texts import Encoded, word_spans
from sentviz.errors import DataMissingError

Bools = npt.NDArray[np.bool_]
CLASSES = ("positive words", "negative words", "negators", "intensifiers", "function words")
LEXICONS = ("lexicon_en_vader", "lexicon_en_opinion")  # the first installed one is used


@dataclass(frozen=True)
class WordClasses:
    """Lower-cased words by class, each in one class only, and the polarity lexicon that they come from."""

    words: Mapping[str, frozenset[str]]
    lexicon: str

    def members(self, text: str, encoded: Encoded) -> Bools:
        """Return which tokens spell a word of each class, (K, m) bool; unknown and special tokens belong to no class."""
        member = np.zeros((len(self.words), len(encoded)), dtype=np.bool_)
        for word in word_spans(text, encoded):
            member[:, list(word.indices)] = np.array([word.text.casefold() in class_words for class_words in self.words.values()])[:, None]
        return member & ~encoded.unknown & ~encoded.specials


def own_lists() -> dict[str, frozenset[str]]:
    """Return negators, intensifiers and function words in lower case; a word of several lists belongs to the first."""
    lists: dict[str, frozenset[str]] = {}
    for name, words in tomllib.loads(Path(__file__).with_name("wordclasses.toml").read_text(encoding="utf-8")).items():
        lists[name] = frozenset(words.split()).difference(*lists.values())
    return lists


def word_classes() -> WordClasses:
    """Return the word classes with the first installed polarity lexicon.

    Raises:
        DataMissingError: no polarity lexicon is installed.
    """
    name = next((name for name in LEXICONS if datasets.part_file(name, "lexicon")), None)
    if name is None:
        raise DataMissingError(
            f"Positive and negative words need a polarity lexicon, but neither {' nor '.join(LEXICONS)} is installed."
            " Set SENTVIZ_DATA to a folder with <name>/lexicon.parquet."
        )
    frame = datasets.load_file(name, "lexicon")
    words, terms = own_lists(), frame["term"].astype(str).str.casefold()
    grammatical = frozenset[str]().union(*words.values())
    for side, of_side in (("positive words", frame["polarity"] > 0), ("negative words", frame["polarity"] < 0)):
        words[side] = frozenset(terms[of_side]) - grammatical
    return WordClasses({side: words[side] for side in CLASSES}, name)
