"""Lambda: how the C attention maps of a layer are mixed.

NDT (arXiv 2603.20704, section III-B2): raw_i = sum(lq_i * lk_i) + init_i + bias_i, then one of four constraints; one lambda per
component and layer, shared by the heads. Differential Transformer: lambda = exp(lq1.lk1) - exp(lq2.lk2) + lambda_init.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz.runs.configs import EncoderConfig

Map = Callable[[Tensor], Tensor]

CONSTRAINTS: dict[str, tuple[Map, Map]] = {
    # name: (constraint, its inverse); the raw value starts at the inverse of the wanted start value
    "unit": (torch.sigmoid, torch.logit),
    "symmetric": (torch.tanh, torch.atanh),
    "nonneg": (F.softplus, lambda x: x + torch.log(-torch.expm1(-x))),
    "free": (lambda x: x, lambda x: x),
}


class NoMixing(nn.Module):
    """Mixing for a model with one component: its weight is always 1."""

    def forward(self, like: Tensor) -> Tensor:
        """Return ones, (1,)."""
        return like.new_ones(1)


class Differential(nn.Module):
    """The Differential Transformer's mixing, (1, -lambda)."""

    def __init__(self, start: float, size: int, std: float) -> None:
        super().__init__()
        self.start = start
        self.vectors = nn.Parameter(torch.randn(4, size).mul_(std))  # lq1, lk1, lq2, lk2

    def forward(self, like: Tensor) -> Tensor:
        """Return (1, -lambda), (2,)."""
        lq1, lk1, lq2, lk2 = self.vectors.unbind()
        value = torch.exp((lq1 * lk1).sum()) - torch.exp((lq2 * lk2).sum()) + self.start
        return torch.stack([like.new_ones(()), -value.to(like.dtype)])


class Constrained(nn.Module):
    """NDT's mixing (1, lambda_2 .. lambda_C) under a constraint."""

    def __init__(self, constraint: str, starts: tuple[float, ...], size: int, std: float) -> None:
        super().__init__()
        self.constraint, inverse = CONSTRAINTS[constraint]
        self.query = nn.Parameter(torch.randn(len(starts), size).mul_(std))
        self.key = nn.Parameter(torch.randn(len(starts), size).mul_(std))
        self.bias = nn.Parameter(torch.zeros(len(starts)))
        start = inverse(torch.tensor(starts, device="cpu"))
        self.register_buffer("start", start, persistent=False)
        self.start: Tensor
        if start.isnan().any():
            raise ValueError(f"A start of {starts} lies outside the constraint {constraint!r}.")

    def forward(self, like: Tensor) -> Tensor:
        """Return (1, lambda_2 .. lambda_C), (C,)."""
        raw = (self.query * self.key).sum(dim=-1) + self.start + self.bias
        return torch.cat([like.new_ones(1), self.constraint(raw).to(like.dtype)])


def mixing(config: EncoderConfig, layer: int) -> nn.Module:
    """Return the mixing of one layer of a configuration."""
    size = config.key_width // config.heads
    module: nn.Module
    if config.mixing == "none":
        return NoMixing()
    if config.mixing == "differential":
        module = Differential(config.lambda_start[layer][0], size, config.lambda_std)
    else:
        module = Constrained(config.mixing, config.lambda_start[layer], size, config.lambda_std)
    return module.requires_grad_(config.learn_lambda)
