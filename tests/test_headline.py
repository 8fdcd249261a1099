"""The reason in words: planted models whose cause is known, thresholds by hand, nothing said that was not asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sentviz.analysis.explain import explained, headline, reason, supported
from sentviz.analysis.explain.headline import CHANCE_QUANTILE, MIN_FALL, chance, chance_of, chance_over_examples
from sentviz.analysis.explain.stored import rows_of
from sentviz.analysis.explain.word_groups import find_units
from sentviz.io.numbers import percent
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs.headline_evidence import Edit, Evidence, Flip
from sentviz.runs.store import find
from sentviz.runs.target import PREDICTED, Target
from sentviz.runs.trace import Trace
from tests.kit import gated_model, planted_model, small_model

ROOT = Path(__file__).parents[1]
OWN = [("it is a warm song", None), ("the garden was cold and dull", None), ("what a clever lighthouse, I say", None)]
TEXT = "it is not a dull and tender song"


def with_headline(model: Model, text: str) -> Trace:
    return supported(model, model.trace(text), chance(model, OWN))


def test_the_planted_reason_is_named() -> None:
    """The headline names a planted word or pair, and says if no single word explains the answer."""
    model = planted_model(lambda there: 3 * there("tender") - 1)
    assert headline(with_headline(model, TEXT)) == "Positive, 98\u00a0%. Without “tender” it would be negative (88\u00a0%)."
    pair = planted_model(lambda there: 6 * there("not") * there("a") * there("dull") - 3 * there("dull"))
    assert headline(with_headline(pair, TEXT)) == "Positive, >99\u00a0%. Without “not” it would be negative (>99\u00a0%)."
    either = planted_model(lambda there: 3 * (there("tender") + there("not")).clamp(max=1) - 1)
    two = "Without “not” and “tender” it would be negative (88\u00a0%). None of the 17 edits of one word changes the predicted class."
    assert reason(with_headline(either, TEXT)) == two
    trace = with_headline(planted_model(lambda there: 1 + 0 * there("tender")), TEXT)
    passes = trace.evidence.flip.passes  # type: ignore[union-attr]
    none = f"None of the {passes} tested edits of up to 3 words changes the predicted class."
    assert passes > 20 and headline(trace) == f"Positive, 88\u00a0%. No single word explains this. {none}"


def scored(falls: list[float], against: dict[int, float], flip: Flip | None = None, odds: float = 2.0, cold: float = 0.0) -> Trace:
    """Return four words in units of one, one and two words, with given falls of a given answer; the word "cold" alone has its own."""
    model = small_model()
    trace = model.trace("warm song, cold soup").replace(logits=np.array([-odds / 2, odds / 2], np.float32))
    p = 1 / (1 + np.exp(-odds))
    units = np.array([0, 1, 2, 3, 3])
    values = {
        "units": np.array([falls[0], falls[1], 0.0, falls[2], falls[2]], np.float32),
        "removal": np.array([falls[0], falls[1], 0.0, cold, 0.0], np.float32),
    }
    trace = trace.replace(probabilities=np.array([1 - p, p], np.float32), token_scores=values, units={"units": units})
    return trace.replace(evidence=Evidence(against, flip))


def test_a_unit_is_named_where_it_matters_and_others_of_its_size_do_not() -> None:
    """A unit is named if it passes the points of probability and the threshold of its size; if the largest fails, the next one is tried."""
    low, nothing = {1: 0.5, 2: 0.5}, "No single word explains this."
    for falls, against, options, sentence in (
        ([1.5, 0.2, 0.1], low, {}, f"Without “warm” it would still be positive ({percent(1 / (1 + np.exp(-0.5)), 0)})."),
        ([0.1, 0.2, 3.0], low, {}, f"Without “cold soup” it would be negative ({percent(1 / (1 + np.exp(-1)), 0)})."),
        ([2.0, 0.2, 3.0], {1: 0.5, 2: 3.5}, {}, "Without “warm” it would be undecided (50\u00a0%)."),
        ([2.0, 0.2, 3.0], {1: 2.5, 2: 3.5}, {}, nothing),
        ([0.1, 0.2, 3.0], {1: 2.0, 2: 3.5}, {"cold": 4.0}, "Without “cold” it would be negative (88\u00a0%)."),  # its unit is short
        ([0.1, 0.2, 3.5], {1: 2.0, 2: 2.5}, {"cold": 2.5}, "Without “cold soup” it would be negative (82\u00a0%)."),
        ([2.0, 0.2, 3.0], {}, {}, nothing),
        ([5.0, 0.0, 0.0], low, {"odds": 12}, nothing),  # 99.999 % to 99.9 %
        ([0.6, 0.0, 0.0], low, {}, nothing),  # 88 % to 80 %
    ):
        assert reason(scored(falls, against, **options)) == sentence
    flip = Flip((Edit(0, "warm"), Edit(1, "song", "garden")), "garden, cold soup", None, "negative", 0.998, 40, 3, 1, 100, 30, True)
    named = "Without “warm” and with “garden” for “song” it would be negative (>99\u00a0%)."
    assert reason(scored([0, 0, 0], low, flip)) == f"{named} None of the 30 edits of one word changes the predicted class."
    incomplete = reason(scored([0, 0, 0], low, replace(flip, complete=False)))
    assert incomplete.endswith("None of the 30 tested edits of one word changes the predicted class.")
    assert reason(scored([0, 0, 0], low, replace(flip, edits=flip.edits[:1]))) == "Without “warm” it would be negative (>99\u00a0%)."
    trace = scored([9.0, 0, 0], low, flip).replace(evidence=None)
    assert (MIN_FALL, reason(trace), headline(trace)) == (0.1, "", "Positive, 88\u00a0%.")


def test_with_three_classes_the_model_says_which_one_takes_over() -> None:
    """The class without the unit is that of the shortened text, since the falls of two classes do not tell it."""
    model = small_model(labels=("bad", "middling", "good"))
    falls = explained(model, model.trace("a warm song we saw"), ["units"])
    places, values = falls.units["units"], np.zeros(len(falls.tokens), np.float32)
    unit = places == places[falls.tokens.index("warm")]
    values[unit] = 9.0  # planted, so that this unit is the reason
    got = supported(model, falls.replace(token_scores={"units": values, "removal": 0 * values}), dict.fromkeys(range(1, 5), 0.5))
    inside = np.flatnonzero(unit)
    left, right = falls.offsets[inside[0], 0], falls.offsets[inside[-1], 1]
    shorter = model.trace((falls.text[:left] + falls.text[right + 1 :]).strip())
    assert got.evidence is not None and got.evidence.without == pytest.approx(shorter.probabilities, abs=1e-5)
    still = "still " * (shorter.label == falls.label)
    assert reason(got).endswith(f"it would {still}be {shorter.label} ({percent(shorter.confidence, 0)}).")


def test_the_reason_for_another_class_names_what_speaks_against_it() -> None:
    """A class with 3 % is explained by the word without which it rises most, one with 73 % against another by its largest fall."""
    trace = small_model(labels=("bad", "middling", "good")).trace("warm song, cold soup")
    z = np.array([0.0, 2.0, 3.0], np.float32)
    trace = trace.replace(logits=z, probabilities=(np.exp(z) / np.exp(z).sum()).astype(np.float32))
    values = np.array([2.0, -2.5, 0.0, 0.0, 0.0], np.float32)  # without "warm" the target falls by 2, without "song" it rises by 2.5
    trace = trace.replace(token_scores={"units": values, "removal": 0 * values}, units={"units": np.array([0, 1, 2, 3, 4])})

    def reason_for(target: Target, least: float = 0.5, flip: Flip | None = None, after: tuple[float, ...] = ()) -> str:
        return reason(replace(trace, target=target, evidence=Evidence({1: least}, flip, after)))

    bad, good, p = Target("bad"), Target("good", "middling"), 1 / (np.exp(2) + np.exp(3) + 1)
    risen = 1 / (1 + np.exp(-2.5) * (1 - p) / p)
    assert reason_for(bad) == f"Without “song”, “bad” would have {percent(risen, 0)}, not {percent(p, 0)}."
    pair = "Without “warm”, “good” against “middling” would have "
    assert reason_for(good) == f"{pair}{percent(1 / (1 + np.e), 0)}, not {percent(1 / (1 + np.exp(-1)), 0)}."
    assert reason_for(good, after=(0.5, 0.4, 0.1)).startswith(f"{pair}20\u00a0%, not")
    assert reason_for(bad, 3.0) == f"No single word explains “bad” ({percent(p, 0)})."
    flip = Flip((Edit(0, "warm", "dull"),), "", None, "bad", 0.61, 40, goal=bad)
    assert reason_for(bad, 3.0, flip) == "With “dull” for “warm” it would be bad (61\u00a0%)."
    among = replace(flip, label="middling", goal=Target("middling", "good"))
    assert reason_for(good, 9.0, among) == "With “dull” for “warm”, “middling” against “good” would have 61\u00a0%."
    none = Flip(passes=40, goal=bad)
    assert reason_for(bad, 3.0, none).endswith("up to 3 words changes the prediction to “bad”.")
    assert reason_for(bad, 3.0, replace(none, goal=among.goal)).endswith("makes “middling” more probable than “good”.")
    assert supported(small_model(), small_model().trace("a warm song").for_target(Target("negative")), {}).target == PREDICTED


def test_the_threshold_is_the_quantile_of_spans_of_each_size() -> None:
    """The thresholds are the quantiles over every span of our texts, collected in the test; single punctuation marks are left out."""
    model = small_model()
    falls: dict[int, list[float]] = {1: [], 2: [], 3: [], 4: []}
    for text, _ in OWN:
        units = find_units(model, model.trace(text))
        for (start, stop), fall in units.falls.items():
            if units.words[start].text != ",":
                falls[stop - start].append(fall)
    got = chance(model, OWN)
    assert got == {size: pytest.approx(np.quantile(values, CHANCE_QUANTILE)) for size, values in falls.items()} and len(got) == 4


def test_what_cannot_be_searched_is_not_claimed() -> None:
    """Changed gates have no flip, so the sentence ends before it; other interventions apply to units and flip."""
    gated = gated_model()
    change = {"gates_open": (1,)}
    trace = supported(gated, gated.trace("a warm song", **change), {})  # type: ignore[arg-type]
    assert reason(trace) == "No single word explains this." and trace.evidence is not None and trace.evidence.flip is None
    model, mixed = small_model(components=2, mixing="free"), {"lambdas": [[1, -2], [1, 0.5]]}
    trace = supported(model, model.trace("a warm song we saw", **mixed), {})  # type: ignore[arg-type]
    units = explained(model, trace, ["units"]).token_scores["units"]
    assert trace.token_scores["units"].tolist() == units.tolist() and units.any()


@pytest.mark.exhaustive
@pytest.mark.skipif(not (ROOT / "checkpoints" / "english" / "minilm").is_dir(), reason="checkpoints/ is not here")
def test_the_stored_falls_by_chance_are_those_of_the_examples() -> None:
    run = find("english/ndt-unit-2", [ROOT / "checkpoints"])
    model = load(run)
    stored = chance_of(model, run)
    assert list(stored.values()) == rows_of("chance", run)["fall"].tolist() and list(stored) == [1, 2, 3, 4]
    assert chance_over_examples(model, run) == pytest.approx(stored, abs=1e-4)
