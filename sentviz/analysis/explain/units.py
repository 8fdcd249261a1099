"""Units before words: neighbours that the model reads together, each unit left out as a whole.

    fall of a span       D(s) = f(text) - f(text without s)            f: log-odds of the predicted class
    interaction          I(s) = D(s) - sum of D(w) over its words      occlusion: 0 where the effects of words just add up

A span has 1 to LONGEST words, no mark inside, and is of one text. The text is cut into the spans of which sum |I(s)| - t (words - 1) is
largest: a further word has to explain t more, and t is LEAST, or SHARE of the strongest single effect where that is more. So a model whose
effects add up has units of one word, and "not bad" is one where it is read as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.leave_out import leaving_out, log_odds, words
from sentviz.data.texts import Word
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Span = tuple[int, int]  # words [start, stop)

LONGEST = 4  # words of a unit
PASSES = 256  # spans of several words that are asked about; in a longer text those about the strongest words
TOKENS = 32_000  # that these may read together
LEAST, SHARE = 0.5, 0.25  # log-odds, and of the strongest single effect, that a further word has to explain
_SPACED = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]+")


@dataclass(frozen=True, eq=False)
class Units:
    """A text cut into units, and what leaving out each span does."""

    words: tuple[Word, ...]
    spans: tuple[Span, ...]  # of the units, in order; together all words
    falls: Mapping[Span, float]  # of every span that was asked about, log-odds
    scores: npt.NDArray[np.float32]  # (m,) fall of the token's unit, specials 0
    places: npt.NDArray[np.int64]  # (m,) the unit of each token, a special is one of its own

    def interaction(self, span: Span) -> float:
        """What leaving out a span's words together does beyond each of them alone, log-odds."""
        return self.falls[span] - sum(self.falls[i, i + 1] for i in range(*span))


def spaced_words(trace: Trace) -> tuple[Word, ...]:
    """Words as they are written, specials left out: "don't" and "well-made" are one, and so are marks in a row."""
    texts = (trace.text, trace.text_pair or "")
    starts = [np.array([found.start() for found in _SPACED.finditer(text)]) for text in texts]
    groups: dict[Span, list[Word]] = {}
    for word in words(trace):
        segment = int(trace.segments[word.indices[0]])
        at = int(starts[segment].searchsorted(int(trace.offsets[word.indices[0], 0]), side="right"))
        groups.setdefault((segment, at), []).append(word)
    found = []
    for (segment, _), group in groups.items():
        indices = tuple(i for word in group for i in word.indices)
        start, end = int(trace.offsets[indices[0], 0]), int(trace.offsets[indices[-1], 1])
        found.append(Word(texts[segment][start:end], indices))
    return tuple(found)


def find_units(model: Model, trace: Trace, *, longest: int = LONGEST, passes: int = PASSES, **change: Any) -> Units:
    """The units of a text: one pass a word, then at most `passes` more, each batch in one forward call.

    Args:
        longest: words of a unit at most. passes: spans of several words that are asked about.
        change: lambdas and heads_off, the same that the trace was made with.
    """
    those, k = spaced_words(trace), int(trace.probabilities.argmax())

    def falls_of(spans: Sequence[Span]) -> dict[Span, float]:
        removed = [[i for word in those[slice(*span)] for i in word.indices] for span in spans]
        falls = log_odds(trace.logits, k) - log_odds(leaving_out(model, trace, removed, **change), k) if spans else ()
        return {span: float(fall) for span, fall in zip(spans, falls, strict=True)}

    single: list[Span] = [(i, i + 1) for i in range(len(those))]
    if len(those) < 2:
        falls = dict.fromkeys(single, 0.0)  # one word alone has nothing to compare with
    else:
        known = _known(trace, those)
        falls = known | falls_of([span for span in single if span not in known])
    effects = np.array([abs(falls[span]) for span in single])
    several = _several(trace, those, longest)
    passes = min(passes, TOKENS // max(1, len(trace.tokens)))
    several.sort(key=lambda span: (-float(effects[slice(*span)].max()), span[1] - span[0], span))
    falls |= falls_of(sorted(several[:passes]))
    spans = cut(len(those), falls, max(LEAST, SHARE * float(effects.max(initial=0))))
    scores, places = np.zeros(len(trace.tokens), dtype=np.float32), np.full(len(trace.tokens), -1, dtype=np.int64)
    for unit, span in enumerate(spans):
        for word in those[slice(*span)]:
            scores[list(word.indices)], places[list(word.indices)] = falls[span], unit
    return Units(those, spans, falls, scores, _in_order(places))


def cut(n: int, falls: Mapping[Span, float], least: float) -> tuple[Span, ...]:
    """The spans, end to end over n words, of which the sum of |interaction| - least x (words - 1) is largest; ties go to shorter ones.

    Args:
        falls: of all single words, and of spans of several that may be a unit.
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


def _known(trace: Trace, those: Sequence[Word]) -> dict[Span, float]:
    """Falls of single words that word removal has asked about."""
    scores, alone = trace.token_scores.get("removal"), {word.indices for word in words(trace)}
    if scores is None:
        return {}
    return {(i, i + 1): float(scores[word.indices[0]]) for i, word in enumerate(those) if word.indices in alone}


def _several(trace: Trace, those: Sequence[Word], longest: int) -> list[Span]:
    """Spans of 2 to `longest` words that can be a unit: of one text, without marks, less than everything."""
    letters = [any(letter.isalnum() for letter in word.text) for word in those]
    segments = [int(trace.segments[word.indices[0]]) for word in those]
    found = []
    for start in range(len(those)):
        for stop in range(start + 1, min(start + longest, len(those)) + 1):
            if not letters[stop - 1] or segments[stop - 1] != segments[start]:
                break
            if 1 < stop - start < len(those):
                found.append((start, stop))
    return found


def _in_order(places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Units counted anew with each special as one of its own."""
    new = np.concatenate([[True], (places[1:] != places[:-1]) | (places[1:] < 0)])
    return np.asarray(new.cumsum() - 1)
