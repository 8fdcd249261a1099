"""Layer verdicts and head habits against loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sentviz.analysis.maps.layers import PATTERNS, head_patterns, verdict_by_layer
from sentviz.errors import InputError
from sentviz.models.model import Model
from tests.kit import fake_trace


def test_the_last_layer_says_what_the_model_says(model: Model) -> None:
    """The lens at the last layer is the prediction; below it equals norm, mean and classifier computed in the test."""
    trace = model.trace("what a warm clever song")
    shares = verdict_by_layer(model, trace)
    np.testing.assert_allclose(shares[-1], trace.probabilities, atol=1e-6)
    assert trace.hidden is not None
    state = {name: tensor.double().numpy() for name, tensor in model.network.state_dict().items()}
    for layer, hidden in enumerate(trace.hidden.astype(np.float64)):
        rows = [row / math.sqrt(float((row**2).mean()) + 1e-6) * state["final_norm.weight"] for row in hidden]
        logits = state["classifier.weight"] @ (sum(rows) / len(rows)) + state["classifier.bias"]
        e = np.exp(logits - logits.max())
        np.testing.assert_allclose(shares[layer], e / e.sum(), atol=1e-5)


@pytest.mark.parametrize("signed", [False, True])
def test_habits_by_hand(signed: bool) -> None:
    """Every habit of every head equals loops over queries and keys, also on signed maps."""
    trace = fake_trace(layers=2, heads=3, components=2, signed=signed, tokens=["a", ",", "b", "!?", "c"])
    assert trace.attention is not None
    n = len(trace.tokens)
    places = [(i, j) for i in range(n) for j in range(n)]
    for row in head_patterns(trace).to_dict("records"):
        a = np.abs(trace.attention[row["layer"], row["head"]].astype(float))
        a = a / a.sum(axis=1, keepdims=True)
        assert {name: row[name] for name in PATTERNS} == pytest.approx(
            {
                "entropy": sum(-a[at] * math.log(a[at]) for at in places if a[at] > 0) / n / math.log(n),
                "distance": sum(a[i, j] * abs(i - j) for i, j in places) / n,
                "previous": sum(a[i, i - 1] for i in range(1, n)) / n,
                "next": sum(a[i, i + 1] for i in range(n - 1)) / n,
                "same": sum(a[i, i] for i in range(n)) / n,
                "first": sum(a[i, 0] for i in range(n)) / n,
                "punctuation": sum(a[i, j] for i, j in places if trace.tokens[j] in {",", "!?"}) / n,
            },
            abs=1e-6,
        )
    with pytest.raises(InputError, match=r"components 0.*, not 7"):
        head_patterns(trace, 7)


def test_one_token_has_no_entropy() -> None:
    trace = fake_trace(tokens=["a"])
    single_token = trace.replace(
        tokens=("a",),
        specials=np.zeros(1, bool),
        query_ids=(0,),
        attention=np.ones((2, 4, 1, 1), np.float32),
    )
    assert head_patterns(single_token)[list(PATTERNS)].notna().all().all()
