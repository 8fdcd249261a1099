"""Proposition 2: "the first word is *not* and the last is *good*", and what a model of the last k words can make of it.

The paper's f* (section III-C) is positive for such a sequence and neutral for any other. Its definition 2: a classifier is k-th order
Markov if f(x) = g(x_{n-k+1} .. x_n). It never sees the first of more than k words, so two sequences that differ in that word alone get
the same answer. The paper says k < n - 1; the argument needs no more than k < n.

The paper leaves open how g is had. Here it is counted: the share of positive ones among the training sequences that end in the same k
words, drawn towards the share for the last k - 1 where these are few. Of a sequence shorter than k it sees the edge too, which helps it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sentviz.data.texts import check_text
from sentviz.errors import InputError
from sentviz.papers.studies.stored import Stored
from sentviz.papers.studies.timing import TEXTS

FIRST, LAST = "not", "good"
WORDS = (FIRST, LAST, "bad", "the", "film", "was", "very", "long")
LABELS = ("neutral", "positive")
LONGEST = 128  # words that can be asked about
EXAMPLE = "not the film was bad very long good"

MEASURED = Stored(
    Path(__file__).parent / "measured" / "separation.csv",
    ("positions", "longest", "seed", "model", "order", "length", "right", "n"),
    "Proposition 2 is",
    "python -m experiments sentiformer solvers",
    ("positions", *TEXTS),
)

Places = npt.NDArray[np.int64]
"""(n,) words of a sequence as places in `WORDS`."""


def f_star(sequence: Places) -> bool:
    """Return whether a sequence is positive."""
    return bool(sequence[0] == WORDS.index(FIRST) and sequence[-1] == WORDS.index(LAST))


def drawn(rng: np.random.Generator, lengths: npt.NDArray[np.int64], last: float = 0.5) -> list[Places]:
    """A sequence of each length, at least 2: words evenly, but the first is "not" in half of them and the last "good" in a share `last`.

    Both words stand in the middle too, so that only the place tells. Among the sequences that end in "good", both classes are alike often.
    """
    sequences = []
    for n in lengths.tolist():
        sequence = rng.integers(len(WORDS), size=n)
        for at, word, share in ((0, FIRST, 0.5), (-1, LAST, last)):
            place = WORDS.index(word)
            sequence[at] = place if rng.random() < share else (place + rng.integers(1, len(WORDS))) % len(WORDS)
        sequences.append(sequence)
    return sequences


def places_of(text: str) -> Places:
    """Return a typed sequence as places."""
    words = check_text(text, "sequence").lower().split()
    for word in words:
        if word not in WORDS:
            raise InputError(f"“{word if len(word) <= 30 else word[:29] + '…'}” is none of the {len(WORDS)} words: {', '.join(WORDS)}.")
    if not 2 <= len(words) <= LONGEST:
        raise InputError(f"A sequence has 2 to {LONGEST} words, this one {len(words):,}.")
    return np.array([WORDS.index(word) for word in words], dtype=np.int64)


class Suffixes:
    """Markov models of every order up to k, counted on one training set."""

    def __init__(self, sequences: Sequence[Places], positive: Sequence[bool], most: int, weight: float = 1.0) -> None:
        """Count every suffix of up to `most` words; `weight` sequences' worth of trust stands behind the next shorter suffix."""
        self.most, self.weight = most, weight
        self.rows, self.positive = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
        for sequence, label in zip(sequences, positive, strict=True):
            for k in range(most + 1):
                suffix = self._last(sequence, k)
                self.rows[suffix] += 1
                self.positive[suffix] += int(label)

    @staticmethod
    def _last(sequence: Places, k: int) -> tuple[int, ...]:
        """Return the last k words; -1 stands before the first word."""
        suffix = tuple(sequence[len(sequence) - min(k, len(sequence)) :].tolist())
        return (-1,) * (k - len(suffix)) + suffix

    def probability(self, sequence: Places, order: int) -> float:
        """The chance that a sequence is positive, from its last `order` words: p_k = (positive + weight p_{k-1}) / (rows + weight)."""
        share = 0.5
        for k in range(order + 1):
            suffix = self._last(sequence, k)
            share = (self.positive[suffix] + self.weight * share) / (self.rows[suffix] + self.weight)
        return share
