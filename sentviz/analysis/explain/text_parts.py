"""Cut a text into parts that are left out together: words, phrases, clauses or sentences.

Words are those of `spaced_words`: "well-made" is one word. Phrases are the units of `sentviz.analysis.explain.word_groups`. A sentence ends
after . ! ? or … and before a line break, but not after an abbreviation. A clause ends at a sentence's end, after , ; : and dashes, and
before a conjunction such as "but". A mark belongs to the part before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.leave_out import leaving_out
from sentviz.analysis.explain.word_groups import Span, find_units, number_units, spaced_words
from sentviz.data.texts import Word
from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Cut = Literal["words", "phrases", "clauses", "sentences"]
CUTS: tuple[Cut, ...] = get_args(Cut)
MAX_PHRASE_WORDS = 60  # longest text that `fitting` cuts into phrases, in words
_SENTENCE_END, _CLAUSE_END = re.compile(r"[.!?…。！？]"), re.compile(r"[,;:—–、，]|^-+$")
_ABBREVIATIONS = ("mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "etc", "no", "vol")
_CONJUNCTIONS = frozenset(
    "although because but however if since though unless until when whereas while which who yet".split()  # noqa: SIM905
)
_LEAST_WORDS = 2  # words before and after a conjunction that begins a clause


def parts(model: Model, trace: Trace, by: Cut) -> tuple[Word, ...]:
    """Return the parts of a text in order, with all tokens of each; special tokens belong to no part. Phrases run the model."""
    if by not in CUTS:
        raise InputError(f"A text is cut by {', '.join(CUTS)}, not by {by!r}.")
    words = spaced_words(trace)
    if by == "words" or not words:
        return words
    if by == "phrases":
        return _slices(trace, words, find_units(model, trace).spans)
    starts = [i for i in range(1, len(words)) if _begins(trace, words, i, by)]
    return _slices(trace, words, list(pairwise([0, *starts, len(words)])))


def fitting(model: Model, trace: Trace, most: int) -> tuple[Cut, tuple[Word, ...]]:
    """Return the finest cut of a text with at most `most` parts, and the parts; neighbouring parts are joined if even sentences are more.

    A text of up to MAX_PHRASE_WORDS words is cut into phrases if its words are too many.
    """
    words = spaced_words(trace)
    if len(words) <= most:
        return "words", words
    if len(words) <= MAX_PHRASE_WORDS:
        return "phrases", joined(trace, parts(model, trace, "phrases"), most)
    clauses, sentences = parts(model, trace, "clauses"), parts(model, trace, "sentences")
    if len(clauses) <= most:
        return ("clauses", clauses) if len(clauses) > 1 else ("phrases", joined(trace, words, most))
    return "sentences" if len(sentences) > 1 else "clauses", joined(trace, sentences if len(sentences) > 1 else clauses, most)


def joined(trace: Trace, pieces: Sequence[Word], most: int) -> tuple[Word, ...]:
    """Join neighbouring parts of one text until there are at most `most`: always the two that are shortest together."""
    groups = [list(piece.indices) for piece in pieces]
    while len(groups) > most:
        lengths = [
            len(left) + len(right) if trace.segments[left[0]] == trace.segments[right[0]] else np.inf for left, right in pairwise(groups)
        ]
        if not lengths or not np.isfinite(min(lengths)):
            raise InputError(f"These texts cannot be joined to {most} part{'s' * (most != 1)}.")
        at = int(np.argmin(lengths))
        groups[at : at + 2] = [groups[at] + groups[at + 1]]
    return tuple(Word(_written(trace, group), tuple(group)) for group in groups)


@dataclass(frozen=True, eq=False)
class PartRemoval:
    """The effect of leaving out each part of a text."""

    parts: tuple[Word, ...]
    scores: npt.NDArray[np.float32]  # (m,) fall of the log-odds without the token's part; 0 for special tokens
    places: npt.NDArray[np.int64]  # (m,) number of the token's part; each special token has a separate number


def part_removal(model: Model, trace: Trace, by: Cut) -> PartRemoval:
    """Return the fall of the log-odds of the trace's target without each part, all in one forward call; 0 if the text has one part."""
    pieces = parts(model, trace, by)
    falls = np.zeros(len(pieces))
    if len(pieces) > 1:
        falls = trace.value - trace.value_of(leaving_out(model, trace, [piece.indices for piece in pieces], by))
    return PartRemoval(pieces, spread(pieces, falls, len(trace.tokens)), numbered(trace, pieces))


def spread(pieces: Sequence[Word], values: npt.NDArray[np.float64], tokens: int) -> npt.NDArray[np.float32]:
    """Return the value of each token's part, (m,); 0 for tokens in no part."""
    scores = np.zeros(tokens, dtype=np.float32)
    for piece, value in zip(pieces, values, strict=True):
        scores[list(piece.indices)] = value
    return scores


def numbered(trace: Trace, pieces: Sequence[Word]) -> npt.NDArray[np.int64]:
    """Return the number of each token's part in text order, (m,); each token in no part has a separate number."""
    places = np.full(len(trace.tokens), -1, dtype=np.int64)
    for i, piece in enumerate(pieces):
        places[list(piece.indices)] = i
    return number_units(places)


def _begins(trace: Trace, words: Sequence[Word], i: int, by: Cut) -> bool:
    """Return whether word i begins a sentence, or a clause."""
    before, word = words[i - 1], words[i]
    segment = int(trace.segments[word.indices[0]])
    if segment != trace.segments[before.indices[0]]:
        return True
    if not any(letter.isalnum() for letter in word.text):
        return False  # a mark, for example a closing quote
    text = (trace.text, trace.text_pair or "")[segment]
    start, end = int(trace.offsets[before.indices[-1], 1]), int(trace.offsets[word.indices[0], 0])
    gap = text[start:end]
    if "\n" in gap or "<br" in gap:
        return True
    last = next((each.text for each in words[max(0, i - 3) : i][::-1] if each.text.strip("\"'”’»)]")), "")
    if _SENTENCE_END.search(last) and gap and not _is_abbreviation(words, i, last):
        return True
    if by == "sentences":
        return False
    if _CLAUSE_END.search(last) and not any(letter.isalnum() for letter in last):
        return True
    sides = words[max(0, i - _LEAST_WORDS) : i], words[i + 1 : i + 1 + _LEAST_WORDS]
    letters = [sum(any(letter.isalnum() for letter in each.text) for each in side) for side in sides]
    return word.text.casefold() in _CONJUNCTIONS and min(letters) >= _LEAST_WORDS


def _is_abbreviation(words: Sequence[Word], i: int, mark: str) -> bool:
    """Return whether the full stop before word i ends an abbreviation or an initial, not a sentence."""
    if mark != "." or i < 2 or words[i - 1].text != ".":
        return False
    name = words[i - 2].text
    return name.casefold() in _ABBREVIATIONS or (len(name) == 1 and name.isupper() and name != "I")


def _slices(trace: Trace, words: Sequence[Word], spans: Sequence[Span]) -> tuple[Word, ...]:
    groups = [[i for word in words[slice(*span)] for i in word.indices] for span in spans]
    return tuple(Word(_written(trace, group), tuple(group)) for group in groups)


def _written(trace: Trace, group: Sequence[int]) -> str:
    text = (trace.text, trace.text_pair or "")[int(trace.segments[group[0]])]
    return text[int(trace.offsets[group[0], 0]) : int(trace.offsets[group[-1], 1])]
