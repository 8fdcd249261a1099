"""Parts of speech of English words: a small tagger, and the tags of a text's tokens.

Tags are those of Universal Dependencies (version 2) without SYM; every punctuation mark is PUNCT. The tagger is for English only: a word
without a Latin letter or a digit gets X. It is an averaged perceptron that reads from left to right; its features are a word's form, its
ending, its neighbours and the two tags before it. New models get `ENGLISH`; each run that reads tags stores a copy. The weights are those
of denckring-en-pos 0.6.0 (CC BY-SA 4.0, trained on UD English-EWT 2.18; see NOTICE.md), which reports 93.4 % correct words on the
treebank's test split.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.data.parts_of_speech import TAGS
from sentviz.data.texts import LONGEST
from sentviz.errors import RunError
from sentviz.io.files import read_regular
from sentviz.io.numbers import percent

if TYPE_CHECKING:
    from sentviz.data.texts import Tokenized

__all__ = ["ENGLISH", "TAGGER", "Tagger", "count_known", "describe_tagger", "pieces", "tags_instead", "tags_of"]

ENGLISH = Path(__file__).with_name("english.json.gz")
TAGGER = "tagger.json.gz"  # file name in the folder of a run that reads tags
STATED = {"english-1": (0.934, 21_885)}  # version of the tagger -> reported share of correct words, words of the test split

MOST = 1 << 26  # maximum bytes of a stored tagger, packed and unpacked
DAMAGED = (OSError, EOFError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, zlib.error)
MOST_LABELS, MOST_ROWS = 100, 1_000_000

AROUND = 1_000  # characters before and after a word that the tagger reads; more distant ones have almost no influence

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

_PIECE = re.compile(r"\d+(?:[.,:]\d+)+|\w+?(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b|\w+|[.!?…]+", re.IGNORECASE)
_LATIN = re.compile(r"[0-9a-z\u00c0-\u024f]", re.IGNORECASE)
_NAMED = re.compile(r"[@#]\w+|https?://\S+")
_ENDS = ".!?…"
_START, _END = "<s>", "</s>"
_CHUNK = 2048  # sentences tagged at the same time


@dataclass(frozen=True, eq=False)
class Tagger:
    """Weights of an averaged perceptron; immutable."""

    version: str
    labels: tuple[str, ...]  # the tagger's own tags, some finer than TAGS, for example VERB|Fin
    certain: Mapping[str, int]  # lower-cased word -> the label that it always gets
    rows: Mapping[str, int]  # feature -> row of weights
    weights: Floats  # (features + 1, labels); the last row is zero
    stored: bytes = field(default=b"", repr=False)  # content of the file that it was read from; empty if it was built in code

    @classmethod
    def load(cls, path: Path = ENGLISH) -> Tagger:
        """Read a stored tagger; equal files give the same object.

        Raises:
            RunError: the file is missing or damaged, or has tags that this version does not know.
        """
        try:
            return _read(read_regular(path, MOST, Path(path).name))
        except DAMAGED as error:
            raise RunError(f"{Path(path).name} is not a table of tags ({str(error).rstrip('.')}).") from error

    def save(self, path: Path) -> None:
        """Write the file that `load` read.

        Raises:
            RunError: the tagger was not read from a file.
        """
        if not self.stored:
            raise RunError(f"The tagger {self.version!r} was not read from a file, so it cannot be stored with a run.")
        Path(path).write_bytes(self.stored)

    @cached_property
    def words(self) -> frozenset[str]:
        """The lower-cased words that the tagger knows by their form."""
        return frozenset(self.certain) | {name.removeprefix("w ") for name in self.rows if name.startswith("w ")}

    @cached_property
    def places(self) -> Ints:
        """(labels,) place of each label in `TAGS`."""
        return np.array([TAGS.index(label.split("|")[0]) for label in self.labels])

    @cached_property
    def history(self) -> Floats:
        """(labels + 1, labels + 1, labels) scores from the previous label and the one before it; the last index is the sentence's start."""
        names = (*self.labels, _START)
        last, prior = ([self._row(f"{feature} {name}") for name in names] for feature in ("t-1", "t-2"))
        both = [[self._row(f"t-1t-2 {last_name} {prior_name}") for prior_name in names] for last_name in names]
        scores: Floats = self.weights[last][:, None] + self.weights[prior][None] + self.weights[both]
        return scores

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Ints]:
        """Return the tags of the words of sentences, as places in `TAGS`; words are split as `pieces` does."""
        tags_of_sentence: list[Ints] = [np.zeros(0, dtype=np.int64)] * len(sentences)
        order = sorted(range(len(sentences)), key=lambda i: -len(sentences[i]))
        for start in range(0, len(order), _CHUNK):
            some = order[start : start + _CHUNK]
            for i, tags in zip(some, self._side_by_side([sentences[i] for i in some]), strict=True):
                tags_of_sentence[i] = tags
        return tags_of_sentence

    def _side_by_side(self, sentences: Sequence[Sequence[str]]) -> list[Ints]:
        """Return the tags of sentences sorted from the longest to the shortest: first all first words, then all second words, and so on."""
        lengths = np.array([len(sentence) for sentence in sentences])
        total, longest, before = int(lengths.sum()), int(lengths.max(initial=0)), len(self.labels)
        if not total:
            return [np.zeros(0, dtype=np.int64) for _ in sentences]
        numbers: dict[str, int] = {}
        forms = np.array([numbers.setdefault(word, len(numbers)) for sentence in sentences for word in sentence])
        words = list(numbers)
        lower = [word.lower().replace("’", "'") for word in words]
        own = np.stack([self.weights[self._own(word, low)].sum(axis=0) for word, low in zip(words, lower, strict=True)])

        def neighbour(name: str, edge: str) -> Floats:
            """Return the scores from a neighbouring word, or from the edge of the sentence, (words + 1, labels)."""
            return self.weights[[self._row(f"{name} {word}") for word in (*lower, edge)]]

        offsets = np.concatenate([[0], np.cumsum(lengths)])
        place = np.arange(total) - np.repeat(offsets[:-1], lengths)
        left = np.repeat(lengths, lengths) - place  # number of words from this word to the end, inclusive
        scores = own[forms]
        for away in (1, 2):
            back = np.where(place >= away, np.roll(forms, away), len(words))
            ahead = np.where(left > away, np.roll(forms, -away), len(words))
            scores += neighbour(f"w-{away}", _START)[back] + neighbour(f"w+{away}", _END)[ahead]
        before_words = [f"t-1 w {name} " for name in (*self.labels, _START)]
        after = np.array([[self._row(name + low) for name in before_words] for low in lower])  # (words, labels + 1)
        certain = np.array([self.certain.get(low, -1) for low in lower])

        guesses = np.zeros(total, dtype=np.int64)
        last = np.full(len(sentences), before)
        prior = last.copy()
        for step in range(longest):
            running = int((lengths > step).sum())
            at = offsets[:running] + step
            last, prior, word = last[:running], prior[:running], forms[at]
            value = scores[at] + self.history[last, prior] + self.weights[after[word, last]]
            guess = np.where(certain[word] >= 0, certain[word], before - 1 - value[:, ::-1].argmax(axis=1))
            guesses[at], prior, last = guess, last, guess
        tags = self.places[guesses]
        tags[np.array([not _LATIN.search(word) for word in words])[forms]] = TAGS.index("X")
        return np.split(tags, offsets[1:-1])

    def _row(self, feature: str) -> int:
        return self.rows.get(feature, -1)

    def _own(self, word: str, lower: str) -> list[int]:
        """Return the rows of a word's own features: its ending, shape and form."""
        shape = ("X" if word[:1].isupper() else "x") + "d" * any(c.isdigit() for c in word)
        endings = (f"suf{size} {lower[-size:]}" for size in (1, 2, 3))
        return [self._row(name) for name in ("bias", *endings, f"pre1 {lower[:1]}", f"shape {shape}", f"w {lower}")]


@lru_cache(maxsize=4)
def _read(stored: bytes) -> Tagger:
    """Read a tagger from the content of its file. Cached, because most runs with tags store the same tagger."""
    with gzip.open(BytesIO(stored)) as file:
        text = file.read(MOST + 1)
    if len(text) > MOST:
        raise ValueError(f"it has more than {MOST:,} bytes")
    table = json.loads(text)
    labels = tuple(table["labels"])
    if len(labels) > MOST_LABELS or len(table["weights"]) > MOST_ROWS:
        raise ValueError(f"it has {len(labels):,} labels and {len(table['weights']):,} features")
    if unknown := {label.split("|")[0] for label in labels} - set(TAGS):
        raise ValueError(f"it has the tag {min(unknown)!r}")
    entries = table["weights"].values()
    lengths = np.fromiter(map(len, entries), dtype=np.int64, count=len(entries))
    flat = np.fromiter(chain.from_iterable(entries), dtype=np.float64, count=lengths.sum())
    if (lengths % 2).any():
        raise ValueError("it has a label without its weight")
    weights = np.zeros((len(entries) + 1, len(labels)), dtype=np.float32)
    weights[np.repeat(np.arange(len(entries)), lengths // 2), flat[::2].astype(np.int64)] = flat[1::2]
    if not np.isfinite(weights).all() or not set(table["certain"].values()) <= set(range(len(labels))):
        raise ValueError("it has invalid numbers")
    weights.setflags(write=False)
    rows = {name: row for row, name in enumerate(table["weights"])}
    return Tagger(str(table["version"]), labels, dict(table["certain"]), rows, weights, stored)


def describe_tagger(version: str) -> str:
    """Return a sentence about a tagger: its version, its reported accuracy if known, and its language."""
    if version not in STATED:
        return f"Tags are predicted by the run's tagger ({version}), which is for English."
    share, words = STATED[version]
    return (
        f"Tags are predicted by the tagger {version}. It is for English and tags {percent(share)} of {words:,} words of web text correctly."
    )


def pieces(text: str) -> list[tuple[list[str], list[int]]]:
    """Return the sentences of a text: their words as the tagger reads them (do, n't), and the character at which each begins."""
    sentences: list[tuple[list[str], list[int]]] = [([], [])]
    for match in _PIECE.finditer(text):
        if match[0][0] in _ENDS:
            sentences.append(([], []))
        else:
            sentences[-1][0].append(match[0])
            sentences[-1][1].append(match.start())
    return sentences


def count_known(tagger: Tagger, text: str) -> tuple[int, int]:
    """Return how many words of a text the tagger knows by their form, and of how many. Names, mentions, hashtags and links do not count."""
    words = [word.replace("’", "'") for sentence, _ in pieces(_NAMED.sub(" ", text)) for word in sentence]
    plain = [word for word in words if word.islower()]
    return sum(word in tagger.words for word in plain), len(plain)


def tags_instead(tagger: Tagger, words: Sequence[tuple[str, int, int, str]]) -> list[tuple[int, int] | None]:
    """Return the two tags of each word, in the place of text[start:end] and alone, as places in `TAGS`; None if it is not a word there.

    Args:
        words: (text, start, end, word); the word may be the one that is already there.
    """
    sentences: list[list[str]] = []
    at: list[int | None] = []
    for text, start, end, word in words:
        before, behind = text[max(0, start - AROUND) : start], text[end : end + AROUND]
        around = ((some, starts) for some, starts in pieces(before + word + behind) if some)
        sentence, starts = next(((some, starts) for some, starts in around if starts[-1] + len(some[-1]) > len(before)), ([], []))
        sentences += [sentence, [word]]
        at.append(max(int(np.searchsorted(starts, len(before), side="right")) - 1, 0) if sentence else None)
    tags = tagger.tag(sentences)
    return [None if place is None else (int(tags[2 * i][place]), int(tags[2 * i + 1][0])) for i, place in enumerate(at)]


def tags_of(tagger: Tagger, encoded: Sequence[Tokenized], texts: Sequence[Sequence[str]]) -> list[Ints]:
    """Return the tag of every token, (n,) places in `TAGS` for each text: the tag of the word that contains the token's first character.

    Args:
        encoded: the tokens of each text or pair of texts. texts: for each, the text or the two texts.
    """
    texts = [[text[:LONGEST] for text in several] for several in texts]
    cut = [[pieces(text) for text in several] for several in texts]
    tagged = iter(tagger.tag([words for several in cut for sentences in several for words, _ in sentences]))
    all_tags = []
    for tokens, several, sentences_of in zip(encoded, texts, cut, strict=True):
        tags = np.zeros(len(tokens.offsets), dtype=np.int64)
        for segment, (text, sentences) in enumerate(zip(several, sentences_of, strict=True)):
            of_character = np.full(len(text) + 1, TAGS.index("PUNCT"))
            for words, starts in sentences:
                for word, start, tag in zip(words, starts, next(tagged), strict=True):
                    of_character[start : start + len(word)] = tag
            in_segment = (np.asarray(tokens.segments) == segment) & ~np.asarray(tokens.specials)
            tags[in_segment] = of_character[np.asarray(tokens.offsets)[in_segment, 0]]
        all_tags.append(tags)
    return all_tags
