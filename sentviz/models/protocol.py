"""The interface of all networks: inputs, interventions, captured activations and outputs of a forward pass.

Axes in shape comments: B batch, n queries, m keys, H heads, C components, L layers, d width, K classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from sentviz.errors import InputError
from sentviz.models.terms import AttentionTerms
from sentviz.runs.configs import Capabilities, ModelConfig
from sentviz.runs.intervention import AXES, Intervention, Taken

TABLE_ROWS = 4_096  # rows of an embedding table that are read at a time
SHUT = -1e4  # used as the log of a gate that is 0: the softmax then gives the token a weight of 0


@dataclass(frozen=True)
class Inputs:
    """Input of a forward pass: a batch of tokenized texts."""

    ids: Tensor  # (B, n)
    mask: Tensor | None = None  # (B, n) True = a real token; None if no text is padded, which lets faster kernels run
    segments: Tensor | None = None  # (B, n) 0 = first text, 1 = second text
    tags: Tensor | None = None  # (B, n) part of speech, as an index of `TAGS`
    places: Tensor | None = None  # (B, n) positions of the tokens in the original text; None if no token was left out
    polarity: Tensor | None = None  # (B, n, 3) lambda(x) of each token; None: from the network's own table
    distances: Tensor | None = None  # (B|1, H, 2 n - 1) bias for each distance from query to key, 1 - n to n - 1; computed by `ready`
    vectors: Tensor | None = None  # (B, n, e) embeddings used instead of rows of the embedding table, for gradients

    @property
    def lengths(self) -> Tensor:
        """Number of real tokens of each text, (B,)."""
        if self.mask is not None:
            return self.mask.sum(dim=1)
        return torch.full((self.ids.shape[0],), self.ids.shape[1], device=self.ids.device)

    def expand(self, times: int) -> Inputs:
        """Return one text as a batch of `times` equal rows, without a copy."""
        parts = {item.name: part for item in fields(self) if (part := getattr(self, item.name)) is not None}
        return Inputs(**{name: part.expand(times, *part.shape[1:]) for name, part in parts.items()})


@dataclass(frozen=True)
class Capture:
    """Selection of the activations that a forward pass returns. An empty tuple selects everything along its axis."""

    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()
    components: tuple[int, ...] = ()
    queries: tuple[int, ...] = ()
    maps: bool = True
    scores: bool = False
    projections: bool = False  # queries, keys, values and the layer's terms, from which its maps can be computed later
    into: tuple[Tensor, Tensor] | None = None  # components and attention of one layer are written here instead of into new tensors

    def includes(self, layer: int) -> bool:
        """Return whether activations of a layer are captured."""
        return not self.layers or layer in self.layers


Site = tuple[str, int]  # a quantity of `VECTORS` and its layer; of states the depth


@dataclass(frozen=True)
class Replacement:
    """New vectors for some places of a quantity in one layer."""

    at: tuple[Tensor | slice, ...]  # (k,) places along each axis of (B, .., n, size) but the last
    values: Tensor  # (k, size), or a number for all

    def into(self, x: Tensor) -> Tensor:
        """Return a copy of (B, .., n, size) with the new vectors. Places behind its n tokens are left out."""
        at, values, tokens = self.at, self.values.to(x), self.at[-1]
        if isinstance(tokens, Tensor) and not bool((inside := tokens < x.shape[-2]).all()):
            at = tuple(axis[inside] if isinstance(axis, Tensor) else axis for axis in at)
            values = values[inside] if values.dim() else values
        x = x.clone()
        x[at] = values
        return x

    def rows(self, start: int, stop: int) -> Replacement:
        """Return the part for some rows of the batch, (k,) of them in the first axis, counted from `start`."""
        rows = cast(Tensor, self.at[0])
        some = (rows >= start) & (rows < stop)
        at = (rows[some] - start, *(axis[some] if isinstance(axis, Tensor) else axis for axis in self.at[1:]))
        return Replacement(at, self.values[some] if self.values.dim() else self.values)


@dataclass(frozen=True)
class Shift:
    """A move of states along one vector: x + (goal - x . along) by, for some tokens of each text."""

    by: Tensor  # (d,)
    along: Tensor  # (d,) zeros if the move is the same for every state
    goal: float
    tokens: Tensor | None = None  # (B, n) True = moved; None for all

    def into(self, x: Tensor) -> Tensor:
        """Return a copy of (B, n, d) with moved states. Tokens behind its n are left out."""
        size = self.goal - x @ self.along.to(x)
        if self.tokens is not None:
            size = size * self.tokens[:, : x.shape[1]].to(x)
        return x + size.unsqueeze(-1) * self.by.to(x)


@dataclass(frozen=True)
class InterventionTensors:
    """An `Intervention` in the form that a network applies: tensors and sets of indices. The network itself is never changed."""

    lambdas: Tensor | None = None  # (L, C) mixing weights that replace the learned ones
    heads_off: frozenset[tuple[int, int]] = frozenset()  # (layer, head) pairs whose output is set to zero
    strength: Mapping[str, float] = field(default_factory=dict)  # name of a score term -> factor: 1 as trained, 0 = term removed
    gates_open: frozenset[int] = frozenset()  # positions of tokens in the original text whose gate is 1 in every layer
    gates_shut: frozenset[int] = frozenset()  # positions whose gate is 0, for any strength of the gate
    replaced: Mapping[Site, tuple[Replacement | Shift, ...]] = field(default_factory=dict)  # new vectors
    record: dict[Site, Tensor] | None = None  # receives the vectors of every site, (B, .., n, size), as the pass computes them
    check: Callable[[], object] = field(default=lambda: None, compare=False)  # called at every site; its exception ends the pass

    @classmethod
    def from_intervention(
        cls, intervention: Intervention, learned: Callable[[], npt.NDArray[np.float32]], donor_vectors: Callable[[], Mapping[Site, Tensor]]
    ) -> InterventionTensors:
        """Build the tensors of an intervention that the model can apply.

        Args:
            learned: returns the (L, C) learned mixing weights; called if a weight is changed.
            donor_vectors: returns the vectors of the other text, one row, by site; called if a vector is taken from it.
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
            replaced=_replacements(intervention, donor_vectors() if intervention.donor else {}),
        )

    def of(self, term: str) -> float:
        """Return the strength of a term, 1 if it is not changed."""
        return self.strength.get(term, 1.0)

    def gates(self, term: Tensor, places: Tensor | None = None) -> Tensor:
        """Return the log gates (B, m), with those of `gates_open` and `gates_shut` replaced.

        Args:
            places: (B, m) positions of the tokens in the original text; 0 to m - 1 by default.
        """
        for forced, value in ((self.gates_open, 0.0), (self.gates_shut, SHUT)):
            if forced:
                tokens = torch.arange(term.shape[-1], device=term.device) if places is None else places
                term = term.masked_fill(torch.isin(tokens, torch.tensor(sorted(forced), device=term.device)), value)
        return term

    def put(self, what: str, layer: int, x: Tensor) -> Tensor:
        """Return the vectors of a site, with replaced vectors and silenced heads; record them if asked.

        Shapes: state, residual and feedforward (B, n, d), head and value (B, H, n, d_v), component (B, C, n, H d_v).
        """
        self.check()
        if what == "head" and (off := [head for at, head in self.heads_off if at == layer]):
            keep = x.new_ones(x.shape[1], 1, 1)
            keep[off] = 0
            x = x * keep
        for new in self.replaced.get((what, layer), ()):
            x = new.into(x)
        if self.record is not None:
            self.record[what, layer] = x
        return x

    def reads(self, what: str, layer: int) -> bool:
        """Return whether `put` replaces or records a site."""
        return self.record is not None or (what, layer) in self.replaced


def _replacements(intervention: Intervention, of_donor: Mapping[Site, Tensor]) -> dict[Site, tuple[Replacement, ...]]:
    """Return the replaced vectors of an intervention, for all rows of a batch."""
    replaced: dict[Site, tuple[Replacement, ...]] = {}
    for edit in intervention.vectors:
        site, whole = (edit.what, edit.at[0]), len(edit.at) == len(AXES[edit.what])
        places = edit.at[1:] if whole else (*edit.at[1:], None)
        at = (slice(None), *(slice(None) if place is None else torch.tensor([place]) for place in places))
        if isinstance(edit.to, Taken):
            source = of_donor[site][0]
            if edit.to.token >= source.shape[-2]:
                raise InputError(f"{edit.text()}: the other text has {source.shape[-2]} tokens.")
            values = source[(*edit.at[1:-1], edit.to.token)][None]
        else:
            values = torch.tensor(float(edit.to))
        replaced[site] = (*replaced.get(site, ()), Replacement(at, values))
    return replaced


@dataclass
class LayerActivations:
    """Activations of one layer that a `Capture` selects. Axes hold only the selected heads, components and queries."""

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
    """Result of a forward pass. `hidden` and `captured` are empty without a `Capture`."""

    logits: Tensor  # (B, K)
    pooled: Tensor  # (B, d)
    components: Tensor | None = None  # (L, B, C, H, n, m) of the captured layers; None if gradients are computed
    attention: Tensor | None = None  # (L, B, H, n, m) of the captured layers; None if gradients are computed
    hidden: list[Tensor] = field(default_factory=list)  # L + 1 tensors (B, n, d): output of the embedding, then of each layer
    captured: dict[int, LayerActivations] = field(default_factory=dict)


class Scalar(NamedTuple):
    """A learned number that the training history records. Layer -1: of the model; component -1: of the layer."""

    name: str  # lambda, temperature, alpha ...
    layer: int
    component: int
    value: float


class Network(nn.Module):
    """Base class of the networks of all kinds of models: from tokens to logits.

    A subclass defines the embedding, a layer and the input of the classifier. A network stores nothing of a call, so threads can share it.
    """

    config: ModelConfig
    classifier: nn.Module

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of this network."""
        return self.config.capabilities

    @property
    def table(self) -> Tensor:
        """Embedding of every vocabulary entry, (V, e)."""
        raise NotImplementedError

    def rows(self, ids: Tensor) -> Tensor:
        """Return the embeddings of ids of any shape, (..) -> (.., e)."""
        return self.table[ids]

    def table_parts(self) -> Iterator[Tensor]:
        """Yield `table` in parts of `TABLE_ROWS` consecutive rows, so that a compressed table is never expanded as a whole."""
        yield from torch.split(self.table.detach(), TABLE_ROWS)

    def plain(self) -> Network:
        """Return a network whose weights are all stored as plain numbers, for export; the network itself if no weight is compressed."""
        return self

    def embed(self, inputs: Inputs) -> Tensor:
        """Return the input of the first layer, (B, n, d)."""
        raise NotImplementedError

    def step(
        self, layer: int, x: Tensor, inputs: Inputs, capture: Capture | None, change: InterventionTensors
    ) -> tuple[Tensor, LayerActivations | None]:
        """Run one layer, (B, n, d) -> (B, n, d), and return its captured activations; None if nothing of this layer is captured."""
        raise NotImplementedError

    def final(self, x: Tensor, inputs: Inputs, change: InterventionTensors) -> Tensor:
        """Run the last layer if nothing is captured, (B, n, d) -> (B, n or fewer, d): at least the states that `pool` reads."""
        return self.step(self.capabilities.layers - 1, x, inputs, None, change)[0]

    def advance(self, layer: int, x: Tensor, inputs: Inputs, change: InterventionTensors) -> Tensor:
        """Return the states after a layer under an intervention; after the last layer at least those that `pool` reads."""
        last = layer == self.capabilities.layers - 1
        return change.put("state", layer + 1, self.final(x, inputs, change) if last else self.step(layer, x, inputs, None, change)[0])

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
        """Return the inputs with everything that the layers read in addition to the tokens."""
        return inputs

    def lambdas(self) -> Tensor:
        """Return the learned mixing weights, (L, C), with lambda_1 = 1; all are 1 if the model has one component."""
        return torch.ones(self.capabilities.layers, self.capabilities.components)

    def scalars(self) -> Iterator[Scalar]:
        """Return every learned scalar; none by default."""
        return iter(())

    def parameters_count(self) -> int:
        """Return the number of parameters, including those that a control freezes and those that loading made read-only."""
        return sum(p.numel() for p in self.parameters())

    def forward(self, inputs: Inputs, capture: Capture | None = None, change: InterventionTensors | None = None) -> Output:
        """Run a batch.

        Args:
            inputs: texts of at most `config.max_length` tokens.
            capture: activations to return. None runs the fused kernels and returns only logits and pooled vectors; outside of training, the
                last layer then computes only the states that the classifier reads.
            change: the intervention; none by default.
        """
        change, inputs = change or InterventionTensors(), self.ready(inputs)
        x = change.put("state", 0, self.embed(inputs))
        components, attention = self._stacks(x, capture)
        hidden, captured = [x], dict[int, LayerActivations]()
        places = {layer: i for i, layer in enumerate(_captured_layers(capture, self.capabilities.layers))} if capture is not None else {}
        skips_states = capture is None and not self.training  # In training, dropout draws random numbers for every token.
        for layer in range(self.capabilities.layers - skips_states):
            layer_capture = capture
            if capture is not None and components is not None and attention is not None and layer in places:
                layer_capture = replace(capture, into=(components[places[layer]], attention[places[layer]]))
            x, layer_activations = self.step(layer, x, inputs, layer_capture, change)
            x = change.put("state", layer + 1, x)
            if capture is not None:
                hidden.append(x)
                if layer_activations is not None:
                    captured[layer] = layer_activations
        if skips_states:
            x = self.advance(self.capabilities.layers - 1, x, inputs, change)
        pooled = self.pool(x, inputs.mask)
        logits = self.classifier(pooled)
        return Output(logits, pooled, components, attention, hidden, captured) if capture is not None else Output(logits, pooled)

    def _stacks(self, x: Tensor, capture: Capture | None) -> tuple[Tensor | None, Tensor | None]:
        """Return empty tensors for the captured maps (components, attention) of all layers, so that stacking copies nothing.

        With one component both are the same memory. Both are None if no maps are captured or gradients are computed.
        """
        has = self.capabilities
        if capture is None or not capture.maps or not has.maps or torch.is_grad_enabled():
            return None, None
        batch, n, _ = x.shape
        layers, heads = len(_captured_layers(capture, has.layers)), len(capture.heads) or has.heads
        shape = (layers, batch, len(capture.components) or has.components, heads, len(capture.queries) or n, n)
        components = x.new_empty(shape)
        return components, components[:, :, 0] if has.components == 1 else x.new_empty(shape[:2] + shape[3:])


def _captured_layers(capture: Capture, layers: int) -> tuple[int, ...]:
    return capture.layers or tuple(range(layers))


def capture_layer(q: Tensor, k: Tensor, v: Tensor, terms: AttentionTerms, capture: Capture) -> tuple[LayerActivations, Tensor | None]:
    """Return the captured activations of a layer, and its complete effective map if it had to be computed, otherwise None."""
    activations = LayerActivations()
    everything = not (capture.heads or capture.components or capture.queries)
    components, heads = list(capture.components) or slice(None), list(capture.heads) or slice(None)
    rows = torch.tensor(capture.queries, device=q.device) if capture.queries else None
    if capture.projections:
        activations.queries, activations.keys = q[:, components][:, :, heads], k[:, components][:, :, heads]
        if rows is not None:
            activations.queries = activations.queries[..., rows, :]
        activations.values, activations.terms = v[:, heads], terms.part(capture.components, capture.heads)
    if not (capture.maps or capture.scores):
        return activations, None
    if not everything:
        q, k, terms = q[:, :, heads], k[:, :, heads], terms.part(heads=capture.heads)
        q = q if rows is None else q[..., rows, :]
    if everything and capture.into is not None and not capture.scores:
        a = terms.maps(q, k, out=capture.into[0])
        effective = terms.mix(a, out=capture.into[1])
    else:
        a = terms.maps(q, k, rows)
        effective = terms.mix(a)
        if capture.into is not None:
            capture.into[0].copy_(a[:, components])
            capture.into[1].copy_(effective)
    if capture.scores:
        s = terms.scores(q, k, rows)
        activations.scores = s[:, components]
        activations.biases = {b.name: b.dense().expand_as(s)[:, components] for b in terms.structure.part(queries=rows).biases}
    if capture.maps:
        activations.components, activations.attention = a[:, components], effective
    return activations, effective if everything else None
