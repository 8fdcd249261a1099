"""Gradients of the log-odds of a trace's target with respect to the token embeddings.

    gradient x input       x_j . df/dx_j                                          Shrikumar et al. 2016, arXiv 1605.01713
    integrated gradients   (x_j - b_j) . integral of df/dx_j along b to x         Sundararajan et al. 2017, arXiv 1703.01365

f is the log-odds of the target, by default of the predicted class; x_j is the token's embedding without position and segment. In the
baseline b, every word has the zero embedding, which is that of [PAD] unless the model is on a base; special tokens are unchanged, so they
score 0. The integral is a Gauss-Legendre sum. The scores should sum to f(x) - f(b). If they do not, the path is cut into parts: the scores
of a part should sum to the rise of f along it, so the parts with the largest gaps are halved until the scores are complete. A model that
normalises its embeddings changes most near the baseline, in jumps.

SmoothGrad: gradient x input, with the gradient averaged over noisy copies of the embeddings (Smilkov et al. 2017, arXiv 1706.03825).

    x_j . mean over copies of df/dx_j at x + noise,     noise ~ N(0, sigma^2)

sigma is NOISE times the range of the text's embedding entries, as in the paper. The embeddings of special tokens get no noise.

Gradient SHAP: expected gradients over random baselines (Erion et al. 2021, arXiv 1906.10670).

    mean over samples of (x_j - b_j) . df/dx_j at b + a (x - b),     b ~ N(0, sigma^2),  a uniform in [0, 1]

The baseline of integrated gradients is b = 0. Here baselines are random around 0; sigma is the standard deviation of the text's embedding
entries. One place a is drawn in each of `samples` equal parts of [0, 1]. The scores sum to f(text) minus the mean of f(b), up to the
sampling error. Special tokens are unchanged, so they score 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.io.lazy import torch
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float32]
FIRST_STEPS, MAX_STEPS = 32, 256  # steps of the first try, which takes the path as one part, and of all tries together
PART_STEPS = 4  # steps of each part of the second try
EDGES = [0.0, *(0.5 ** np.arange(6.0, -1.0, -1.0)).tolist()]  # ends of these parts, which are shorter near the baseline
GAP_SHARE, MIN_GAP = 0.01, 0.01  # allowed gap: this share of the rise, or these log-odds if that is more
SMOOTH_SAMPLES, NOISE = 32, 0.1
SHAP_SAMPLES, SHAP_SPREAD = 64, 1.0


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
    def allowed(self) -> float:
        """Size of the allowed gap: `GAP_SHARE` of the rise, or `MIN_GAP` if that is more, in log-odds."""
        return max(GAP_SHARE * abs(self.rise), MIN_GAP)

    @property
    def complete(self) -> bool:
        """True if the gap is allowed."""
        return abs(self.gap) <= self.allowed


def gradient_x_input(model: Model, trace: Trace) -> Floats:
    """Return the first-order rise of the log-odds from the zero embedding to the token's embedding, (m,); 0 for special tokens."""
    ((_, slopes, path),) = along(model, trace, np.ones(1))
    return np.asarray((slopes[0] * path).sum(dim=-1).numpy(), dtype=np.float32)


def integrated_gradients(model: Model, trace: Trace, *, steps: int | None = None) -> Integrated:
    """Return integrated gradients. The steps of a try are computed in one batch; a long text needs a few batches.

    Args:
        steps: number of steps on the path as one part; by default FIRST_STEPS, and if these scores are not complete, the path is cut into
            parts until they are, in MAX_STEPS at most.
    """
    if steps is not None and steps < 1:
        raise InputError(f"Integrated gradients need at least one step, not {steps}.")
    path = _Path(model, trace)
    result = path.sum_of(path.parts([(0.0, 1.0)], steps or FIRST_STEPS))
    return result if steps is not None or result.complete else path.refined()


@dataclass(eq=False)
class _Part:
    """A part of the path, from 0 (baseline) to 1 (text)."""

    span: tuple[float, float]
    scores: npt.NDArray[np.float64]  # (m,) addends of the tokens' scores, log-odds
    gap: float  # sum of the scores minus the rise of the log-odds along the part
    halves: list[_Part] = field(default_factory=list)

    def finest(self) -> list[_Part]:
        """Return the smallest parts of this part."""
        return [part for half in self.halves for part in half.finest()] or [self]

    def best(self) -> list[_Part]:
        """Return parts that cover this one with the smallest gaps: a steep slope that a half meets by chance can enlarge its gap."""
        parts = [part for half in self.halves for part in half.best()]
        return parts if parts and sum(abs(part.gap) for part in parts) < abs(self.gap) else [self]


class _Path:
    """The path from the baseline to one text, with the log-odds at its computed places."""

    def __init__(self, model: Model, trace: Trace) -> None:
        self.model, self.trace = model, trace
        self.odds: dict[float, float] = {}  # place -> log-odds, at the ends of parts
        self.steps = 0

    def parts(self, spans: Sequence[tuple[float, float]], steps: int) -> list[_Part]:
        """Return the parts between some places, each by a Gauss-Legendre sum of `steps` gradients."""
        ends = [place for place in dict.fromkeys(place for span in spans for place in span) if place not in self.odds]
        nodes, weights = np.polynomial.legendre.leggauss(steps)
        lengths = np.array([stop - start for start, stop in spans])
        inside = np.array([start for start, _ in spans])[:, None] + lengths[:, None] * (nodes + 1) / 2
        batches = [
            (odds, (slopes * path).sum(dim=-1)) for odds, slopes, path in along(self.model, self.trace, np.array([*ends, *inside.flat]))
        ]
        odds, slopes = (torch.cat(each).double().numpy() for each in zip(*batches, strict=True))
        self.odds |= zip(ends, odds.tolist(), strict=False)
        self.steps += steps * len(spans)
        scores = np.einsum("psm,s,p->pm", slopes[len(ends) :].reshape(len(spans), steps, -1), weights / 2, lengths)
        rises = [self.odds[stop] - self.odds[start] for start, stop in spans]
        return [_Part(span, each, float(each.sum()) - rise) for span, each, rise in zip(spans, scores, rises, strict=True)]

    def sum_of(self, parts: Sequence[_Part]) -> Integrated:
        """Return the scores of all parts together."""
        scores = np.asarray(sum(part.scores for part in parts), dtype=np.float32)
        return Integrated(scores, self.odds[1.0] - self.odds[0.0], self.steps)

    def refined(self) -> Integrated:
        """Halve the parts with the largest gaps until the scores are complete, in MAX_STEPS at most."""
        parts = self.parts(list(pairwise(EDGES)), PART_STEPS)
        while True:
            result = self.sum_of([best for part in parts for best in part.best()])
            room = (MAX_STEPS - self.steps) // (2 * PART_STEPS)  # parts that can still be halved
            if result.complete or room < 1:
                return result
            finest = sorted((part for each in parts for part in each.finest()), key=lambda part: abs(part.gap))
            gaps = np.cumsum([abs(part.gap) for part in finest])
            coarse = finest[int(np.searchsorted(gaps, result.allowed / 2, side="right")) :][-room:]
            halves = self.parts([half for part in coarse for half in pairwise(np.linspace(*part.span, 3).tolist())], PART_STEPS)
            for i, part in enumerate(coarse):
                part.halves = halves[2 * i : 2 * i + 2]


def along(
    model: Model, trace: Trace, places: npt.NDArray[np.float64], noise: npt.NDArray[np.float32] | None = None
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Yield log-odds (B,) and gradients (B, m, d) at places between baseline (0) and text (1), and the path (m, d) between them, by batch.

    Only leaf tensors of this call require gradients, never the parameters. So all threads can use the same model.

    Args:
        noise: (N, m, d) added to the embeddings at each place; that of special tokens is left out.
    """

    from sentviz.models.batches import tokens_per_batch

    k, against = trace.target_places
    changed = model.applied(model.intervention(trace.change))
    encoded = model.encode(trace.text, trace.text_pair, trace.change)
    inputs, (text, path) = model.inputs(encoded), line(model, trace)
    words = torch.from_numpy(~encoded.specials)[:, None]

    def batch(chunk: torch.Tensor, added: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.inference_mode(False), torch.enable_grad():
            tokens = text - (1 - chunk[:, None, None]) * path
            tokens = (tokens if added is None else tokens + added * words).requires_grad_()
            logits = model.network(replace(inputs.expand(len(chunk)), vectors=tokens), change=changed).logits
            rest = logits[:, against, None] if against is not None else torch.cat([logits[:, :k], logits[:, k + 1 :]], dim=1)
            value = logits[:, k] - rest.logsumexp(dim=1)
            return value.detach(), torch.autograd.grad(value.sum(), tokens)[0]

    size = max(1, tokens_per_batch(model.network) // len(encoded))
    for start in range(0, len(places), size):
        model.check()
        added = None if noise is None else torch.from_numpy(noise[start : start + size]).to(path)
        yield *batch(torch.from_numpy(places[start : start + size]).to(path), added), path


def line(model: Model, trace: Trace) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the embeddings of a text's tokens and their distance from the baseline, (m, d) each; the distance of special tokens is 0."""
    encoded = model.encode(trace.text, trace.text_pair, trace.change)
    with torch.inference_mode(False), torch.no_grad():
        text = model.network.rows(model.inputs(encoded).ids[0])
        return text, text * torch.from_numpy(~encoded.specials)[:, None]


def smoothgrad(model: Model, trace: Trace, *, samples: int = SMOOTH_SAMPLES, noise: float = NOISE, seed: int = 0) -> Floats:
    """Return the scores of the tokens, (m,) log-odds; 0 for special tokens.

    Args:
        samples: number of noisy copies. noise: standard deviation as a share of the range of the embedding entries.
        seed: seed of the noise.
    """
    if samples < 1 or noise < 0:
        raise InputError(f"SmoothGrad needs at least one sample and noise of 0 or more, not {samples} and {noise:g}.")
    _, path = line(model, trace)
    words = path[~trace.specials].numpy()
    spread = noise * float(np.ptp(words)) if words.size else 0.0
    total: npt.NDArray[np.float64] = np.zeros(len(trace.tokens))
    for added in noisy(samples, path.shape, spread, seed):
        for _, slopes, path in along(model, trace, np.ones(len(added)), added):
            total += (slopes * path).sum(dim=(0, 2)).double().numpy()
    return np.asarray(total / samples, dtype=np.float32)


def noisy(samples: int, shape: tuple[int, ...], spread: float, seed: int, at_once: int = 8) -> list[npt.NDArray[np.float32]]:
    """Return normal noise (samples, *shape) in parts of `at_once` samples, with standard deviation `spread`."""
    rng = np.random.default_rng(seed)
    sizes = [min(at_once, samples - start) for start in range(0, samples, at_once)]
    return [spread * rng.standard_normal((size, *shape), dtype=np.float32) for size in sizes]


def gradient_shap(model: Model, trace: Trace, *, samples: int = SHAP_SAMPLES, spread: float = SHAP_SPREAD, seed: int = 0) -> Floats:
    """Return the scores of the tokens, (m,) log-odds; 0 for special tokens.

    Args:
        samples: number of baselines, one place on the line from each. spread: sigma in standard deviations of the embedding entries.
        seed: seed of the baselines and places.
    """
    if samples < 1 or spread < 0:
        raise InputError(f"Gradient SHAP needs at least one sample and a spread of 0 or more, not {samples} and {spread:g}.")
    _, path = line(model, trace)
    words = ~trace.specials
    sigma = spread * float(path[words].std()) if words.any() else 0.0
    rng = np.random.default_rng(seed)
    places = rng.permutation((np.arange(samples) + rng.random(samples)) / samples)
    total: npt.NDArray[np.float64] = np.zeros(len(trace.tokens))
    start = 0
    for baselines in noisy(samples, path.shape, sigma, seed + 1):
        baselines *= words[:, None]
        some = places[start : start + len(baselines)]
        start += len(baselines)
        at, added = 0, (1 - some[:, None, None]).astype(np.float32) * baselines  # b + a (x - b) = a x + (1 - a) b
        for odds, slopes, path in along(model, trace, some, added):
            steps = path - torch.from_numpy(baselines[at : at + len(odds)])
            total += (slopes * steps).sum(dim=(0, 2)).double().numpy()
            at += len(odds)
    return np.asarray(total / samples, dtype=np.float32)
