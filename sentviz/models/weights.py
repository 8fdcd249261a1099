"""Stored weights: half precision, and 8 bits per weight with one scale per row for large, wide matrices.

In half precision the error is at most 2^-11 of a weight, or 3e-8; in 8 bits at most half a step. A step is 1/127 of the row's largest entry
but never less than 6.1e-5, the smallest normal half: a row without an entry above 0.0078 has fewer than 127 steps on each side. Changes of
a base (sentviz.models.pretrained.adapter) in 8 bits have a scale for each row of A and each column of B. Every
published metric is computed from the stored weights; each run's metrics.json has its validation accuracy before and after storing.

Weights of a base (`Coded`): matrices in 8 bits by row or 4 bits by block, everything else exactly.

    8 bits   one half-precision scale per row, weight = code * scale, codes -127 to 127
    4 bits   one half-precision scale per 32 weights of a row, weight = code * scale, codes -8 to 7, two to a byte

Scales of 8 bits fit the largest entry of the row. Those of 4 bits have the least square error of those tried. A block that lies on such a
grid already, in half precision, keeps its codes and its scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sentviz.errors import InputError, RunError
from sentviz.io.typed import short

M = TypeVar("M", bound=nn.Module)
LARGE = 1 << 15  # minimum entries of a matrix in 8 bits
PARAMETERS = 1 << 30  # maximum parameters of a model
FLOATS = ("F16", "BF16", "F32", "F64")  # accepted types of numbers besides 8 bits, as safetensors names them
RANDOM = {nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_, Tensor.normal_, Tensor.uniform_}
WIDE = 16  # minimum entries with a common scale in 8 bits: with fewer, scales save little and cost most of the precision
BITS = (4, 8)
BLOCK = 32  # weights that share one scale
ROWS = 4_096  # rows of a matrix that are coded at a time
TRIED = torch.linspace(0.7, 1.1, 13, device="cpu")  # scales to try, as a share of the scale that fits the largest entry


def in_8_bits(shape: Sequence[int]) -> bool:
    """Return whether a tensor of this shape is stored in 8 bits; all others are stored in half precision."""
    return len(shape) == 2 and shape[0] * shape[1] >= LARGE and shape[1] >= WIDE


def coarser(path: Path) -> dict[str, float]:
    """Return the matrices of a file in 8 bits with too few entries a scale, as in old runs, with their largest error.

    Raises:
        RunError: the file cannot be read.
    """
    try:
        with safe_open(path, framework="pt") as file:
            codes = {name.removesuffix(".int8"): file.get_slice(name).get_shape() for name in file.keys() if name.endswith(".int8")}  # noqa: SIM118
            scales = {name: file.get_tensor(f"{name}.scale") for name in codes}
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path.name} cannot be read ({error}).") from error
    return {name: float(scale.max()) / 2 for name, scale in scales.items() if math.prod(codes[name]) < WIDE * scale.numel()}


def quantized(name: str, weights: Tensor, dim: int = 1) -> dict[str, Tensor]:
    """Return the codes and the scales of a matrix in 8 bits, as stored under its name.

    Args:
        dim: dimension whose entries have a common scale: 1 = those of a row, 0 = those of a column.
    """
    scale = (weights.float().abs().amax(dim=dim, keepdim=True) / 127).half().clamp_min(torch.finfo(torch.float16).tiny)
    return {f"{name}.int8": (weights.float() / scale.float()).round().clamp(-127, 127).to(torch.int8), f"{name}.scale": scale}


def pack(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a state dict in its stored form."""
    packed: dict[str, Tensor] = {}
    for name, tensor in state.items():
        weights = tensor.detach().cpu()
        if not in_8_bits(weights.shape):
            packed[name] = weights.half().contiguous()
            continue
        packed |= quantized(name, weights)
    return packed


def unpack(packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return stored weights as a state dict in single precision; matrices in half precision are accepted, too."""
    rows = {name.removesuffix(".int8") for name in packed if name.endswith(".int8")}
    for name in sorted(rows):
        shape = packed[f"{name}.int8"].shape
        if len(shape) != 2 or packed[f"{name}.scale"].shape not in ((shape[0], 1), (1, shape[1])):
            raise RuntimeError(f"{name}.scale is not one number for each row or each column")
    state = {f: packed[f"{f}.int8"].float() * packed[f"{f}.scale"].float() for f in rows}
    parts = {f"{f}{suffix}" for f in rows for suffix in (".int8", ".scale")}
    return state | {name: tensor.float() for name, tensor in packed.items() if name not in parts}


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return stored weights in single precision.

    Raises:
        RunError: the file is damaged, or contains NaN or infinity.
    """
    try:
        state = unpack(load_file(path))
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        raise RunError(f"{path.name} cannot be read ({error}).") from error
    if not all(bool(torch.isfinite(tensor).all()) for tensor in state.values()):
        raise RunError(f"{path.name} holds values that are not numbers.")
    return state


def outline(make: Callable[[], M]) -> M:
    """Return the module that `make` builds, without memory for its weights.

    No random numbers are drawn: without memory, torch would load its compiler for them, which takes longer than to load a model.
    """
    with torch.device("meta"), _Undrawn():
        return make()


def load_weights(make: Callable[[], M], path: Path) -> M:
    """Return the module that `make` builds, with stored weights. The file is checked before memory for the weights is allocated.

    Raises:
        RunError: the file is damaged, or its shapes differ from the configuration.
    """
    _agree(outline(make).state_dict(), path)
    state = read_weights(path)
    with _Undrawn():
        module = make()
    module.load_state_dict(state)
    return module


def normalize_polarities(module: nn.Module) -> None:
    """Rescale a lexicon's polarities to sums of exactly 1 after storing them in reduced precision, so that neutral rows stay constant."""
    if (polarity := dict(module.named_buffers()).get("polarity")) is not None:
        polarity /= polarity.sum(dim=-1, keepdim=True)


class _Undrawn(TorchFunctionMode):
    """Write zeros instead of random numbers into parameters that are read from a file afterwards."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in RANDOM:
            tensor = args[0] if args else kwargs["tensor"]
            tensor.detach().zero_()
            return tensor
        if func is torch.randn:
            return torch.zeros(*args, **kwargs)
        return func(*args, **kwargs)


def _agree(outline: Mapping[str, Tensor], path: Path) -> None:
    """Compare the tensors of a configuration with the header of a file.

    Raises:
        RunError: a tensor is missing, extra, or of another shape or type; the message names the first one.
    """
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - safe_open is not a mapping
            stored = {name: (tuple(part.get_shape()), str(part.get_dtype())) for name, part in slices.items()}
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path.name} cannot be read ({error}).") from error
    expected: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}
    for name, tensor in outline.items():
        shape = tuple(tensor.shape)
        if f"{name}.int8" in stored:
            expected |= {f"{name}.int8": (shape, ("I8",)), f"{name}.scale": ((shape[0], 1) if shape else (), FLOATS)}
        else:
            expected[name] = shape, FLOATS
    wrong = f"{path.name} does not fit the configuration"
    if odd := sorted(expected.keys() ^ stored.keys()):
        raise RunError(f"{wrong}: {short(odd[0])} is {'missing' if odd[0] in expected else 'not part of the model'}.")
    for name, (shape, kinds) in expected.items():
        if stored[name][0] != shape:
            raise RunError(f"{wrong}: {name} has the shape {stored[name][0]} in the file and {shape} in the configuration.")
        if stored[name][1] not in kinds:
            raise RunError(f"{wrong}: {name} has the type {stored[name][1]}, not {' or '.join(kinds)}.")
    if (count := sum(tensor.numel() for tensor in outline.values())) > PARAMETERS:
        raise RunError(f"{path.name} has {count:,} numbers; models of at most {PARAMETERS:,} can be read.")


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
