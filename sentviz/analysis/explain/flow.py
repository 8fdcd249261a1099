"""Attention followed through the layers, and weighed by what it moves.

    rollout         R = Â_L ... Â_1,  Â = I/2 + A/2                        Abnar & Zuidema 2020, arXiv 2005.00928
    attention flow  maximum flow through the Â as capacities               the same
    value-weighted  || sum_h A^h_ij V^h_j W_O^h ||                         Kobayashi et al. 2020, arXiv 2004.10102
    value zeroing   cosine distance of a layer's output without V_j        Mohebbi et al. 2023, arXiv 2301.12971

A in rollout and flow is the effective map, averaged over heads. Its rows may hold negative weights (Differential) or sum to more than 1
(NDT): weights enter by their size and each row is divided by its sum, so that the residual keeps its half. What is read at the end is what
the classifier reads: the mean over the tokens, or [CLS].

Scores (m,) are shares in multiples of an even one: they sum to the number of tokens.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from torch import Tensor

    from sentviz.models.model import Model
    from sentviz.models.protocol import Change, Inputs

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

LONGEST_FLOW = 48  # tokens beyond two layers, where the flow of every pair of tokens is solved alone
CAPACITY = 1 << 24  # a capacity of 1, in the solver's whole numbers


# ---- from the trace ------------------------------------------------------------------------------------------------


def effective(trace: Trace) -> Doubles:
    """(L, n, m) effective maps averaged over heads, weights by their size, each row summing to 1.

    Raises:
        InputError: the trace does not hold every layer and query row, or a row is all zero.
    """
    whole = trace.layer_ids == tuple(range(len(trace.lambdas))) and trace.query_ids == tuple(range(len(trace.tokens)))
    try:
        stack = trace.stack() if whole else None
    except KeyError:
        stack = None
    if stack is None:
        raise InputError("Following attention through the layers needs the maps of all layers with all their rows.")
    maps = np.abs(stack.astype(np.float64)).mean(axis=1)
    totals = maps.sum(axis=-1, keepdims=True)
    if empty := np.flatnonzero((totals == 0).any(axis=(1, 2))).tolist():
        raise InputError(f"Layer {empty[0] + 1} mixes its maps to nothing for some token, so there is no attention to follow.")
    return np.asarray(maps / totals)


def rollout(trace: Trace) -> Floats:
    """(m,) attention rollout to each token.

    Raises:
        InputError: as `effective`.
    """
    return _shares(_read(_product(_residual(effective(trace))), trace.pooling))


def attention_flow(trace: Trace) -> Floats:
    """(m,) maximum flow from each token of the last layer to each token of the text, read as the classifier reads.

    Raises:
        InputError: as `effective`; more than LONGEST_FLOW tokens in a model of more than two layers.
    """
    maps = _residual(effective(trace))
    layers, n, _ = maps.shape
    if layers > 2 and n > LONGEST_FLOW:
        raise InputError(f"Attention flow through {layers} layers is solved for texts of at most {LONGEST_FLOW} tokens; this one has {n}.")
    return _shares(_read(maps[0] if layers == 1 else _two_layers(maps) if layers == 2 else _solved(maps, trace.pooling), trace.pooling))


def _two_layers(maps: Doubles) -> Doubles:
    """(n, m) no two ways from i to j share an edge, so the flow is the sum of their narrower halves."""
    lower, upper = maps
    return np.stack([np.minimum(row[:, None], lower).sum(axis=0) for row in upper])


def _solved(maps: Doubles, pooling: str) -> Doubles:
    """(n, m) maximum flows, the rows that pooling reads."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    layers, n, _ = maps.shape
    level, query, key = np.indices(maps.shape).reshape(3, -1)
    capacities = np.rint(maps.ravel() * CAPACITY).astype(np.int32)
    size = (layers + 1) * n
    graph = coo_array((capacities, ((level + 1) * n + query, level * n + key)), shape=(size, size)).tocsr()
    tops = range(layers * n, layers * n + (1 if pooling == "cls" else n))
    flows = [[maximum_flow(graph, top, token).flow_value for token in range(n)] for top in tops]
    return np.asarray(flows, dtype=np.float64) / CAPACITY


# ---- from the model ------------------------------------------------------------------------------------------------


def value_weighted_maps(model: Model, trace: Trace, **change: Any) -> Doubles:
    """(L, n, m) length of what key j adds to query i in the attention's output, in units of the hidden state."""
    from sentviz.models.terms import terms_of

    whole = model.trace(trace.text, trace.text_pair, maps=False, projections=True, **change)
    assert whole.values is not None
    maps = []
    for a, v, terms in zip(whole.stack().astype(np.float64), whole.values.astype(np.float64), terms_of(whole), strict=True):
        model.check()
        if (norm := terms.head_norm) is not None:  # linear once its root mean square is known
            a = a / np.sqrt(((a @ v) ** 2).mean(axis=-1, keepdims=True) + norm.eps) * norm.factor
            v = v * norm.weight.detach().numpy()
        w = terms.output.detach().numpy().astype(np.float64).reshape(model.config.width, len(v), -1)  # (d, H, d_v)
        moved = np.einsum("hme,dhe->mhd", v, w)
        products = moved @ moved.transpose(0, 2, 1)  # (m, H, H): lengths without a vector for every pair of tokens
        squares = np.einsum("hnm,mhg,gnm->nm", a, products, a, optimize=True)
        maps.append(np.sqrt(np.maximum(squares, 0)))
    return np.stack(maps)


def value_weighted(model: Model, trace: Trace, **change: Any) -> Floats:
    """(m,) what each key adds, summed over queries, averaged over layers."""
    return _shares(value_weighted_maps(model, trace, **change).sum(axis=1).mean(axis=0))


def value_zeroing_maps(model: Model, trace: Trace, **change: Any) -> Doubles:
    """(L, n, m) cosine distance of a layer's output i with and without the value vectors of token j, not yet normalised.

    Every layer reads its own, unchanged input; all tokens of a layer are zeroed in one batch.
    """
    import torch

    from sentviz.models.protocol import Watch

    changed = model.change(**change)
    inputs = model.network.ready(model.inputs(model.encode(trace.text, trace.text_pair, changed)))
    model.check()
    with torch.inference_mode():
        hidden = model.network(inputs, Watch(maps=False), changed).hidden
        maps = [_turned(model, i, x, out, inputs, changed) for i, (x, out) in enumerate(pairwise(hidden))]
        distances: Doubles = torch.stack(maps).numpy()
    return distances


def value_zeroing(model: Model, trace: Trace, **change: Any) -> Floats:
    """(m,) value zeroing rolled out over the layers; outputs hold the residual already, so none is added.

    A token that nothing turns keeps itself.
    """
    maps = value_zeroing_maps(model, trace, **change)
    totals = maps.sum(axis=-1, keepdims=True)
    rows = np.where(totals > 0, maps / np.where(totals > 0, totals, 1), np.eye(maps.shape[-1]))
    return _shares(_read(_product(rows), trace.pooling))


# ---- shared --------------------------------------------------------------------------------------------------------


def _residual(maps: Doubles) -> Doubles:
    return np.asarray((maps + np.eye(maps.shape[-1])) / 2)


def _product(maps: Doubles) -> Doubles:
    """A_L ... A_1."""
    result: Doubles = maps[0]
    for later in maps[1:]:
        result = later @ result
    return result


def _read(rolled: Doubles, pooling: str) -> Doubles:
    return np.asarray(rolled[0] if pooling == "cls" else rolled.mean(axis=0))


def _shares(values: Doubles) -> Floats:
    total = values.sum()
    return np.asarray(values * (len(values) / total) if total else values, dtype=np.float32)


def _turned(model: Model, layer: int, x: Tensor, out: Tensor, inputs: Inputs, change: Change) -> Tensor:
    """(n, m) how far output i of a layer turns when the value vectors of token j are zero, in double precision."""
    import torch
    import torch.nn.functional as F

    from sentviz.models.model import TOKENS_PER_BATCH

    n, distances, whole = x.shape[1], [], F.normalize(out.double(), dim=-1)
    for off in torch.split(torch.eye(n, dtype=torch.bool), max(1, TOKENS_PER_BATCH // n)):
        model.check()
        some = len(off)
        changed, _ = model.network.step(layer, x.expand(some, -1, -1), inputs.expand(some), None, replace(change, values_off=off))
        distances.append((F.normalize(changed.double(), dim=-1) - whole).square().sum(dim=-1) / 2)  # 1 - cos, exact near 0
    return torch.cat(distances).T
