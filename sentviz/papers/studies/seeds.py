"""Models compared over the seeds they were trained with: what other test rows and other trainings would change.

An accuracy varies with the rows, with the training, and with both at once (a row that one training gets right and another wrong). With the
rows as they are for every run, these are the components of a two-way table without repeats, rows x seeds; both are drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sentviz.errors import InputError
from sentviz.papers.studies.stats import Bools, aligned
from sentviz.runs.store import Run


@dataclass(frozen=True)
class SeedNoise:
    """How far accuracies (0..1) of one configuration lie apart from seed to seed, on the same rows."""

    between: float  # variance of the accuracy over seeds, as measured
    rows: float  # the part of it that is there because the rows are so many and not more
    freedom: int  # degrees of freedom of `between`

    @property
    def training(self) -> float:
        """The variance that chance in training brings, however many the rows."""
        return max(0.0, self.between - self.rows)


@dataclass(frozen=True)
class SeedComparison:
    """Two models on the same rows, each trained with one or more seeds; accuracies as shares (0..1)."""

    n: int  # rows
    accuracies_a: tuple[float, ...]  # one per seed
    accuracies_b: tuple[float, ...]
    difference: float  # mean of a minus mean of b
    low: float  # for other rows and other seeds
    high: float
    p: float  # two-sided
    freedom: float  # degrees of freedom of interval and test

    @property
    def spread_a(self) -> float:
        """Standard deviation of a's accuracy over its seeds (divisor S - 1); NaN for one seed."""
        return _spread(self.accuracies_a)

    @property
    def spread_b(self) -> float:
        """That of b."""
        return _spread(self.accuracies_b)


def seed_noise(groups: Iterable[Sequence[Run]], split: str = "test") -> SeedNoise | None:
    """What seeds change, pooled over configurations; None where none of them has two seeds.

    Pooling takes it to be the same for every configuration: three seeds of one say little of it, those of fifteen a lot.

    Args:
        groups: the runs of a configuration each, which differ in their seeds.
    Raises:
        InputError: runs of a group were not tested on the same rows, or not on the split.
    """
    return _pooled([aligned(runs, split) for runs in groups if len(runs) > 1])


def over_seeds(
    a: Sequence[Run], b: Sequence[Run], split: str = "test", noise: SeedNoise | None = None, *, level: float = 0.95
) -> SeedComparison:
    """Two models by the mean accuracy of their seeds, with a t interval and test for other rows and other seeds of the same kind.

    The variance is that of the rows' mean differences, plus what chance in training brings to means over so many seeds (`noise`, by default
    as the two sides show it). Satterthwaite (1946) gives the degrees of freedom. In simulations of equal models the test at 5 % rejects 3
    to 6 in 100 with noise pooled over fifteen configurations, 1 to 6 with that of the two sides alone.

    Raises:
        InputError: a side is empty or names a run twice; both have one seed and no noise is given; the runs were not tested on the same
            rows, or not on the split.
        RunError: predictions are missing or damaged.
    """
    for side in (a, b):
        if not side or len({run.folder.resolve() for run in side}) < len(side):
            raise InputError("Each side needs at least one run, and none twice.")
    both = aligned([*a, *b], split)
    return _compared(both[:, : len(a)], both[:, len(a) :], noise, level)


def _compared(of_a: Bools, of_b: Bools, noise: SeedNoise | None = None, level: float = 0.95) -> SeedComparison:
    """Of (N, A) and (N, B) answers."""
    noise = noise or _pooled([side for side in (of_a, of_b) if side.shape[1] > 1])
    if noise is None:
        raise InputError("One seed each says nothing of other seeds: compare the two runs, or give the noise of others.")
    rows = of_a.mean(axis=1) - of_b.mean(axis=1)
    error, freedom = standard_error(float(rows.var(ddof=1)) / len(rows), noise, 1 / of_a.shape[1] + 1 / of_b.shape[1])
    difference = float(rows.mean())
    half = half_width(error, freedom, level)
    p = _two_sided(difference, error, freedom)
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
    """Standard error and degrees of freedom (Satterthwaite 1946, at least those of the noise) of a mean over seeds, or a difference of two.

    Args:
        rows: its variance over rows with the seeds as they are.
        share: what training's variance counts: 1 / seeds, summed over the sides.
    """
    variance = rows + share * noise.training
    counted = share * noise.between
    return float(np.sqrt(variance)), max(noise.freedom, (variance / counted) ** 2 * noise.freedom) if counted else np.inf


def half_width(error: float, freedom: float, level: float = 0.95) -> float:
    """Of a t interval."""
    from scipy.special import ndtri, stdtrit  # scipy.stats would take a second to come

    tail = (1 + level) / 2
    return float(ndtri(tail) if np.isinf(freedom) else stdtrit(freedom, tail)) * error


def _two_sided(difference: float, error: float, freedom: float) -> float:
    from scipy.special import ndtr, stdtr

    if not error:
        return float(difference == 0)
    distance = -abs(difference) / error
    return 2 * float(ndtr(distance) if np.isinf(freedom) else stdtr(freedom, distance))


def _pooled(groups: Sequence[Bools]) -> SeedNoise | None:
    """Of (N, S) answers each: mean squares between seeds, and of what rows and seeds leave, weighted by their degrees of freedom."""
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


def _spread(values: tuple[float, ...]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
