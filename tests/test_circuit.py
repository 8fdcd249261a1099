"""Averages over minimal pairs, and circuits, against passes of their own, and against a model whose circuit is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from sentviz.analysis.causal.average import averages, places, ratio
from sentviz.analysis.causal.circuit import circuit, losses_of_pair
from sentviz.analysis.causal.patching import patch
from sentviz.data.behaviour import PAIRS, minimal_pairs
from sentviz.errors import InputError
from sentviz.runs.intervention import Edit, Intervention, Taken
from sentviz.runs.target import log_odds
from tests.kit import random_model, small_model, toy_splits

MODEL = small_model(1, components=2, mixing="unit", layers=2)
SWAP = {"warm": "dull", "clever": "cold", "a": "the"}


def swapped(count: int = 12) -> list[tuple[str, str]]:
    """Return sentences of the made-up set, each with one word exchanged."""
    pairs = []
    for text in toy_splits()["train"].frame["text"]:
        words = text.split()
        at = next((i for i, word in enumerate(words) if word in SWAP), None)
        if at is not None:
            pairs.append((text, " ".join([*words[:at], SWAP[words[at]], *words[at + 1 :]])))
    return list(dict.fromkeys(pairs))[:count]


def test_pairs_differ_in_one_word_and_are_the_same_again() -> None:
    """English pairs have the same number of words and differ in at most two (an article); both languages have all kinds."""
    for kind in PAIRS:
        english = minimal_pairs(kind, count=8)
        assert len(english) == 8 and english == minimal_pairs(kind, count=8) and english != minimal_pairs(kind, count=8, seed=1)
        assert all(1 <= sum(a != b for a, b in zip(first.split(), second.split(), strict=True)) <= 2 for first, second in english)
        assert all(a != b for a, b in minimal_pairs(kind, "ko", count=8))
    for wrong, count, reason in ((("verb",), 4, "not 'verb'"), (("name", "fr"), 4, "in the language"), (("name", "en"), 1, "2 to 200")):
        with pytest.raises(InputError, match=reason):
            minimal_pairs(*wrong, count=count)


def test_places_are_those_around_the_changed_word() -> None:
    """Each token is at one place; the changed word is by_place; a word that only the second sentence has counts at the token before it."""
    pair = patch(MODEL, "a warm garden and a clever song", "a dull garden and a clever song")
    by_place = {name: tokens.tolist() for name, tokens in places(pair).items()}
    assert by_place == {"first token": [], "before": [0], "changed": [1], "next": [2], "after": [3, 4, 5, 6], "end": []}
    longer = patch(MODEL, "a warm garden", "a warm cold garden")
    assert places(longer)["changed"].tolist() == [1]


def test_averages_are_sums_over_pairs_of_passes_of_their_own() -> None:
    """An average of heads and of places is the sum of single effects over the sum of differences; its interval covers it."""
    pairs = swapped(4)
    results, patched = averages(MODEL, pairs, ("state", "head")), [patch(MODEL, *pair) for pair in pairs]
    scales = [abs(pair.goal - pair.start) for pair in patched]
    top_head = top_next = bottom_next = 0.0
    for pair, scale in zip(patched, scales, strict=True):
        every = [i for i, j in enumerate(pair.partners) if j is not None]
        top_head += pair.joint([pair.edit("head", (1, 0, i)) for i in every]).share * scale
        if len(at := places(pair)["next"]):
            top_next += pair.joint([pair.edit("state", (1, int(i))) for i in at]).share * scale
            bottom_next += scale
    assert results["head"].share[1, 0] == pytest.approx(top_head / sum(scales), abs=1e-4)
    assert results["state"].share[1, 3] == pytest.approx(top_next / bottom_next, abs=1e-4)
    for result in results.values():
        some = np.isfinite(result.share)
        assert (result.low[some] <= result.share[some] + 1e-9).all() and (result.share[some] <= result.high[some] + 1e-9).all()
        assert result.pairs + result.left_out == len(pairs) and len(result.frame) == result.share.size
    assert results["state"].share[0, 2] == pytest.approx(1, abs=1e-4)  # the embedding of the changed word is the complete change


def test_a_ratio_has_the_interval_of_resampled_pairs() -> None:
    """Equal pairs have no spread; pairs without a value count in neither sum."""
    share, low, high = ratio(np.array([[1.0, np.nan], [2.0, 1.0]]), np.array([2.0, 4.0]), 0)
    np.testing.assert_allclose(share, [0.5, 0.25])
    np.testing.assert_allclose([low[0], high[0]], 0.5)


def test_losses_of_sets_are_those_of_interventions() -> None:
    """For each set, the parts outside take the vectors of B: the same log-odds as one traced intervention, to 1e-4."""
    pair = patch(MODEL, *swapped()[0])
    outside = np.random.default_rng(0).random((7, 2, 3)) < 0.5
    outside[0], outside[1] = False, True
    losses = losses_of_pair(pair, outside)
    for row, loss in zip(outside, losses, strict=True):
        edits = []
        for i, j in enumerate(pair.partners):
            if j is not None:
                edits += [Edit("head", (layer, h, i), to=Taken(j)) for layer in range(2) for h in range(2) if row[layer, h]]
                edits += [Edit("feedforward", (layer, i), to=Taken(j)) for layer in range(2) if row[layer, 2]]
        change = Intervention(tuple(edits), (pair.second.text, None)) if edits else Intervention()
        odds = float(log_odds(MODEL.trace(pair.first.text, change=change).logits, *pair.target))
        assert loss == pytest.approx(abs(odds - pair.start) * np.sign((odds - pair.start) * (pair.goal - pair.start)), abs=1e-4)
    assert losses[0] == pytest.approx(0, abs=1e-5)


def test_a_circuit_leaves_out_parts_that_do_nothing() -> None:
    """In a model where one head and one feed-forward network alone reach the states, the circuit is these two and keeps everything."""
    model = small_model(3, layers=2)
    with torch.no_grad():
        for layer, block in enumerate(model.network.blocks):  # type: ignore[arg-type]
            gone = slice(0, 4) if layer == 0 else slice(0, 8)
            block.attention.output.weight[:, gone] = 0
            if layer == 0:
                block.ffn.down.weight.zero_()
    result = circuit(model, swapped(12))
    names, full = [part.name for part in result.parts], result.share_kept[0]
    assert set(names) <= {"L1 H2", "L2 F"} and names
    assert full >= 0.85 and result.share_kept[1] <= full <= result.share_kept[2] and len(result.random) == 200
    assert result.without[0] < full and result.among == 6 and "did not see" in result.says
    assert list(result.frame["layer"]) == [part.layer for part in result.parts]


def test_what_has_no_circuit_is_said() -> None:
    """A model without parts, too few pairs, pairs without a difference, a share that cannot be kept: one sentence each."""
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: circuit(random_model(5), swapped()), "needs a transformer"),
        (lambda: averages(random_model(5), swapped()), "needs a transformer"),
        (lambda: circuit(MODEL, swapped(), keep=1.0), "between 0 and 1"),
        (lambda: averages(MODEL, [("soup unseenword", "soup otherunseen")] * 5), "too few for an average"),
        (lambda: circuit(MODEL, swapped(5)), "A circuit needs 8 pairs"),
    ]
    for call, reason in cases:
        with pytest.raises(InputError, match=reason):
            call()
