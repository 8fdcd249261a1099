"""Polarity lexicons in attention: entries, lambda(x) of each token, the similarity sigma (Sentiment-Fused Attention, section 3).

    lambda(x)  = LaplaceSmoothing( sum of theta_P(v) + theta_I(v) theta_AP(v) over the entries v that contain x ),
                 shares of positive, neutral and negative
    lambda(x)  = (1/3, 1/3, 1/3) if no entry contains x, and for [CLS] and the other special tokens
    sigma_ij   = lambda(x_i) . lambda(x_j), of rank 3

An entry contains a token if the entry's token sequence contains it; equal letters are not enough. Lexicons are mapped as follows. From a
scalar polarity, theta_P and theta_AP are both the unit vector of its sign, and theta_I is its size divided by the lexicon's largest size.
From counts (KOSAC), theta_P and theta_AP are both the shares of the counts, and theta_I is 1, 2/3, 1/3 or 0 for high, medium, low or no
intensity.

A name with `WHOLE_WORDS` at its end is the same lexicon without emoticons, of whole words: an entry contains a token only if the token is
the whole entry. With the usual rule the full stop and the pieces of words are polar, because some emoticon or longer word contains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.data import datasets
from sentviz.data.texts import is_blank
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import DataMissingError, InputError
from sentviz.io.lazy import pd

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.integer[Any]]
SIDES = ("positive", "neutral", "negative")
SMOOTHING = 1.0  # added to each of the three sums
LEXICONS = {
    "en": ("lexicon_en_vader", "lexicon_en_opinion", "lexicon_en_sentiwordnet"),
    "ko": ("lexicon_ko_knu", "lexicon_ko_kosac"),
}
JOINTS = re.compile(r"(?<=\w)[ '’-](?=\w)")  # A term of several words is joined by these signs.
INTENSITY = {"High": 1.0, "Medium": 2 / 3, "Low": 1 / 3}
WHOLE_WORDS = ":whole-words"
SPECIALS = 4  # number of special entries at the start of every vocabulary


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Unique terms, with what each adds to the sums of a token."""

    name: str
    terms: tuple[str, ...]
    weights: npt.NDArray[np.float64]  # (T, 3) theta_P + theta_I theta_AP, in the order of SIDES
    whole_words: bool = False  # an entry contains a token only if it is that token

    @classmethod
    def load(cls, name: str) -> Lexicon:
        """Read a lexicon from the data folder; VADER also from its Python package.

        Raises:
            DataMissingError: the lexicon is not installed. InputError: there is no such lexicon, or it is damaged.
        """
        if name.endswith(WHOLE_WORDS):
            return cls.load(name.removesuffix(WHOLE_WORDS)).of_whole_words()
        if name not in (known := [entry for group in LEXICONS.values() for entry in group]):
            raise InputError(f"There is no lexicon {name!r}. The lexicons are {', '.join(known)}.")
        try:
            return cls.of(name, datasets.load_file(name, "lexicon"))
        except DataMissingError:
            if name != "lexicon_en_vader":
                raise
            return cls.of(name, _packaged())

    @classmethod
    def of(cls, name: str, frame: pd.DataFrame) -> Lexicon:
        """Build a lexicon from a table with term and polarity, or with term, form, n_pos, n_neut, n_neg and intensity.

        A term that appears twice gets the mean of its values.
        """
        counts = ["n_pos", "n_neut", "n_neg"]
        columns = ["term", "form", *counts, "intensity"] if set(counts) <= set(frame) else ["term", "polarity"]
        if missing := [column for column in columns if column not in frame]:
            raise InputError(f"The lexicon {name} has no column {missing[0]!r}; it needs {', '.join(columns)}.")
        numbers = frame[counts if len(columns) > 2 else ["polarity"]].apply(_numeric).to_numpy(float)
        text = frame["form" if len(columns) > 2 else "term"].astype("string").fillna("").str.strip()
        valid = np.isfinite(numbers).all(axis=1) & (text != "").to_numpy(bool)
        if not valid.any():
            raise InputError(f"The lexicon {name} has no row with a term and a number.")
        numbers, terms = numbers[valid], [str(term).casefold() for term in text[valid]]
        if len(columns) > 2:
            shares = np.maximum(numbers, 0) / np.maximum(numbers.sum(axis=1, keepdims=True), 1e-9)
            strong = frame.loc[valid, "intensity"].map(INTENSITY).fillna(0).to_numpy(float)
        else:
            sign = np.sign(numbers[:, 0])
            shares = np.stack([sign > 0, sign == 0, sign < 0], axis=1).astype(float)
            strong = np.abs(numbers[:, 0]) / (np.abs(numbers).max() or 1)
        weights = shares * (1 + strong[:, None])
        places = {term: i for i, term in enumerate(dict.fromkeys(terms))}
        at = np.array([places[term] for term in terms])
        summed = np.zeros((len(places), 3))
        np.add.at(summed, at, weights)
        return cls(name, tuple(places), summed / np.bincount(at)[:, None])

    def of_whole_words(self) -> Lexicon:
        """Return this lexicon for whole words, without emoticons: terms of letters, with spaces, hyphens or apostrophes between them."""
        words = [i for i, term in enumerate(self.terms) if JOINTS.sub("", term).isalpha()]
        return Lexicon(self.name + WHOLE_WORDS, tuple(self.terms[i] for i in words), self.weights[words], whole_words=True)

    def spelt(self, tokenizer: Tokenizer) -> list[Ids]:
        """Return the tokens that each term contains; none of a term of several tokens if only whole words count."""
        spelt = _spelt(tokenizer, self.terms)
        return [ids if len(ids) == 1 else ids[:0] for ids in spelt] if self.whole_words else spelt

    def polarity(self, tokenizer: Tokenizer, smoothing: float = SMOOTHING) -> Floats:
        """Return lambda(x) of every entry of a vocabulary, (V, 3); neutral for entries that no term contains and for special ones."""
        if not smoothing >= 0:
            raise InputError(f"Smoothing must be 0 or more, not {smoothing}.")
        sums = np.zeros((tokenizer.vocab_size, 3))
        for ids, weights in zip(self.spelt(tokenizer), self.weights, strict=True):
            sums[np.unique(ids)] += weights
        return _smoothed(sums, smoothing)


def entries(lexicon: Lexicon, tokenizer: Tokenizer, token: int, most: int = 50) -> pd.DataFrame:
    """Return the terms whose token sequence contains a vocabulary entry, with what each adds: term, positive, neutral, negative."""
    containing = [i for i, ids in enumerate(lexicon.spelt(tokenizer)) if token in ids]
    rows = [(lexicon.terms[i], *lexicon.weights[i]) for i in sorted(containing, key=lambda i: len(lexicon.terms[i]))[:most]]
    return pd.DataFrame(rows, columns=["term", *SIDES])


def sigma(polarity: npt.ArrayLike) -> Floats:
    """Return the similarity lambda(x_i) . lambda(x_j) of (n, 3) polarities, (n, n)."""
    table = np.asarray(polarity, dtype=np.float32)
    return np.asarray(table @ table.T)


def coverage(rows: Iterable[Ids], polarity: Floats) -> tuple[float, int]:
    """Return the share of neutral tokens in some texts (the paper's figure 4), and the number of tokens; special tokens do not count."""
    neutral = np.isclose(polarity, 1 / 3).all(axis=1)
    counts = np.zeros(len(polarity), dtype=np.int64)
    for ids in rows:
        counts += np.bincount(ids, minlength=len(polarity))
    counts[:SPECIALS] = 0
    total = int(counts.sum())
    return float(counts[neutral].sum() / max(total, 1)), total


def _smoothed(sums: npt.NDArray[np.float64], smoothing: float) -> Floats:
    """Return (.., 3) sums as probabilities; (1/3, 1/3, 1/3) if the sums are zero."""
    total = sums.sum(axis=1, keepdims=True)
    shares = (sums + smoothing) / np.maximum(total + 3 * smoothing, 1e-12)
    return np.asarray(np.where(total > 0, shares, 1 / 3), dtype=np.float32)


def _spelt(tokenizer: Tokenizer, terms: Sequence[str]) -> list[Ids]:
    """Return the known tokens of each term, without special and unknown tokens."""
    is_special = np.zeros(tokenizer.vocab_size, dtype=np.bool_)
    is_special[list(tokenizer.special_ids)] = True
    spelt: list[Ids] = [np.zeros(0, dtype=np.int32)] * len(terms)
    seen = [i for i, term in enumerate(terms) if not is_blank(term)]
    for i, ids in zip(seen, tokenizer.ids_batch([terms[i] for i in seen]), strict=True):
        spelt[i] = ids[~is_special[ids]]
    return spelt


def _numeric(column: pd.Series[Any]) -> pd.Series[Any]:
    return pd.to_numeric(column, errors="coerce")


def _packaged() -> pd.DataFrame:
    """Return VADER's table from the package vaderSentiment."""
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError:
        raise DataMissingError(
            "VADER is not on this machine: `python -m pip install vaderSentiment`, or set SENTVIZ_DATA to a folder with lexicon_en_vader."
        ) from None
    return pd.DataFrame(SentimentIntensityAnalyzer().lexicon.items(), columns=["term", "polarity"])
