"""Parts of speech of English words: a small tagger that is data, and the tags of a text's tokens.

Tags are those of Universal Dependencies (version 2) but for SYM; every mark is PUNCT. The tagger is English only: a word without a
Latin letter or a digit gets X. It is an averaged perceptron, read left to right; it knows a word by its form, its ending, its
neighbours and the two tags before it. `ENGLISH` is the one that new models get, a copy stands with each run that reads tags. Its weights
are those of denckring-en-pos 0.6.0 (CC BY-SA 4.0, trained on UD English-EWT 2.18; see NOTICE.md), which states 93.4 % of the words of
the treebank's test split right.
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

if TYPE_CHECKING:
    from sentviz.data.texts import Tokenized

__all__ = ["ENGLISH", "TAGGER", "Tagger", "described", "known", "pieces", "tags_instead", "tags_of"]

ENGLISH = Path(__file__).with_name("english.json.gz")
TAGGER = "tagger.json.gz"  # in the folder of a run that reads tags
STATED = {"english-1": (0.934, 21_885)}  # share of the words of a test split that were tagged right, by version of the tagger

MOST = 1 << 26  # bytes of a stored tagger, packed and unpacked
DAMAGED = (OSError, EOFError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, zlib.error)
MOST_LABELS, MOST_ROWS = 100, 1_000_000

AROUND = 1_000  # characters before and behind a word that tell its tag; what stands farther away says next to nothing of it

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

_PIECE = re.compile(r"\d+(?:[.,:]\d+)+|\w+?(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b|\w+|[.!?…]+", re.IGNORECASE)
_LATIN = re.compile(r"[0-9a-z\u00c0-\u024f]", re.IGNORECASE)
_NAMED = re.compile(r"[@#]\w+|https?://\S+")
_ENDS = ".!?…"
_START, _END = "<s>", "</s>"
_CHUNK = 2048  # sentences tagged side by side


@dataclass(frozen=True, eq=False)
class Tagger:
    """Weights of an averaged perceptron; immutable."""

    version: str
    labels: tuple[str, ...]  # tags as it tells them apart, some finer than TAGS: VERB|Fin
    certain: Mapping[str, int]  # lower-cased word -> the label that it always gets
    rows: Mapping[str, int]  # feature -> row of weights
    weights: Floats  # (features + 1, labels); the last row is zero
    stored: bytes = field(default=b"", repr=False)  # the file that it was read from; empty of one made by hand

    @classmethod
    def load(cls, path: Path = ENGLISH) -> Tagger:
        """Read a stored tagger; one object for equal files.

        Raises:
            RunError: the file is missing, damaged, or of tags that this version does not know.
        """
        try:
            return _read(read_regular(path, MOST, Path(path).name))
        except DAMAGED as error:
            raise RunError(f"{Path(path).name} is not a table of tags ({str(error).rstrip('.')}).") from error

    def save(self, path: Path) -> None:
        """Write what `load` read.

        Raises:
            RunError: it was made by hand.
        """
        if not self.stored:
            raise RunError(f"The tagger {self.version!r} was read from no file, so it cannot be stored with a run.")
        Path(path).write_bytes(self.stored)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that it knows by their form, lower-cased."""
        return frozenset(self.certain) | {name.removeprefix("w ") for name in self.rows if name.startswith("w ")}

    @cached_property
    def places(self) -> Ints:
        """(labels,) each label's place in `TAGS`."""
        return np.array([TAGS.index(label.split("|")[0]) for label in self.labels])

    @cached_property
    def history(self) -> Floats:
        """(labels + 1, labels + 1, labels) what the label before and the one before that say; the last stands for the edge."""
        names = (*self.labels, _START)
        one, two = ([self._row(f"{where} {name}") for name in names] for where in ("t-1", "t-2"))
        both = [[self._row(f"t-1t-2 {last} {prior}") for prior in names] for last in names]
        found: Floats = self.weights[one][:, None] + self.weights[two][None] + self.weights[both]
        return found

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Ints]:
        """The tags of the words of sentences, as places in `TAGS`; words are split as `pieces` does."""
        found: list[Ints] = [np.zeros(0, dtype=np.int64)] * len(sentences)
        order = sorted(range(len(sentences)), key=lambda i: -len(sentences[i]))
        for start in range(0, len(order), _CHUNK):
            some = order[start : start + _CHUNK]
            for i, tags in zip(some, self._side_by_side([sentences[i] for i in some]), strict=True):
                found[i] = tags
        return found

    def _side_by_side(self, sentences: Sequence[Sequence[str]]) -> list[Ints]:
        """`tag` of sentences from the longest to the shortest: all their first words, then all their second ones."""
        lengths = np.array([len(sentence) for sentence in sentences])
        total, longest, before = int(lengths.sum()), int(lengths.max(initial=0)), len(self.labels)
        if not total:
            return [np.zeros(0, dtype=np.int64) for _ in sentences]
        numbers: dict[str, int] = {}
        forms = np.array([numbers.setdefault(word, len(numbers)) for sentence in sentences for word in sentence])
        words = list(numbers)
        lower = [word.lower().replace("’", "'") for word in words]
        own = np.stack([self.weights[self._own(word, low)].sum(axis=0) for word, low in zip(words, lower, strict=True)])

        def beside(name: str, edge: str) -> Floats:
            """(words + 1, labels) what each word, or the edge of the sentence, says as a neighbour."""
            return self.weights[[self._row(f"{name} {word}") for word in (*lower, edge)]]

        offsets = np.concatenate([[0], np.cumsum(lengths)])
        place = np.arange(total) - np.repeat(offsets[:-1], lengths)
        left = np.repeat(lengths, lengths) - place  # words to the end, its own among them
        scores = own[forms]
        for away in (1, 2):
            back = np.where(place >= away, np.roll(forms, away), len(words))
            ahead = np.where(left > away, np.roll(forms, -away), len(words))
            scores += beside(f"w-{away}", _START)[back] + beside(f"w+{away}", _END)[ahead]
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
        """Rows of what a word says of its own tag."""
        shape = ("X" if word[:1].isupper() else "x") + "d" * any(c.isdigit() for c in word)
        endings = (f"suf{size} {lower[-size:]}" for size in (1, 2, 3))
        return [self._row(name) for name in ("bias", *endings, f"pre1 {lower[:1]}", f"shape {shape}", f"w {lower}")]


@lru_cache(maxsize=4)
def _read(stored: bytes) -> Tagger:
    """Most runs that read tags carry the same tagger."""
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
        raise ValueError("it holds numbers that no tagger has")
    weights.setflags(write=False)
    rows = {name: row for row, name in enumerate(table["weights"])}
    return Tagger(str(table["version"]), labels, dict(table["certain"]), rows, weights, stored)


def described(version: str) -> str:
    """A tagger in a sentence: its version, how often it is right as far as that is stated, its language."""
    if version not in STATED:
        return f"Tags are a guess of the run's own tagger ({version}), made for English."
    share, words = STATED[version]
    return f"Tags are a guess of the tagger {version}, which is English only and gets {share:.1%} of {words:,} words of web text right."


def pieces(text: str) -> list[tuple[list[str], list[int]]]:
    """The sentences of a text: their words as the tagger reads them (do, n't) and where each begins."""
    sentences: list[tuple[list[str], list[int]]] = [([], [])]
    for found in _PIECE.finditer(text):
        if found[0][0] in _ENDS:
            sentences.append(([], []))
        else:
            sentences[-1][0].append(found[0])
            sentences[-1][1].append(found.start())
    return sentences


def known(tagger: Tagger, text: str) -> tuple[int, int]:
    """How many of a text's words the tagger knows by their form, and how many there are; names, mentions, hashtags and links aside."""
    words = [word.replace("’", "'") for sentence, _ in pieces(_NAMED.sub(" ", text)) for word in sentence]
    plain = [word for word in words if word.islower()]
    return sum(word in tagger.words for word in plain), len(plain)


def tags_instead(tagger: Tagger, words: Sequence[tuple[str, int, int, str]]) -> list[tuple[int, int] | None]:
    """The tags that words would get in the place of text[start:end], and alone, as places in `TAGS`; None where no word stands there.

    Args:
        words: text, start, end and the word, which may be the one that stands there.
    """
    sentences: list[list[str]] = []
    at: list[int | None] = []
    for text, start, end, word in words:
        before, behind = text[max(0, start - AROUND) : start], text[end : end + AROUND]
        around = ((some, starts) for some, starts in pieces(before + word + behind) if some)
        here, starts = next(((some, starts) for some, starts in around if starts[-1] + len(some[-1]) > len(before)), ([], []))
        sentences += [here, [word]]
        at.append(max(int(np.searchsorted(starts, len(before), side="right")) - 1, 0) if here else None)
    tags = tagger.tag(sentences)
    return [None if place is None else (int(tags[2 * i][place]), int(tags[2 * i + 1][0])) for i, place in enumerate(at)]


def tags_of(tagger: Tagger, encoded: Sequence[Tokenized], texts: Sequence[Sequence[str]]) -> list[Ints]:
    """The tag of every token, (n,) places in `TAGS` for each text: that of the word which holds its first character.

    Args:
        encoded: the tokens of each text, or pair of texts. texts: the text, or both, that they are of.
    """
    texts = [[text[:LONGEST] for text in several] for several in texts]
    cut = [[pieces(text) for text in several] for several in texts]
    tagged = iter(tagger.tag([words for several in cut for sentences in several for words, _ in sentences]))
    found = []
    for tokens, several, sentences_of in zip(encoded, texts, cut, strict=True):
        tags = np.zeros(len(tokens.offsets), dtype=np.int64)
        for segment, (text, sentences) in enumerate(zip(several, sentences_of, strict=True)):
            of_character = np.full(len(text) + 1, TAGS.index("PUNCT"))
            for words, starts in sentences:
                for word, start, tag in zip(words, starts, next(tagged), strict=True):
                    of_character[start : start + len(word)] = tag
            here = (np.asarray(tokens.segments) == segment) & ~np.asarray(tokens.specials)
            tags[here] = of_character[np.asarray(tokens.offsets)[here, 0]]
        found.append(tags)
    return found
