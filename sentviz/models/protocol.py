"""One forward pass: what goes in, what is changed or watched on the way, what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import torch
from torch import Tensor

from sentviz import attention as at

__all__ = ["Batch", "Change", "LayerSeen", "Output", "Watch", "look"]


@dataclass(frozen=True)
class Batch:
    """Texts as the encoder takes them. `mask` is None when nothing is padded: the kernels are faster without."""

    ids: Tensor  # (B, n)
    mask: Tensor | None = None  # (B, n) True = a real token
    segments: Tensor | None = None  # (B, n)
    polarity: Tensor | None = None  # (B, n, 3) lambda(x) of each token, instead of the encoder's own table

    def expand(self, times: int) -> Batch:
        """A batch of one text as a batch of `times` of it, nothing copied."""
        given = {item.name: part for item in fields(self) if (part := getattr(self, item.name)) is not None}
        return Batch(**{name: part.expand(times, *part.shape[1:]) for name, part in given.items()})


@dataclass(frozen=True)
class Watch:
    """What to return of each layer; empty tuples mean all."""

    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()
    components: tuple[int, ...] = ()
    queries: tuple[int, ...] = ()
    maps: bool = True
    scores: bool = False
    projections: bool = False  # queries, keys, values
    into: tuple[Tensor, Tensor] | None = None  # one layer's components and attention, written in place of new tensors


@dataclass(frozen=True)
class Change:
    """An intervention on the computation; the model itself is untouched."""

    lambdas: Tensor | None = None  # (L, C) replaces the learned mixing
    heads_off: frozenset[tuple[int, int]] = frozenset()  # (layer, head) whose output is zero
    values_off: Tensor | None = None  # (B, n) True = the token's value vectors are zero
    strength: float = 1.0  # of the lexicon's injection; 0 = none


@dataclass
class LayerSeen:
    """What a Watch returns of one layer; axes as chosen."""

    attention: Tensor | None = None  # (B, H, n, m)
    components: Tensor | None = None  # (B, C, H, n, m)
    scores: Tensor | None = None  # (B, C, H, n, m)
    biases: dict[str, Tensor] = field(default_factory=dict)
    queries: Tensor | None = None  # (B, C, H, n, d_k)
    keys: Tensor | None = None  # (B, C, H, m, d_k)
    values: Tensor | None = None  # (B, H, m, d_v)


@dataclass
class Output:
    """What a forward pass returns; `hidden` and `seen` only under a Watch."""

    logits: Tensor  # (B, K)
    pooled: Tensor  # (B, d)
    components: Tensor | None = None  # (L, B, C, H, n, m) of the watched layers, where no gradient is asked for
    attention: Tensor | None = None  # (L, B, H, n, m)
    hidden: list[Tensor] = field(default_factory=list)  # L+1 of (B, n, d)
    seen: dict[int, LayerSeen] = field(default_factory=dict)


def look(
    q: Tensor, k: Tensor, v: Tensor, lambdas: Tensor, scale: Tensor | float, structure: at.Structure, watch: Watch
) -> tuple[LayerSeen, Tensor | None]:
    """The watched part of a layer, and the whole effective map when everything of it was needed anyway."""
    seen, n = LayerSeen(), q.shape[-2]
    everything = not (watch.heads or watch.components or watch.queries)
    if watch.projections:
        components, heads = list(watch.components) or slice(None), list(watch.heads) or slice(None)
        rows = list(watch.queries) or slice(None)
        seen.queries, seen.keys = q[:, components][:, :, heads][..., rows, :], k[:, components][:, :, heads]
        seen.values = v[:, heads]
    if not (watch.maps or watch.scores):
        return seen, None
    rows_index = torch.tensor(watch.queries, device=q.device) if watch.queries else None
    if everything:
        s = at.scores(q, k, scale, structure)
    else:
        structure = _chosen(structure, watch, n)
        heads_index = list(watch.heads) or list(range(q.shape[2]))
        q, k = q[:, :, heads_index], k[:, :, heads_index]
        s = at.scores(q if rows_index is None else q[..., rows_index, :], k, scale, structure)
    chosen = list(watch.components) or slice(None)
    if everything and watch.into is not None and not watch.scores:
        a = at.maps(s, at.visible(structure, rows_index, n), out=watch.into[0])
        effective = at.mix(a, lambdas, out=watch.into[1])
    else:
        a = at.maps(s, at.visible(structure, rows_index, n))
        effective = at.mix(a, lambdas)
        if watch.into is not None:
            watch.into[0].copy_(a[:, chosen])
            watch.into[1].copy_(effective)
    if watch.scores:
        seen.scores = s[:, chosen]
        seen.biases = {b.name: b.dense().expand_as(s)[:, chosen] for b in structure.biases}
    if watch.maps:
        seen.components, seen.attention = a[:, chosen], effective
    return seen, effective if everything else None


def _chosen(structure: at.Structure, watch: Watch, n: int) -> at.Structure:
    """The structured terms on the chosen heads and query rows."""
    heads, rows = list(watch.heads), list(watch.queries)

    def pick(term: at.KeyTerm | at.LowRank) -> at.KeyTerm | at.LowRank:
        if isinstance(term, at.KeyTerm):
            values = term.values[:, :, heads] if heads and term.values.shape[2] > 1 else term.values
            return replace(term, values=values)
        left = term.left[:, :, heads] if heads and term.left.shape[2] > 1 else term.left
        right = term.right[:, :, heads] if heads and term.right.shape[2] > 1 else term.right
        return replace(term, left=left[..., rows, :] if rows else left, right=right)

    factor = structure.factor and pick(structure.factor)
    assert factor is None or isinstance(factor, at.LowRank)
    return replace(structure, biases=tuple(pick(b) for b in structure.biases), factor=factor)
