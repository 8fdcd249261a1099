"""SmoothGrad: gradient x input, with the gradient averaged over noisy copies of the embeddings (Smilkov et al. 2017, arXiv 1706.03825).

    x_j . mean over copies of df/dx_j at x + noise,     noise ~ N(0, sigma^2)

sigma is NOISE times the range of the text's embedding entries, as in the paper. The embeddings of special tokens get no noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.gradients import Floats, along, line
from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

SAMPLES, NOISE = 32, 0.1


def smooth_gradient(model: Model, trace: Trace, *, samples: int = SAMPLES, noise: float = NOISE, seed: int = 0) -> Floats:
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
