"""The reason in words, units of a text, and the smallest edit: planted models whose cause is known, and every cut or edit tried."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sentviz.analysis.explain import explained, headline, log_odds, reason, score, supported
from sentviz.analysis.explain.bigrams import EDGE, Bigrams, hashed, read_words
from sentviz.analysis.explain.counterfactual import _EditableText, smallest_flip
from sentviz.analysis.explain.headline import CHANCE_QUANTILE, MIN_FALL, chance, quickly_supported, smallest_edit
from sentviz.analysis.explain.measured import EVERY, flips_over
from sentviz.analysis.explain.screening import screened
from sentviz.analysis.explain.value_function import parts
from sentviz.analysis.explain.word_groups import cut, find_units, spaced_words
from sentviz.analysis.explain.word_swaps import in_case
from sentviz.charts.strip import strip
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.io.numbers import percent
from sentviz.models.model import Model
from sentviz.runs.headline_evidence import Edit, Evidence, Flip
from sentviz.runs.target import PREDICTED, Target
from sentviz.runs.trace import Trace
from tests.kit import gated_model, planted_model, refused, small_model, toy_splits
from tests.slow import best_cut

OWN = [("it is a warm song", None), ("the garden was cold and dull", None), ("what a clever lighthouse, I say", None)]
TEXT = "it is not a dull and tender song"


def with_headline(model: Model, text: str) -> Trace:
    return supported(model, model.trace(text), chance(model, OWN))


def test_planted_reasons_are_named_above_chance() -> None:
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
    model = small_model()
    falls: dict[int, list[float]] = {1: [], 2: [], 3: [], 4: []}
    for text, _ in OWN:
        units = find_units(model, model.trace(text))
        for (start, stop), fall in units.falls.items():
            if units.words[start].text != ",":
                falls[stop - start].append(fall)
    got = chance(model, OWN)
    assert got == {size: pytest.approx(np.quantile(values, CHANCE_QUANTILE)) for size, values in falls.items()} and len(got) == 4
    gated = gated_model()
    change = {"gates_open": (1,)}
    trace = supported(gated, gated.trace("a warm song", **change), {})  # type: ignore[arg-type]
    assert reason(trace) == "No single word explains this." and trace.evidence is not None and trace.evidence.flip is None
    model, mixed = small_model(components=2, mixing="free"), {"lambdas": [[1, -2], [1, 0.5]]}
    trace = supported(model, model.trace("a warm song we saw", **mixed), {})  # type: ignore[arg-type]
    units = explained(model, trace, ["units"]).token_scores["units"]
    assert trace.token_scores["units"].tolist() == units.tolist() and units.any()


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


def test_reasons_for_other_classes() -> None:
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


PLAIN = "what a warm, clever song we saw"
WORDS = ["what", "a", "warm", ",", "clever", "song", "we", "saw"]


def test_a_span_is_left_out_by_asking_about_the_text_without_it(model: Model) -> None:
    change = {"lambdas": [[1, -2], [1, 0.5]]}
    trace = model.trace(PLAIN, **change)  # type: ignore[arg-type]
    units, k = find_units(model, trace), int(trace.probabilities.argmax())
    spans = [(i, j) for i in range(8) for j in range(i + 1, min(i + 4, 8) + 1)]
    wanted = [(i, j) for i, j in spans if j == i + 1 or "," not in WORDS[i:j]]
    assert sorted(units.falls) == wanted
    for start, stop in wanted:
        rest = model.trace(" ".join(WORDS[:start] + WORDS[stop:]), **change)  # type: ignore[arg-type]
        want = log_odds(trace.logits, k) - log_odds(rest.logits, k)
        assert units.falls[start, stop] == pytest.approx(float(want), abs=2e-5)
    again = find_units(model, explained(model, trace, ["removal"]))
    assert again.falls == pytest.approx(units.falls, abs=1e-5) and again.spans == units.spans
    interactions = [units.falls[i, j] - sum(units.falls[x, x + 1] for x in range(i, j)) for i, j in wanted]
    assert max(map(abs, interactions)) > 0.01
    trace = model.trace("warm song we saw cold soup the dull garden")
    whole, some = find_units(model, trace), find_units(model, trace, passes=5)
    single = [span for span in some.falls if span[1] - span[0] == 1]
    assert len(some.falls) == 9 + 5 and len(single) == 9 and set(some.falls) < set(whole.falls)
    strongest = max(single, key=lambda span: abs(some.falls[span]))
    assert all(start <= strongest[0] < stop for start, stop in set(some.falls) - set(single))
    assert find_units(model, model.trace("warm")).falls == {(0, 1): 0.0}
    assert set(find_units(model, model.trace("warm song")).falls) == {(0, 1), (1, 2)}


def test_words_cuts_pairs_and_bigrams() -> None:
    model = small_model(tokenizer=Tokenizer.train_bpe(toy_splits()["train"].frame["text"], 275), max_length=64, cls=True, segments=2)
    trace = model.trace("I don't like it... well-made, but cold!", "cold :)")
    words = spaced_words(trace)
    want = ["I", "don't", "like", "it", "...", "well-made", ",", "but", "cold", "!", "cold", ":)"]
    assert [word.text for word in words] == want
    assert sorted(i for word in words for i in word.indices) == np.flatnonzero(~trace.specials).tolist()
    falls = find_units(model, trace).falls
    assert (8, 10) not in falls and (8, 11) not in falls and (7, 9) in falls and (10, 12) not in falls
    units = explained(model, trace, ["removal", "units"])
    assert not score(units, "units")[trace.specials].any()
    assert strip(units, "units").frame["special"].sum() == trace.specials.sum()
    rng, sizes = np.random.default_rng(0), set()
    for _ in range(40):
        falls = {(i, j): float(rng.normal() * 2) for i in range(7) for j in range(i + 1, min(i + 4, 7) + 1)}
        for span in rng.permutation([span for span in falls if span[1] - span[0] > 1])[:6].tolist():
            del falls[tuple(span)]
        spans = cut(7, falls, 1.0)
        assert list(spans) in best_cut(7, falls, 1.0)[1]
        sizes |= {stop - start for start, stop in spans}
        plain = {(i, j): sum(falls[x, x + 1] for x in range(i, j)) for i, j in falls}
        assert cut(7, plain, 1.0) == tuple((i, i + 1) for i in range(7))
    assert sizes == {1, 2, 3, 4}
    model = planted_model(lambda there: 4 * there("not") * there("dull") - 2 * there("dull") + 0.5)
    trace = explained(model, model.trace("it is not dull a song"), ["removal", "units"])
    drawn, values = strip(trace, "units").frame, dict(zip(trace.tokens, score(trace, "units"), strict=True))
    assert trace.label == "positive" and drawn["token"].tolist() == ["it", "is", "not dull", "a", "song"]
    assert values["not"] == values["dull"] == pytest.approx(4, abs=1e-5)  # log-odds are twice the value: 2 x 2.5 - 2 x 0.5
    assert values["song"] == pytest.approx(0, abs=1e-5) and score(trace, "removal")[3] == pytest.approx(4, abs=1e-5)
    assert drawn["unit removal"].tolist()[2] == values["dull"]
    adding = planted_model(lambda there: 2 * there("warm") + there("not") + there("song"))
    assert len(find_units(adding, adding.trace("it is not a warm song")).spans) == 6
    texts = ["The cat sat.", "the cat ran", "a dog sat."] * 2 + ["the dog ran"]
    bigrams = Bigrams.of(texts, least=2, bits=1 << 14)
    known = {("the", "cat"), ("cat", "sat"), ("sat", "."), ("cat", "ran"), ("a", "dog"), ("dog", "sat"), (EDGE, "the"), ("ran", EDGE)}
    words = sorted({word for text in texts for word in read_words(text)})
    pairs = [(left, right) for left in words for right in words]
    seen = bigrams.seen(*(hashed(column) for column in zip(*pairs, strict=True)))
    got = {pair for pair, there in zip(pairs, seen, strict=True) if there}
    assert known < got and got - known == {(".", EDGE), (EDGE, "a")}
    assert bigrams.fits(hashed(["cat", "dog", "Cat"]), "the", "ran").tolist() == [True, False, True]
    codes = hashed(f"word{i}" for i in range(5000))
    assert bigrams.seen(codes[:2500], codes[2500:]).mean() < 0.01


TEXTS = ["What a warm, clever song we saw!", "the garden was cold and dull", "I say, tender lighthouse"]


@pytest.mark.parametrize("bpe", [False, True], ids=["words", "pieces"])
def test_what_is_reported_flips_the_edited_text(bpe: bool) -> None:
    tokenizer, flips = Tokenizer.train_bpe(toy_splits()["train"].frame["text"], 300) if bpe else None, 0
    for seed in range(4):
        pair = "a cold soup" if seed % 2 else None
        model = small_model(seed, tokenizer=tokenizer, max_length=64, segments=2 if pair else 1)
        trace = model.trace(TEXTS[seed % 3], pair)
        flip = smallest_flip(model, trace, drawn=2)
        if flip.edits:
            predicted = model.predict([flip.text], None if flip.text_pair is None else [flip.text_pair]).iloc[0]
            assert predicted["label"] == flip.label != trace.label
            assert predicted[flip.label] == pytest.approx(flip.probability, abs=1e-5)
            assert 1 <= len(flip.edits) <= 3 and flip.drawn == 2 and 0 <= flip.random <= 2
            flips += 1
    assert flips


@pytest.mark.parametrize("against", [False, True], ids=["class", "against"])
def test_an_edit_reaches_a_chosen_class(against: bool) -> None:
    reached = 0
    for seed in range(3):
        model = small_model(seed, labels=("bad", "middling", "good"))
        plain = model.trace(TEXTS[2])
        before = dict(zip(model.labels, plain.probabilities, strict=True))
        order = plain.probabilities.argsort()[::-1]
        label, second = (model.labels[i] for i in (order[1], order[0 if seed % 2 else 2]))
        trace = plain.for_target(Target(label, second if against else ""))

        def reaches(text: str, label: str = label, second: str = second, model: Model = model, before: Any = before) -> bool:
            after = model.predict([text]).iloc[0]
            return (after[label] > after[second]) != (before[label] > before[second]) if against else after["label"] == label

        text, flip = _EditableText(model, trace), smallest_flip(model, trace, drawn=1)
        single = [(edit,) for edit in text.removals() + text.swaps(text.by_gradient, 8)]
        if any(reaches(text.edited(edits)[0]) for edits in single if text.leaves_words(edits)):
            assert len(flip.edits) == 1
        if flip.edits:
            reached += 1
            after = model.predict([flip.text]).iloc[0]
            share = after[flip.label] / (after[label] + after[second]) if against else after[flip.label]
            assert reaches(flip.text) and flip.probability == pytest.approx(share, abs=1e-5)
            assert flip.goal == (Target(flip.label, label if flip.label == second else second) if against else Target(label))
    assert reached


def test_no_plausible_swap_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.analysis.explain.counterfactual.CHUNK", 3)
    seen = set()
    for seed in range(4):
        model = small_model(seed)
        trace = model.trace(TEXTS[seed % 2])
        text = _EditableText(model, trace)
        singles = [(edit,) for edit in text.removals() + text.swaps(text.by_gradient, None)]
        edited = [text.edited(edits)[0] for edits in singles if text.leaves_words(edits)]
        flips = bool((model.predict(edited)["label"] != trace.label).any())
        flip = smallest_flip(model, trace, drawn=1)
        assert (len(flip.edits) == 1) == flips == (not flip.complete) and (flips or flip.singles == len(edited))
        half = smallest_flip(model, trace, drawn=1, passes=12)
        assert half.singles <= 12 and half.passes <= 12
        seen.add(flips)
    assert seen == {True, False}


def test_planted_reasons_and_interventions_hold() -> None:
    model = planted_model(lambda there: 2 * there("warm") - 1)
    flip = smallest_flip(model, model.trace("it is a warm song"))
    assert (flip.edits, flip.text, flip.label) == ((Edit(3, "warm"),), "it is a song", "negative")
    assert flip.words == "without “warm”" and flip.random < flip.drawn / 2
    assert smallest_edit(model, "it is a warm song").startswith("Without “warm” it would be negative (88\u00a0%).")
    both = planted_model(lambda there: 1 - 2 * (there("warm") + there("tender")).clamp(max=1))
    text = "a warm and tender song"
    flip = smallest_flip(both, both.trace(text))
    assert {edit.place for edit in flip.edits} == {1, 3} and flip.text in ("a and song",) and flip.words == "without “warm” and “tender”"
    nothing = planted_model(lambda there: 1 + 0 * there("warm"))
    flip = smallest_flip(nothing, nothing.trace(text))
    assert (flip.edits, flip.most, flip.drawn) == ((), 3, 0) and flip.passes > 5
    assert flip.complete and not smallest_flip(nothing, nothing.trace("a warm song " * 20)).complete  # 40 of its 60 words are edited
    bare = nothing.trace("zz yy xx ww")  # without plausible swaps, two of its four words are left out
    assert not smallest_flip(nothing, bare, passes=2).complete and smallest_flip(nothing, bare).complete
    short = smallest_flip(nothing, nothing.trace(text), passes=3)
    assert (short.passes, short.most) == (3, 1)  # no word is said of edits that were never asked about
    assert smallest_flip(nothing, nothing.trace("...")).passes == 0
    model = planted_model(lambda there: 2 * there("cold") - 1)
    flip = smallest_flip(model, model.trace("it is warm."))
    assert [(edit.old, edit.new) for edit in flip.edits] == [("warm", "cold")] and flip.words == "with “cold” for “warm”"
    assert [in_case("cold", old) for old in ("Warm", "warm", "WARM")] == ["Cold", "cold", "cold"]
    noun = planted_model(lambda there: 2 * there("soup") - 1)
    flip = smallest_flip(noun, noun.trace("it is not a song."))
    assert [(edit.old, edit.new) for edit in flip.edits] == [("song", "soup")]
    assert smallest_flip(noun, noun.trace("it is not")).edits == ()
    model, change = small_model(3, components=2, mixing="free"), {"lambdas": [[1, -2], [1, 0.5]]}
    flips = [smallest_flip(model, model.trace(text, **change), drawn=1) for text in TEXTS]  # type: ignore[arg-type]
    assert any(flip.edits for flip in flips)
    for flip in flips:
        if flip.edits:
            assert model.trace(flip.text, **change).label == flip.label  # type: ignore[arg-type]
    gated = gated_model()
    refused(InputError, "Gates", smallest_flip, gated, gated.trace("a warm song", gates_open=[1]))


def test_a_text_of_two_clauses_is_screened_and_a_shorter_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model()
    monkeypatch.setitem(quickly_supported.__globals__, "supported", lambda model, trace, against: trace.replace(evidence=against))
    assert quickly_supported(model, model.trace("a warm song we saw"), {1: 9.0}).evidence == {1: 9.0}
    trace = model.trace("a warm song , a cold soup").for_target(Target("positive"))
    result, evidence = screened(model, trace.for_target(PREDICTED))
    got = quickly_supported(model, trace, {1: 9.0})
    assert got.target == PREDICTED and repr(got.evidence) == repr(Evidence({1: 9.0}, None, screened=evidence))
    np.testing.assert_array_equal(got.token_scores["alone"], result.scores)


def test_a_full_stop_after_an_abbreviation_ends_no_sentence() -> None:
    model = small_model(max_length=64)
    for name in ["Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Jr", "Sr", "vs", "etc", "no", "vol", "K"]:
        text = f"We saw {name}. Warm there. It was cold"
        assert [part.text for part in parts(model, model.trace(text), "sentences")] == [f"We saw {name}. Warm there.", "It was cold"]
    for name in ("garden", "I"):
        assert len(parts(model, model.trace(f"We saw {name}. Warm there. It was cold"), "sentences")) == 3


def test_measured_edits_are_means_over_the_sampled_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    model, warm, cold = small_model(), Edit(0, "warm"), Edit(1, "cold")
    first = [
        Flip((warm,), passes=4, drawn=10, random=1),
        Flip(passes=5, complete=True),
        Flip((warm, cold), passes=6, drawn=10, random=4),
        Flip((warm, cold), passes=9, drawn=10, random=4),
    ]
    later, seeds, done = [Flip((cold,)), Flip()], list[int](), list[tuple[int, int]]()

    def search(model: Model, trace: Trace, *, seed: int = -1, most: int = 3, passes: int = 0, drawn: int = 100) -> Flip:
        seeds.append(seed)
        return later.pop(0) if (most, passes, drawn) == (1, EVERY, 0) else first.pop(0)

    monkeypatch.setattr("sentviz.analysis.explain.measured.smallest_flip", search)
    frame = flips_over(model, [*TEXTS, TEXT, "warm " * 500], sample=4, seed=5, progress=lambda *now: done.append(now)).set_index("metric")
    assert frame["value"].drop("milliseconds").to_dict() == pytest.approx(
        {"found": 0.75, "one": 0.25, "known": 0.5, "equal": 0.75, "random": 0.3, "passes": 13.5}, abs=1e-5
    )
    assert frame["n"].tolist() == [4, 4, 4, 4, 3, 4, 4] and set(frame["seed"]) == {5} and (frame["low"] <= frame["high"]).all()
    assert seeds == [5, 6, 7, -1, 8, -1] and done == [(1, 4), (2, 4), (3, 4), (4, 4)] and 0 < frame["value"]["milliseconds"] < 1e3
