"""Scores of tokens against naive loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from sentviz.analysis.explain import SCORES, agreement, log_odds, received, removal, score
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.runs.trace import Trace
from tests.kit import fake_trace, small_model, toy_splits

TEXT = "what a warm, clever song we saw"
WORDS = ["what", "a", "warm", ",", "clever", "song", "we", "saw"]


@pytest.fixture(scope="module")
def pieces() -> Model:
    """Return a random model that reads sub-words."""
    return small_model(tokenizer=Tokenizer.train_bpe(toy_splits()["train"].frame["text"], 275), max_length=64)


def odds(model: Model, text: str, k: int, **change: object) -> float:
    """Return log p / (1 - p) of the plain prediction."""
    p = model.trace(text, **change).probabilities.astype(np.float64)[k]  # type: ignore[arg-type]
    return float(np.log(p / (1 - p)))


CHANGES = {"none": {}, "lambdas": {"lambdas": [[1, -2], [1, 0.5]]}, "heads": {"heads_off": [(1, 0)]}}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_removal_is_deleting_each_word_and_asking_again(model: Model, change: dict[str, object]) -> None:
    """Removal equals one prediction per word left out of the text, under the same intervention."""
    trace = model.trace(TEXT, **change)  # type: ignore[arg-type]
    got, k = removal(model, trace), int(trace.probabilities.argmax())
    assert trace.tokens == tuple(WORDS)
    for i in range(len(WORDS)):
        rest = " ".join(WORDS[:i] + WORDS[i + 1 :])
        want = odds(model, TEXT, k, **change) - odds(model, rest, k, **change)
        assert got[i] == pytest.approx(want, abs=2e-5)
    assert np.abs(got).max() > 0.01


def test_removal_takes_the_pieces_of_a_word_together() -> None:
    """Sub-words share the score of their word, which is that of the text without the word."""
    pieces = small_model(tokenizer=Tokenizer.train_bpe(toy_splits()["train"].frame["text"], 275), max_length=64)
    text = "what clumsily bright lighthouses"
    words, trace = text.split(), pieces.trace(text)
    got, k = removal(pieces, trace), int(trace.probabilities.argmax())
    owner = [text[: int(end) - 1].count(" ") for _, end in trace.offsets]
    without = [odds(pieces, text, k) - odds(pieces, " ".join(words[:i] + words[i + 1 :]), k) for i in range(4)]
    assert len(owner) > 4 and got.tolist() == pytest.approx([without[i] for i in owner], abs=2e-5)


def test_removal_from_a_pair_keeps_the_segments() -> None:
    """Removal of each word of a pair equals a trace of the pair without that word; specials and single words score 0."""
    model = small_model(segments=2, cls=True, pooling="cls")
    trace = model.trace("a warm song", "cold soup")
    got, k = removal(model, trace), int(trace.probabilities.argmax())
    for i, pair in {1: ("warm song", "cold soup"), 3: ("a warm", "cold soup"), 6: ("a warm song", "cold")}.items():
        assert got[i] == pytest.approx(log_odds(trace.logits, k) - log_odds(model.trace(*pair).logits, k), abs=2e-5)
    assert not got[trace.specials].any() and got[~trace.specials].all() and not removal(model, model.trace("warm")).any()


def test_removal_of_a_text_that_was_cut_stays_within_what_was_read(model: Model) -> None:
    """Each word is removed from the read part of a cut text, and no later text moves up."""
    words = ["warm", "song", "cold"] * 20
    trace, read = model.trace(" ".join(words)), words[:24]
    got, k = removal(model, trace), int(trace.probabilities.argmax())
    assert len(got) == 24
    for i in (0, 11, 23):
        rest = " ".join(read[:i] + read[i + 1 :])
        assert got[i] == pytest.approx(odds(model, " ".join(read), k) - odds(model, rest, k), abs=2e-5)


def test_log_odds_are_the_naive_ones_where_those_are_safe() -> None:
    """Log-odds equal log p / (1 - p) of the softmax, for every class and several rows at once; they are exact if p rounds to 1 or 0."""
    for classes in (2, 3, 5):
        z = np.random.default_rng(0).normal(size=(6, classes)) * 3
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        for k in range(classes):
            np.testing.assert_allclose(log_odds(z, k), np.log(p[:, k] / (1 - p[:, k])), atol=1e-9)
        assert log_odds(z[0], 0).shape == ()
    assert [log_odds(np.array([900.0, -100.0]), k) for k in (0, 1)] == [1000, -1000]
    assert log_odds(np.array([500.0, 20.0, 20.0]), 0) == pytest.approx(480 - np.log(2))


def scored(scores: list[float]) -> Trace:
    """Return a trace of [CLS] and words with removal scores."""
    return fake_trace(n=len(scores)).replace(token_scores={"removal": np.array(scores, np.float32)})


def test_agreement_is_spearman_of_sizes_over_words() -> None:
    """Agreement equals scipy's Spearman correlation, without special tokens and with ties shared; it is undefined without ranks."""
    rng = np.random.default_rng(0)
    trace = scored(rng.normal(size=12).round(1).tolist())
    own, second = trace.token_scores["removal"], rng.normal(size=12).round(1).astype(np.float32)
    assert agreement(trace, second) == pytest.approx(spearmanr(second[1:], np.abs(own[1:])).statistic, abs=1e-9)
    assert agreement(trace, second, signed=True) == pytest.approx(spearmanr(second[1:], own[1:]).statistic, abs=1e-9)
    assert agreement(trace, np.abs(own)) == pytest.approx(1) == agreement(trace, own, signed=True)
    for scores, other in (([0, 1, 2], [0, 1, 2]), ([0, 1, 1, 1], [0, 1, 2, 3]), ([0, 1, 2, 3], [5, 0, 0, 0])):
        assert agreement(scored(scores), np.array(other, np.float32)) is None


def test_attention_scores_are_sums_by_hand() -> None:
    """The scores received, first-layer and difference equal loops over layers, heads and queries, to 1e-5."""
    trace = fake_trace(n=5, layers=2, heads=3, components=3, signed=True)
    attention, maps = trace.attention, trace.components
    assert attention is not None and maps is not None
    for j in range(5):
        all_layers = sum(attention[layer, h, i, j] for layer in range(2) for h in range(3) for i in range(5)) / 6
        first = sum(attention[0, h, i, j] for h in range(3) for i in range(5)) / 3
        a1 = sum(maps[layer, 0, h, i, j] for layer in range(2) for h in range(3) for i in range(5)) / 6
        rest = sum(maps[layer, c, h, i, j] for layer in range(2) for c in (1, 2) for h in range(3) for i in range(5)) / 12
        assert score(trace, "received")[j] == pytest.approx(all_layers, abs=1e-5)
        assert score(trace, "first-layer")[j] == pytest.approx(first, abs=1e-5)
        assert score(trace, "difference")[j] == pytest.approx(a1 - rest, abs=1e-5)
    assert received(trace, 0).sum() == pytest.approx(5, abs=1e-4)


def test_a_score_that_cannot_be_had_is_refused() -> None:
    """Unknown scores are refused, and a difference without a second component too."""
    with pytest.raises(InputError, match=r"no score 'magic'.*removal"):
        score(fake_trace(), "magic")
    with pytest.raises(InputError, match="two components"):
        score(fake_trace(components=1), "difference")
    assert all(how.title and how.low and how.high for how in SCORES.values())
