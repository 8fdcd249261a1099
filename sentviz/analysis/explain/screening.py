"""Explain a long text with few passes of the model: read each clause alone, then leave out those that speak most for the class.

    alone     A(c) = f(c)                          f: log-odds of the trace's target; the model reads only the clause
    fall      D(c) = f(text) - f(text without c)   of the TRIED clauses with the largest A
    inside    f(text) - f(text without w)          of the TRIED words of the strongest clause without which A falls most

All clauses alone cost about one pass of the text, and so does each fall: a text of hundreds of words needs eight passes, where leaving out
each word needs hundreds. A clause that counts only beside other clauses is not found in this way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.explain.leave_out import Floats, leaving_out, spread
from sentviz.analysis.explain.value_function import PartRemoval, cut_at_marks, numbered
from sentviz.analysis.explain.word_groups import spaced_words
from sentviz.data.texts import Word
from sentviz.runs.calibration import softmax
from sentviz.runs.headline_evidence import Fall, Screened
from sentviz.runs.target import PREDICTED
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

TRIED = 3  # clauses, and words of the strongest clause, that are left out of the whole text


def alone(model: Model, trace: Trace) -> PartRemoval:
    """Return the log-odds of the trace's target if the model reads only one clause, for each clause."""
    pieces = cut_at_marks(trace, "clauses")
    values = trace.value_of(_reading_only(model, trace, [piece.indices for piece in pieces], "clauses")) if pieces else np.zeros(0)
    return PartRemoval(pieces, spread(pieces, values, len(trace.tokens)), numbered(trace, pieces))


def screened(model: Model, trace: Trace) -> tuple[PartRemoval, Screened]:
    """Return the clauses alone, and the falls without the strongest of them and without words of the strongest.

    A part that opposes the target is the strongest if the target is a class that the model holds for unlikely.
    """
    sign = opposing(trace)
    result = alone(model, trace)
    values = np.array([result.scores[piece.indices[0]] for piece in result.parts])
    tried = [result.parts[i] for i in np.argsort(-sign * values, kind="stable")[:TRIED]]
    clauses = _falls(model, trace, tried, "clauses left out")
    words = _words_inside(model, trace, clauses[0]) if clauses else ()
    return result, Screened(clauses, words, int((values > 0).sum()), len(values))


def opposing(trace: Trace) -> int:
    """Return -1 if a reason is what opposes the target, an unlikely class that a person chose; otherwise 1."""
    return 1 if trace.target == PREDICTED or float(trace.share_of(trace.logits)) >= 0.5 else -1


def _reading_only(model: Model, trace: Trace, remaining: Iterable[Sequence[int]], what: str) -> Floats:
    """Return the logits (N, K) of the text with only the tokens of each of N sets, and the special tokens."""
    tokens = np.flatnonzero(~trace.specials)
    return leaving_out(model, trace, [np.setdiff1d(tokens, list(each)).tolist() for each in remaining], what)


def _falls(model: Model, trace: Trace, pieces: Sequence[Word], what: str) -> tuple[Fall, ...]:
    """Return the falls without each part of a text, the strongest first."""
    logits = leaving_out(model, trace, [piece.indices for piece in pieces], what)
    falls, shares = trace.value - trace.value_of(logits), softmax(logits, trace.calibration)
    order = np.argsort(-opposing(trace) * falls, kind="stable").tolist()
    return tuple(Fall(pieces[i].text.rstrip(" ,;:–—-"), pieces[i].indices, float(falls[i]), tuple(shares[i].tolist())) for i in order)


def _words_inside(model: Model, trace: Trace, clause: Fall) -> tuple[Fall, ...]:
    """Return the falls without the words of a clause that change most what it says alone."""
    inside = [word for word in spaced_words(trace) if set(word.indices) <= set(clause.indices) and any(map(str.isalnum, word.text))]
    if len(inside) < 2:
        return ()
    shortened = [[i for i in clause.indices if i not in word.indices] for word in inside]
    values = trace.value_of(_reading_only(model, trace, shortened, "shortened clauses"))
    return _falls(model, trace, [inside[i] for i in np.argsort(opposing(trace) * values, kind="stable")[:TRIED]], "words")
