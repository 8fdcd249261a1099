"""Side by side, and words exchanged."""

from __future__ import annotations

import numpy as np
import pytest

from sentviz.analysis.explain.word_swaps import neighbours, opposites, same_part_of_speech, suggestions, swapped
from sentviz.analysis.maps.compare import align, difference
from sentviz.errors import InputError
from sentviz.models.model import Model


def test_alignment_pairs_what_stayed_and_what_was_exchanged(model: Model) -> None:
    a, b = model.trace("what a warm song"), model.trace("What a cold song now")
    assert align(a, b) == [(0, 0), (1, 1), (2, 2), (3, 3), (None, 4)]
    assert align(b, a)[-1] == (4, None)


def test_the_difference_is_second_minus_first_on_shared_tokens(model: Model) -> None:
    """Each cell is the second map minus the first, the exchanged word has both names, and a trace minus itself is zero."""
    a, b = model.trace("what a warm song"), model.trace("what a very cold song")
    figure = difference(a, b)
    pairs = [(i, j) for i, j in align(a, b) if i is not None and j is not None]
    assert a.attention is not None and b.attention is not None and figure.attention is not None
    for row, (i, j) in enumerate(pairs):
        for column, (k, m) in enumerate(pairs):
            expected = b.attention[:, :, j, m] - a.attention[:, :, i, k]
            np.testing.assert_allclose(figure.attention[:, :, row, column], expected, atol=1e-7)
    zero = difference(a, a).attention
    assert zero is not None and not zero.any()


def test_one_sentence_under_two_mixings(model: Model) -> None:
    """The difference of the effective map is the change of lambda times the second component."""
    a = model.trace("what a warm song")
    lambdas = a.lambdas.copy()
    lambdas[0, 1] += 0.5
    figure = difference(a, model.trace("what a warm song", lambdas=lambdas))
    assert figure.attention is not None and a.components is not None
    np.testing.assert_allclose(figure.attention[0], 0.5 * a.components[0, 1], atol=1e-6)


def test_nothing_shared_is_said(model: Model) -> None:
    """Traces of selected queries are refused, too, because rows of different tokens would be subtracted."""
    whole, part = model.trace("what a warm song"), model.trace("what a warm song", queries=[1, 0, 2, 3])
    for first, second, why in ((whole, part, "without selecting queries"), (model.trace("what a"), model.trace("song"), "no common token")):
        with pytest.raises(InputError, match=why):
            difference(first, second)


def test_a_swap_keeps_the_rest_and_the_capital(model: Model) -> None:
    trace = model.trace("Warm, clever song.")
    assert swapped(trace, 0, "cold") == "Cold, clever song."
    assert swapped(trace, 2, "dull") == "Warm, dull song."


def test_neighbours_are_the_nearest_by_cosine(model: Model) -> None:
    """The neighbours equal those of a loop over the complete vocabulary."""
    table, token = model.network.table.detach().numpy().astype(float), model.tokenizer.id_of("warm")
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    words = {index: model.tokenizer.token_of(index) for index in range(4, len(table)) if index != token}
    scored = sorted(((unit[index] @ unit[token], word) for index, word in words.items() if word.isalpha()), reverse=True)
    assert [word for word, _ in neighbours(model, token, 4)] == [word for _, word in scored[:4]]


def test_words_are_swapped_for_words_of_their_kind() -> None:
    """An adjective is replaced by an adjective, in its place; letters that the tagger never learned give no suggestion."""
    assert same_part_of_speech("The film was good.", 13, 17, ["bad", "chicken", "walked", "slowly"]) == ["bad"]
    assert same_part_of_speech("It is not bad.", 6, 9, ["chicken", "dull"]) == []
    assert same_part_of_speech("나쁜 영화", 3, 5, ["좋은", "film"]) == ["좋은", "film"]


def test_suggestions_say_what_the_model_would(model: Model) -> None:
    """The probability of each suggestion is that of `predict`; opposites come from the other side of the lexicon."""
    trace = model.trace("what a warm song")
    lexicon = {"warm": 1.0, "dull": -2.0, "cold": -1.0, "unheard": -3.0, "clever": 1.0}
    assert [word for word, _ in opposites(model, lexicon, "Warm")] == [w for w in ("dull", "cold") if w in model.tokenizer]
    assert opposites(model, lexicon, "song") == []
    frame = suggestions(model, trace, 2, lexicon, k=3)
    assert len(frame)
    for row in frame.to_dict("records"):
        text = f"what a {row['word']} song"
        assert row["text"] == text
        assert row["probability"] == pytest.approx(float(model.predict([text])[trace.label].iloc[0]), abs=1e-6)
