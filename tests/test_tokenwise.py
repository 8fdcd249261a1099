"""Gates and position signals of a sentence against loops over single numbers; gates that are forced stay with their tokens."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from sentviz.analysis.explain.leave_out import leaving_out
from sentviz.analysis.maps.arithmetic import cell
from sentviz.analysis.maps.gates import forced, gates, signals
from sentviz.charts import Figure
from sentviz.data.tags import Tagger
from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.models.protocol import Inputs, InterventionTensors
from sentviz.runs.trace import Trace
from tests.charts import figure_of, stub
from tests.kit import gated_model, refused, small_model

TEXT = "What a warm garden, and not a dull song!"


@pytest.fixture(scope="module")
def model() -> Model:
    return gated_model()


def seen(model: Model, text: str = TEXT, **change: Any) -> Trace:
    return model.trace(text, maps=False, projections=True, **change)


# ---- gates


def test_what_has_no_gates_or_signals_says_why(model: Model) -> None:
    plain = small_model(max_length=48)
    for ask, message in (
        (lambda: gates(model.trace(TEXT)), "has no projections"),
        (lambda: gates(seen(plain)), "toy/random has no gates"),
        (lambda: signals(plain, seen(plain)), "toy/random has only one position signal"),
    ):
        refused(InputError, message, ask)


@pytest.mark.parametrize("window", [0, 6, 500])
def test_gates_are_sigmoids_of_what_each_layer_reads(window: int) -> None:
    model = gated_model(window=window)
    trace = seen(model)
    computed = gates(trace)
    assert trace.hidden is not None and computed.shape == (3, len(trace.tokens))
    for layer in range(3):
        weight = model.network.blocks[layer].attention.gate.weight[0].double().tolist()  # type: ignore[index, union-attr]
        norm = model.network.blocks[layer].attention_norm  # type: ignore[index, union-attr]
        read = norm(torch.from_numpy(trace.hidden[layer].copy())).double().tolist()  # type: ignore[operator]
        for j, x in enumerate(read):
            assert computed[layer, j] == pytest.approx(1 / (1 + math.exp(-sum(a * b for a, b in zip(x, weight, strict=True)))), abs=1e-5)


def test_strength_is_a_power_and_forced_gates_are_one_and_nought(model: Model) -> None:
    plain, changed = seen(model), seen(model, strength={"gate": 2.0}, gates_open=[3], gates_shut=[5])
    before, after = gates(plain), gates(changed)
    rest = [j for j in range(len(plain.tokens)) if j not in (3, 5)]
    np.testing.assert_allclose(after[0, rest], before[0, rest] ** 2, rtol=1e-5)
    assert (after[:, 3] == 1).all() and (after[:, 5] == 0).all()
    assert [(i, state) for i, state in enumerate(forced(changed)) if state] == [(3, "open"), (5, "shut")]


def test_forced_gates_stay_with_their_tokens_where_words_are_left_out(model: Model) -> None:
    trace = seen(model, gates_shut=[4], gates_open=[7])
    reading = model.encode(TEXT).reading
    assert reading.tags is not None
    removed = [[1], [4], [5], [7], [2, 3, 9], []]
    got = leaving_out(model, trace, removed)
    for some, logits in zip(removed, got, strict=True):
        left = [i for i in range(len(reading)) if i not in some]
        ids, tags = (torch.tensor([[int(array[i]) for i in left]]) for array in (reading.ids, reading.tags))
        places = {i: left.index(i) for i in (4, 7) if i in left}
        change = InterventionTensors(
            gates_shut=frozenset({places[4]} if 4 in places else ()), gates_open=frozenset({places[7]} if 7 in places else ())
        )
        with torch.inference_mode():
            expected = model.network(Inputs(ids, tags=tags), change=change).logits[0].numpy()
        np.testing.assert_allclose(logits, expected, atol=2e-5)
    assert np.abs(got[0] - leaving_out(model, seen(model), [[1]])[0]).max() > 1e-4


def test_the_arithmetic_of_a_cell_keeps_forced_gates(model: Model) -> None:
    """A trace without projections gives the same arithmetic as one with them."""
    change: dict[str, Any] = {"gates_shut": [4], "gates_open": [2]}
    with_maps, stored = (cell(model, trace, 1, 0, 3, 2) for trace in (seen(model, **change), model.trace(TEXT, **change)))
    assert with_maps.attention == pytest.approx(stored.attention, abs=1e-6)
    assert cell(model, model.trace(TEXT, gates_shut=[4]), 1, 0, 3, 4).attention == pytest.approx(0, abs=1e-6)
    assert with_maps.attention != pytest.approx(cell(model, model.trace(TEXT), 1, 0, 3, 2).attention, abs=1e-5)


# ---- positions


def test_signals_are_the_lengths_of_a_loop() -> None:
    """Signals are |alpha| sqrt(d / 2), twice, |gamma| times the length of the tag's vector, the length of their sum, and of the word's
    vector.
    """
    model = gated_model(seed=3)
    network, trace = model.network, seen(model)
    lengths = signals(model, trace)
    aware = network.aware  # type: ignore[union-attr]
    alpha, beta, gamma = (float(getattr(aware, name)) for name in ("alpha", "beta", "gamma"))
    assert lengths.weights == pytest.approx({"alpha": alpha, "beta": beta, "gamma": gamma})
    encoded = model.encode(TEXT)
    n = len(encoded)
    assert encoded.tags is not None
    for i, (tag, token) in enumerate(zip(encoded.tags.tolist(), encoded.ids.tolist(), strict=True)):
        parts: dict[str, list[float]] = {"sinusoid": [], "recency": [], "tag": []}
        for c in range(8):
            angle = i / 10000 ** ((c // 2 * 2) / 8)
            parts["sinusoid"].append(alpha * (math.sin(angle) if c % 2 == 0 else math.cos(angle)))
            parts["recency"].append(beta * (math.sin(math.pi * i / n) if c % 2 == 0 else math.cos(math.pi * i / n)))
            parts["tag"].append(gamma * float(aware.tags.weight[tag, c]))  # type: ignore[union-attr, index]
        for name, values in parts.items():
            assert lengths.parts[name][i] == pytest.approx(math.hypot(*values), abs=1e-5)
        assert lengths.total[i] == pytest.approx(math.hypot(*(sum(each) for each in zip(*parts.values(), strict=True))), abs=1e-5)
        word = [float(value) * math.sqrt(8) for value in network.table[token]]
        assert lengths.word[i] == pytest.approx(math.hypot(*word), abs=1e-4)
    assert lengths.parts["sinusoid"][0] == pytest.approx(abs(alpha) * 2, abs=1e-5)


# ---- figures


def drawn(name: str, trace: Trace, model: Model | None = None) -> Figure:
    """Return a figure of a trace, of a run with our tagger."""
    run = stub(capabilities=stub(tags=True), config={"tagger": {"version": Tagger.load().version}})
    return figure_of(name, stub(trace=trace, model=model, run=run))


def test_what_a_visitor_typed_is_text_in_both_figures(model: Model) -> None:
    trace = seen(model, "<b>warm</b> $x$ &amp; 영화는")
    for figure in (drawn("gates", trace), drawn("positions", trace, model)):
        assert "<b>" not in figure.plot.to_json().replace("\\u003c", "<")
