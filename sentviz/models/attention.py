"""The attention equation of all papers, and its exact backends.

    S_c = scale * (Q_c K_c^T) * M + B      M: optional factor, B: sum of named biases
    A_c = softmax(S_c)                     c = 1..C components, per head
    out = (sum_c lambda_c A_c) V

| paper                   | C     | lambda                    | B                            | M         |
| ----------------------- | ----- | ------------------------- | ---------------------------- | --------- |
| vanilla, 7ess-Xin       | 1     | 1                         | padding                      | 1         |
| Differential            | 2     | (1, -lambda)              | padding                      | 1         |
| NDT                     | 2 - 4 | (1, lambda_2 .. lambda_C) | padding                      | 1         |
| SentiFormer             | 1     | 1                         | key gate, window and globals | 1         |
| Sentiment-Fused         | 1     | 1                         | lexicon similarity, rank 3   | 1         |
| Xia et al. 2021         | 1     | 1                         | padding                      | rank 3    |
| MPNet                   | 1     | 1                         | padding, distance            | 1         |
| DeBERTa                 | 1     | 1                         | padding, distance            | 1         |
| decoders                | 1     | 1                         | padding, later tokens        | 1         |

B and M are structured: a vector over keys, low-rank factors, or a value for each distance. The first two become extra features of Q and K
(`fold`), so the fused kernel and the banded one use the same structure. A term of distances is expanded for the computed rows and becomes
a mask of the fused kernel; DeBERTa's term of distances also depends on query and key, so it is stored whole. `scores` adds up the same sum
term by term.

Shapes: q, k (B, C, H, n|m, d_k); v (B, H, m, d_v); lambdas (C,).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

Some = Tensor | None  # places along an axis (k,); None = all


def some(x: Tensor, *places: Some) -> Tensor:
    """Select places of the axes after the first; an axis of size 1 is shared by all places and stays."""
    for axis, chosen in enumerate(places, start=1):
        if chosen is not None and x.shape[axis] > 1:
            x = x.index_select(axis, chosen)
    return x


def row(x: Tensor, text: int) -> Tensor:
    """Select one text of the batch, (B, ..) -> (1, ..); what all texts share stays."""
    return x[text : text + 1] if len(x) > 1 else x


@dataclass(frozen=True)
class KeyTerm:
    """A term that depends only on the key: SentiFormer's log sigmoid(x_j W_g)."""

    name: str
    values: Tensor  # (B, 1|C, 1|H, m)

    def dense(self) -> Tensor:
        """Return the term, (B, 1|C, 1|H, 1, m)."""
        return self.values.unsqueeze(-2)

    def part(self, components: Some, heads: Some, queries: Some, keys: Some) -> KeyTerm:
        """Return the term of some components, heads and keys."""
        return KeyTerm(self.name, some(self.values, components, heads, keys))

    def features(self, queries: int) -> tuple[Tensor, Tensor]:
        """Return left (.., n, 1) and right (.., m, 1) with left right^T = the term."""
        right = self.values.unsqueeze(-1)
        return right.new_ones(*self.values.shape[:-1], queries, 1), right

    def row(self, text: int, tokens: int) -> KeyTerm:
        """Return the term of one text of the batch, cut to its tokens."""
        return KeyTerm(self.name, row(self.values, text)[..., :tokens])


@dataclass(frozen=True)
class LowRank:
    """A term of rank r, left right^T: the lexicon similarity sigma_ij = lambda(x_i) . lambda(x_j) has rank 3."""

    name: str
    left: Tensor  # (B, 1|C, 1|H, n, r)
    right: Tensor  # (B, 1|C, 1|H, m, r)

    def dense(self) -> Tensor:
        """Return the term, (B, 1|C, 1|H, n, m)."""
        return self.left @ self.right.transpose(-1, -2)

    def part(self, components: Some, heads: Some, queries: Some, keys: Some) -> LowRank:
        """Return the term of some components, heads, queries and keys."""
        return LowRank(self.name, some(self.left, components, heads, queries), some(self.right, components, heads, keys))

    def features(self, queries: int) -> tuple[Tensor, Tensor]:
        """Return left (.., n, r) and right (.., m, r)."""
        return self.left, self.right

    def row(self, text: int, tokens: int) -> LowRank:
        """Return the term of one text of the batch, cut to its tokens."""
        return LowRank(self.name, row(self.left, text)[..., :tokens, :], row(self.right, text)[..., :tokens, :])


@dataclass(frozen=True)
class Distance:
    """A term that depends only on the distance from query to key: MPNet's relative position bias."""

    name: str
    values: Tensor  # (B|1, 1|C, 1|H, 2 N - 1) for the distances j - i from 1 - N to N - 1, in a text of N tokens
    queries: Tensor  # (n,) places i
    keys: Tensor  # (m,) places j

    def dense(self) -> Tensor:
        """Return the term, (B|1, 1|C, 1|H, n, m)."""
        return self.values[..., self.keys[None, :] - self.queries[:, None] + self.values.shape[-1] // 2]

    def part(self, components: Some, heads: Some, queries: Some, keys: Some) -> Distance:
        """Return the term of some components, heads, queries and keys."""
        places = (x if chosen is None else x[chosen] for x, chosen in ((self.queries, queries), (self.keys, keys)))
        return Distance(self.name, some(self.values, components, heads), *places)

    def row(self, text: int, tokens: int) -> Distance:
        """Return the term of one text of the batch, cut to its tokens."""
        return Distance(self.name, row(self.values, text), self.queries[:tokens], self.keys[:tokens])


@dataclass(frozen=True)
class Dense:
    """A term without structure: DeBERTa's distances, each weighted by what query and key contain, or MPNet's from transformers."""

    name: str
    values: Tensor  # (B|1, 1|C, 1|H, n, m)

    def dense(self) -> Tensor:
        """Return the term, (B, 1|C, 1|H, n, m)."""
        return self.values

    def part(self, components: Some, heads: Some, queries: Some, keys: Some) -> Dense:
        """Return the term of some components, heads, queries and keys."""
        return Dense(self.name, some(self.values, components, heads, queries, keys))

    def row(self, text: int, tokens: int) -> Dense:
        """Return the term of one text of the batch, cut to its tokens."""
        return Dense(self.name, row(self.values, text)[..., :tokens, :tokens])


Term = KeyTerm | LowRank | Distance | Dense


@dataclass(frozen=True)
class Pattern:
    """A window and global tokens (SentiFormer, section III-D): a token sees j if |i - j| <= window // 2 or j is global.

    If the pattern is causal, a token sees no later token.
    """

    window: int
    globals: Tensor  # (B, g) unique positions in each text; -1 = unused
    causal: bool = False

    def is_global(self, keys: Tensor) -> Tensor:
        """Return whether each key, given by its place (m,), is global, (B, m)."""
        return (keys[:, None] == self.globals[:, None, :]).any(dim=-1)

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return whether a query may see a key, by their places (n,) and (m,), (B, n, m)."""
        seen = ((queries[:, None] - keys[None, :]).abs() <= self.window // 2)[None]
        if self.globals.shape[-1]:
            seen = seen | self.is_global(keys)[:, None, :]
        return seen & (keys[None, :] <= queries[:, None]) if self.causal else seen

    def reach(self, queries: Tensor, length: int) -> Tensor:
        """Return the places of the keys that any of some queries may see, (k,), ascending."""
        low, high = int(queries.min()) - self.window // 2, int(queries.max()) + (0 if self.causal else self.window // 2)
        near = torch.arange(max(low, 0), min(high + 1, length), device=self.globals.device)
        keys: Tensor = torch.cat([near, self.globals[self.globals >= 0]]).unique()  # type: ignore[no-untyped-call]
        return keys


@dataclass(frozen=True)
class ScoreModifiers:
    """Inputs to the attention scores other than Q and K: padding mask, additive biases, multiplicative factor, window pattern."""

    padding: Tensor | None = None  # (B, m) True for a token of the text; None = no padding
    biases: tuple[Term, ...] = ()
    factor: LowRank | None = None
    pattern: Pattern | None = None

    def part(self, components: Some = None, heads: Some = None, queries: Some = None, keys: Some = None) -> ScoreModifiers:
        """Return the modifiers of some components, heads, queries and keys; the pattern works with places and stays."""
        if all(chosen is None for chosen in (components, heads, queries, keys)):
            return self
        padding = self.padding if self.padding is None or keys is None else self.padding[:, keys]
        biases = tuple(bias.part(components, heads, queries, keys) for bias in self.biases)
        factor = None if self.factor is None else self.factor.part(components, heads, queries, keys)
        return ScoreModifiers(padding, biases, factor, self.pattern)

    def row(self, text: int, tokens: int) -> ScoreModifiers:
        """Return the modifiers of one text of the batch, without its padding."""
        biases = tuple(bias.row(text, tokens) for bias in self.biases)
        factor = None if self.factor is None else self.factor.row(text, tokens)
        pattern = None if self.pattern is None else replace(self.pattern, globals=row(self.pattern.globals, text))
        return ScoreModifiers(None, biases, factor, pattern)

    @property
    def dense(self) -> Tensor | None:
        """The sum of the terms `Distance` and `Dense`, which `fold` leaves out, (B|1, 1|C, 1|H, n, m); None if there is no such term."""
        added: Tensor | None = None
        for bias in self.biases:
            if isinstance(bias, Distance | Dense):
                added = bias.dense() if added is None else added + bias.dense()
        return added


PLAIN = ScoreModifiers()
CACHED_ELEMENTS = 1 << 20  # numbers of S and A that are computed at the same time, so that they stay in the cache
EVEN = 4  # features are padded with zeros to a multiple of this: the fused kernel is slow for odd sizes
BLOCK = 64  # queries that share the keys around them
NARROW = 256  # maximum number of tokens for which one dense mask is faster than blocks
MIXED_ELEMENTS = 1 << 22  # maximum size of a text's maps for `_mixed`; larger maps do not fit into the cache


def scores(q: Tensor, k: Tensor, scale: Tensor | float, structure: ScoreModifiers = PLAIN) -> Tensor:
    """Return S, added up term by term, (B, C, H, n, m). Invisible keys are excluded by `maps`, not here."""
    s = (q * scale) @ k.transpose(-1, -2)
    if structure.factor is not None:
        s = s * structure.factor.dense()
    for bias in structure.biases:
        s = s + bias.dense()
    return s


def visible(structure: ScoreModifiers, queries: Tensor, keys: Tensor) -> Tensor | None:
    """Return whether a query may see a key, by their places (n,) and (m,), (B|1, 1, 1, n, m); None if all keys are visible."""
    seen: Tensor | None = None
    if structure.padding is not None:
        seen = structure.padding[:, None, None, None, :]
    if structure.pattern is not None:
        allowed = structure.pattern.allowed(queries, keys)[:, None, None]
        seen = allowed if seen is None else seen & allowed
    return seen


def maps(s: Tensor, seen: Tensor | None, out: Tensor | None = None) -> Tensor:
    """Return A_c = softmax over the visible keys, (B, C, H, n, m); `out` receives the result without a copy."""
    if seen is not None:
        s = s.masked_fill(~seen, torch.finfo(s.dtype).min)
    return torch.softmax(s, dim=-1) if out is None else torch.softmax(s, dim=-1, out=out)


def mix(a: Tensor, lambdas: Tensor, out: Tensor | None = None) -> Tensor:
    """Return effective attention sum_c lambda_c A_c, (B, C, H, n, m) -> (B, H, n, m); `out` receives it and may be A_1 itself."""
    if out is None:
        return torch.einsum("bchnm,c->bhnm", a, lambdas) if a.shape[1] > 1 else a[:, 0] * lambdas[0]
    first, *rest = lambdas.tolist()
    if first != 1 or out.data_ptr() != a.data_ptr():
        torch.mul(a[:, 0], first, out=out)
    for c, weight in enumerate(rest, start=1):
        out.add_(a[:, c], alpha=weight)
    return out


def fold(q: Tensor, k: Tensor, scale: Tensor | float, structure: ScoreModifiers) -> tuple[Tensor, Tensor]:
    """Return q', k' with q' k'^T = S without terms of distances: biases become features, the factor a row-wise Kronecker product."""
    q = q * scale
    if structure.factor is not None:
        left, right = structure.factor.features(q.shape[-2])
        q = (q.unsqueeze(-1) * left.unsqueeze(-2)).flatten(-2)
        k = (k.unsqueeze(-1) * right.unsqueeze(-2)).flatten(-2)
    if sides := [bias.features(q.shape[-2]) for bias in structure.biases if not isinstance(bias, Distance | Dense)]:
        fill = q.new_zeros(-(q.shape[-1] + sum(left.shape[-1] for left, _ in sides)) % EVEN)
        q, k = (
            torch.cat([x, *(side.expand(*x.shape[:-1], -1) for side in (*each, fill))], dim=-1)
            for x, each in zip((q, k), zip(*sides, strict=True), strict=True)
        )
    return q, k


def lexicon_factor(polarity: Tensor, strength: Tensor) -> LowRank:
    """Return Xia's M = s sigma + (1 - s), (H,) strengths s: s = 1 is sigma, s = 0 no injection. A fourth feature carries the constant."""
    left = torch.cat([polarity, torch.ones_like(polarity[..., :1])], dim=-1)
    weights = torch.stack([strength, strength, strength, 1 - strength], dim=-1)[:, None, :]  # (H, 1, 4)
    return LowRank("lexicon factor", left * weights, left)


def attend(q: Tensor, k: Tensor, v: Tensor, lambdas: Tensor, scale: Tensor | float, structure: ScoreModifiers = PLAIN) -> Tensor:
    """Return (sum_c lambda_c A_c) V without storing a map, (B, H, n, d_v), by the cheapest exact backend.

    Fused: one call of the flash kernel per component. Mixed: for several components without gradients on a CPU; the maps of a few texts at
    a time stay in the cache, so V is multiplied once and not C times. Banded: for a pattern that excludes most keys. On a CPU always in
    fp32, because its kernel takes ten times as long for gradients in bf16. Fewer queries than keys are the first tokens.
    """
    if q.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        with torch.autocast("cpu", enabled=False):
            return attend(q.float(), k.float(), v.float(), lambdas, scale, structure)
    q, k = fold(q, k, scale, structure)
    _, components, heads, n, _ = q.shape
    m, pattern = k.shape[-2], structure.pattern
    if (added := structure.dense) is not None:
        seen = visible(structure, *(torch.arange(size, device=q.device) for size in (n, m)))
        return _fused(q, k, v, lambdas, added if seen is None else added.masked_fill(~seen, torch.finfo(added.dtype).min))
    if pattern is None:
        mixed = components > 1 and not torch.is_grad_enabled() and q.device.type == "cpu"
        if mixed and components * heads * n * m <= MIXED_ELEMENTS:
            return _mixed(q, k, v, lambdas, structure.padding)
        return _fused(q, k, v, lambdas, structure.padding)
    if pattern.window // 2 >= m - 1 and not pattern.causal:
        return _fused(q, k, v, lambdas, structure.padding)
    if n == m and n > NARROW and not pattern.causal and pattern.window + pattern.globals.shape[-1] < n // 2:
        return _banded(q, k, v, lambdas, structure.padding, pattern)
    queries, keys = (torch.arange(size, device=q.device) for size in (n, m))
    return _fused(q, k, v, lambdas, visible(structure, queries, keys))


def _fused(q: Tensor, k: Tensor, v: Tensor, lambdas: Tensor, seen: Tensor | None) -> Tensor:
    """Call the fused kernel per component. It needs one head size for q, k and v, so smaller ones are padded with zeros."""
    size, d_v = max(q.shape[-1], v.shape[-1]), v.shape[-1]
    q, k, v = (F.pad(x, (0, size - x.shape[-1])) if x.shape[-1] < size else x for x in (q, k, v))
    if seen is not None and seen.dim() == 2:
        seen = seen[:, None, None, :]
    out: Tensor | None = None
    for c in range(q.shape[1]):
        mask = seen if seen is None or seen.dim() < 5 else seen[:, min(c, seen.shape[1] - 1)]
        part = F.scaled_dot_product_attention(q[:, c], k[:, c], v, attn_mask=mask, scale=1.0)
        out = part * lambdas[c] if out is None else torch.addcmul(out, part, lambdas[c])
    assert out is not None
    return out[..., :d_v]


def _mixed(q: Tensor, k: Tensor, v: Tensor, lambdas: Tensor, padding: Tensor | None) -> Tensor:
    """Compute S, A and the mixture in two buffers of about a million numbers, which are reused for every few texts of the batch."""
    batch, components, heads, n, _ = q.shape
    m, keys, weights = k.shape[-2], k.transpose(-1, -2), lambdas.tolist()
    step = max(1, CACHED_ELEMENTS // (components * heads * n * m))
    s, a = (q.new_empty(min(step, batch), components, heads, n, m) for _ in range(2))
    out = q.new_empty(batch, heads, n, v.shape[-1])
    for i in range(0, batch, step):
        some = slice(i, min(i + step, batch))
        s_i, a_i = s[: some.stop - i], a[: some.stop - i]
        torch.matmul(q[some], keys[some], out=s_i)
        if padding is not None:
            s_i.masked_fill_(~padding[some, None, None, None, :], torch.finfo(s.dtype).min)
        torch.softmax(s_i, dim=-1, out=a_i)
        effective = a_i[:, 0].mul_(weights[0]) if weights[0] != 1 else a_i[:, 0]
        for c in range(1, components):
            effective.add_(a_i[:, c], alpha=weights[c])
        torch.matmul(effective, v[some], out=out[some])
    return out


def _banded(q: Tensor, k: Tensor, v: Tensor, lambdas: Tensor, padding: Tensor | None, pattern: Pattern) -> Tensor:
    """Attend from blocks of queries to the keys around them and the global keys: O(n (window + g)) time and memory."""
    batch, _, _, n, _ = q.shape
    reach, device = pattern.window // 2, q.device
    blocks = -(-n // BLOCK)
    wide = BLOCK + 2 * reach
    real = torch.ones(batch, n, dtype=torch.bool, device=device) if padding is None else padding
    near = real & ~pattern.is_global(torch.arange(n, device=device))
    places = pattern.globals.expand(batch, -1)
    clamped = places.clamp_min(0)
    far = real.gather(1, clamped) & (places >= 0)

    def around(x: Tensor) -> Tensor:
        """Return the keys around each block, then the global ones: (B, .., m, d) -> (B blocks, .., BLOCK + 2 reach + g, d)."""
        at = clamped.view(batch, *(1,) * (x.dim() - 3), -1, 1)
        globals = x.take_along_dim(at, dim=-2).unsqueeze(1).expand(-1, blocks, *(-1,) * (x.dim() - 1))
        x = F.pad(x, (0, 0, reach, reach + blocks * BLOCK - n)).unfold(-2, wide, BLOCK).movedim(-3, 1).transpose(-1, -2)
        return torch.cat([x, globals], dim=-2).flatten(0, 1)

    row, col = torch.arange(BLOCK, device=device), torch.arange(wide, device=device) - reach
    band = (row[:, None] - col[None, :]).abs() <= reach
    near = F.pad(near, (reach, reach + blocks * BLOCK - n)).unfold(-1, wide, BLOCK)[:, :, None, :] & band
    seen = torch.cat([near, far[:, None, None, :].expand(-1, blocks, BLOCK, -1)], dim=-1).flatten(0, 1)
    mask = torch.zeros(seen.shape, dtype=q.dtype, device=device).masked_fill_(~seen, torch.finfo(q.dtype).min)
    q = F.pad(q, (0, 0, 0, blocks * BLOCK - n))
    q = q.reshape(*q.shape[:-2], blocks, BLOCK, q.shape[-1]).movedim(-3, 1).flatten(0, 1)
    out = _fused(q, around(k), around(v), lambdas, mask[:, None])
    return out.reshape(batch, blocks, *out.shape[1:]).movedim(1, 2).flatten(2, 3)[:, :, :n]
