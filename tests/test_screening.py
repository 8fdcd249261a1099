"""The reason for a long text from its clauses: planted models whose cause is known, and the same numbers from whole texts."""

from __future__ import annotations

import numpy as np
import pytest

from sentviz.analysis.explain import quickly_supported, reason, score
from sentviz.analysis.explain.headline import MIN_FALL
from sentviz.analysis.explain.screening import TRIED, alone, screened
from sentviz.runs.target import Target, log_odds
from tests.kit import planted_model, small_model

TEXT = "it is a warm song; the garden is not dull; it is a cold day; what a tender film; the day is long; a clever garden"
CLAUSES = (*(f"{part};" for part in TEXT.split("; ")[:-1]), "a clever garden")


def test_a_clause_alone_is_the_prediction_of_a_text_that_is_only_the_clause() -> None:
    model = small_model(max_length=64)
    trace = model.trace(TEXT)
    result = alone(model, trace)
    assert tuple(part.text for part in result.parts) == CLAUSES
    k = int(trace.probabilities.argmax())
    for part in result.parts:
        whole = model.trace(part.text)
        assert result.scores[list(part.indices)] == pytest.approx(float(log_odds(whole.logits, k, None)), abs=1e-4)
    assert not result.scores[trace.specials].any()
    assert len(set(result.places.tolist())) == len(CLAUSES) + int(trace.specials.sum())


def test_falls_are_those_of_shortened_texts_and_the_strongest_is_first() -> None:
    """Each fall is the difference from the text that is written without the clause, or without the word."""
    model = small_model(max_length=64)
    trace = model.trace(TEXT)
    result, evidence = screened(model, trace)
    k = int(trace.probabilities.argmax())
    values = {part.text: float(result.scores[part.indices[0]]) for part in result.parts}
    strongest = sorted(values, key=values.__getitem__, reverse=True)[:TRIED]
    assert {fall.text for fall in evidence.clauses} == {text.rstrip(";") for text in strongest}
    for fall in (*evidence.clauses, *evidence.words):
        written = [trace.tokens[i] for i in range(len(trace.tokens)) if i not in fall.indices and not trace.specials[i]]
        shortened = model.trace(" ".join(written))
        assert fall.fall == pytest.approx(trace.value - float(log_odds(shortened.logits, k, None)), abs=1e-4)
        assert fall.without == pytest.approx(shortened.probabilities.tolist(), abs=1e-4)
    for falls in (evidence.clauses, evidence.words):
        assert [fall.fall for fall in falls] == sorted((fall.fall for fall in falls), reverse=True)
    assert {word.indices[0] for word in evidence.words} <= set(evidence.clauses[0].indices)
    assert (evidence.agreeing, evidence.of) == (sum(value > 0 for value in values.values()), len(CLAUSES))


def test_the_planted_clause_and_its_word_are_named() -> None:
    model = planted_model(lambda there: 3 * there("tender") - 1)
    trace = quickly_supported(model, model.trace(TEXT), {1: 0.5})
    assert reason(trace) == "Without “what a tender film” it would be negative (88\u00a0%). In it, “tender” counts most."
    assert np.ptp(score(trace, "alone")) > 1


def test_no_clause_decides_if_several_say_the_same() -> None:
    """Each of four clauses alone would do; the sentence says how many agree."""
    model = planted_model(lambda there: 2 * (there("song") + there("tender") + there("garden")).clamp(max=1) - 1)
    sentence = reason(quickly_supported(model, model.trace(TEXT), {1: 0.5}))
    assert sentence.startswith("No single clause decides: 4 of 6 are positive on their own. Without the strongest, “")
    assert sentence.endswith(", it would still be positive (88\u00a0%).")


def test_a_word_of_the_strongest_clause_can_be_the_reason_where_the_clause_is_not() -> None:
    """The rest of the clause of *dull* opposes the answer, so that nothing changes without the clause, but much without the word."""
    model = planted_model(lambda there: 1 - 4 * there("not") + 4 * there("dull"))
    sentence = reason(quickly_supported(model, model.trace(TEXT), {1: 0.5}))
    assert sentence.startswith("No single clause decides") or "“dull”" in sentence


def test_a_text_of_one_clause_has_the_usual_reason() -> None:
    """There is nothing beside the clause; without it, no word would be left."""
    model = planted_model(lambda there: 3 * there("tender") - 1)
    trace = quickly_supported(model, model.trace("what a tender film"), {1: 0.5})
    assert reason(trace) == "Without “tender” it would be negative (88\u00a0%)." and "alone" not in trace.token_scores


@pytest.mark.parametrize("labels", [("negative", "positive"), ("negative", "neutral", "positive")])
def test_the_reason_is_about_a_chosen_class_and_a_small_fall_names_none(labels: tuple[str, ...]) -> None:
    model = small_model(max_length=64, labels=labels)
    trace = model.trace(TEXT)
    trace = trace if len(labels) == 2 else trace.for_target(Target(labels[1]))
    supported = quickly_supported(model, trace, {1: 0.0})
    assert supported.evidence is not None and supported.evidence.screened is not None
    changes = [abs(float(trace.share_of(trace.logits)) - trace.without(fall.fall)) for fall in supported.evidence.screened.clauses]
    assert ("No single clause decides" in reason(supported)) == (max(changes) < MIN_FALL)
