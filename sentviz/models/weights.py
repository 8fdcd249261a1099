"""Weights as they are stored: half precision, and 8 bits a weight with one scale per row for large, wide matrices.

Half precision is off by at most 2^-11 of a weight, or 3e-8; 8 bits by at most half a step. A step is 1/127 of the row's largest entry but
never less than 6.1e-5, the smallest normal half: a row without an entry above 0.0078 keeps fewer than 127 steps on either side. Every
published metric is computed from the weights as read back, and each run's metrics.json has its validation accuracy before and after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sentviz.errors import RunError

__all__ = ["coarser", "in_8_bits", "load_weights", "pack", "read_weights", "save_weights", "unpack", "whole_shares"]

LARGE = 1 << 15  # entries
WIDE = 16  # columns; a scale per row of three polarities would save little and cost most of their precision


def in_8_bits(shape: Sequence[int]) -> bool:
    """Whether a tensor of this shape is stored in 8 bits; any other one is in half precision."""
    return len(shape) == 2 and shape[0] * shape[1] >= LARGE and shape[1] >= WIDE


def coarser(path: Path) -> dict[str, float]:
    """Matrices of a file that are in 8 bits where the rule has half precision, as in a run older than it: how far an entry can be off.

    Raises:
        RunError: the file cannot be read.
    """
    try:
        with safe_open(path, framework="pt") as file:
            cut = [name for name in file.keys() if name.endswith(".int8") and not in_8_bits(file.get_slice(name).get_shape())]  # noqa: SIM118
            return {name.removesuffix(".int8"): float(file.get_tensor(f"{name.removesuffix('.int8')}.scale").max()) / 2 for name in cut}
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path.name} cannot be read ({error}).") from error


def pack(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A state dict in its stored form."""
    packed: dict[str, Tensor] = {}
    for name, tensor in state.items():
        weights = tensor.detach().cpu()
        if not in_8_bits(weights.shape):
            packed[name] = weights.half().contiguous()
            continue
        scale = (weights.float().abs().amax(dim=1, keepdim=True) / 127).half().clamp_min(torch.finfo(torch.float16).tiny)
        packed[f"{name}.int8"] = (weights.float() / scale.float()).round().clamp(-127, 127).to(torch.int8)
        packed[f"{name}.scale"] = scale
    return packed


def unpack(packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A state dict in single precision; matrices in plain half precision are taken too."""
    rows = {name.removesuffix(".int8") for name in packed if name.endswith(".int8")}
    state = {f: packed[f"{f}.int8"].float() * packed[f"{f}.scale"].float() for f in rows}
    parts = {f"{f}{suffix}" for f in rows for suffix in (".int8", ".scale")}
    return state | {name: tensor.float() for name, tensor in packed.items() if name not in parts}


def save_weights(module: nn.Module, path: Path) -> None:
    """Write a module's weights in the stored form."""
    save_file(pack(module.state_dict()), path)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Stored weights in single precision.

    Raises:
        RunError: damaged, or values that are not numbers.
    """
    try:
        state = unpack(load_file(path))
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        raise RunError(f"{path.name} cannot be read ({error}).") from error
    if not all(bool(torch.isfinite(tensor).all()) for tensor in state.values()):
        raise RunError(f"{path.name} holds values that are not numbers.")
    return state


def load_weights(module: nn.Module, path: Path) -> None:
    """Read stored weights into a module, strictly.

    Raises:
        RunError: damaged, or of another shape than the configuration says.
    """
    state = read_weights(path)
    own = module.state_dict()
    wrong = sorted(own.keys() ^ state.keys()) or sorted(k for k in own if own[k].shape != state[k].shape)
    if wrong:
        raise RunError(f"{path.name} does not fit the configuration: {wrong[0]} is missing, extra or of another shape.")
    module.load_state_dict(state)


def whole_shares(module: nn.Module) -> None:
    """Bring a lexicon's polarities to sums of exactly 1, whatever the stored precision, so that a neutral row stays constant."""
    if (polarity := dict(module.named_buffers()).get("polarity")) is not None:
        polarity /= polarity.sum(dim=-1, keepdim=True)
