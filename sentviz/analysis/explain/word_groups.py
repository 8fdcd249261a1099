"""Cut a text into units: neighbouring words that the model reads together, and score each unit by leaving it out.

    fall of a span       D(s) = f(text) - f(text without s)            f: log-odds of the trace's target
    interaction          I(s) = D(s) - sum of D(w) over its words      occlusion: 0 if the effects of words just add up

A span has 1 to MAX_WORDS words of one text and no punctuation inside. The text is cut into the spans with the largest sum |I(s)| - t (words
- 1): each further word must explain t more. The threshold t is MIN_GAIN, or MIN_SHARE of the strongest single effect if that is more. So a
model whose effects add up has units of one word, and "not bad" is a unit if the model reads it as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.leave_out import leaving_out, words
from sentviz.data.texts import Word
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Span = tuple[int, int]  # words [start, stop)

MAX_WORDS = 4  # words per unit
MAX_SPANS = 256  # spans of several words that are left out; in a longer text, those with the strongest words
MAX_TOKENS = 32_000  # tokens in all shortened texts together
MIN_GAIN, MIN_SHARE = 0.5, 0.25  # least gain of a further word: log-odds, and a share of the strongest single effect
_SPACED = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]+")


@dataclass(frozen=True, eq=False)
class Units:
    """Units of a text, and the effect of leaving out each span."""

    words: tuple[Word, ...]
    spans: tuple[Span, ...]  # units in text order; together they cover all words
    falls: Mapping[Span, float]  # fall of every span that was left out, in log-odds
    scores: npt.NDArray[np.float32]  # (m,) fall of the token's unit; 0 for special tokens
    places: npt.NDArray[np.int64]  # (m,) number of the token's unit; each special token is a separate unit


def spaced_words(trace: Trace) -> tuple[Word, ...]:
    """Return the words as they are written, without special tokens: "well-made" is one word, and so are several marks in a row."""
    texts = (trace.text, trace.text_pair or "")
    starts = [np.array([match.start() for match in _SPACED.finditer(text)]) for text in texts]
    groups: dict[Span, list[Word]] = {}
    for word in words(trace):
        segment = int(trace.segments[word.indices[0]])
        at = int(starts[segment].searchsorted(int(trace.offsets[word.indices[0], 0]), side="right"))
        groups.setdefault((segment, at), []).append(word)
    spaced = []
    for (segment, _), group in groups.items():
        indices = tuple(i for word in group for i in word.indices)
        start, end = int(trace.offsets[indices[0], 0]), int(trace.offsets[indices[-1], 1])
        spaced.append(Word(texts[segment][start:end], indices))
    return tuple(spaced)


def find_units(model: Model, trace: Trace, *, longest: int = MAX_WORDS, passes: int = MAX_SPANS) -> Units:
    """Return the units of a text. Each word is left out, then at most `passes` spans of several words; each batch is one forward call.

    Args:
        longest: maximum number of words per unit.
        passes: maximum number of spans of several words that are left out.
    """
    text_words = spaced_words(trace)

    def falls_of(spans: Sequence[Span]) -> dict[Span, float]:
        removed = [[i for word in text_words[slice(*span)] for i in word.indices] for span in spans]
        falls = trace.value - trace.value_of(leaving_out(model, trace, removed, "groups of words")) if spans else ()
        return {span: float(fall) for span, fall in zip(spans, falls, strict=True)}

    single: list[Span] = [(i, i + 1) for i in range(len(text_words))]
    if len(text_words) < 2:
        falls = dict.fromkeys(single, 0.0)  # A single word cannot be left out.
    else:
        known = _removal_falls(trace, text_words)
        falls = known | falls_of([span for span in single if span not in known])
    effects = np.array([abs(falls[span]) for span in single])
    several = _candidate_spans(trace, text_words, longest)
    passes = min(passes, MAX_TOKENS // max(1, len(trace.tokens)))
    several.sort(key=lambda span: (-float(effects[slice(*span)].max()), span[1] - span[0], span))
    falls |= falls_of(sorted(several[:passes]))
    spans = cut(len(text_words), falls, max(MIN_GAIN, MIN_SHARE * float(effects.max(initial=0))))
    scores, places = np.zeros(len(trace.tokens), dtype=np.float32), np.full(len(trace.tokens), -1, dtype=np.int64)
    for unit, span in enumerate(spans):
        for word in text_words[slice(*span)]:
            scores[list(word.indices)], places[list(word.indices)] = falls[span], unit
    return Units(text_words, spans, falls, scores, number_units(places))


def cut(n: int, falls: Mapping[Span, float], least: float) -> tuple[Span, ...]:
    """Return the spans that cover n words with the largest sum of |interaction| - least x (words - 1); ties are decided for shorter spans.

    Args:
        falls: falls of all single words, and of the spans of several words that may be a unit.
    """
    before = np.concatenate([[0.0], np.cumsum([falls[i, i + 1] for i in range(n)])])
    ending: dict[int, list[Span]] = {}
    for span in sorted(falls, key=lambda span: span[1] - span[0]):
        ending.setdefault(span[1], []).append(span)
    best, last = [0.0], [(0, 0)]
    for stop in range(1, n + 1):
        gains = [
            best[start] + (abs(falls[start, stop] - before[stop] + before[start]) - least * (stop - start - 1) if stop - start > 1 else 0)
            for start, _ in ending[stop]
        ]
        at = int(np.argmax(gains))
        best.append(float(gains[at]))
        last.append(ending[stop][at])
    spans: list[Span] = []
    while n:
        spans.append(last[n])
        n = last[n][0]
    return tuple(spans[::-1])


def _removal_falls(trace: Trace, text_words: Sequence[Word]) -> dict[Span, float]:
    """Return the falls of single words that the trace's removal scores already hold."""
    scores, alone = trace.token_scores.get("removal"), {word.indices for word in words(trace)}
    if scores is None:
        return {}
    return {(i, i + 1): float(scores[word.indices[0]]) for i, word in enumerate(text_words) if word.indices in alone}


def _candidate_spans(trace: Trace, text_words: Sequence[Word], longest: int) -> list[Span]:
    """Return the spans of 2 to `longest` words that can be a unit: in one text, without punctuation, shorter than the text."""
    letters = [any(letter.isalnum() for letter in word.text) for word in text_words]
    segments = [int(trace.segments[word.indices[0]]) for word in text_words]
    spans = []
    for start in range(len(text_words)):
        for stop in range(start + 1, min(start + longest, len(text_words)) + 1):
            if not letters[stop - 1] or segments[stop - 1] != segments[start]:
                break
            if 1 < stop - start < len(text_words):
                spans.append((start, stop))
    return spans


def number_units(places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Number the units again, with each special token as a separate unit."""
    new = np.concatenate([[True], (places[1:] != places[:-1]) | (places[1:] < 0)])
    return np.asarray(new.cumsum() - 1)
