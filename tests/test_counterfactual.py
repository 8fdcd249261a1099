"""The smallest edit: what is reported flips the edited text, against trying everything, planted models; what may stand where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sentviz.analysis.explain.bigrams import EDGE, Bigrams, hashed, read_words
from sentviz.analysis.explain.counterfactual import _EditableText, smallest_flip
from sentviz.analysis.explain.word_swaps import in_case, whole_words
from sentviz.data.parts_of_speech import TAGS
from sentviz.data.tags import Tagger
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.runs.headline_evidence import Edit
from sentviz.runs.target import Target
from tests.kit import gated_model, planted_model, small_model, toy_splits

TEXTS = ["What a warm, clever song we saw!", "the garden was cold and dull", "I say, tender lighthouse"]


@pytest.mark.parametrize("bpe", [False, True], ids=["words", "pieces"])
def test_what_is_reported_flips_the_edited_text(bpe: bool) -> None:
    """The edited text of a flip is predicted as another class, with the reported probability, by random models."""
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
    """Of three classes, the edited text has the goal's class, or exchanges two; no removal or quick swap that does so is missed."""
    reached = 0
    for seed in range(4):
        model = small_model(seed, labels=("bad", "middling", "good"))
        plain = model.trace(TEXTS[0])
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
    assert reached > 1


def test_no_plausible_swap_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flip has one word if any plausible edit of one word flips the answer, however late it is tried; all are predicted here."""
    monkeypatch.setattr("sentviz.analysis.explain.counterfactual.CHUNK", 3)
    seen = set()
    for seed in range(5):
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


def test_planted_reasons_are_found() -> None:
    """A planted word and a planted pair are found, no flip is reported without a reason, and no other word changes."""
    model = planted_model(lambda there: 2 * there("warm") - 1)
    flip = smallest_flip(model, model.trace("it is a warm song"))
    assert (flip.edits, flip.text, flip.label) == ((Edit(3, "warm"),), "it is a song", "negative")
    assert flip.words == "without “warm”" and flip.random < flip.drawn / 2
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


def test_of_a_long_text_what_is_read_is_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edits of a cut text equal those of a text that is encoded anew for each edit; the reported text is the complete one."""
    model, text = planted_model(lambda there: 2 * there("warm") - 1), "it is a warm song " + "and it is a tender one, " * 90
    trace = model.trace(text)
    cut = smallest_flip(model, trace)
    assert len(trace.tokens) < len(text.split()) and cut.text == text.replace("warm ", "")
    monkeypatch.setattr("sentviz.analysis.explain.counterfactual.EXTRA_CHARACTERS", 10**9)
    assert smallest_flip(model, trace) == cut


def test_a_swap_is_of_the_same_kind_and_plausible() -> None:
    """An adjective is replaced by an adjective, never by a noun."""
    model = planted_model(lambda there: 2 * there("cold") - 1)
    flip = smallest_flip(model, model.trace("it is warm."))
    assert [(edit.old, edit.new) for edit in flip.edits] == [("warm", "cold")] and flip.words == "with “cold” for “warm”"
    assert [in_case("cold", old) for old in ("Warm", "warm", "WARM")] == ["Cold", "cold", "cold"]
    noun = planted_model(lambda there: 2 * there("soup") - 1)
    flip = smallest_flip(noun, noun.trace("it is not a song."))
    assert [(edit.old, edit.new) for edit in flip.edits] == [("song", "soup")]
    assert smallest_flip(noun, noun.trace("it is not")).edits == ()


def test_interventions_hold_for_the_edited_text() -> None:
    """Changed lambdas apply to the edited text too; changed gates belong to one text and are refused."""
    model, change = small_model(3, components=2, mixing="free"), {"lambdas": [[1, -2], [1, 0.5]]}
    flips = [smallest_flip(model, model.trace(text, **change), drawn=1) for text in TEXTS]  # type: ignore[arg-type]
    assert any(flip.edits for flip in flips)
    for flip in flips:
        if flip.edits:
            assert model.trace(flip.text, **change).label == flip.label  # type: ignore[arg-type]
    gated = gated_model()
    with pytest.raises(InputError, match="Gates"):
        smallest_flip(gated, gated.trace("a warm song", gates_open=[1]))


def test_bigrams_are_the_pairs_that_were_counted() -> None:
    """Of texts made in the test, frequent pairs are known, those at the edges too; few other pairs are, and none with the empty word."""
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


def test_what_ships_knows_common_pairs() -> None:
    """The shipped file knows common pairs of words and not unusual ones, and it is small."""
    bigrams = Bigrams.load()
    assert bigrams.fits(hashed(["good", "bad", "chicken"]), "not", "at").tolist() == [True, True, False]
    assert len(bigrams.bits) <= 1_500_000 and np.unpackbits(bigrams.bits).mean() < 0.5
    vocabulary = whole_words(small_model().tokenizer)
    assert set(vocabulary.values()) == {word for word in small_model().tokenizer._backend.get_vocab() if word.isalpha()}
    assert TAGS[int(Tagger.load().tag([["not"]])[0][0])] != "NOUN"
