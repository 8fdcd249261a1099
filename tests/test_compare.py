"""Two sentences or two models side by side, and words exchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sentviz.analysis.explain.word_swaps import neighbours, opposites, same_part_of_speech, suggestions, swapped
from sentviz.analysis.maps.compare import align, difference, map_difference
from sentviz.analysis.testset.rows import aligned
from sentviz.charts.attention import difference_map
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.runs.trace import Trace
from tests.kit import small_model
from tests.test_phenomena import some


def test_alignment_pairs_what_stayed_and_what_was_exchanged(model: Model) -> None:
    a, b = model.trace("what a warm song"), model.trace("What a cold song now")
    assert align(a, b) == [(0, 0), (1, 1), (2, 2), (3, 3), (None, 4)]
    assert align(b, a)[-1] == (4, None)


def test_the_difference_is_second_minus_first_on_shared_tokens(model: Model) -> None:
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


def test_nothing_shared_is_said(model: Model) -> None:
    whole, part = model.trace("what a warm song"), model.trace("what a warm song", queries=[1, 0, 2, 3])
    for first, second, why in ((whole, part, "without selecting queries"), (model.trace("what a"), model.trace("song"), "no common token")):
        with pytest.raises(InputError, match=why):
            difference(first, second)


def test_a_swap_keeps_the_rest_and_the_capital(model: Model) -> None:
    trace = model.trace("Warm, clever song.")
    assert swapped(trace, 0, "cold") == "Cold, clever song."
    assert swapped(trace, 2, "dull") == "Warm, dull song."


def test_neighbours_are_the_nearest_by_cosine(model: Model) -> None:
    table, token = model.network.table.detach().numpy().astype(float), model.tokenizer.id_of("warm")
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    words = {index: model.tokenizer.token_of(index) for index in range(4, len(table)) if index != token}
    scored = sorted(((unit[index] @ unit[token], word) for index, word in words.items() if word.isalpha()), reverse=True)
    assert [word for word, _ in neighbours(model, token, 4)] == [word for _, word in scored[:4]]


def test_words_are_swapped_for_words_of_their_kind() -> None:
    assert same_part_of_speech("The film was good.", 13, 17, ["bad", "chicken", "walked", "slowly"]) == ["bad"]
    assert same_part_of_speech("It is not bad.", 6, 9, ["chicken", "dull"]) == []
    assert same_part_of_speech("나쁜 영화", 3, 5, ["좋은", "film"]) == ["좋은", "film"]


def test_suggestions_say_what_the_model_would(model: Model) -> None:
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


TEXT = "what a warm, clever song"


WORDS = small_model(components=2, mixing="free")
PIECES = small_model(seed=3, tokenizer=Tokenizer.train_bpe(["now then"] * 20, 260), cls=True)


def test_models_of_one_tokenizer_are_subtracted_token_by_token() -> None:
    a, b = WORDS.trace(TEXT), small_model(seed=5).trace(TEXT)
    for head in ("mean", "max", 1):
        difference = map_difference(a, b, 1, head)
        assert (difference.kind, difference.left_out, difference.trace.tokens) == ("tokens", (), a.tokens)
        np.testing.assert_allclose(difference.trace.map(1, head), b.map(1, head) - a.map(1, head), atol=1e-7)
    itself = map_difference(PIECES.trace(TEXT), PIECES.trace(TEXT), 0)
    assert itself.kind == "tokens" and itself.shared == len(itself.trace.tokens) and not itself.trace.map(0).any()
    with pytest.raises(InputError, match="the same text"):
        map_difference(WORDS.trace("what a song"), WORDS.trace("what a garden"), 0)


def test_a_component_is_subtracted_where_both_have_it() -> None:
    a, b = WORDS.trace(TEXT), small_model(seed=7, components=3, mixing="free").trace(TEXT)
    np.testing.assert_allclose(map_difference(a, b, 0, 0, 1).trace.map(0, 0, 1), b.map(0, 0, 1) - a.map(0, 0, 1), atol=1e-7)
    with pytest.raises(InputError, match="component"):
        map_difference(a, b, 0, 0, 2)


def test_other_tokens_are_matched_as_words_by_their_characters() -> None:
    """Words sum their keys and average their queries; special tokens of one model only are left out."""
    a, b = WORDS.trace(TEXT), PIECES.trace(TEXT)
    difference = map_difference(a, b, 0, 1)
    spans = [(0, 4), (5, 6), (7, 11), (11, 12), (13, 19), (20, 24)]
    assert (difference.kind, difference.trace.tokens) == ("words", tuple(TEXT[start:end] for start, end in spans))
    assert set(difference.left_out) == {token for token, special in zip(b.tokens, b.specials, strict=True) if special}

    def word_map(trace: Trace, i: int, j: int) -> Any:
        def inside(span: tuple[int, int]) -> list[int]:
            return [k for k, (s, e) in enumerate(trace.offsets) if not trace.specials[k] and span[0] <= s < e <= span[1]]

        return np.mean([sum(trace.map(0, 1)[q, k] for k in inside(spans[j])) for q in inside(spans[i])])

    expected = [[word_map(b, i, j) - word_map(a, i, j) for j in range(len(spans))] for i in range(len(spans))]
    np.testing.assert_allclose(difference.trace.map(0, 1), expected, atol=1e-6)


def test_the_picture_says_which_way_round() -> None:
    changed = map_difference(WORDS.trace(TEXT), small_model(seed=5).trace(TEXT), 0)
    figure = difference_map(changed.trace, "toy/<first>", 0, pieces=changed.kind)
    assert "minus toy/<first>" in figure.caption and "<first>" not in figure.plot.layout.title.text
    assert float(figure.frame["attention"].min()) < 0 < float(figure.frame["attention"].max())
    assert figure.plot.layout.coloraxis.cmin == -figure.plot.layout.coloraxis.cmax


def test_rows_are_put_in_the_same_order_or_refused() -> None:
    a, b = some(0), some(1, run="toy/b")
    labels = dict(zip(a.frame["id"], a.labels, strict=True))
    mixed = b.frame.assign(label=b.frame["id"].map(labels)).sample(frac=1, random_state=0)
    ordered = aligned(a, replace(b, frame=mixed))
    assert list(ordered.frame["id"]) == list(a.frame["id"])
    for row in ordered.frame.to_dict("records"):
        assert row["p1"] == b.frame.set_index("id").loc[row["id"], "p1"]
    with pytest.raises(InputError, match="different rows"):
        aligned(a, replace(b, frame=mixed.iloc[1:]))
    with pytest.raises(InputError, match="different labels"):
        aligned(a, replace(b, frame=mixed.assign(label=1 - mixed["label"])))
