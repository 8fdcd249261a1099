"""One encoder for all the papers; a paper is a preset of `EncoderConfig`.

Architectural choices:
    - one attention equation (sentviz.attention), C components mixed by lambda, one projection for all of Q, K and V
    - pre- or post-norm, RMSNorm or LayerNorm, SwiGLU, ReLU or GELU, biases everywhere
    - sinusoidal, learned or rotary positions; QK-norm with a learned temperature
    - key gate, window and global tokens, lexicon similarity or factor: structured terms of the scores
    - masked mean or [CLS] pooling, one linear classifier
    - nothing seen is kept on a module: maps are returned, interventions are arguments
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz import attention as at
from sentviz.models.config import EncoderConfig
from sentviz.models.mixing import mixing
from sentviz.models.protocol import Batch, Change, LayerSeen, Output, Watch, look

__all__ = ["Attention", "Block", "Encoder"]


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

    def lambdas(self, like: Tensor, change: Change) -> Tensor:
        """(C,) the mixing in force."""
        if change.lambdas is not None:
            return change.lambdas[self.layer].to(like)
        return self.mixing(like)  # type: ignore[no-any-return]

    def forward(self, x: Tensor, batch: Batch, watch: Watch | None, change: Change) -> tuple[Tensor, LayerSeen | None]:
        """(B, n, d) -> (B, n, d) and what was seen."""
        config, heads = self.config, self.config.heads
        q, k, v = self.project(x).split(self.widths, dim=-1)
        q, k = (t.unflatten(-1, (config.components, heads, -1)).permute(0, 2, 3, 1, 4) for t in (q, k))  # (B, C, H, n, d_k)
        v = v.unflatten(-1, (heads, -1)).transpose(1, 2)  # (B, H, n, d_v)
        if change.values_off is not None:
            v = v.masked_fill(change.values_off[:, None, :, None], 0)
        if config.positions == "rotary":
            q, k = _rotate(q), _rotate(k)
        scale: Tensor | float = config.key_size**-0.5
        if self.temperature is not None:
            q, k, scale = F.normalize(q, dim=-1), F.normalize(k, dim=-1), self.temperature
        structure = self._structure(x, batch, change.strength)
        lambdas = self.lambdas(x, change)

        seen: LayerSeen | None = None
        if watch is None or (watch.layers and self.layer not in watch.layers):
            out = at.attend(q, k, v, lambdas, scale, structure)
        else:
            seen, whole = look(q, k, v, lambdas, scale, structure, watch)
            out = at.attend(q, k, v, lambdas, scale, structure) if whole is None else whole @ v
        if self.head_norm is not None:
            out = self.head_norm(out) * (1 - config.lambda_start[self.layer][0])
        off = [head for layer, head in change.heads_off if layer == self.layer]
        if off:
            keep = out.new_ones(heads, 1, 1)
            keep[off] = 0
            out = out * keep
        return self.output(out.transpose(1, 2).flatten(-2)), seen

    def _structure(self, x: Tensor, batch: Batch, injected: float = 1.0) -> at.Structure:
        config, n = self.config, x.shape[1]
        biases: list[at.KeyTerm | at.LowRank] = []
        factor, pattern = None, None
        if self.gate is not None:
            biases.append(at.KeyTerm("gate", F.logsigmoid(self.gate(x)).squeeze(-1)[:, None, None, :]))
        if config.lexicon != "none":
            assert batch.polarity is not None
            polarity = batch.polarity.to(x)[:, None, None]  # (B, 1, 1, n, 3)
            strength = x.new_full((config.heads,), injected)
            if config.lexicon_heads == "last":
                strength[:-1] = 0
            if config.lexicon == "add":
                scale = config.key_size**-0.5 if config.lexicon_scaled else 1.0
                biases.append(at.LowRank("lexicon", polarity * (scale * strength)[:, None, None], polarity))
            else:
                factor = at.lexicon_factor(polarity, strength)
        if config.window:
            pattern = at.Pattern(config.window, _globals(config.global_tokens, batch.mask, n, x.device))
        return at.Structure(batch.mask, tuple(biases), factor, pattern)


def _watched(watch: Watch, layers: int) -> tuple[int, ...]:
    return watch.layers or tuple(range(layers))


def _globals(wanted: tuple[int, ...], mask: Tensor | None, n: int, device: torch.device) -> Tensor:
    """(B, g) the global positions of each text, counted from its own end where negative; -1 = beyond it or named twice."""
    lengths = torch.tensor([[n]], device=device) if mask is None else mask.sum(dim=1, keepdim=True)
    places = torch.tensor(wanted, dtype=torch.long, device=device).expand(len(lengths), -1)
    places = torch.where(places < 0, places + lengths, places)
    places = places.masked_fill((places < 0) | (places >= lengths), -1).sort(dim=1).values
    twice = F.pad(places[:, 1:] == places[:, :-1], (1, 0))
    return places.masked_fill(twice, -1)


def _rotate(x: Tensor) -> Tensor:
    """RoPE on (.., n, d_k): pairs (i, i + d_k/2) turned by position * 10000^(-2i/d_k)."""
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
        """(.., d) -> (.., d)."""
        x = self.up(x)
        if self.kind == "swiglu":
            gate, value = x.chunk(2, dim=-1)
            return self.down(F.silu(gate) * value)  # type: ignore[no-any-return]
        return self.down(F.relu(x) if self.kind == "relu" else F.gelu(x))  # type: ignore[no-any-return]


class Block(nn.Module):
    """Attention and feed-forward, each with its norm and residual."""

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        self.attention, self.ffn = Attention(config, layer), FeedForward(config)
        self.attention_norm, self.ffn_norm = _norm(config), _norm(config)
        self.dropout, self.norm_first = nn.Dropout(config.dropout), config.norm_first

    def forward(self, x: Tensor, batch: Batch, watch: Watch | None, change: Change) -> tuple[Tensor, LayerSeen | None]:
        """(B, n, d) -> (B, n, d) and what was seen."""
        if self.norm_first:
            out, seen = self.attention(self.attention_norm(x), batch, watch, change)
            x = x + self.dropout(out)
            return x + self.dropout(self.ffn(self.ffn_norm(x))), seen
        out, seen = self.attention(x, batch, watch, change)
        x = self.attention_norm(x + self.dropout(out))
        return self.ffn_norm(x + self.dropout(self.ffn(x))), seen


def _norm(config: EncoderConfig) -> nn.Module:
    return nn.RMSNorm(config.width, eps=1e-6) if config.norm == "rms" else nn.LayerNorm(config.width)


def _sinusoid(length: int, width: int) -> Tensor:
    """Vaswani et al. 2017, section 3.5: (n, d)."""
    place = torch.arange(length)[:, None]
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    table = torch.zeros(length, width)
    table[:, 0::2], table[:, 1::2] = torch.sin(place * rate), torch.cos(place * rate)[:, : width // 2]
    return table


class Encoder(nn.Module):
    """Tokens in, logits out; see the module's docstring."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width, padding_idx=0)
        nn.init.normal_(self.embedding.weight, std=0.02)
        with torch.no_grad():
            self.embedding.weight[0] = 0
        self.polarity: Tensor
        self.position: nn.Parameter | Tensor | None
        if config.positions == "learned":
            self.position = nn.Parameter(torch.randn(config.max_length, config.width) * 0.02)
        else:
            table = _sinusoid(config.max_length, config.width) if config.positions == "sinusoid" else None
            self.register_buffer("position", table, persistent=False)
        self.segment = nn.Embedding(config.segments, config.width) if config.segments > 1 else None
        if config.lexicon != "none":  # lambda(x) of every vocabulary entry, neutral until a lexicon is put in; a constant of the model
            self.register_buffer("polarity", torch.full((config.vocab_size, 3), 1 / 3))
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
        self.final_norm = _norm(config) if config.norm_first else nn.Identity()
        self.classifier = nn.Linear(config.width, config.classes)
        nn.init.xavier_uniform_(self.classifier.weight)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, batch: Batch, watch: Watch | None = None, change: Change | None = None, tokens: Tensor | None = None) -> Output:
        """Run a batch.

        Args:
            batch: texts of at most `config.max_length` tokens.
            watch: what to return of the layers; None runs the fused kernels and returns logits and pooled vectors only.
            change: lambdas to use instead of the learned ones, heads and values to silence.
            tokens: (B, n, d) token embeddings to use instead of those of the ids, for gradients.
        """
        change = change or Change()
        batch = self.ready(batch)
        x = self.dropout(self.embed(batch, tokens))
        components, attention = self._stacks(x, watch)
        hidden = [x]
        seen: dict[int, LayerSeen] = {}
        places = {layer: i for i, layer in enumerate(_watched(watch, self.config.layers))} if watch is not None else {}
        for layer, block in enumerate(self.blocks):
            here = watch
            if watch is not None and components is not None and attention is not None and layer in places:
                here = replace(watch, into=(components[places[layer]], attention[places[layer]]))
            x, layer_seen = block(x, batch, here, change)
            if watch is not None:
                hidden.append(x)
                if layer_seen is not None:
                    seen[layer] = layer_seen
        pooled = self.pool(x, batch.mask)
        logits = self.classifier(pooled)
        return Output(logits, pooled, components, attention, hidden, seen) if watch is not None else Output(logits, pooled)

    def ready(self, batch: Batch) -> Batch:
        """The batch with what the blocks read of it: the polarities of its tokens where a lexicon is injected."""
        if self.config.lexicon == "none" or batch.polarity is not None:
            return batch
        return replace(batch, polarity=self.polarity[batch.ids])

    def _stacks(self, x: Tensor, watch: Watch | None) -> tuple[Tensor | None, Tensor | None]:
        """Room for all watched maps, so that stacking them copies nothing; with one component the two are one."""
        if watch is None or not watch.maps or torch.is_grad_enabled():
            return None, None
        config, (batch, n, _) = self.config, x.shape
        layers, heads = len(_watched(watch, config.layers)), len(watch.heads) or config.heads
        shape = (layers, batch, len(watch.components) or config.components, heads, len(watch.queries) or n, n)
        components = x.new_empty(shape)
        return components, components[:, :, 0] if config.components == 1 else x.new_empty(shape[:2] + shape[3:])

    def embed(self, batch: Batch, tokens: Tensor | None = None) -> Tensor:
        """Token, position and segment embeddings, (B, n, d)."""
        x: Tensor = (self.embedding(batch.ids) if tokens is None else tokens) * self.config.embedding_scale
        if self.position is not None:
            x = x + self.position[: batch.ids.shape[1]]
        if self.segment is not None:
            x = x + (self.segment.weight[0] if batch.segments is None else self.segment(batch.segments))
        return x

    def pool(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """What the classifier reads of a layer's states: (B, n, d) -> (B, d). Padding never enters the mean."""
        x = self.final_norm(x)
        if self.config.pooling == "cls":
            return x[:, 0]
        if mask is None:
            return x.mean(dim=1)
        weight = mask.to(x.dtype).unsqueeze(-1)
        return (x * weight).sum(dim=1) / weight.sum(dim=1).clamp_min(1)

    def lambdas(self) -> Tensor:
        """(L, C) the learned mixing, lambda_1 = 1."""
        like = self.embedding.weight
        return torch.stack([block.attention.lambdas(like, Change()) for block in self.blocks])  # type: ignore[union-attr,operator]

    def parameters_count(self) -> int:
        """Parameters, those too that a control keeps at their start or that are read-only since the model was loaded."""
        return sum(p.numel() for p in self.parameters())
