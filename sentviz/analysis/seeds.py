"""Comparison of models over their training seeds, with intervals for other test rows and other seeds.

An accuracy varies with the rows, with the training, and with both at once (a row that one training gets right and another wrong). If every
run is tested on the same rows, these are the variance components of a two-way table of rows and seeds without repeats. Rows and seeds are
both random samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SeedNoise:
    """Variance of the accuracy (0 to 1) of one configuration from seed to seed, on the same rows."""

    between: float  # variance of the accuracy over seeds, as measured
    rows: float  # part of `between` that comes from the limited number of rows
    freedom: int  # degrees of freedom of `between`

    @property
    def training(self) -> float:
        """Variance that chance in training adds, for any number of rows."""
        return max(0.0, self.between - self.rows)


@dataclass(frozen=True)
class SeedComparison:
    """Comparison of two models on the same rows, each trained with one or more seeds; accuracies are shares (0 to 1)."""

    n: int  # rows
    accuracies_a: tuple[float, ...]  # one per seed
    accuracies_b: tuple[float, ...]
    difference: float  # mean of a minus mean of b
    low: float  # end of the interval for other rows and other seeds
    high: float
    p: float  # two-sided
    freedom: float  # degrees of freedom of interval and test


def compare_correctness(
    of_a: Bools, of_b: Bools, noise: SeedNoise | None = None, level: float = 0.95, *, fixed: tuple[bool, bool] = (False, False)
) -> SeedComparison:
    """Compare two models from correctness matrices, (N rows, A seeds) and (N rows, B seeds), bool.

    The variance is that of the rows' mean differences, plus the variance that chance in training adds to means over these seeds (`noise`,
    by default estimated from the two models). Satterthwaite (1946) gives the degrees of freedom. In simulations of equal models the test at
    5 % rejects 3 to 6 in 100 with noise pooled over fifteen configurations, 1 to 6 with the noise of the two models alone.

    Args:
        fixed: for each model, whether it is one finished model and not a sample of trainings: chance in training then adds nothing to it.
    Raises:
        InputError: both have one seed and `noise` is None.
    """
    noise = noise or pooled_noise([side for side in (of_a, of_b) if side.shape[1] > 1])
    if noise is None:
        raise InputError("Seed variance cannot be estimated from one seed per side. Compare the two runs directly, or pass `noise`.")
    rows = of_a.mean(axis=1) - of_b.mean(axis=1)
    share = sum(1 / side.shape[1] for side, is_fixed in zip((of_a, of_b), fixed, strict=True) if not is_fixed)
    error, freedom = standard_error(float(rows.var(ddof=1)) / len(rows), noise, share)
    difference = float(rows.mean())
    half = half_width(error, freedom, level)
    p = two_sided(difference, error, freedom)
    return SeedComparison(
        n=len(of_a),
        accuracies_a=tuple(of_a.mean(axis=0).tolist()),
        accuracies_b=tuple(of_b.mean(axis=0).tolist()),
        difference=difference,
        low=difference - half,
        high=difference + half,
        p=p,
        freedom=freedom,
    )


def standard_error(rows: float, noise: SeedNoise, share: float) -> tuple[float, float]:
    """Return the standard error of a mean over seeds, or of a difference of two, and its degrees of freedom.

    The degrees of freedom are those of Satterthwaite (1946), at least those of the noise.

    Args:
        rows: variance over rows, for the same seeds.
        share: weight of the training variance: 1 / seeds, summed over the models.
    """
    variance = rows + share * noise.training
    counted = share * noise.between
    return float(np.sqrt(variance)), max(noise.freedom, (variance / counted) ** 2 * noise.freedom) if counted else np.inf


def half_width(error: float, freedom: float, level: float = 0.95) -> float:
    """Return half the width of a t interval."""
    from scipy.special import ndtri, stdtrit  # importing scipy.stats takes a second

    tail = (1 + level) / 2
    return float(ndtri(tail) if np.isinf(freedom) else stdtrit(freedom, tail)) * error


def two_sided(difference: float, error: float, freedom: float) -> float:
    """Return the two-sided p of a t test."""
    from scipy.special import ndtr, stdtr

    if not error:
        return float(difference == 0)
    distance = -abs(difference) / error
    return 2 * float(ndtr(distance) if np.isinf(freedom) else stdtr(freedom, distance))


def pooled_noise(groups: Sequence[Bools]) -> SeedNoise | None:
    """Return the pooled noise of correctness matrices (N rows, S seeds): weighted by degrees of freedom; None without a matrix."""
    if not groups:
        return None
    between = rows = 0.0
    for answers in groups:
        n, seeds = answers.shape
        means = answers.mean(axis=0)
        left = answers - answers.mean(axis=1, keepdims=True) - means + means.mean()
        between += (seeds - 1) * float(means.var(ddof=1))
        rows += float((left**2).sum()) / max(n - 1, 1) / n
    freedom = sum(answers.shape[1] - 1 for answers in groups)
    return SeedNoise(between / freedom, rows / freedom, freedom)
