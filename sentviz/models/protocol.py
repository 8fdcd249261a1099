"""The interface of all networks: inputs, interventions, watched activations and outputs of a forward pass.

Axes in shape comments: B batch, n queries, m keys, H heads, C components, L layers, d width, K classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from sentviz.models.terms import AttentionTerms
from sentviz.runs.configs import Capabilities, ModelConfig
from sentviz.runs.intervention import Intervention

SHUT = -1e4  # stands for the log of a gate that is 0: the softmax then gives the token no weight


@dataclass(frozen=True)
class Inputs:
    """Texts as a network takes them. `mask` is None when nothing is padded: the kernels are faster without."""

    ids: Tensor  # (B, n)
    mask: Tensor | None = None  # (B, n) True = a real token
    segments: Tensor | None = None  # (B, n) which of two texts a token is of
    tags: Tensor | None = None  # (B, n) part of speech
    places: Tensor | None = None  # (B, n) of tokens in the text as it was asked, where some were left out of it
    polarity: Tensor | None = None  # (B, n, 3) lambda(x) of each token, instead of the network's own table
    distances: Tensor | None = None  # (B|1, H, 2 n - 1) a bias for each distance from query to key, 1 - n to n - 1; a network makes it
    vectors: Tensor | None = None  # (B, n, e) rows in place of those of the embedding table, for gradients

    @property
    def lengths(self) -> Tensor:
        """(B,) real tokens of each text."""
        if self.mask is not None:
            return self.mask.sum(dim=1)
        return torch.full((self.ids.shape[0],), self.ids.shape[1], device=self.ids.device)

    def expand(self, times: int) -> Inputs:
        """Return one text as a batch of `times` equal rows, without a copy."""
        parts = {item.name: part for item in fields(self) if (part := getattr(self, item.name)) is not None}
        return Inputs(**{name: part.expand(times, *part.shape[1:]) for name, part in parts.items()})


@dataclass(frozen=True)
class Watch:
    """The activations that a forward pass returns. An empty tuple selects everything along its axis."""

    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()
    components: tuple[int, ...] = ()
    queries: tuple[int, ...] = ()
    maps: bool = True
    scores: bool = False
    projections: bool = False  # queries, keys, values and the layer's terms: all that its maps are made of
    into: tuple[Tensor, Tensor] | None = None  # one layer's components and attention, written in place of new tensors

    def sees(self, layer: int) -> bool:
        """Return True if a layer is watched."""
        return not self.layers or layer in self.layers


@dataclass(frozen=True)
class Change:
    """An intervention as a network applies it: tensors and sets of places. The network itself is never changed."""

    lambdas: Tensor | None = None  # (L, C) replaces the learned mixing
    heads_off: frozenset[tuple[int, int]] = frozenset()  # (layer, head) whose output is zero
    values_off: Tensor | None = None  # (B, n) True = the token's value vectors are zero
    strength: Mapping[str, float] = field(default_factory=dict)  # factor on a term of the scores, by its name; 1 as trained, 0 = none
    gates_open: frozenset[int] = frozenset()  # places of tokens, in every text as it was asked, whose gate is 1 in every layer
    gates_shut: frozenset[int] = frozenset()  # ... is 0, whatever the gate's strength
    heads_off_by_row: Tensor | None = None  # (B, L, H) True = that head's output is zero in that row of the batch

    @classmethod
    def from_intervention(cls, intervention: Intervention, learned: Callable[[], npt.NDArray[np.float32]]) -> Change:
        """Build it from an intervention that the model can apply.

        Args:
            learned: returns the (L, C) learned mixing weights; called if a weight is changed.
        """
        if not intervention:
            return cls()
        lambdas = None
        if weights := intervention.lambdas:
            lambdas = torch.from_numpy(learned().copy())
            for place, value in weights.items():
                lambdas[place] = value
        return cls(
            lambdas,
            heads_off=frozenset((layer, head) for layer, head in intervention.heads_off),
            strength=intervention.strength,
            gates_open=frozenset(intervention.gates_open),
            gates_shut=frozenset(intervention.gates_shut),
        )

    def of(self, term: str) -> float:
        """The strength of a term."""
        return self.strength.get(term, 1.0)

    def gates(self, term: Tensor, places: Tensor | None = None) -> Tensor:
        """Return the term of the gates (B, m) with open and shut gates replaced. `places` (B, m) are 0 to m - 1 by default."""
        for forced, value in ((self.gates_open, 0.0), (self.gates_shut, SHUT)):
            if forced:
                tokens = torch.arange(term.shape[-1], device=term.device) if places is None else places
                term = term.masked_fill(torch.isin(tokens, torch.tensor(sorted(forced), device=term.device)), value)
        return term

    def silence(self, layer: int, out: Tensor) -> Tensor:
        """The heads' outputs (B, H, n, d_v) of a layer, those of silenced heads zero."""
        off = [head for at, head in self.heads_off if at == layer]
        if not off and self.heads_off_by_row is None:
            return out
        keep = out.new_ones(out.shape[1], 1, 1)
        keep[off] = 0
        if self.heads_off_by_row is not None:
            keep = keep * ~self.heads_off_by_row[:, layer, :, None, None]
        return out * keep


@dataclass
class LayerSeen:
    """Activations of one layer that a `Watch` selects. Axes hold only the selected heads, components and queries."""

    attention: Tensor | None = None  # (B, H, n, m)
    components: Tensor | None = None  # (B, C, H, n, m)
    scores: Tensor | None = None  # (B, C, H, n, m)
    biases: dict[str, Tensor] = field(default_factory=dict)
    queries: Tensor | None = None  # (B, C, H, n, d_k)
    keys: Tensor | None = None  # (B, C, H, m, d_k)
    values: Tensor | None = None  # (B, H, m, d_v)
    terms: AttentionTerms | None = None  # terms of the selected components and heads


@dataclass
class Output:
    """Result of a forward pass. `hidden` and `seen` are empty without a `Watch`."""

    logits: Tensor  # (B, K)
    pooled: Tensor  # (B, d)
    components: Tensor | None = None  # (L, B, C, H, n, m) of the watched layers, where no gradient is asked for
    attention: Tensor | None = None  # (L, B, H, n, m)
    hidden: list[Tensor] = field(default_factory=list)  # L+1 of (B, n, d)
    seen: dict[int, LayerSeen] = field(default_factory=dict)


class Scalar(NamedTuple):
    """A number that training learns and histories keep; layer and component -1 = the whole model, the whole layer."""

    name: str  # lambda, temperature, alpha ...
    layer: int
    component: int
    value: float


class Network(nn.Module):
    """Tokens in, logits out: what models of all kinds have in common.

    A kind says how tokens are embedded, what a layer does and what the classifier reads. Nothing of a call is kept on a network.
    """

    config: ModelConfig
    classifier: nn.Module

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of this network."""
        return self.config.capabilities

    @property
    def table(self) -> Tensor:
        """(V, e) the embedding of every vocabulary entry."""
        raise NotImplementedError

    def rows(self, ids: Tensor) -> Tensor:
        """Rows of `table`, (..) ids -> (.., e)."""
        return self.table[ids]

    def plain(self) -> Network:
        """The network with every weight as a number of its own, for whoever writes it down; itself unless something is coded."""
        return self

    def embed(self, inputs: Inputs) -> Tensor:
        """Return the input of the first layer, (B, n, d)."""
        raise NotImplementedError

    def step(self, layer: int, x: Tensor, inputs: Inputs, watch: Watch | None, change: Change) -> tuple[Tensor, LayerSeen | None]:
        """One layer, (B, n, d) -> (B, n, d), and what was seen of it."""
        raise NotImplementedError

    def final(self, x: Tensor, inputs: Inputs, change: Change) -> Tensor:
        """The last layer where nobody looks: the states that `pool` reads, and maybe more, (B, n, d) -> (B, n or fewer, d)."""
        return self.step(self.capabilities.layers - 1, x, inputs, None, change)[0]

    def pool(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return the classifier's input from a layer's states, (B, n, d) -> (B, d): the mean over the tokens without padding."""
        if mask is None:
            return x.mean(dim=1)
        weight = mask.to(x.dtype).unsqueeze(-1)
        return (x * weight).sum(dim=1) / weight.sum(dim=1).clamp_min(1)

    def signals(self, inputs: Inputs) -> Mapping[str, Tensor]:
        """Return the weighted signals whose sum is the position embedding, (n, d) or (B, n, d) by name; empty for a single signal."""
        return {}

    def ready(self, inputs: Inputs) -> Inputs:
        """The inputs with whatever the layers read beside the tokens."""
        return inputs

    def lambdas(self) -> Tensor:
        """(L, C) the learned mixing, lambda_1 = 1; ones where there is nothing to mix."""
        return torch.ones(self.capabilities.layers, self.capabilities.components)

    def scalars(self) -> Iterator[Scalar]:
        """Every learned scalar."""
        return iter(())

    def parameters_count(self) -> int:
        """Parameters, those too that a control keeps at their start or that are read-only since the model was loaded."""
        return sum(p.numel() for p in self.parameters())

    def forward(self, inputs: Inputs, watch: Watch | None = None, change: Change | None = None) -> Output:
        """Run a batch.

        Args:
            inputs: texts of at most `config.max_length` tokens.
            watch: what to return of the layers; None runs the fused kernels and returns logits and pooled vectors only, for which, but
                in training, the last layer makes no state that the classifier does not read.
            change: lambdas to use instead of the learned ones, heads and values to silence, strengths of terms.
        """
        change, inputs = change or Change(), self.ready(inputs)
        x = self.embed(inputs)
        components, attention = self._stacks(x, watch)
        hidden, seen = [x], dict[int, LayerSeen]()
        places = {layer: i for i, layer in enumerate(_watched(watch, self.capabilities.layers))} if watch is not None else {}
        alone = watch is None and not self.training  # dropout draws for every token
        for layer in range(self.capabilities.layers - alone):
            layer_watch = watch
            if watch is not None and components is not None and attention is not None and layer in places:
                layer_watch = replace(watch, into=(components[places[layer]], attention[places[layer]]))
            x, layer_seen = self.step(layer, x, inputs, layer_watch, change)
            if watch is not None:
                hidden.append(x)
                if layer_seen is not None:
                    seen[layer] = layer_seen
        if alone:
            x = self.final(x, inputs, change)
        pooled = self.pool(x, inputs.mask)
        logits = self.classifier(pooled)
        return Output(logits, pooled, components, attention, hidden, seen) if watch is not None else Output(logits, pooled)

    def _stacks(self, x: Tensor, watch: Watch | None) -> tuple[Tensor | None, Tensor | None]:
        """Room for all watched maps, so that stacking them copies nothing; with one component the two are one."""
        has = self.capabilities
        if watch is None or not watch.maps or not has.maps or torch.is_grad_enabled():
            return None, None
        batch, n, _ = x.shape
        layers, heads = len(_watched(watch, has.layers)), len(watch.heads) or has.heads
        shape = (layers, batch, len(watch.components) or has.components, heads, len(watch.queries) or n, n)
        components = x.new_empty(shape)
        return components, components[:, :, 0] if has.components == 1 else x.new_empty(shape[:2] + shape[3:])


def _watched(watch: Watch, layers: int) -> tuple[int, ...]:
    return watch.layers or tuple(range(layers))


def look(q: Tensor, k: Tensor, v: Tensor, terms: AttentionTerms, watch: Watch) -> tuple[LayerSeen, Tensor | None]:
    """The watched part of a layer, and the whole effective map when everything of it was needed anyway."""
    seen = LayerSeen()
    everything = not (watch.heads or watch.components or watch.queries)
    components, heads = list(watch.components) or slice(None), list(watch.heads) or slice(None)
    rows = torch.tensor(watch.queries, device=q.device) if watch.queries else None
    if watch.projections:
        seen.queries, seen.keys = q[:, components][:, :, heads], k[:, components][:, :, heads]
        if rows is not None:
            seen.queries = seen.queries[..., rows, :]
        seen.values, seen.terms = v[:, heads], terms.part(watch.components, watch.heads)
    if not (watch.maps or watch.scores):
        return seen, None
    if not everything:
        q, k, terms = q[:, :, heads], k[:, :, heads], terms.part(heads=watch.heads)
        q = q if rows is None else q[..., rows, :]
    if everything and watch.into is not None and not watch.scores:
        a = terms.maps(q, k, out=watch.into[0])
        effective = terms.mix(a, out=watch.into[1])
    else:
        a = terms.maps(q, k, rows)
        effective = terms.mix(a)
        if watch.into is not None:
            watch.into[0].copy_(a[:, components])
            watch.into[1].copy_(effective)
    if watch.scores:
        s = terms.scores(q, k, rows)
        seen.scores = s[:, components]
        seen.biases = {b.name: b.dense().expand_as(s)[:, components] for b in terms.structure.part(queries=rows).biases}
    if watch.maps:
        seen.components, seen.attention = a[:, components], effective
    return seen, effective if everything else None
