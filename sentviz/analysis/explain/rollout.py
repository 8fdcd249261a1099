"""Follow attention through the layers, and weight attention by the vectors that it moves.

    rollout         R = Â_L ... Â_1,  Â = I/2 + A/2                        Abnar & Zuidema 2020, arXiv 2005.00928
    attention flow  maximum flow through the Â as capacities               the same
    value-weighted  || sum_h A^h_ij V^h_j W_O^h ||                         Kobayashi et al. 2020, arXiv 2004.10102
    value zeroing   cosine distance of a layer's output without V_j        Mohebbi et al. 2023, arXiv 2301.12971

A in rollout and flow is the effective map, averaged over heads. Its rows may hold negative weights (Differential) or sum to more than 1
(NDT). So absolute weights are used, and each row is divided by its sum: the residual keeps one half. The result is read as the classifier
reads: as the mean over the tokens, or at [CLS].

Scores (m,) are shares in multiples of an even share: they sum to the number of tokens.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError, MissingMapError
from sentviz.io.lazy import torch
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model
    from sentviz.models.protocol import Inputs, InterventionTensors

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

MAX_FLOW_TOKENS = 48  # tokens; with more than two layers, the flow of each pair of tokens is solved separately
CAPACITY = 1 << 24  # capacity 1 in the solver's integers


def effective(trace: Trace) -> Doubles:
    """Return the absolute effective maps averaged over heads, (L, n, m); each row sums to 1."""
    is_complete = trace.layer_ids == tuple(range(len(trace.lambdas))) and trace.query_ids == tuple(range(len(trace.tokens)))
    try:
        stack = trace.stack() if is_complete else None
    except MissingMapError:
        stack = None
    if stack is None:
        raise InputError("This method needs the complete attention maps of all layers.")
    maps = np.abs(stack.astype(np.float64)).mean(axis=1)
    totals = maps.sum(axis=-1, keepdims=True)
    if empty := np.flatnonzero((totals == 0).any(axis=(1, 2))).tolist():
        raise InputError(f"In layer {empty[0] + 1}, all attention weights of a token are zero, so attention cannot be followed.")
    return np.asarray(maps / totals)


def rollout(trace: Trace) -> Floats:
    """Return the attention rollout to each token, (m,)."""
    return _shares(_pool_rows(_product(_residual(effective(trace))), trace.pooling))


def attention_flow(trace: Trace) -> Floats:
    """Return the maximum flow from the last layer to each token of the text, (m,), read as the classifier reads."""
    maps = _residual(effective(trace))
    layers, n, _ = maps.shape
    if layers > 2 and n > MAX_FLOW_TOKENS:
        raise InputError(
            f"Attention flow through {layers} layers is solved for texts of at most {MAX_FLOW_TOKENS} tokens; this one has {n}."
        )
    return _shares(
        _pool_rows(maps[0] if layers == 1 else _two_layers(maps) if layers == 2 else _solve_flow(maps, trace.pooling), trace.pooling)
    )


def _two_layers(maps: Doubles) -> Doubles:
    """Return the maximum flows of two layers, (n, m). No two paths from i to j share an edge, so each path adds its smaller capacity."""
    lower, upper = maps
    return np.stack([np.minimum(row[:, None], lower).sum(axis=0) for row in upper])


def _solve_flow(maps: Doubles, pooling: str) -> Doubles:
    """Return the maximum flows of the rows that pooling reads, (n, m)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    layers, n, _ = maps.shape
    level, query, key = np.indices(maps.shape).reshape(3, -1)
    capacities = np.rint(maps.ravel() * CAPACITY).astype(np.int32)
    size = (layers + 1) * n
    graph = coo_array((capacities, ((level + 1) * n + query, level * n + key)), shape=(size, size)).tocsr()
    tops = (layers * n + _read_rows(n, pooling)).tolist()
    flows = [[maximum_flow(graph, top, token).flow_value for token in range(n)] for top in tops]
    return np.asarray(flows, dtype=np.float64) / CAPACITY


def value_weighted_maps(model: Model, trace: Trace) -> Doubles:
    """Return the length of the vector that key j adds to query i in the attention output, (L, n, m), in units of the hidden state."""
    from sentviz.models.terms import terms_of

    full = model.trace(trace.text, trace.text_pair, maps=False, projections=True, change=trace.change)
    assert full.values is not None
    maps = []
    for a, v, terms in zip(full.stack().astype(np.float64), full.values.astype(np.float64), terms_of(full), strict=True):
        model.check()
        if (norm := terms.head_norm) is not None:  # The norm is linear for a known root mean square.
            a = a / np.sqrt(((a @ v) ** 2).mean(axis=-1, keepdims=True) + norm.eps) * norm.factor
            v = v * norm.weight.detach().numpy()
        w = terms.output.detach().numpy().astype(np.float64).reshape(model.config.width, len(v), -1)  # (d, H, d_v)
        moved = np.einsum("hme,dhe->mhd", v, w)
        products = moved @ moved.transpose(0, 2, 1)  # (m, H, H): enough for the lengths, and smaller than a vector per pair of tokens
        squares = np.einsum("hnm,mhg,gnm->nm", a, products, a, optimize=True)
        maps.append(np.sqrt(np.maximum(squares, 0)))
    return np.stack(maps)


def value_weighted(model: Model, trace: Trace) -> Floats:
    """Return the length that each key adds, summed over queries and averaged over layers, (m,)."""
    return _shares(value_weighted_maps(model, trace).sum(axis=1).mean(axis=0))


def value_zeroing_maps(model: Model, trace: Trace) -> Doubles:
    """Return the cosine distance of a layer's output i with and without the value vectors of token j, (L, n, m), not normalised.

    Every layer reads its unchanged input. All tokens of a layer are zeroed in one batch.
    """

    from sentviz.models.protocol import Capture

    changed = model.applied(model.intervention(trace.change))
    inputs = model.network.ready(model.inputs(model.encode(trace.text, trace.text_pair, trace.change)))
    model.check()
    with torch.inference_mode():
        hidden = model.network(inputs, Capture(maps=False), changed).hidden
        maps = [_turn_distances(model, i, x, out, inputs, changed) for i, (x, out) in enumerate(pairwise(hidden))]
        distances: Doubles = torch.stack(maps).numpy()
    return distances


def value_zeroing(model: Model, trace: Trace) -> Floats:
    """Return value zeroing rolled out over the layers, (m,). The outputs include the residual, so none is added.

    A token whose output no other token changes keeps its full weight.
    """
    maps = value_zeroing_maps(model, trace)
    totals = maps.sum(axis=-1, keepdims=True)
    rows = np.where(totals > 0, maps / np.where(totals > 0, totals, 1), np.eye(maps.shape[-1]))
    return _shares(_pool_rows(_product(rows), trace.pooling))


def _residual(maps: Doubles) -> Doubles:
    return np.asarray((maps + np.eye(maps.shape[-1])) / 2)


def _product(maps: Doubles) -> Doubles:
    """Return the matrix product A_L ... A_1."""
    result: Doubles = maps[0]
    for later in maps[1:]:
        result = later @ result
    return result


def _read_rows(n: int, pooling: str) -> npt.NDArray[np.int64]:
    """Return the tokens that the classifier reads, of n tokens."""
    return np.array({"cls": [0], "last": [n - 1]}.get(pooling, range(n)), dtype=np.int64)


def _pool_rows(rolled: Doubles, pooling: str) -> Doubles:
    """Return the mean of the rows that the classifier reads, of the rows of all tokens or of these alone."""
    return np.asarray((rolled[_read_rows(len(rolled), pooling)]).mean(axis=0))


def _shares(values: Doubles) -> Floats:
    total = values.sum()
    return np.asarray(values * (len(values) / total) if total else values, dtype=np.float32)


def _turn_distances(
    model: Model, layer: int, x: torch.Tensor, out: torch.Tensor, inputs: Inputs, change: InterventionTensors
) -> torch.Tensor:
    """Return the cosine distance of output i of a layer if the value vectors of token j are zero, (n, m) float64."""
    import torch.nn.functional as F

    from sentviz.models.batches import tokens_per_batch
    from sentviz.models.protocol import Replacement

    n, distances, unchanged = x.shape[1], [], F.normalize(out.double(), dim=-1)
    for tokens in torch.split(torch.arange(n), max(1, tokens_per_batch(model.network) // n)):
        model.check()
        count = len(tokens)
        off = Replacement((torch.arange(count), slice(None), tokens), torch.zeros(()))
        without = replace(change, replaced={**change.replaced, ("value", layer): (*change.replaced.get(("value", layer), ()), off)})
        changed, _ = model.network.step(layer, x.expand(count, -1, -1), inputs.expand(count), None, without)
        distances.append((F.normalize(changed.double(), dim=-1) - unchanged).square().sum(dim=-1) / 2)  # 1 - cos, exact near 0
    return torch.cat(distances).T
