"""The attention of a layer, without Q, K and V themselves.

    S_c = scale * (Q_c K_c^T) * M + B        A_c = softmax(S_c) over the visible keys        A = sum_c lambda_c A_c
    out = W_O head_norm(A V)

A layer makes its `AttentionTerms` once and computes with them, and the trace keeps them. Whoever draws a map, takes it apart or follows it
through the layers reads the same terms. So a map that is shown is the map that was computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from sentviz.models import attention as at
from sentviz.runs.trace import Trace


@dataclass(frozen=True)
class HeadNorm:
    """The Differential Transformer's RMSNorm of each head's output, times 1 - lambda_init."""

    weight: Tensor  # (d_v,)
    eps: float
    factor: float

    def __call__(self, out: Tensor) -> Tensor:
        """Return the normalised outputs, (.., d_v) -> (.., d_v)."""
        return F.rms_norm(out, self.weight.shape, self.weight, self.eps) * self.factor


@dataclass(frozen=True)
class AttentionTerms:
    """The attention of one layer, without Q, K and V."""

    scale: Tensor | float  # factor of Q K^T
    structure: at.ScoreModifiers  # padding, biases, factor, pattern
    lambdas: Tensor  # (C,) the current mixing, lambda_1 = 1
    output: Tensor  # (d, H d_v) W_O, which reads the concatenated outputs of the heads
    head_norm: HeadNorm | None = None
    cosine: bool = False  # Q and K have length 1 and the scale is learned (QK-norm)
    rotary: bool = False  # Q and K are rotated by their positions (RoPE)

    @property
    def window(self) -> int:
        """Number of tokens that a query sees around itself; 0 = all, and -1 = all but the later ones."""
        pattern = self.structure.pattern
        return 0 if pattern is None else -1 if pattern.causal else pattern.window

    def part(self, components: Sequence[int] = (), heads: Sequence[int] = ()) -> AttentionTerms:
        """Return the terms of some components and heads, in this order, by default all. Lambdas and W_O stay complete."""
        some = [torch.tensor(chosen, device=self.lambdas.device) if len(chosen) else None for chosen in (components, heads)]
        return replace(self, structure=self.structure.part(*some))

    def row(self, text: int, tokens: int) -> AttentionTerms:
        """Return the terms of one text of the batch, cut to its tokens."""
        return replace(self, structure=self.structure.row(text, tokens))

    def scores(self, q: Tensor, k: Tensor, places: Tensor | None = None, keys: Tensor | None = None) -> Tensor:
        """Return S, (B, C, H, n, m). q and k may belong to some query places (n,) and key places (m,), by default all."""
        return at.scores(q, k, self.scale, self.structure.part(queries=places, keys=keys))

    def seen(self, n: int, m: int, places: Tensor | None = None, keys: Tensor | None = None) -> Tensor | None:
        """Return whether a query may see a key, (B|1, 1, 1, n, m) bool; None if every key is visible."""
        if self.structure.padding is None and self.structure.pattern is None:
            return None
        device = self.lambdas.device
        rows = torch.arange(n, device=device) if places is None else places
        return at.visible(self.structure.part(keys=keys), rows, torch.arange(m, device=device) if keys is None else keys)

    def maps(self, q: Tensor, k: Tensor, places: Tensor | None = None, keys: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        """Return A_c, (B, C, H, n, m). q and k may belong to some places, as in `scores`; `out` receives the result without a copy."""
        return at.maps(self.scores(q, k, places, keys), self.seen(q.shape[-2], k.shape[-2], places, keys), out=out)

    def mix(self, maps: Tensor, out: Tensor | None = None) -> Tensor:
        """Return effective attention, (B, C, H, n, m) -> (B, H, n, m)."""
        return at.mix(maps, self.lambdas, out=out)

    def reach(self, start: int, stop: int, length: int) -> tuple[Tensor, Tensor]:
        """Return the places of the query rows [start, stop), (rows,), and of all keys that any of them may see, (reach,), ascending.

        With a window, the reach is about as wide as window and rows together; without one it is all keys.
        """
        rows, pattern = torch.arange(start, stop, device=self.lambdas.device), self.structure.pattern
        return rows, torch.arange(length, device=rows.device) if pattern is None else pattern.reach(rows, length)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return A V without storing a map, (B, H, n, d_v); q may contain the first n tokens only."""
        n = q.shape[-2]
        structure = self.structure if n == k.shape[-2] else self.structure.part(queries=torch.arange(n, device=q.device))
        return at.attend(q, k, v, self.lambdas, self.scale, structure)

    def after(self, out: Tensor) -> Tensor:
        """Return the heads' outputs as W_O reads them, (B, H, n, d_v)."""
        return out if self.head_norm is None else self.head_norm(out)


def terms_of(trace: Trace) -> tuple[AttentionTerms, ...]:
    """Return the terms of each layer of a trace, (L,); empty for a stored trace."""
    return cast(tuple[AttentionTerms, ...], trace.terms)
