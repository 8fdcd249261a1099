"""Comparison of models over their training seeds, with intervals for other test rows and other seeds.

An accuracy varies with the rows, with the training, and with both at once (a row that one training gets right and another wrong). If every
run is tested on the same rows, these are the variance components of a two-way table of rows and seeds without repeats. Rows and seeds are
both random samples.

The spread over seeds may differ between models. A model with `OWN_SEEDS` seeds is therefore compared by its own spread, as in Welch's test,
a model with fewer seeds by the spread that is pooled over configurations, if Bartlett's test finds no difference between their spreads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.io.lazy import special

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
OWN_SEEDS = 3  # seeds of a model from which its own spread is used
UNEQUAL = 0.05  # p of Bartlett's test below which a pooled spread stands for no single model
SPREAD_IN_WORDS = "the own variance between seeds of a model that has three (Welch), else the variance pooled over configurations"
Spread = Literal["own spread", "pooled spread", "own and pooled spread"]


@dataclass(frozen=True)
class SeedNoise:
    """Variance of the accuracy (0 to 1) of one configuration from seed to seed, on the same rows."""

    between: float  # variance of the accuracy over seeds, as measured
    rows: float  # part of `between` that comes from the limited number of rows
    freedom: int  # degrees of freedom of `between`
    equal: float = 1.0  # p of Bartlett's test that the pooled configurations have equal spreads; 1 for a single configuration

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
    spread: Spread = "pooled spread"  # the spread over seeds that was used: of each model, pooled over configurations, or one of each
    unequal: bool = False  # a pooled spread was used although the spreads of the configurations differ: the test does not decide


def compare_correctness(
    of_a: Bools | Floats,
    of_b: Bools | Floats,
    noise: SeedNoise | None = None,
    level: float = 0.95,
    *,
    fixed: tuple[bool, bool] = (False, False),
) -> SeedComparison:
    """Compare two models from correctness matrices, (N rows, A seeds) and (N rows, B seeds), bool.

    Other values of rows, whose mean is a number of the run, are compared in the same way if both models have `OWN_SEEDS` seeds.

    The variance is that of the rows' mean differences, plus the variance that chance in training adds to the mean of each model: its own
    with `OWN_SEEDS` seeds or more (Welch 1947), else the pooled one. Satterthwaite (1946) gives the degrees of freedom. In simulations of
    equal models, of equal or unequal spread, the test at 5 % rejects at most 7 in 100 (`tests/test_seeds.py`).

    Args:
        noise: pooled over configurations; default: over the two models.
        fixed: for each model, whether it is one finished model and not a sample of trainings: chance in training then adds nothing to it.
    """
    noise = noise or pooled_noise([side for side in (of_a, of_b) if side.shape[1] > 1])
    sides = [side for side, is_fixed in zip((of_a, of_b), fixed, strict=True) if not is_fixed]
    own = [side for side in sides if side.shape[1] >= OWN_SEEDS]
    few = sum(1 / side.shape[1] for side in sides if side.shape[1] < OWN_SEEDS)
    if few and noise is None:
        raise InputError("Seed variance cannot be estimated from one seed per side. Compare the two runs directly, or pass `noise`.")
    parts = [(of_side, 1 / side.shape[1]) for side in own if (of_side := pooled_noise([side]))]
    parts += [(noise, few)] if few and noise else []
    rows = of_a.mean(axis=1) - of_b.mean(axis=1)
    error, freedom = standard_error(float(rows.var(ddof=1)) / len(rows), *parts)
    difference, half = float(rows.mean()), half_width(error, freedom, level)
    return SeedComparison(
        n=len(of_a),
        accuracies_a=tuple(of_a.mean(axis=0).tolist()),
        accuracies_b=tuple(of_b.mean(axis=0).tolist()),
        difference=difference,
        low=difference - half,
        high=difference + half,
        p=two_sided(difference, error, freedom),
        freedom=freedom,
        spread="pooled spread" if not own else "own and pooled spread" if few else "own spread",
        unequal=bool(few and noise and noise.equal < UNEQUAL),
    )


def standard_error(rows: float, *parts: tuple[SeedNoise, float]) -> tuple[float, float]:
    """Return the standard error of a mean over seeds, or of a difference of two, and its degrees of freedom.

    The degrees of freedom are those of Satterthwaite (1946), at least the fewest of the noises.

    Args:
        rows: variance over rows, for the same seeds.
        parts: noises, each with the weight of its training variance: 1 / seeds, summed over the models that have this noise.
    """
    variance = rows + sum(share * noise.training for noise, share in parts)
    uncertain = sum((share * noise.between) ** 2 / noise.freedom for noise, share in parts)
    least = min((noise.freedom for noise, share in parts if share * noise.between), default=0)
    return float(np.sqrt(variance)), max(least, variance**2 / uncertain) if uncertain else np.inf


def half_width(error: float, freedom: float, level: float = 0.95) -> float:
    """Return half the width of a t interval."""
    tail = (1 + level) / 2
    return float(special.ndtri(tail) if np.isinf(freedom) else special.stdtrit(freedom, tail)) * error


def two_sided(difference: float, error: float, freedom: float) -> float:
    """Return the two-sided p of a t test."""
    if not error:
        return float(difference == 0)
    distance = -abs(difference) / error
    return 2 * float(special.ndtr(distance) if np.isinf(freedom) else special.stdtr(freedom, distance))


def pooled_noise(groups: Sequence[Bools | Floats]) -> SeedNoise | None:
    """Return the pooled noise of correctness matrices (N rows, S seeds): weighted by degrees of freedom; None without a matrix."""
    if not groups:
        return None
    between, rows, degrees = [], [], []
    for answers in groups:
        n, seeds = answers.shape
        means = answers.mean(axis=0)
        left = answers - answers.mean(axis=1, keepdims=True) - means + means.mean()
        between.append(max(float(means.var(ddof=1)), 0.0))
        rows.append(float((left**2).sum()) / max(n - 1, 1) / n / (seeds - 1))
        degrees.append(seeds - 1)
    finest = min(1 / (12 * answers.shape[0] ** 2) for answers in groups)  # accuracies are multiples of 1 / n
    pooled, over_rows = np.average(between, weights=degrees), np.average(rows, weights=degrees)
    return SeedNoise(float(pooled), float(over_rows), sum(degrees), equal_spread([max(each, finest) for each in between], degrees))


def equal_spread(variances: Sequence[float], degrees: Sequence[int]) -> float:
    """Return p of Bartlett's (1937) test that samples with these variances and degrees of freedom have one variance; 1 for one sample."""
    v, f = np.array(variances, dtype=float), np.array(degrees, dtype=float)
    if len(v) < 2:
        return 1.0
    statistic = f.sum() * np.log((f * v).sum() / f.sum()) - (f * np.log(v)).sum()
    correction = 1 + ((1 / f).sum() - 1 / f.sum()) / (3 * (len(v) - 1))
    return float(special.chdtrc(len(v) - 1, statistic / correction))
