"""Low-rank changes to the matrices of a base (LoRA, Hu et al. 2021, arXiv 2106.09685): trained separately, added to the base when loading.

    y = W x + b + (alpha / r) B A x        W, b: of the base, frozen    A: (r, m)    B: (N, r), 0 at the start

A projection of several parts (Q, K and V) has an A and a B for each part. A run stores A and (alpha / r) B, in half precision or, from rank
16, in 8 bits with a scale for each row of A and each column of B, and every weight that the base lacks (classifier, lambdas, gate,
polarities). A loaded model has plain weights: W + (alpha / r) B A.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz.errors import RunError
from sentviz.models.batches import device_of
from sentviz.models.encoder import Attention, Encoder
from sentviz.models.pretrained.base import tokenizer_of, weights_of
from sentviz.models.pretrained.tokens import PretrainedTokenizer
from sentviz.models.weights import WIDE, Coded, CodedEmbedding, normalize_polarities, outline, pack, quantized, read_weights
from sentviz.runs.bases import Base, find_base
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.store import Run

TABLE = "embedding.weight"  # stays coded in memory
MATRICES = ("attention.project", "attention.output", "ffn.up", "ffn.down")  # matrices of a layer that are adapted


class Adapted(nn.Module):
    """A linear map of a base with a trained low-rank change."""

    def __init__(self, linear: nn.Linear, parts: tuple[int, ...], rank: int, scale: float) -> None:
        super().__init__()
        self.parts, self.scale = parts, scale
        self.weight, self.bias = linear.weight, linear.bias
        self.a = nn.Parameter(torch.empty(len(parts) * rank, linear.in_features))
        self.b = nn.Parameter(torch.zeros(linear.out_features, rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """Return the output, (.., m) -> (.., N)."""
        inner = (F.linear(x, self.a) * self.scale).chunk(len(self.parts), dim=-1)
        moved = [F.linear(part, b) for part, b in zip(inner, torch.split(self.b, list(self.parts)), strict=True)]
        return F.linear(x, self.weight, self.bias) + (torch.cat(moved, dim=-1) if len(moved) > 1 else moved[0])


def parts_of(network: Encoder, name: str) -> tuple[int, ...]:
    """Return the number of rows of each part of a matrix: those of Q, K and V for a projection."""
    if name.endswith(".project"):
        attention = network.get_submodule(name.removesuffix(".project"))
        assert isinstance(attention, Attention)
        return attention.widths
    linear = network.get_submodule(name)
    assert isinstance(linear, nn.Linear)
    return (linear.out_features,)


def product(a: Tensor, b: Tensor, parts: tuple[int, ...]) -> Tensor:
    """Return B A of each part, stacked, (N, m)."""
    return torch.cat([each_b @ each_a for each_b, each_a in zip(torch.split(b, list(parts)), a.chunk(len(parts)), strict=True)])


def based(base: Base, config: EncoderConfig, *, empty: bool = False) -> tuple[Encoder, frozenset[str]]:
    """Return a network of a configuration with the weights of a base, and the names of these weights.

    Args:
        empty: leave the weights that the base lacks without values; by default they are initialised at random.
    Raises:
        RunError: the base is damaged, or its weights do not fit the configuration.
    """
    network = outline(lambda: Encoder(config)) if empty else Encoder(config)
    stored = _shapes(outline(lambda: Encoder(EncoderConfig(classes=2, **base.settings))))
    own, state = _shapes(network), dict[str, Any]()
    for name, tensor in weights_of(base):
        if stored.get(name) != tuple(tensor.shape):
            raise RunError(f"The base {base.name} is damaged: {name} is extra or has another shape than base.json says.")
        if not bool(torch.isfinite(tensor.scale if isinstance(tensor, Coded) else tensor).all()):
            raise RunError(f"The base {base.name} holds values that are not numbers ({name}).")
        state[name] = tensor.expanded() if isinstance(tensor, Coded) and name != TABLE else tensor
    if lacking := sorted(name for name in stored.keys() - state.keys() if not name.startswith("classifier.")):
        raise RunError(f"The base {base.name} is damaged: {lacking[0]} is missing.")
    state["position"] = state["position"][: config.max_length]
    if config.segments == 1 and "segment.weight" in state:
        state["position"] = state["position"] + state.pop("segment.weight")[0]
    if config.components > 1:
        _repeat(state, config)
    if wrong := sorted(name for name, tensor in state.items() if own.get(name) != tuple(tensor.shape)):
        raise RunError(f"The base {base.name} does not fit this model: {wrong[0]} is extra or has another shape.")
    if isinstance(state[TABLE], Coded):
        network.embedding = CodedEmbedding(state.pop(TABLE))
    network.load_state_dict(state, strict=False, assign=True)
    return network, frozenset(state)


def _shapes(network: Encoder) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}


def _repeat(state: dict[str, Tensor], config: EncoderConfig) -> None:
    """Repeat Q and K for each component."""
    for layer in range(config.layers):
        for part in ("weight", "bias"):
            name = f"blocks.{layer}.attention.project.{part}"
            q, k, v = state[name].chunk(3)
            state[name] = torch.cat([*[q] * config.components, *[k] * config.components, v])


# ---- training


def adapt(network: Encoder, of_base: frozenset[str], *, rank: int, alpha: float, upper: int = 0) -> None:
    """Prepare a network of `based` for training: frozen weights become buffers that are not part of its state.

    Args:
        rank: r of the change of each matrix; 0 = all weights of the adapted layers are trained instead.
        upper: number of upper layers that are adapted; 0 = all.
    """
    layers = range(network.config.layers - upper if upper else 0, network.config.layers)
    learned = () if rank else tuple(f"blocks.{layer}." for layer in layers)
    for layer in layers if rank else ():
        for matrix in MATRICES:
            name, _, last = f"blocks.{layer}.{matrix}".rpartition(".")
            parts = parts_of(network, f"{name}.{last}")
            linear = network.get_submodule(f"{name}.{last}")
            setattr(network.get_submodule(name), last, Adapted(linear, parts, rank, alpha / rank))  # type: ignore[arg-type]
    for name in sorted(of_base):
        if name.startswith(learned) and learned:
            continue
        where, _, last = name.rpartition(".")
        module = network.get_submodule(where)
        weights = module._parameters.pop(last)
        assert weights is not None
        module.register_buffer(last, weights.detach(), persistent=False)


def merged(network: Encoder) -> Encoder:
    """Return the plain network that is equal to a network in training, on the CPU. Frozen weights on the CPU are shared, not copied."""
    plain = outline(lambda: Encoder(network.config))
    plain.embedding = network.embedding if device_of(network).type == "cpu" else deepcopy(network.embedding).cpu()
    state = {
        f"{name}.weight": (module.weight + module.scale * product(module.a, module.b, module.parts)).detach().cpu()
        for name, module in network.named_modules()
        if isinstance(module, Adapted)
    }
    for name, tensor in (*network.named_parameters(), *network.named_buffers()):
        state.setdefault(name, tensor.detach().cpu())
    plain.load_state_dict({name: state[name] for name in plain.state_dict()}, assign=True)
    return plain


def stored(network: Encoder, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a state of a network in training as its run stores it: changes A and (alpha / r) B, and the rest as in any run."""
    scales = {f"{name}.b": module.scale for name, module in network.named_modules() if isinstance(module, Adapted)}
    changes = {name for b in scales for name in (b, b.removesuffix("b") + "a")}
    scaled = {name: (state[name] * scales.get(name, 1.0)).detach().cpu() for name in sorted(changes)}
    low = dict[str, Tensor]()
    for name, tensor in scaled.items():
        rank = scaled[name[:-1] + "b"].shape[1]
        low |= quantized(name, tensor, dim=1 if name.endswith(".a") else 0) if rank >= WIDE else {name: tensor.half().contiguous()}
    return low | pack({name: tensor for name, tensor in state.items() if name not in changes})


# ---- loading


def adapted(run: Run) -> tuple[Encoder, PretrainedTokenizer]:
    """Return the network and the tokenizer of a run on a base; the network has plain weights.

    Raises:
        RunError: the base or the run is damaged, or they do not belong together.
    """
    config, reference = run.shape, run.config["base"]
    assert isinstance(config, EncoderConfig)
    try:
        base = find_base(reference["name"], reference["digest"])
        tokenizer = tokenizer_of(base)
        network, of_base = based(base, config, empty=True)
        fold(network, of_base, read_weights(run.path(run.weights)))
        normalize_polarities(network)
    except RunError as error:
        raise error if str(error).startswith(run.name) else RunError(f"{run.name}: {error}") from error
    return network, tokenizer


def fold(network: Encoder, of_base: frozenset[str], changes: Mapping[str, Tensor]) -> None:
    """Put the weights of a run into the network of its base.

    Args:
        network, of_base: results of `based`. changes: `<matrix>.a` and `<matrix>.b`, and complete tensors by name, in single precision.
    Raises:
        RunError: a weight is missing, extra or of another shape.
    """
    own = network.state_dict()
    low = {name.removesuffix(".a") for name in changes if name.endswith(".a")}
    plain = {name: tensor for name, tensor in changes.items() if name.removesuffix(".a").removesuffix(".b") not in low}
    wrong = [name for name, tensor in plain.items() if name not in own or own[name].shape != tensor.shape]
    wrong += [name for name in own if name not in of_base and name not in plain]
    for name in sorted(low):
        a, b, weight = changes[f"{name}.a"], changes.get(f"{name}.b"), own.get(f"{name}.weight")
        parts = () if weight is None else parts_of(network, name)
        if b is None or weight is None or a.shape != (len(parts) * b.shape[-1], weight.shape[1]) or len(b) != len(weight):
            wrong.append(name)
        else:
            weight += product(a, b, parts)
    if wrong:
        raise RunError(f"its weights do not fit its base: {sorted(wrong)[0]} is missing, extra or has another shape.")
    network.load_state_dict(plain, strict=False, assign=True)
