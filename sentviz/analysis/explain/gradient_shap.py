"""Gradient SHAP: expected gradients over random baselines (Erion et al. 2021, arXiv 1906.10670).

    mean over samples of (x_j - b_j) . df/dx_j at b + a (x - b),     b ~ N(0, sigma^2),  a uniform in [0, 1]

The baseline of integrated gradients is b = 0. Here baselines are random around 0; sigma is the standard deviation of the text's embedding
entries. One place a is drawn in each of `samples` equal parts of [0, 1]. The scores sum to f(text) minus the mean of f(b), up to the
sampling error. Special tokens are unchanged, so they score 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.gradients import Floats, along, line
from sentviz.analysis.explain.smoothgrad import noisy
from sentviz.errors import InputError
from sentviz.io.lazy import torch
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

SAMPLES, SPREAD = 64, 1.0


def gradient_shap(model: Model, trace: Trace, *, samples: int = SAMPLES, spread: float = SPREAD, seed: int = 0) -> Floats:
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
