"""State the prediction and the reason for it as a sentence.

The reason is the first of these that holds:

1. The strongest unit or single word without which the probability falls by at least MIN_FALL, and the log-odds by more than the quantile
   CHANCE_QUANTILE of units of this size in the shipped example sentences (`Chance`). So a word with a small effect is not named just for
   being the strongest. The strongest is the one whose fall exceeds that quantile by most: longer units fall further by chance.
2. The smallest edit that flips the prediction, verified on the edited text.
3. No single word explains the prediction.

A long text, whose words would take minutes, gets its reason from clauses (`quickly_supported`): the clause without which the probability
falls most, of those that speak most for the class when they are read alone.

If the trace's target is not the prediction, the reason is about the target: the unit or word without which the target's probability falls
most, or rises most if it is below one half, else the smallest edit towards the target. Of two classes, both have the reason of the
prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.explain.counterfactual import MAX_PASSES, smallest_flip
from sentviz.analysis.explain.leave_out import leaving_out, words
from sentviz.analysis.explain.scores import explained, with_scores
from sentviz.analysis.explain.screening import opposing, screened
from sentviz.analysis.explain.stored import rows_of
from sentviz.analysis.explain.value_function import cut_at_marks
from sentviz.analysis.explain.word_groups import find_units, spaced_words
from sentviz.data.examples import examples_for
from sentviz.data.texts import Word
from sentviz.errors import InputError
from sentviz.io.numbers import percent, probability
from sentviz.runs.calibration import softmax
from sentviz.runs.headline_evidence import Chance, Evidence, Flip, Screened
from sentviz.runs.store import Run
from sentviz.runs.target import PREDICTED, Target
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

MIN_FALL, CHANCE_QUANTILE = 0.1, 0.9
MAX_WORK, MIN_PASSES = 2e12, 100  # parameters times tokens that the search may compute, and edited texts that it predicts in any case
CHANCE_TEXTS = 8  # example sentences from which `Chance` is measured


def chance(model: Model, texts: Sequence[tuple[str, str | None]]) -> Chance:
    """Return the quantile CHANCE_QUANTILE of the falls of all spans of each size, in log-odds, over some texts.

    Args:
        texts: pairs of texts; the second is None for a single text.
    """
    falls: dict[int, list[float]] = {}
    for text, pair in texts:
        units = find_units(model, model.trace(text, pair, maps=False))
        for (start, stop), fall in units.falls.items():
            if any(letter.isalnum() for letter in units.words[start].text):
                falls.setdefault(stop - start, []).append(fall)
    return {size: float(np.quantile(values, CHANCE_QUANTILE)) for size, values in sorted(falls.items())}


def chance_of(model: Model, run: Run) -> Chance:
    """Return the stored measurement of `chance_over_examples` for a shipped run, because large models need seconds for it; else measure."""
    table = rows_of("chance", run)
    stored = dict(zip(table["size"].astype(int), table["fall"].astype(float), strict=True))
    return stored or chance_over_examples(model, run)


def chance_over_examples(model: Model, run: Run) -> Chance:
    """Return `chance` over the example sentences in the language of a run; over pairs if the run reads pairs."""
    from sentviz.runs.catalog import language, reads_pairs

    return chance_in(model, language(run), pairs=reads_pairs(run))


def chance_in(model: Model, language: str = "en", *, pairs: bool = False) -> Chance:
    """Return `chance` over the example sentences, or pairs, in a language."""
    examples = list(examples_for(model.labels, language, pairs=pairs).values())[:CHANCE_TEXTS]
    return chance(model, [(example.text, example.pair) for example in examples])


def supported(model: Model, trace: Trace, against: Chance | None = None) -> Trace:
    """Return the trace with its removal scores, its units and the evidence for a reason; of two classes, for the predicted one.

    The smallest edit is searched only if no unit explains the prediction.

    Args:
        against: result of `chance_of` for the same model; by default that of `chance_in`, over English sentences.
    """
    against, trace = chance_in(model) if against is None else against, trace.for_target(PREDICTED) if len(trace.labels) == 2 else trace
    for name in ("removal", "units"):  # units reuse what the removal of single words has found
        if name not in trace.token_scores:
            trace = explained(model, trace, [name])
    trace = trace.replace(evidence=Evidence(against, None))
    if strongest := _strongest_unit(trace):
        return trace if len(trace.labels) == 2 else trace.replace(evidence=Evidence(against, None, _without(model, trace, strongest[0])))
    try:
        return trace.replace(evidence=Evidence(against, searched(model, trace)))
    except InputError:
        return trace


def quickly_supported(model: Model, trace: Trace, against: Chance | None = None) -> Trace:
    """Return the trace with the score "alone" and the evidence for a reason of a long text, from about eight passes of the model.

    Of two classes, the evidence is that of the predicted one. A text of one clause gets that of `supported`.

    Args:
        against: result of `chance_of` for the same model; by default that of `chance_in`, over English sentences.
    """
    if len(cut_at_marks(trace, "clauses")) < 2:
        return supported(model, trace, against)
    against = chance_in(model) if against is None else against
    trace = trace.for_target(PREDICTED) if len(trace.labels) == 2 else trace
    result, evidence = screened(model, trace)
    return with_scores(trace, {"alone": result}).replace(evidence=Evidence(against, None, screened=evidence))


def searched(model: Model, trace: Trace) -> Flip:
    """Return the result of a search for the smallest edit towards the trace's target; a larger model predicts fewer edits."""
    passes = min(MAX_PASSES, max(MIN_PASSES, int(MAX_WORK / max(1, model.network.parameters_count()) / len(trace.tokens))))
    return smallest_flip(model, trace, passes=passes)


def answer(trace: Trace) -> str:
    """Return the prediction as text, for example "Negative, 93 %."."""
    return f"{trace.label.capitalize()}, {probability(trace.confidence)}."


def reason(trace: Trace) -> str:
    """Return the reason for the prediction, or for the target, as a sentence; "" if the trace has no evidence."""
    if trace.evidence is None:
        return ""
    if trace.evidence.screened is not None:
        return _screened_reason(trace, trace.evidence.screened)
    if strongest := _strongest_unit(trace):
        unit, fall = strongest
        return f"Without “{unit.text}”{_change(trace, fall, trace.evidence.without)}."
    flip = trace.evidence.flip
    if flip is not None and flip.edits:
        return edit_sentence(flip)
    what = "this" if trace.target == PREDICTED else f"{trace.target.says()} ({probability(float(trace.share_of(trace.logits)))})"
    return f"No single word explains {what}. {edit_sentence(flip) if flip is not None and flip.passes else ''}".strip()


def _screened_reason(trace: Trace, tests: Screened) -> str:
    """Return the reason for a long text: the clause or word without which the target's probability falls by MIN_FALL or more, and by most.

    A word must also pass the quantile of single words. If none passes: how many clauses agree with the target when they are read alone.
    """
    assert trace.evidence is not None
    sign, share, least = opposing(trace), float(trace.share_of(trace.logits)), trace.evidence.chance.get(1, 0.0)
    words = [word for word in tests.words if sign * word.fall > least]
    changes = {part: sign * (share - trace.without(part.fall)) for part in (*tests.clauses, *words)}
    strongest = max(changes, key=changes.__getitem__)
    if changes[strongest] >= MIN_FALL:
        inside = next((word for word in words if strongest in tests.clauses[:1] and changes[word] >= MIN_FALL), None)
        also = f" In it, “{inside.text}” counts most." if inside else ""
        return f"Without “{strongest.text}”{_change(trace, strongest.fall, strongest.without)}.{also}"
    says = trace.label if trace.target == PREDICTED else f"for {trace.target.says()}"
    first = tests.clauses[0]
    change = _change(trace, first.fall, first.without).removeprefix(",")
    return (
        f"No single clause decides: {tests.agreeing} of {tests.of} are {says} on their own. Without the strongest, “{first.text}”,{change}."
    )


def _change(trace: Trace, fall: float, without: tuple[float, ...]) -> str:
    """Return what the prediction, or the target, would be without a part with this fall, and these class probabilities if not ()."""
    return (_outcome if trace.target == PREDICTED else _share)(trace, fall, without)


def smallest_edit(model: Model, text: str, pair: str | None = None, target: Target = PREDICTED) -> str:
    """Search the smallest edit of a text that changes the predicted class, and return the result as a sentence.

    Args:
        target: class that the model has to predict for the edited text. With `against`, the edit exchanges which of the two classes is
            more probable.
    """
    return edit_sentence(searched(model, model.trace(text, pair, maps=False).for_target(target)))


def edit_sentence(flip: Flip) -> str:
    """Return the result of a search for the smallest edit as a sentence."""
    if flip.edits:
        words, p = flip.words[0].upper() + flip.words[1:], probability(flip.probability)
        if flip.goal.against:
            return f"{words}, {flip.goal.says()} would have {p}.{_singles(flip)}"
        return f"{words} it would be {flip.label} ({p}).{_singles(flip)}"
    words = "one word" if flip.most == 1 else f"up to {flip.most} words"
    return f"None of the {flip.passes:,} tested edits of {words} {_reaches(flip.goal)}.{_untested(flip)}"


def _singles(flip: Flip) -> str:
    """Return what is known of edits of one word, if the flip edits several words, and of the time, as sentences after a space."""
    if len(flip.edits) < 2:
        return _untested(flip)
    return f" None of the {flip.singles:,} {'' if flip.complete else 'tested '}edits of one word {_reaches(flip.goal)}.{_untested(flip)}"


def _untested(flip: Flip) -> str:
    """Return how many edits were left when the time of the search ended, as a sentence after a space; "" if the search ended by itself."""
    return f" The time ended: {flip.passes:,} of {flip.passes + flip.untested:,} edits were tested." if flip.untested else ""


def _reaches(goal: Target) -> str:
    """Return what an edit does that reaches a goal: "changes the predicted class"."""
    if goal.against:
        return f"makes “{goal.label}” more probable than “{goal.against}”"
    return f"changes the prediction to “{goal.label}”" if goal.label else "changes the predicted class"


def headline(trace: Trace) -> str:
    """Return the prediction with its reason, for example "Negative, 94 %. Without “not bad” it would be positive (97 %)."."""
    return f"{answer(trace)} {reason(trace)}".strip()


def _strongest_unit(trace: Trace) -> tuple[Word, float] | None:
    """Return the unit or word that `reason` names, and its fall in log-odds; None if none explains the target."""
    assert trace.evidence is not None
    chance, best, share = trace.evidence.chance, None, float(trace.share_of(trace.logits))
    sign = opposing(trace)
    for unit, size, fall in _candidates(trace):
        excess = sign * fall - chance.get(size, np.inf)
        if excess > (best[0] if best else 0) and sign * (share - trace.without(fall)) >= MIN_FALL:
            best = excess, unit, fall
    return best and best[1:]


def _candidates(trace: Trace) -> Iterator[tuple[Word, int, float]]:
    """Yield each unit, then each single word: with all of its tokens, its number of words, and its fall in log-odds."""
    removal, units, places = trace.token_scores["removal"], trace.token_scores["units"], trace.units["units"]
    spaced, alone = spaced_words(trace), {word.indices for word in words(trace)}
    for _, group in groupby(spaced, key=lambda word: int(places[word.indices[0]])):
        members = list(group)
        first, last = members[0].indices[0], members[-1].indices[-1]
        text = (trace.text, trace.text_pair or "")[int(trace.segments[first])]
        whole = text[int(trace.offsets[first, 0]) : int(trace.offsets[last, 1])]
        yield Word(whole, tuple(i for word in members for i in word.indices)), len(members), float(units[first])
    for word in spaced:
        if word.indices in alone:  # else the model reads it as several words, whose falls do not tell that of the whole
            yield word, 1, float(removal[word.indices[0]])


def _without(model: Model, trace: Trace, unit: Word) -> tuple[float, ...]:
    """Return the probability of each class for the text without a unit."""
    return tuple(softmax(leaving_out(model, trace, [unit.indices])[0], trace.calibration).tolist())


def _outcome(trace: Trace, fall: float, without: tuple[float, ...]) -> str:
    """Return what the prediction would be without a unit with this fall: " it would be negative (97 %)"."""
    left, best = trace.without(fall), int(trace.probabilities.argmax())
    shares = without or (left, 1 - left)[:: 1 if best == 0 else -1]
    if len(shares) == 2 and probability(left) == percent(0.5, 0):
        return f" it would be undecided ({probability(left)})"
    label = int(np.argmax(shares))
    return f" it would {'still ' * (label == best)}be {trace.labels[label]} ({probability(shares[label])})"


def _share(trace: Trace, fall: float, without: tuple[float, ...]) -> str:
    """Return the probability of the target without a unit with this fall: ", “positive” against “neutral” would have 40 %, not 85 %"."""
    k, against = trace.target_places
    left = trace.without(fall) if not without else without[k] if against is None else without[k] / (without[k] + without[against])
    return f", {trace.target.says()} would have {probability(left)}, not {probability(float(trace.share_of(trace.logits)))}"
