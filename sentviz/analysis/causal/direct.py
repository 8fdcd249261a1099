"""Direct attribution: the difference of two logits as a sum over the parts that write into the states.

A part is the embedding, a head (of a component), or the feed-forward network of a layer. Each adds vectors to the states, and only sums,
norms and the classifier stand between those vectors and the logits. A norm divides by a standard deviation; pooling and the classifier may
have a nonlinearity. Each of them multiplies its input by a factor, f(x) = x * g(x). With every factor g frozen at its value for this text,
the logits are a sum of the parts and of the biases (Elhage et al. 2021; the frozen norm as in TransformerLens):

    f_k - f_j = sum_parts <part, d(f_k - f_j) / d part> + biases of the norms + other biases

The sum is exact. It contains what a part does directly: its effect on later heads and feed-forward networks counts for those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sentviz.analysis.maps.layers import logit_lens
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import signed
from sentviz.models.protocol import InterventionTensors, Site
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float64]
CUT = ("value", "component", "head", "feedforward")  # vectors through which no gradient passes


@dataclass(frozen=True, eq=False)
class DirectAttribution:
    """The contribution of each part to the difference of two logits."""

    tokens: tuple[str, ...]
    label: str
    against: str  # f_label - f_against is what the parts sum to
    total: float
    embedding: Floats  # (n,)
    read: Floats  # (L, C, H, n) of what a head reads at each token
    written: Floats  # (L, C, H, n) of what a head writes into the states of each token
    feedforward: Floats  # (L, n)
    norms: float  # biases of the norms
    biases: float  # other biases: of the heads' output, of pooling and classifier
    lens: Floats  # (L + 1,) the same difference if the classifier reads the states of each layer (logit lens)

    @property
    def heads(self) -> Floats:
        """(L, H) contributions of the heads."""
        return np.asarray(self.read.sum(axis=(1, 3)))

    @property
    def rest(self) -> float:
        """The difference that the sum lacks: rounding, if every nonlinearity of the model is known here."""
        return self.total - float(self.embedding.sum() + self.read.sum() + self.feedforward.sum()) - self.norms - self.biases

    @property
    def complete(self) -> str:
        """A sentence that compares the sum of all parts with the difference of the logits."""
        return f"The parts sum to {signed(self.total - self.rest, 4)}, and the difference of the logits is {signed(self.total, 4)}."

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Table of part, layer, component, head, token (counted from 0, -1 for none), token_text and value."""
        rows: list[tuple[Any, ...]] = [("embedding", -1, -1, -1, i, value) for i, value in enumerate(self.embedding.tolist())]
        rows += [("head", *map(int, at), float(self.read[at])) for at in np.ndindex(self.read.shape)]
        rows += [("feedforward", layer, -1, -1, i, float(self.feedforward[layer, i])) for layer, i in np.ndindex(self.feedforward.shape)]
        rows += [(name, -1, -1, -1, -1, value) for name, value in (("norms", self.norms), ("biases", self.biases), ("rest", self.rest))]
        frame = pd.DataFrame(rows, columns=["part", "layer", "component", "head", "token", "value"])
        names = [self.tokens[i] if i >= 0 else "" for i in frame["token"]]
        frame.insert(5, "token_text", pd.Series(names, dtype=object))
        return frame


@torch.inference_mode(False)
@torch.enable_grad()
def direct_attribution(model: Model, trace: Trace) -> DirectAttribution:
    """Return what each part adds to the target's logit minus that of the class it is compared with, by default the likeliest other one."""
    has = model.capabilities
    if not {"head", "value", "feedforward"} <= set(has.replaces):
        raise InputError(f"{model.name} has no heads whose outputs are added to states: direct attribution needs a transformer.")
    if not has.predicts:
        from sentviz.models.model import NO_CLASSES

        raise InputError(NO_CLASSES.format(model.name))
    k, against = trace.target_places
    j = int(np.delete(np.arange(len(trace.labels)), k)[np.delete(trace.logits, k).argmax()]) if against is None else against
    model.check()
    applied, frozen = model.applied(model.intervention(trace.change)), _Frozen()
    cut = _Cut(**{each.name: getattr(applied, each.name) for each in fields(applied)})
    with frozen:
        inputs = model.network.ready(model.inputs(model.encode(trace.text, trace.text_pair, trace.change)))
        x = cut.put("state", 0, model.network.embed(inputs))
        for layer in range(has.layers):
            x = cut.put("state", layer + 1, model.network.step(layer, x, inputs, None, cut)[0])
        logits = model.network.classifier(model.network.pool(x, inputs.mask))
        difference = logits[0, k] - logits[0, j]
    slopes = dict(zip(cut.leaves, _slopes(difference, list(cut.leaves.values())), strict=True))
    shape = (has.layers, has.components, has.heads, len(trace.tokens))
    read, written = np.zeros(shape), np.zeros(shape)
    for layer in range(has.layers):
        read[layer], written[layer] = _heads(cut, slopes["head", layer], layer, shape[1:])
    of_biases = {"norm": 0.0, "other": 0.0}
    for (kind, bias), slope in zip(frozen.biases, _slopes(difference, [bias for _, bias in frozen.biases]), strict=True):
        of_biases[kind] += float((bias.detach() * slope).double().sum())
    lens = logit_lens(model, trace).astype(np.float64)
    return DirectAttribution(
        trace.tokens,
        trace.labels[k],
        trace.labels[j],
        float(difference.detach()),
        _sums(cut.leaves["state", 0], slopes["state", 0])[0],
        read,
        written,
        np.stack([_sums(cut.leaves[site], slopes[site])[0] for site in (("feedforward", layer) for layer in range(has.layers))]),
        of_biases["norm"],
        of_biases["other"],
        lens[:, k] - lens[:, j],
    )


def _heads(cut: _Cut, slope: Tensor, layer: int, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return the contributions of a layer's heads by token read and by token written, (C, H, n) each."""
    components, heads, n = shape
    value = cut.leaves["value", layer]
    mixed = (cut.before["head", layer] * slope).sum()
    if ("component", layer) not in cut.leaves:
        (of_value,) = torch.autograd.grad(mixed, value)
        return _sums(value, of_value), _padded(_sums(cut.leaves["head", layer], slope), n)
    part, before = cut.leaves["component", layer], cut.before["component", layer]
    (of_part,) = torch.autograd.grad(mixed, part)
    read = []
    for c in range(components):
        (of_value,) = torch.autograd.grad((before[:, c] * of_part[:, c]).sum(), value, retain_graph=True)
        read.append(_sums(value, of_value)[0])
    products = (part.detach() * of_part)[0].double()
    written = products.view(*products.shape[:2], heads, -1).sum(dim=-1).transpose(1, 2).numpy()
    return np.stack(read), _padded(written, n)


def _slopes(y: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    slopes = torch.autograd.grad(y, leaves, allow_unused=True, retain_graph=True) if leaves else ()
    return [torch.zeros_like(x) if slope is None else slope for x, slope in zip(leaves, slopes, strict=True)]


def _sums(x: Tensor, slope: Tensor) -> Floats:
    """Return the products summed over the last axis."""
    return np.asarray((x.detach() * slope).double().sum(dim=-1).numpy())


def _padded(values: Floats, n: int) -> Floats:
    """Return values of the first tokens, with 0 for the others."""
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, n - values.shape[-1])])


@dataclass(frozen=True)
class _Cut(InterventionTensors):
    """An intervention that makes the vectors of `CUT` and the embedding leaves of the graph, so that only the states join layers."""

    before: dict[Site, Tensor] = field(default_factory=dict)
    leaves: dict[Site, Tensor] = field(default_factory=dict)

    def put(self, what: str, layer: int, x: Tensor) -> Tensor:
        """Return the vectors of a site as a leaf; what the layer computed is kept in `before`."""
        x = super().put(what, layer, x)
        if what in CUT or (what, layer) == ("state", 0):
            self.before[what, layer] = x
            x = self.leaves[what, layer] = x.detach().requires_grad_()
        return x

    def reads(self, what: str, layer: int) -> bool:
        """Return True: every site is read."""
        return True


class _Frozen(TorchFunctionMode):
    """Makes norms and nonlinearities multiply by a constant factor, and every bias a leaf of the graph, while active in this thread."""

    def __init__(self) -> None:
        super().__init__()
        self.biases: list[tuple[str, Tensor]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute one function of torch."""
        kwargs = kwargs or {}
        if func in (F.layer_norm, torch.layer_norm):
            return self._layer_norm(*args, **kwargs)
        if func in (F.rms_norm, torch.rms_norm):
            return _rms_norm(*args, **kwargs)
        if func is F.linear:
            return self._linear(func, *args, **kwargs)
        if func is torch.addmm:
            return self._leaf("other", args[0]) + args[1] @ args[2]
        if func is F.conv1d and len(args) > 2 and args[2] is not None:
            return func(args[0], args[1], None, *args[3:]) + self._leaf("other", args[2])[:, None]
        if func in ADDITIONS:  # a norm that a library writes out
            args = tuple(self._leaf("norm", x) if isinstance(x, nn.Parameter) and x.dim() == 1 else x for x in args)
        y = func(*args, **kwargs)
        if func in NORMS:
            return y.detach()
        return _secant(args[0], y) if func in BENDS else y

    def _layer_norm(
        self, x: Tensor, shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5, *_: Any, **__: Any
    ) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        y = centred * (centred.detach().square().mean(dim=-1, keepdim=True) + eps).rsqrt()
        y = y if weight is None else y * weight
        return y if bias is None else y + self._leaf("norm", bias)

    def _linear(self, func: Callable[..., Tensor], x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        y = func(x, weight)
        return y if bias is None else y + self._leaf("other", bias)

    def _leaf(self, kind: str, bias: Tensor) -> Tensor:
        leaf = bias.detach().requires_grad_()
        self.biases.append((kind, leaf))
        return leaf


ADDITIONS = {torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__}
NORMS = {torch.sqrt, torch.rsqrt, Tensor.sqrt, Tensor.rsqrt, Tensor.norm, torch.norm, torch.linalg.vector_norm}
BENDS = {torch.tanh, Tensor.tanh, torch.relu, Tensor.relu, F.relu, F.gelu, F.silu}


def _rms_norm(x: Tensor, shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    y = x * (x.detach().square().mean(dim=-1, keepdim=True) + (torch.finfo(x.dtype).eps if eps is None else eps)).rsqrt()
    return y if weight is None else y * weight


def _secant(x: Tensor, y: Tensor) -> Tensor:
    """Return y as x times the constant y / x."""
    return x * torch.where(x == 0, 0, y / torch.where(x == 0, 1, x)).detach()
