"""Gradients of the answer's log-odds with respect to the token embeddings.

    gradient x input       x_j . df/dx_j                                          Shrikumar et al. 2016, arXiv 1605.01713
    integrated gradients   (x_j - b_j) . integral of df/dx_j along b to x         Sundararajan et al. 2017, arXiv 1703.01365

f is the log-odds of the predicted class, x_j the token's own embedding; positions and segments stay. The baseline b is the same text with
the zero embedding, that of [PAD], in place of every word; specials stay, so they score 0. The integral is a Gauss-Legendre sum, of as many
steps as it needs: its scores should sum to f(x) - f(b), and the gap tells how far it is from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from torch import Tensor

    from sentviz.models.model import Model

Floats = npt.NDArray[np.float32]
FIRST, MOST = 32, 512  # steps: of the first try, doubled until the gap is near enough, and of the last
SHARE, LEAST = 0.01, 0.01  # of the rise, and log-odds where that is less: gaps that are near enough


@dataclass(frozen=True, eq=False)
class Integrated:
    """Integrated gradients and how far they are from complete."""

    scores: Floats  # (m,) log-odds
    rise: float  # f(text) - f(baseline), what complete scores sum to
    steps: int

    @property
    def gap(self) -> float:
        """Sum of the scores minus the rise: the error of the sum over steps, log-odds."""
        return float(self.scores.sum(dtype=np.float64)) - self.rise

    @property
    def complete(self) -> bool:
        """Whether the gap is less than a hundredth of the rise, or of a log-odd."""
        return abs(self.gap) <= max(SHARE * abs(self.rise), LEAST)


def gradient_x_input(model: Model, trace: Trace, **change: Any) -> Floats:
    """(m,) first-order rise of the log-odds from the zero embedding to the token's own; specials 0."""
    _, slopes, path = along(model, trace, np.ones(1), change)
    return np.asarray((slopes[0] * path).sum(dim=-1).numpy(), dtype=np.float32)


def integrate(model: Model, trace: Trace, *, steps: int | None = None, **change: Any) -> Integrated:
    """Integrated gradients (m,) over all steps in one batch (a long text: a few), with what they should sum to.

    Args:
        steps: so many; without, FIRST and twice as many again until they are complete, MOST at most.
    Raises:
        InputError: steps is less than 1.
    """
    if steps is not None and steps < 1:
        raise InputError(f"Integrated gradients need at least one step, not {steps}.")
    found = _integrated(model, trace, steps or FIRST, change)
    while steps is None and not found.complete and found.steps < MOST:
        found = _integrated(model, trace, 2 * found.steps, change)
    return found


def _integrated(model: Model, trace: Trace, steps: int, change: Mapping[str, Any]) -> Integrated:
    import torch

    places, weights = np.polynomial.legendre.leggauss(steps)
    odds, slopes, path = along(model, trace, np.array([0, *(places + 1) / 2, 1]), change)
    mean = torch.einsum("snd,s->nd", slopes[1:-1], torch.from_numpy(weights / 2).to(slopes))
    return Integrated(np.asarray((mean * path).sum(dim=-1).numpy(), dtype=np.float32), float(odds[-1] - odds[0]), steps)


def along(model: Model, trace: Trace, places: npt.NDArray[np.float64], change: Mapping[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Log-odds (S,) and gradients (S, m, d) at places between baseline (0) and text (1), and the path (m, d) from one to the other.

    Only leaf tensors of this call ask for gradients; the parameters never do, so the model stays as it is in every thread.
    """
    import torch

    from sentviz.models.model import TOKENS_PER_BATCH

    k, changed = int(trace.probabilities.argmax()), model.change(**change)
    encoded = model.encode(trace.text, trace.text_pair, changed)
    odds, slopes = [], []
    with torch.inference_mode(False), torch.enable_grad():
        inputs = model.inputs(encoded)
        text = model.network.rows(inputs.ids[0])
        path = text * torch.from_numpy(~encoded.specials)[:, None]
        steps = torch.from_numpy(places).to(path)
        for some in torch.split(steps, max(1, TOKENS_PER_BATCH // len(encoded))):
            model.check()
            tokens = (text - (1 - some[:, None, None]) * path).requires_grad_()
            logits = model.network(replace(inputs.expand(len(some)), vectors=tokens), change=changed).logits
            others = torch.cat([logits[:, :k], logits[:, k + 1 :]], dim=1)
            value = logits[:, k] - others.logsumexp(dim=1)
            slopes.append(torch.autograd.grad(value.sum(), tokens)[0])
            odds.append(value.detach())
    return torch.cat(odds), torch.cat(slopes), path
