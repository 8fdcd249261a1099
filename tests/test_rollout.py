"""Attention through the layers against loops, the slow encoder and a flow solved by hand."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from sentviz.analysis.explain.rollout import (
    MAX_FLOW_TOKENS,
    attention_flow,
    effective,
    rollout,
    value_weighted,
    value_weighted_maps,
    value_zeroing,
    value_zeroing_maps,
)
from sentviz.errors import InputError
from sentviz.models.model import Model
from tests import slow
from tests.kit import fake_trace, small_model

TEXT = "what a warm, clever song"
FORMS: dict[str, dict[str, Any]] = {
    "post-norm": {"norm": "layer", "norm_first": False, "ffn": "relu", "positions": "sinusoid"},
    "ndt": {"components": 3, "mixing": "free", "layers": 3},
    "diff": {"components": 2, "mixing": "differential", "head_norm": True, "lambda_std": 0.3},
    "cls": {"pooling": "cls", "cls": True, "layers": 1},
    "window": {"window": 2, "components": 2, "mixing": "unit"},
}


def state_of(model: Model) -> dict[str, slow.Array]:
    return {name: tensor.numpy().astype(np.float64) for name, tensor in model.network.state_dict().items()}


def shares(values: Any) -> np.ndarray:
    return np.asarray(values) / np.sum(values) * len(values)


def half(trace: Any, layer: int) -> list[list[float]]:
    """Return I/2 + A/2 of a layer, entry by entry."""
    n, heads = len(trace.tokens), len(trace.head_ids)
    size = [[sum(abs(float(trace.attention[layer, h, i, j])) for h in range(heads)) / heads for j in range(n)] for i in range(n)]
    return [[0.5 * (i == j) + 0.5 * size[i][j] / sum(size[i]) for j in range(n)] for i in range(n)]


@pytest.mark.parametrize(("signed", "pooling"), [(False, "cls"), (True, "mean")])
def test_rollout_is_the_published_recursion(signed: bool, pooling: str) -> None:
    """Rollout equals the loops R_l[i][j] = sum_k A_l[i][k] R_(l-1)[k][j], read at the row of the classifier."""
    trace = fake_trace(n=6, layers=3, heads=2, components=3 if signed else 1, signed=signed).replace(pooling=pooling)
    n = len(trace.tokens)
    assert trace.attention is not None and (trace.attention.min() < 0) == signed
    rolled = [[float(i == j) for j in range(n)] for i in range(n)]
    for layer in range(3):
        a = half(trace, layer)
        rolled = [[sum(a[i][k] * rolled[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    want = rolled[0] if pooling == "cls" else [sum(row[j] for row in rolled) / n for j in range(n)]
    assert sum(want) == pytest.approx(1)
    np.testing.assert_allclose(rollout(trace), np.array(want) * n, rtol=1e-5)
    if not signed:  # softmax rows of one component enter as the mean over heads
        np.testing.assert_allclose(effective(trace), trace.attention.mean(axis=1), atol=1e-6)


def widest(capacity: dict[tuple[int, int], float], source: int, sink: int) -> float:
    """Return the maximum flow by shortest augmenting paths (Edmonds & Karp 1972)."""
    left, total = dict(capacity), 0.0
    while True:
        before: dict[int, int] = {source: source}
        queue = deque([source])
        while queue and sink not in before:
            at = queue.popleft()
            for (a, b), room in left.items():
                if a == at and b not in before and room > 1e-12:
                    before[b] = at
                    queue.append(b)
        if sink not in before:
            return total
        path, at = [], sink
        while at != source:
            path.append((before[at], at))
            at = before[at]
        step = min(left[edge] for edge in path)
        for a, b in path:
            left[a, b] -= step
            left[b, a] = left.get((b, a), 0.0) + step
        total += step


@pytest.mark.parametrize(("layers", "pooling"), [(1, "cls"), (2, "mean"), (3, "cls"), (3, "mean")])
def test_attention_flow_is_the_maximum_flow(layers: int, pooling: str) -> None:
    trace = fake_trace(n=5, layers=layers, signed=True).replace(pooling=pooling)
    n = 5
    capacity = {((at + 1) * n + i, at * n + j): half(trace, at)[i][j] for at in range(layers) for i in range(n) for j in range(n)}
    tops = [0] if pooling == "cls" else range(n)
    want = [np.mean([widest(capacity, layers * n + i, j) for i in tops]) for j in range(n)]
    np.testing.assert_allclose(attention_flow(trace), shares(want), atol=1e-5)


def test_what_cannot_be_followed_is_refused() -> None:
    """Missing layers or rows, maps that mix to nothing, and too long texts are refused."""
    whole = fake_trace()
    for part in (whole.replace(attention=None), whole.replace(layer_ids=(1, 0)), whole.replace(query_ids=(0, 1))):
        with pytest.raises(InputError, match="complete attention maps of all layers"):
            rollout(part)
    nothing = np.array(whole.attention)
    nothing[1, :, 3] = 0
    with pytest.raises(InputError, match="In layer 2, all attention weights"):
        rollout(whole.replace(attention=nothing))
    long = fake_trace(n=MAX_FLOW_TOKENS + 1)
    assert attention_flow(long).sum() == pytest.approx(MAX_FLOW_TOKENS + 1, rel=1e-4)
    with pytest.raises(InputError, match=f"at most {MAX_FLOW_TOKENS} tokens"):
        attention_flow(fake_trace(n=MAX_FLOW_TOKENS + 1, layers=3))
    model = small_model(components=2, mixing="free")
    with pytest.raises(InputError, match="In layer 1"):
        rollout(model.trace(TEXT, lambdas=[[0, 0], [1, 0]]))


@pytest.mark.parametrize("name", FORMS)
def test_value_weighted_attention_is_the_length_of_what_is_added(name: str) -> None:
    """The vectors of pairs and heads sum to the slow encoder's attention output, and the scores are their lengths."""
    model, change = small_model(5, **FORMS[name]), {"heads_off": [(0, 1)]} if name in ("ndt", "diff") else {}
    trace, state, config = model.trace(TEXT, **change), state_of(model), model.config
    encoded = model.encode(TEXT)
    seen = slow.encode(state, config, encoded.ids.tolist(), heads_off=change.get("heads_off", ()))
    got, n, width = value_weighted_maps(model, trace), len(encoded.ids), config.width // config.heads
    for layer in range(config.layers):
        prefix = f"blocks.{layer}.attention."
        x = list(seen.hidden[layer])
        if config.norm_first:
            x = [slow.norm(config.norm, row, state, f"blocks.{layer}.attention_norm.") for row in x]
        off = {h for at, h in change.get("heads_off", ()) if at == layer}
        first, added = 2 * config.components * config.key_width, np.zeros((n, n, config.width))
        for h in range(config.heads):
            rows = slice(first + h * width, first + (h + 1) * width)
            v = [state[prefix + "project.weight"][rows] @ row + state[prefix + "project.bias"][rows] for row in x]
            for i in range(n):
                parts = [seen.effective[layer][h, i, j] * v[j] for j in range(n)]
                if config.head_norm:
                    rms = np.sqrt((sum(parts) ** 2).mean() + 1e-5)
                    weight = state[prefix + "head_norm.weight"] * (1 - config.lambda_start[layer][0])
                    parts = [part / rms * weight for part in parts]
                for j in range(n):
                    if h not in off:
                        added[i, j] += state[prefix + "output.weight"][:, h * width : (h + 1) * width] @ parts[j]
        whole = slow.attend_layer(state, config, layer, x, seen.lambdas[layer], off, None, slow.Seen(x[0], x[0]))
        np.testing.assert_allclose(added.sum(axis=1) + state[prefix + "output.bias"], whole, atol=1e-9)
        np.testing.assert_allclose(got[layer], np.linalg.norm(added, axis=-1), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(value_weighted(model, trace), shares(got.sum(axis=1).mean(axis=0)), rtol=1e-5)


@pytest.mark.parametrize("name", FORMS)
def test_value_zeroing_is_running_again_without_a_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Value zeroing equals the slow encoder run once per layer and token with a zero value: cosine distances and their recursion."""
    model, change = small_model(6, **FORMS[name]), {"heads_off": [(0, 1)]} if name in ("ndt", "diff") else {}
    trace, state, config = model.trace(TEXT, **change), state_of(model), model.config
    ids, plain = model.encode(TEXT).ids.tolist(), slow.attention
    n, off = len(ids), change.get("heads_off", ())
    usual = slow.encode(state, config, ids, heads_off=off).hidden
    want = np.zeros((config.layers, n, n))
    for layer in range(config.layers):
        for j in range(n):
            calls: list[int] = []

            def zeroed(q: Any, k: Any, v: Any, *rest: Any, at: int = layer, j: int = j, calls: list[int] = calls) -> Any:
                if len(calls) == at:
                    v[:, j] = 0
                calls.append(1)
                return plain(q, k, v, *rest)

            monkeypatch.setattr(slow, "attention", zeroed)
            changed = slow.encode(state, config, ids, heads_off=off).hidden[layer + 1]
            for i in range(n):
                a, b = changed[i], usual[layer + 1][i]
                want[layer, i, j] = 1 - a @ b / np.sqrt((a @ a) * (b @ b))
    np.testing.assert_allclose(value_zeroing_maps(model, trace), want, rtol=2e-3, atol=1e-6)
    rolled = np.eye(n)
    for rows in want:
        rolled = rows / rows.sum(axis=1, keepdims=True) @ rolled
    want_scores = shares(rolled[0] if config.pooling == "cls" else rolled.mean(axis=0))
    np.testing.assert_allclose(value_zeroing(model, trace), want_scores, rtol=5e-3, atol=1e-4)
