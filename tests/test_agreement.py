"""Scores of words beside the effect of patching them, against traced interventions and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from sentviz.analysis.causal import agreement
from sentviz.analysis.explain.leave_out import words
from sentviz.errors import InputError
from sentviz.runs.target import log_odds
from tests.kit import LABELS, hook, random_model, small_model, toy_splits

MODEL = small_model(1, components=2, mixing="unit", layers=3, labels=LABELS)
TEXTS = toy_splits()["test"].frame["text"].tolist()[:16]


def test_effects_are_those_of_hooks_and_means_those_of_loops() -> None:
    """A mean state is summed token by token; an effect is the fall in a pass with a hook that writes it, to 1e-5 log-odds."""
    means, states = agreement.mean_states(MODEL, TEXTS), {name: list[np.ndarray]() for name in LABELS}
    for text in TEXTS:
        trace = MODEL.trace(text)
        for i in np.flatnonzero(~trace.specials):
            states[LABELS[trace.label == LABELS[0]]].append(trace.hidden[[0, 2], i])  # type: ignore[index]
    for name, rows in states.items():
        np.testing.assert_allclose(means[name], sum(rows) / len(rows), atol=1e-5)
    trace, mean = MODEL.trace(TEXTS[0]), np.stack(next(iter(means.values())))
    effects, players = agreement.effects_of(MODEL, trace, mean, words(trace)), words(trace)
    assert agreement.depths_of(MODEL) == (0, 2) and np.abs(effects).max() > 1e-3
    for place, block in enumerate((0, 2)):
        for w, word in enumerate(players):

            def written(x: torch.Tensor, place: int = place, at: tuple[int, ...] = tuple(word.indices)) -> torch.Tensor:
                x[0, list(at)] = torch.from_numpy(mean[place]).float()
                return x

            with hook(MODEL.network.blocks[block], written, before=True):  # type: ignore[union-attr]
                odds = log_odds(MODEL.trace(TEXTS[0]).logits, int(trace.logits.argmax()))
            assert effects[place, w] == pytest.approx(log_odds(trace.logits, int(trace.logits.argmax())) - odds, abs=1e-5)


def test_correlations_are_spearmans_of_sizes_and_signs() -> None:
    """Scores with a sign are compared by size and by sign, attention by size; random scores have mean 0."""
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
    """Each quick method has both metrics over the sample; a patched word is close to a removed one if no layer mixes words."""
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
    """A model without states, and texts with one prediction: one sentence each."""
    with pytest.raises(InputError, match="patching needs a transformer"):
        agreement.measure_agreement(random_model(5), TEXTS)
    with pytest.raises(InputError, match="gives all texts of the sample the same one"):
        agreement.measure_agreement(MODEL, [TEXTS[0]] * 3)
    with pytest.raises(InputError, match="gives all texts of the sample the same one"):
        agreement.measure_agreement(MODEL, ["  "])
