"""Averages over minimal pairs, circuits, and scores beside effects of patching, against passes of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from sentviz.analysis.causal import agreement
from sentviz.analysis.causal.average import averages, places, ratio
from sentviz.analysis.causal.circuit import circuit, losses_of_pair
from sentviz.analysis.causal.patching import patch
from sentviz.analysis.explain.leave_out import words
from sentviz.data.behaviour import PAIRS, minimal_pairs
from sentviz.errors import InputError
from sentviz.runs.intervention import Edit, Intervention, Taken
from sentviz.runs.target import log_odds
from tests.kit import LABELS, hook, random_model, small_model, toy_splits

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
    for kind in PAIRS:
        english = minimal_pairs(kind, count=8)
        assert len(english) == 8 and english == minimal_pairs(kind, count=8) and english != minimal_pairs(kind, count=8, seed=1)
        assert all(1 <= sum(a != b for a, b in zip(first.split(), second.split(), strict=True)) <= 2 for first, second in english)
        assert all(a != b for a, b in minimal_pairs(kind, "ko", count=8))
    for wrong, count, reason in ((("verb",), 4, "not 'verb'"), (("name", "fr"), 4, "in the language"), (("name", "en"), 1, "2 to 200")):
        with pytest.raises(InputError, match=reason):
            minimal_pairs(*wrong, count=count)


def test_places_are_those_around_the_changed_word() -> None:
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


DEEPER = small_model(1, components=2, mixing="unit", layers=3, labels=LABELS)
TEXTS = toy_splits()["test"].frame["text"].tolist()[:16]


def test_effects_are_those_of_hooks_and_means_those_of_loops() -> None:
    """A mean state is summed token by token; an effect is the fall in a pass with a hook that writes it, to 1e-5 log-odds."""
    means, states = agreement.mean_states(DEEPER, TEXTS), {name: list[np.ndarray]() for name in LABELS}
    for text in TEXTS:
        trace = DEEPER.trace(text)
        for i in np.flatnonzero(~trace.specials):
            states[LABELS[trace.label == LABELS[0]]].append(trace.hidden[[0, 2], i])  # type: ignore[index]
    for name, rows in states.items():
        np.testing.assert_allclose(means[name], sum(rows) / len(rows), atol=1e-5)
    trace, mean = DEEPER.trace(TEXTS[0]), np.stack(next(iter(means.values())))
    effects, players = agreement.effects_of(DEEPER, trace, mean, words(trace)), words(trace)
    assert agreement.depths_of(DEEPER) == (0, 2) and np.abs(effects).max() > 1e-3
    for place, block in enumerate((0, 2)):
        for w, word in enumerate(players):

            def written(x: torch.Tensor, place: int = place, at: tuple[int, ...] = tuple(word.indices)) -> torch.Tensor:
                x[0, list(at)] = torch.from_numpy(mean[place]).float()
                return x

            with hook(DEEPER.network.blocks[block], written, before=True):  # type: ignore[union-attr]
                odds = log_odds(DEEPER.trace(TEXTS[0]).logits, int(trace.logits.argmax()))
            assert effects[place, w] == pytest.approx(log_odds(trace.logits, int(trace.logits.argmax())) - odds, abs=1e-5)


def test_correlations_are_spearmans_of_sizes_and_signs() -> None:
    rng = np.random.default_rng(0)
    effects, scores = rng.normal(size=(2, 9)), {"removal": rng.normal(size=9), "received": rng.random(9)}
    rows = agreement._of_text(effects, scores).set_index(["method", "metric"])
    for metric, effect in zip(agreement.METRICS, effects, strict=True):
        sizes = [spearmanr(abs(scores["removal"]), abs(effect)).statistic, spearmanr(scores["received"], abs(effect)).statistic]
        assert rows.loc[("removal", metric), "value"] == pytest.approx(sizes[0])
        assert rows.loc[("removal", f"{metric}-ranks"), "value"] == pytest.approx(spearmanr(scores["removal"], effect).statistic)
        assert rows.loc[("received", metric), "value"] == pytest.approx(sizes[1])
    assert ("received", "patched-word-ranks") not in rows.index and (rows["random"] == 0).all()


def test_a_sample_is_measured_with_intervals() -> None:
    model = small_model(0, labels=LABELS, width=16, norm="none", positions="none")
    with torch.no_grad():
        for block in model.network.blocks:  # type: ignore[union-attr]
            for layer in (block.attention.output, block.ffn.down):
                layer.weight.zero_()
                layer.bias.zero_()
    table = agreement.measure_agreement(model, TEXTS, sample=4)
    rows = table.set_index(["method", "metric"])
    assert {"removal", "received", "gradient", "random"} <= set(table["method"]) and (rows.loc["removal", "n"] == 4).all()
    assert rows.loc[("removal", "patched-word-ranks"), "value"] > 0.9 and not {"exact", "permutation"} & set(table["method"])
    assert rows.loc[("removal", "patched-word"), "value"] == pytest.approx(rows.loc[("removal", "patched-state"), "value"])
    assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(InputError, match="patching needs a transformer"):
        agreement.measure_agreement(random_model(5), TEXTS)
    with pytest.raises(InputError, match="gives all texts of the sample the same one"):
        agreement.measure_agreement(DEEPER, [TEXTS[0]] * 3)
    with pytest.raises(InputError, match="gives all texts of the sample the same one"):
        agreement.measure_agreement(DEEPER, ["  "])
