"""Heads silenced all in one batch, against the model asked again for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sentviz.analysis.explain import log_odds
from sentviz.analysis.maps.layers import MOST, SHARE, HeadEffects, silenced
from sentviz.models.model import Model
from sentviz.runs.intervention import UNCHANGED
from sentviz.runs.target import Target
from tests.kit import gated_model, random_model, small_model

TEXT = "a warm garden and a dull song , but a clever town"
NDT = {"components": 2, "mixing": "unit", "layers": 3}


def one_by_one(model: Model, text: str, **change: Any) -> list[list[float]]:
    """Return the drop of the log-odds for each head, with one pass of the model per head."""
    off = set(change.pop("heads_off", ()))
    whole = model.trace(text, heads_off=off, **change)
    k, has = int(whole.probabilities.argmax()), model.capabilities

    def odds(layer: int, head: int) -> float:
        return float(log_odds(model.trace(text, heads_off=off | {(layer, head)}, **change).logits, k))

    base = float(log_odds(whole.logits, k))
    return [[base - odds(layer, head) for head in range(has.heads)] for layer in range(has.layers)]


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (small_model(1, **NDT), {}),
        (small_model(2, **NDT), {"lambdas": [[1, -0.5], [1, 0.9], [1, 0]], "heads_off": [(1, 0)]}),
        (small_model(3, masked=False, layers=1), {}),
        (gated_model(4), {"gates_shut": [2], "strength": {"gate": 2.0}}),
        (random_model(5), {"heads_off": [(2, 0)]}),
    ],
    ids=["ndt", "changed", "padding", "gated", "hardmax"],
)
def test_all_at_once_is_one_by_one(model: Model, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """All heads at once equal one at a time, to 2e-5: with interventions, with padding that is read, with moving points, and in small
    batches.
    """
    wanted = one_by_one(model, TEXT, **change)
    trace = model.trace(TEXT, maps=False, **change)
    drops = silenced(model, trace).falls
    np.testing.assert_allclose(drops, wanted, atol=2e-5)
    assert np.abs(drops).max() > 1e-3
    for layer, head in change.get("heads_off", ()):
        assert drops[layer, head] == pytest.approx(0, abs=2e-6)
    monkeypatch.setattr("sentviz.models.batches.TOKENS_PER_BATCH", 2 * len(trace.tokens))
    np.testing.assert_allclose(silenced(model, trace).falls, wanted, atol=2e-5)


def test_a_row_is_silenced_for_itself_alone() -> None:
    """Heads silenced for one row add to the heads silenced for all rows."""
    model = small_model(6, **NDT)
    trace = model.trace(TEXT, heads_off=[(0, 1)])
    assert not np.allclose(silenced(model, trace).falls, silenced(model, replace(trace, change=UNCHANGED)).falls, atol=1e-3)


def test_heads_are_measured_for_any_class() -> None:
    """Of three classes, the falls of class 2 against class 0 are those of z_2 - z_0, one head at a time, to 2e-5; flips too."""
    model = small_model(7, labels=("bad", "middling", "good"), **NDT)
    trace = model.trace(TEXT, maps=False).for_target(Target("good", "bad"))
    effects = silenced(model, trace)
    for layer in range(3):
        for head in range(model.capabilities.heads):
            z = model.trace(TEXT, maps=False, heads_off=[(layer, head)]).logits
            assert effects.flips[layer, head] == (z.argmax() != trace.logits.argmax())
            assert effects.falls[layer, head] == pytest.approx((trace.logits[2] - trace.logits[0]) - (z[2] - z[0]), abs=2e-5)


def test_heads_that_matter_are_the_fewest_with_most_of_the_changes() -> None:
    """The list is sorted by absolute change. It stops with the head that completes SHARE of their sum, or with MOST heads."""
    for seed in range(20):
        falls = (np.random.default_rng(seed).standard_normal((3, 5)) ** 5).astype(np.float32)
        heads = HeadEffects(falls, np.zeros((3, 5), np.bool_)).leading
        sizes = [float(abs(falls[at])) for at in heads]
        assert sizes == sorted((abs(float(fall)) for fall in falls.ravel()), reverse=True)[: len(heads)]
        total = float(np.abs(falls).sum(dtype=np.float64))
        assert sum(sizes[:-1]) < SHARE * total
        assert len(heads) == MOST or sum(sizes) >= SHARE * total - 1e-6
    assert HeadEffects(np.zeros((2, 2), np.float32), np.zeros((2, 2), np.bool_)).leading == []
