"""Gradients of the predicted class's log-odds with respect to the token embeddings.

    gradient x input       x_j . df/dx_j                                          Shrikumar et al. 2016, arXiv 1605.01713
    integrated gradients   (x_j - b_j) . integral of df/dx_j along b to x         Sundararajan et al. 2017, arXiv 1703.01365

f is the log-odds of the predicted class, x_j the token's embedding without position and segment. In the baseline b, every word has the zero
embedding, which is that of [PAD]; special tokens are unchanged, so they score 0. The integral is a Gauss-Legendre sum. The scores should
sum to f(x) - f(b); the number of steps is doubled until the gap is small enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from torch import Tensor

    from sentviz.models.model import Model

Floats = npt.NDArray[np.float32]
FIRST_STEPS, MAX_STEPS = 32, 512  # steps of the first try, which are doubled until the gap is small enough, and of the last
GAP_SHARE, MIN_GAP = 0.01, 0.01  # allowed gap: this share of the rise, or these log-odds if that is less


@dataclass(frozen=True, eq=False)
class Integrated:
    """Integrated gradients, and the error of their sum."""

    scores: Floats  # (m,) log-odds
    rise: float  # f(text) - f(baseline), the sum of exact scores
    steps: int

    @property
    def gap(self) -> float:
        """Sum of the scores minus the rise, in log-odds: the error of the numerical integral."""
        return float(self.scores.sum(dtype=np.float64)) - self.rise

    @property
    def complete(self) -> bool:
        """True if the gap is at most `GAP_SHARE` of the rise or `MIN_GAP` log-odds."""
        return abs(self.gap) <= max(GAP_SHARE * abs(self.rise), MIN_GAP)


def gradient_x_input(model: Model, trace: Trace) -> Floats:
    """Return the first-order rise of the log-odds from the zero embedding to the token's embedding, (m,); 0 for special tokens."""
    _, slopes, path = along(model, trace, np.ones(1))
    return np.asarray((slopes[0] * path).sum(dim=-1).numpy(), dtype=np.float32)


def integrate(model: Model, trace: Trace, *, steps: int | None = None) -> Integrated:
    """Return integrated gradients, computed for all steps in one batch; a long text needs a few batches.

    Args:
        steps: number of steps; by default FIRST_STEPS, doubled until the scores are complete, MAX_STEPS at most.
    Raises:
        InputError: `steps` is less than 1.
    """
    if steps is not None and steps < 1:
        raise InputError(f"Integrated gradients need at least one step, not {steps}.")
    result = _integrated(model, trace, steps or FIRST_STEPS)
    while steps is None and not result.complete and result.steps < MAX_STEPS:
        result = _integrated(model, trace, 2 * result.steps)
    return result


def _integrated(model: Model, trace: Trace, steps: int) -> Integrated:
    import torch

    places, weights = np.polynomial.legendre.leggauss(steps)
    odds, slopes, path = along(model, trace, np.array([0, *(places + 1) / 2, 1]))
    mean = torch.einsum("snd,s->nd", slopes[1:-1], torch.from_numpy(weights / 2).to(slopes))
    return Integrated(np.asarray((mean * path).sum(dim=-1).numpy(), dtype=np.float32), float(odds[-1] - odds[0]), steps)


def along(model: Model, trace: Trace, places: npt.NDArray[np.float64]) -> tuple[Tensor, Tensor, Tensor]:
    """Return log-odds (S,) and gradients (S, m, d) at places between baseline (0) and text (1), and the path (m, d) between them.

    Only leaf tensors of this call require gradients, never the parameters. So all threads can use the same model.
    """
    import torch

    from sentviz.models.batches import TOKENS_PER_BATCH

    k, changed = int(trace.probabilities.argmax()), model.applied(model.intervention(trace.change))
    encoded = model.encode(trace.text, trace.text_pair, trace.change)
    odds, slopes = [], []
    with torch.inference_mode(False), torch.enable_grad():
        inputs = model.inputs(encoded)
        text = model.network.rows(inputs.ids[0])
        path = text * torch.from_numpy(~encoded.specials)[:, None]
        steps = torch.from_numpy(places).to(path)
        for chunk in torch.split(steps, max(1, TOKENS_PER_BATCH // len(encoded))):
            model.check()
            tokens = (text - (1 - chunk[:, None, None]) * path).requires_grad_()
            logits = model.network(replace(inputs.expand(len(chunk)), vectors=tokens), change=changed).logits
            rest = torch.cat([logits[:, :k], logits[:, k + 1 :]], dim=1)
            value = logits[:, k] - rest.logsumexp(dim=1)
            slopes.append(torch.autograd.grad(value.sum(), tokens)[0])
            odds.append(value.detach())
    return torch.cat(odds), torch.cat(slopes), path
