"""One encoder for all papers; a paper's model is a preset of `EncoderConfig`.

Architectural choices:
    - one attention equation (sentviz.models.attention), C components mixed by lambda, one projection for all of Q, K and V
    - pre- or post-norm, RMSNorm or LayerNorm, SwiGLU, ReLU or GELU, biases everywhere
    - sinusoidal, learned, rotary or aware positions (SentiFormer's), relative position bias (MPNet's); QK-norm with a learned temperature
    - key gate, window, global and drawn tokens, lexicon similarity or factor: structured terms of the scores
    - masked mean or [CLS] pooling, one linear classifier, after a dense layer if a pretrained head has one
    - modules store no activations: maps are returned, interventions are arguments
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz.models import attention as at
from sentviz.models.mixing import mixing
from sentviz.models.protocol import TABLE_ROWS, Capture, Inputs, InterventionTensors, LayerActivations, Network, Scalar, capture_layer
from sentviz.models.terms import AttentionTerms, HeadNorm
from sentviz.models.weights import CodedEmbedding
from sentviz.runs.configs import EncoderConfig, HubConfig

BENDS = {"tanh": torch.tanh, "relu": torch.relu, "gelu": F.gelu}


class Attention(nn.Module):
    """Multi-head, multi-component self-attention of one layer."""

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        self.config, self.layer = config, layer
        d, c, w = config.width, config.components, config.key_width
        self.widths = (c * w, c * w, d)
        self.project = nn.Linear(d, sum(self.widths))
        self.output = nn.Linear(d, d)
        self.mixing = mixing(config, layer)
        self.head_norm = nn.RMSNorm(d // config.heads, eps=1e-5) if config.head_norm else None
        self.temperature = nn.Parameter(torch.tensor(math.sqrt(config.key_size))) if config.qk_norm else None
        self.gate = nn.Linear(d, 1, bias=False) if config.gate else None
        for block in torch.split(self.project.weight, [w] * (2 * c) + [d]):
            nn.init.xavier_uniform_(block)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.project.bias)
        nn.init.zeros_(self.output.bias)

    def lambdas(self, like: Tensor, change: InterventionTensors) -> Tensor:
        """Return the current mixing, (C,)."""
        if change.lambdas is not None:
            return change.lambdas[self.layer].to(like)
        return self.mixing(like)  # type: ignore[no-any-return]

    def forward(
        self, x: Tensor, inputs: Inputs, capture: Capture | None, change: InterventionTensors, first: int | None = None
    ) -> tuple[Tensor, LayerActivations | None]:
        """Return the layer's output, (B, n, d) -> (B, n, d), or (B, first, d) for the first tokens only, and its captured activations."""
        config, heads, terms = self.config, self.config.heads, self.terms(x, inputs, change)
        q, k, v = self.projected(x, first)
        q, k = (t.view(*t.shape[:-1], config.components, heads, -1).permute(0, 2, 3, 1, 4) for t in (q, k))  # (B, C, H, n, d_k)
        v = v.view(*v.shape[:-1], heads, -1).transpose(1, 2)  # (B, H, n, d_v)
        v = change.put("value", self.layer, v)
        if terms.rotary:
            q, k = _rotate(q), _rotate(k)
        if terms.cosine:
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        seen: LayerActivations | None = None
        if capture is None or not capture.includes(self.layer):
            out = terms.attend(q, k, v)
        else:
            seen, effective = capture_layer(q, k, v, terms, capture)
            out = terms.attend(q, k, v) if effective is None else effective @ v
        if config.components > 1 and change.reads("component", self.layer):
            out = self._by_component(q, k, v, terms, change)
        out = change.put("head", self.layer, terms.after(out))
        return self.output(out.transpose(1, 2).flatten(-2)), seen

    def _by_component(self, q: Tensor, k: Tensor, v: Tensor, terms: AttentionTerms, change: InterventionTensors) -> Tensor:
        """Return the mixed outputs (B, H, n, d_v) from the output of each component, which `change` replaces or records."""
        alone = replace(terms, lambdas=terms.lambdas.new_ones(1))
        parts = [alone.part(components=(c,)).attend(q[:, c : c + 1], k[:, c : c + 1], v) for c in range(q.shape[1])]
        joined = change.put("component", self.layer, torch.stack(parts, dim=1).transpose(2, 3).flatten(-2))
        return torch.einsum("bcnhv,c->bhnv", joined.view(*joined.shape[:-1], v.shape[1], -1), terms.lambdas)

    def projected(self, x: Tensor, first: int | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return Q, K and V of all components and heads, concatenated; Q of the first tokens only if `first` is set."""
        of_q, *rest = self.widths
        weight, bias = self.project.weight, self.project.bias
        if first is None:
            q, k, v = torch.split(self.project(x), [of_q, *rest], dim=-1)
        else:
            q = F.linear(x[:, :first], weight[:of_q], bias[:of_q])
            k, v = torch.split(F.linear(x, weight[of_q:], bias[of_q:]), rest, dim=-1)
        return q, k, v

    def terms(self, x: Tensor, inputs: Inputs, change: InterventionTensors) -> AttentionTerms:
        """Return the terms of this layer's attention for its input (B, n, d)."""
        config = self.config
        biases: list[at.Term] = []
        factor, pattern = None, None
        if self.gate is not None:
            term = change.of("gate") * F.logsigmoid(self.gate(x)).squeeze(-1)
            biases.append(at.KeyTerm("gate", change.gates(term, inputs.places)[:, None, None, :]))
        if config.lexicon != "none":
            assert inputs.polarity is not None
            injected = injection(config, inputs.polarity.to(x), change.of("lexicon"), config.key_size**-0.5)
            factor = injected if config.lexicon == "multiply" else None
            biases += [] if factor else [injected]
        if config.relative:
            assert inputs.distances is not None
            places = torch.arange(x.shape[1], device=x.device)
            biases.append(at.Distance("distance", change.of("distance") * inputs.distances[:, None].to(x), places, places))
        if config.window:
            pattern = at.Pattern(config.window, self._globals(inputs))
        norm = None
        if self.head_norm is not None:
            norm = HeadNorm(self.head_norm.weight, 1e-5, 1 - config.lambda_start[self.layer][0])
        return AttentionTerms(
            scale=config.key_size**-0.5 if self.temperature is None else self.temperature,
            structure=at.ScoreModifiers(inputs.mask, tuple(biases), factor, pattern),
            lambdas=self.lambdas(x, change),
            output=self.output.weight,
            head_norm=norm,
            cosine=config.qk_norm,
            rotary=config.positions == "rotary",
        )

    def _globals(self, inputs: Inputs) -> Tensor:
        """Return the global positions of each text, (B, g), negative ones counted from its end; -1 = beyond the text or repeated."""
        config, lengths = self.config, inputs.lengths[:, None]
        if inputs.mask is None and not (config.global_drawn and self.training):
            lengths = lengths[:1]  # all texts have the same length
        places = torch.tensor(config.global_tokens, dtype=torch.long, device=lengths.device).expand(lengths.shape[0], -1)
        places = torch.where(places < 0, places + lengths, places)
        places = places.masked_fill((places < 0) | (places >= lengths), -1)
        if config.global_drawn:
            some = torch.arange(config.global_drawn, device=lengths.device)
            if self.training:
                drawn = (torch.rand(len(lengths), len(some), device=lengths.device) * lengths).long().clamp(max=lengths - 1)
            else:
                drawn = _scrambled(lengths, self.layer, some) % lengths
            places = torch.cat([places, drawn], dim=1)
        places = places.sort(dim=1).values
        twice = F.pad(places[:, 1:] == places[:, :-1], (1, 0))
        return places.masked_fill(twice, -1)


def _scrambled(lengths: Tensor, layer: int, some: Tensor) -> Tensor:
    """Return numbers below 2^32 that look random but depend only on length, layer and index, on every machine."""
    x = (lengths * 0x9E3779B1 + layer * 0x85EBCA6B + some * 0xC2B2AE35) & 0xFFFFFFFF
    for shift, factor in ((16, 0x45D9F3B), (16, 0x45D9F3B)):
        x = ((x ^ (x >> shift)) * factor) & 0xFFFFFFFF
    return x ^ (x >> 16)


def injection(config: EncoderConfig | HubConfig, polarity: Tensor, strength: float, scale: float) -> at.LowRank:
    """Return the lexicon's term from polarities (B, n, 3): sigma, scaled if configured, to add to the scores, or Xia's factor."""
    polarity = polarity[:, None, None]  # (B, 1, 1, n, 3)
    of_head = polarity.new_full((config.heads,), strength)
    if config.lexicon_heads == "last":
        of_head[:-1] = 0
    if config.lexicon == "multiply":
        return at.lexicon_factor(polarity, of_head)
    return at.LowRank("lexicon", polarity * ((scale if config.lexicon_scaled else 1.0) * of_head)[:, None, None], polarity)


def bucket(distances: Tensor, count: int, reach: int) -> Tensor:
    """Return the bucket of each distance j - i, counted from 0: one half for j <= i, one for j > i (Raffel et al. 2020, section 2.1).

    In each half, the first half of the buckets has one distance each. The others grow by a constant factor up to `reach`, and the last one
    contains all larger distances.
    """
    half, exact = count // 2, count // 4
    size = distances.abs()
    wide = torch.log(size.clamp(min=1).float() / exact) / math.log(reach / exact) * (half - exact)
    return (distances > 0) * half + torch.where(size < exact, size, (exact + wide.long()).clamp(max=half - 1))


def _rotate(x: Tensor) -> Tensor:
    """Apply RoPE to (.., n, d_k): rotate the pairs (i, i + d_k/2) by position * 10000^(-2i/d_k)."""
    n, size = x.shape[-2:]
    half = size // 2
    angle = torch.arange(n, device=x.device)[:, None] * 10000.0 ** (-torch.arange(half, device=x.device) / half)
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat([a * cos - b * sin, a * sin + b * cos, rest], dim=-1)


class FeedForward(nn.Module):
    """SwiGLU (gate and value in one projection), ReLU or GELU."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.kind = config.ffn
        wide = config.ffn_width * (2 if config.ffn == "swiglu" else 1)
        self.up, self.down = nn.Linear(config.width, wide), nn.Linear(config.ffn_width, config.width)
        for block in torch.split(self.up.weight, config.ffn_width):
            nn.init.xavier_uniform_(block)
        nn.init.xavier_uniform_(self.down.weight)
        nn.init.zeros_(self.up.bias)
        nn.init.zeros_(self.down.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the output, (.., d) -> (.., d)."""
        x = self.up(x)
        if self.kind == "swiglu":
            gate, value = x.chunk(2, dim=-1)
            return self.down(F.silu(gate) * value)  # type: ignore[no-any-return]
        return self.down(torch.relu_(x) if self.kind == "relu" else F.gelu(x))  # type: ignore[no-any-return]


class Block(nn.Module):
    """Attention and feed-forward, each with its norm and residual."""

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        self.attention, self.ffn = Attention(config, layer), FeedForward(config)
        self.attention_norm, self.ffn_norm = _norm(config), _norm(config)
        self.dropout, self.norm_first, self.layer = nn.Dropout(config.dropout), config.norm_first, layer

    def forward(
        self, x: Tensor, inputs: Inputs, capture: Capture | None, change: InterventionTensors, first: int | None = None
    ) -> tuple[Tensor, LayerActivations | None]:
        """Return the block's output, (B, n, d) -> (B, n, d), or (B, first, d) for the first tokens only, and its captured activations."""
        if self.norm_first:
            out, seen = self.attention(self.attention_norm(x), inputs, capture, change, first)
            x = change.put("residual", self.layer, x[:, :first] + self.dropout(out))
            return x + self.dropout(change.put("feedforward", self.layer, self.ffn(self.ffn_norm(x)))), seen
        out, seen = self.attention(x, inputs, capture, change, first)
        x = self.attention_norm(change.put("residual", self.layer, x[:, :first] + self.dropout(out)))
        return self.ffn_norm(x + self.dropout(change.put("feedforward", self.layer, self.ffn(x)))), seen


class AwarePositions(nn.Module):
    """SentiFormer, section IV-A: alpha sin(i) + beta recency(i, n) + gamma E_pos[tag of i]; alpha, beta and gamma start at 1."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.sinusoid: Tensor
        self.register_buffer("sinusoid", _sinusoid(config.max_length, config.width), persistent=False)
        self.alpha, self.beta, self.gamma = (nn.Parameter(torch.ones(())) for _ in range(3))
        self.tags = nn.Embedding(config.tags, config.width)
        nn.init.normal_(self.tags.weight, std=0.02)

    def parts(self, inputs: Inputs) -> dict[str, Tensor]:
        """Return the three weighted signals, (n, d), (B, n, d), (B, n, d). A text without tags is read as if all tokens were special."""
        n, width = inputs.ids.shape[1], self.sinusoid.shape[1]
        angle = torch.pi * torch.arange(n, device=inputs.ids.device) / inputs.lengths[:, None]
        recency = torch.stack([angle.sin(), angle.cos()], dim=-1).repeat(1, 1, -(-width // 2))[..., :width]
        tags = self.tags(torch.zeros_like(inputs.ids) if inputs.tags is None else inputs.tags)
        return {"sinusoid": self.alpha * self.sinusoid[:n], "recency": self.beta * recency.to(tags), "tag": self.gamma * tags}

    def forward(self, inputs: Inputs) -> Tensor:
        """Return the sum of the three signals, (B, n, d)."""
        sinusoid, recency, tags = self.parts(inputs).values()
        return sinusoid + recency + tags


def _norm(config: EncoderConfig) -> nn.Module:
    if config.norm == "none":
        return nn.Identity()
    if config.norm == "rms":
        return nn.RMSNorm(config.width, eps=config.norm_eps or 1e-6)
    return nn.LayerNorm(config.width, eps=config.norm_eps or 1e-5)


def _sinusoid(length: int, width: int) -> Tensor:
    """Return the positions of Vaswani et al. 2017, section 3.5, (n, d)."""
    place = torch.arange(length, device="cpu")[:, None]
    rate = torch.exp(torch.arange(0, width, 2, device="cpu") * (-math.log(10000.0) / width))
    table = torch.zeros(length, width, device="cpu")
    table[:, 0::2], table[:, 1::2] = torch.sin(place * rate), torch.cos(place * rate)[:, : width // 2]
    return table


class Encoder(Network):
    """The encoder of all presets; see the module's docstring."""

    config: EncoderConfig

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        e, d = config.embedding_width, config.width
        table = nn.Embedding(config.vocab_size, e, padding_idx=0 if config.masked else None)
        nn.init.normal_(table.weight, std=0.02)
        with torch.no_grad():
            table.weight[0] = 0
        self.embedding: nn.Embedding | CodedEmbedding = table
        self.polarity: Tensor
        self.position: nn.Parameter | Tensor | None
        if config.positions == "learned":
            self.position = nn.Parameter(torch.randn(config.max_length, e).mul_(0.02))
        else:
            waves = _sinusoid(config.max_length, e) if config.positions == "sinusoid" else None
            self.register_buffer("position", waves, persistent=False)
        self.aware = AwarePositions(config) if config.positions == "aware" else None
        self.segment = nn.Embedding(config.segments, e) if config.segments > 1 else None
        self.embedding_norm = nn.LayerNorm(e, eps=config.norm_eps or 1e-5) if config.embedding_norm else None
        self.widen = nn.Linear(e, d) if e != d else None
        self.relative = nn.Parameter(torch.randn(config.relative, config.heads).mul_(0.02)) if config.relative else None
        if config.lexicon != "none":  # lambda(x) of every vocabulary entry, neutral until a lexicon is loaded; never trained
            self.register_buffer("polarity", torch.full((config.vocab_size, 3), 1 / 3))
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
        self.final_norm = _norm(config) if config.norm_first else nn.Identity()
        self.dense = nn.Linear(d, d) if config.head != "none" else None
        self.classifier = nn.Linear(d, config.classes)
        nn.init.xavier_uniform_(self.classifier.weight)
        nn.init.zeros_(self.classifier.bias)

    @property
    def table(self) -> Tensor:
        """The embedding table, (V, e)."""
        return self.embedding.weight

    def rows(self, ids: Tensor) -> Tensor:
        """Return rows of `table`, (..) ids -> (.., e), without expanding the others."""
        return self.embedding(ids)  # type: ignore[no-any-return]

    def table_parts(self) -> Iterator[Tensor]:
        """Yield `table` in parts; each part is expanded when it is asked for."""
        if isinstance(self.embedding, CodedEmbedding):
            yield from (self.embedding(ids) for ids in torch.split(torch.arange(self.embedding.shape[0]), TABLE_ROWS))
        else:
            yield from super().table_parts()

    def plain(self) -> Encoder:
        """Return the encoder with its table expanded; all other weights are shared."""
        if not isinstance(self.embedding, CodedEmbedding):
            return self
        expanded = copy(self)
        expanded._modules = dict(self._modules)
        expanded.embedding = nn.Embedding(*self.embedding.shape, _weight=self.embedding.weight)
        return expanded

    def signals(self, inputs: Inputs) -> Mapping[str, Tensor]:
        """Return the weighted signals of aware positions; empty for other positions."""
        return {} if self.aware is None else self.aware.parts(inputs)

    def ready(self, inputs: Inputs) -> Inputs:
        """Return the inputs with the polarities of their tokens and the bias of each distance, if the layers read them."""
        if self.config.lexicon != "none" and inputs.polarity is None:
            inputs = replace(inputs, polarity=self.polarity[inputs.ids])
        if self.relative is not None and inputs.distances is None:
            n = inputs.ids.shape[1]
            distances = torch.arange(1 - n, n, device=self.relative.device)
            of_each = self.relative[bucket(distances, self.config.relative, self.config.relative_reach)]
            inputs = replace(inputs, distances=of_each.T[None])
        return inputs

    def embed(self, inputs: Inputs) -> Tensor:
        """Return the sum of token, position and segment embeddings, (B, n, d)."""
        x: Tensor = (self.embedding(inputs.ids) if inputs.vectors is None else inputs.vectors) * self.config.embedding_scale
        if self.position is not None:
            x = x + self.position[: x.shape[1]]
        if self.aware is not None:
            x = x + self.aware(inputs)
        if self.segment is not None:
            x = x + (self.segment.weight[0] if inputs.segments is None else self.segment(inputs.segments))
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        x = self.dropout(x)
        return x if self.widen is None else self.widen(x)

    def step(
        self, layer: int, x: Tensor, inputs: Inputs, capture: Capture | None, change: InterventionTensors
    ) -> tuple[Tensor, LayerActivations | None]:
        """Run one block."""
        return self.blocks[layer](x, inputs, capture, change)  # type: ignore[no-any-return]

    def final(self, x: Tensor, inputs: Inputs, change: InterventionTensors) -> Tensor:
        """Run the last block; with [CLS] pooling, compute only the state of [CLS]."""
        return self.blocks[-1](x, inputs, None, change, 1 if self.config.pooling == "cls" else None)[0]  # type: ignore[no-any-return]

    def pool(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return the input of the classifier from a layer's states: [CLS] or the mean, (B, n, d) -> (B, d)."""
        x = self.final_norm(x)
        x = x[:, 0] if self.config.pooling == "cls" else super().pool(x, mask)
        return x if self.config.head == "none" else BENDS[self.config.head](self.dense(x))  # type: ignore[misc]

    def parameters_count(self) -> int:
        """Return the number of parameters, including those of a coded table."""
        coded = math.prod(self.embedding.shape) if isinstance(self.embedding, CodedEmbedding) else 0
        return super().parameters_count() + coded

    def lambdas(self) -> Tensor:
        """Return the learned mixing, (L, C), lambda_1 = 1."""
        like = self.classifier.weight
        return torch.stack([block.attention.lambdas(like, InterventionTensors()) for block in self.blocks])  # type: ignore[union-attr,operator]

    def scalars(self) -> Iterator[Scalar]:
        """Yield every lambda but the first, the temperatures of QK-norm, and alpha, beta and gamma of aware positions."""
        for layer, row in enumerate(self.lambdas().tolist()):
            yield from (Scalar("lambda", layer, component, value) for component, value in enumerate(row[1:], start=1))
        for layer, block in enumerate(self.blocks):
            temperature = block.attention.temperature  # type: ignore[union-attr]
            if temperature is not None:
                yield Scalar("temperature", layer, -1, temperature.item())  # type: ignore[operator]
        if self.aware is not None:
            yield from (Scalar(name, -1, -1, getattr(self.aware, name).item()) for name in ("alpha", "beta", "gamma"))
