"""Weights of a base as they are stored: matrices in 8 bits by row or 4 bits by block, everything else exactly.

    8 bits   one half-precision scale per row, weight = code * scale, codes -127 to 127
    4 bits   one half-precision scale per 32 weights of a row, weight = code * scale, codes -8 to 7, two to a byte

Scales of 8 bits fit the largest entry of the row. Those of 4 bits have the least square error of those tried. A block that lies on such a
grid already, in half precision, keeps its codes and its scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sentviz.errors import InputError

BITS = (4, 8)
BLOCK = 32  # weights that share one scale
ROWS = 4_096  # rows of a matrix that are coded at a time
TRIED = torch.linspace(0.7, 1.1, 13, device="cpu")  # scales to try, as a share of the scale that fits the largest entry


@dataclass(frozen=True, eq=False)
class Coded:
    """A matrix (N, m) as codes and scales."""

    codes: Tensor  # (N, m) int8, or (N, m / 2) uint8 with the even column in the low half of each byte
    scale: Tensor  # (N, 1) or (N, m / 32), half precision

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix, (N, m)."""
        return self.codes.shape[0], self.codes.shape[1] * (2 if self.codes.dtype == torch.uint8 else 1)

    def expanded(self) -> Tensor:
        """Return the weights, (N, m) in single precision."""
        return expand(self.codes, self.scale)

    def stored(self, name: str) -> dict[str, Tensor]:
        """Return the tensors that a file stores, by name."""
        return {f"{name}.codes": self.codes, f"{name}.scale": self.scale}


def expand(codes: Tensor, scale: Tensor) -> Tensor:
    """Return rows of codes and scales as weights, (.., m) in single precision."""
    if codes.dtype == torch.uint8:
        unpacked = codes.new_empty((*codes.shape[:-1], codes.shape[-1] * 2), dtype=torch.int8)
        unpacked[..., 0::2], unpacked[..., 1::2] = codes & 15, codes >> 4
        codes = unpacked.sub_(8)
    blocks = codes.reshape(*scale.shape, -1)
    weights: Tensor = blocks * scale.float().unsqueeze(-1)
    return weights.flatten(-2)


def code(weights: Tensor, bits: int) -> Coded:
    """Code a matrix (N, m) of single precision in 8 or 4 bits."""
    if bits not in BITS:
        raise InputError(f"A base is stored in {' or '.join(map(str, BITS))} bits, not {bits}.")
    if bits == 8:
        largest = weights.abs().amax(dim=1, keepdim=True)
        scale = (largest / 127).half().clamp_min(torch.finfo(torch.float16).tiny)
        return Coded((weights / scale.float()).round().clamp(-127, 127).to(torch.int8), scale)
    if weights.shape[1] % BLOCK:
        raise InputError(f"Blocks of {BLOCK} weights do not divide a width of {weights.shape[1]}; store this base in 8 bits.")
    parts = [_blocks(rows.reshape(-1, BLOCK)) for rows in torch.split(weights, ROWS)]
    codes, scale = (torch.cat(each) for each in zip(*parts, strict=True))
    nibbles = (codes + 8).to(torch.uint8).reshape(len(weights), -1)
    return Coded(nibbles[:, 0::2] | (nibbles[:, 1::2] << 4), scale.reshape(len(weights), -1))


def _blocks(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Return codes (B, 32) and scales (B, 1) of blocks of weights."""
    largest = blocks.gather(1, blocks.abs().argmax(dim=1, keepdim=True))
    scale = (largest / -8).half()
    codes = _codes(blocks, scale)
    on_grid = ((codes * scale.float()).half() == blocks).all(dim=1, keepdim=True)
    error = (codes * scale.float() - blocks).square().sum(dim=1, keepdim=True)
    for share in (*TRIED, *-TRIED):
        tried = _codes(blocks, (share * scale.float()).half())
        best = ((tried * blocks).sum(dim=1, keepdim=True) / tried.square().sum(dim=1, keepdim=True).clamp_min(1)).half()
        tried = _codes(blocks, best)
        new_error = (tried * best.float() - blocks).square().sum(dim=1, keepdim=True)
        better = (new_error < error) & ~on_grid
        codes, scale, error = torch.where(better, tried, codes), torch.where(better, best, scale), torch.where(better, new_error, error)
    return codes, scale


def _codes(blocks: Tensor, scale: Tensor) -> Tensor:
    """Return the nearest codes, -8 to 7; 0 if the scale is 0."""
    step = scale.float()
    return torch.where(step == 0, 0.0, (blocks / torch.where(step == 0, 1.0, step)).round().clamp(-8, 7))


def exact(weights: Tensor) -> Tensor:
    """Return a tensor without loss: in half precision if that is exact, else unchanged."""
    half = weights.half()
    return half if bool((half.float() == weights).all()) else weights


class CodedEmbedding(nn.Module):
    """An embedding table as codes; rows are expanded when they are read."""

    def __init__(self, table: Coded) -> None:
        super().__init__()
        self.codes: Tensor
        self.scale: Tensor
        self.register_buffer("codes", table.codes, persistent=False)
        self.register_buffer("scale", table.scale, persistent=False)

    @property
    def weight(self) -> Tensor:
        """The complete table, expanded anew on each access, (V, e)."""
        return expand(self.codes, self.scale)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the table, (V, e)."""
        return Coded(self.codes, self.scale).shape

    def forward(self, ids: Tensor) -> Tensor:
        """Return the rows of some ids, (..) -> (.., e)."""
        return expand(self.codes[ids], self.scale[ids])
