"""The answer and its reason in words, where there is one that holds.

Named is the first of these that is so; what was not asked is not said:

1. A unit without which the answer falls by POINTS of probability and more, and by more log-odds than RARE of the units of its size do in
   our own example sentences (`Chance`): not the word that happens to be first in a row of words that change nothing.
2. The smallest edit that flips the answer, verified on the edited text.
3. That no single word explains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sentviz.analysis.explain.flip import PASSES, smallest_flip
from sentviz.analysis.explain.leave_out import log_odds
from sentviz.analysis.explain.scores import explained, percent
from sentviz.analysis.explain.units import find_units, spaced_words
from sentviz.errors import InputError
from sentviz.runs.evidence import Chance, Evidence
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model
    from sentviz.runs.store import Run

POINTS, RARE = 0.1, 0.9
TOKENS, LEAST_PASSES = 32_000, 100  # tokens that the search of a long text may read, and texts that it asks about all the same
TEXTS = 8  # of our own that a model is asked about


def chance(model: Model, texts: Sequence[tuple[str, str | None]]) -> Chance:
    """How far leaving out a unit of each size lowers the answers to some texts, the quantile RARE over all spans of that size.

    Args:
        texts: single ones, with None, or pairs.
    """
    falls: dict[int, list[float]] = {}
    for text, pair in texts:
        found = find_units(model, model.trace(text, pair, maps=False))
        for (start, stop), fall in found.falls.items():
            if any(letter.isalnum() for letter in found.words[start].text):
                falls.setdefault(stop - start, []).append(fall)
    return {size: float(np.quantile(values, RARE)) for size, values in sorted(falls.items())}


def chance_of(model: Model, run: Run) -> Chance:
    """`chance` over our own examples in the language of a run, pairs for one that reads pairs."""
    from sentviz.data import datasets
    from sentviz.data.examples import examples_for
    from sentviz.runs.catalog import reads_pairs

    try:
        language = datasets.info(run.config["data"]["name"]).language
    except InputError:  # a data set that is not known here
        language = "en"
    some = list(examples_for(run.labels, language, pairs=reads_pairs(run)).values())[:TEXTS]
    return chance(model, [(example.text, example.pair) for example in some])


def supported(model: Model, trace: Trace, against: Chance, **change: Any) -> Trace:
    """The trace with its units and the evidence for a reason; the flip is searched where no unit explains the answer.

    Args:
        against: of the same model, as `chance_of` has it. change: interventions, the same that the trace was made with.
    """
    if "units" not in trace.token_scores:
        trace = explained(model, trace, ["units"], **change)
    trace = trace.replace(evidence=Evidence(against, None))
    if _unit(trace):
        return trace
    try:
        passes = min(PASSES, max(LEAST_PASSES, TOKENS // len(trace.tokens)))
        return trace.replace(evidence=Evidence(against, smallest_flip(model, trace, passes=passes, **change)))
    except InputError:
        return trace


def answer(trace: Trace) -> str:
    """The verdict: "Negative, 93%."."""
    return f"{trace.label.capitalize()}, {percent(trace.confidence)}."


def reason(trace: Trace) -> str:
    """Why, in a sentence; "" where the model was not asked."""
    if trace.evidence is None:
        return ""
    if unit := _unit(trace):
        return unit
    flip = trace.evidence.flip
    if flip is not None and flip.edits:
        words = flip.words[0].upper() + flip.words[1:]
        return f"{words} it would be {flip.label}, {percent(flip.probability)}."
    if flip is None or not flip.passes:
        return "No single word explains this."
    words = "one word" if flip.most == 1 else f"up to {flip.most} words"
    return f"No single word explains this. None of {flip.passes:,} edits of {words} that were tried turns it."


def headline(trace: Trace) -> str:
    """The verdict with its reason: "Negative, 94%. Without “not bad”: 3%."."""
    return f"{answer(trace)} {reason(trace)}".strip()


def _unit(trace: Trace) -> str:
    """The unit that matters most, with the probability of the answer without it; "" where none does."""
    assert trace.evidence is not None
    falls, places = trace.token_scores["units"], trace.units["units"]
    units: dict[int, list[tuple[int, ...]]] = {}
    for word in spaced_words(trace):
        units.setdefault(int(places[word.indices[0]]), []).append(word.indices)
    odds = float(log_odds(trace.logits, int(trace.probabilities.argmax())))
    for words in sorted(units.values(), key=lambda words: -float(falls[words[0][0]])):
        fall, first, last = float(falls[words[0][0]]), words[0][0], words[-1][-1]
        left = float(1 / (1 + np.exp(fall - odds)))
        if trace.confidence - left >= POINTS and fall > trace.evidence.chance.get(len(words), np.inf):
            text = (trace.text, trace.text_pair or "")[int(trace.segments[first])]
            return f"Without “{text[int(trace.offsets[first, 0]) : int(trace.offsets[last, 1])]}”: {percent(left)}."
    return ""
