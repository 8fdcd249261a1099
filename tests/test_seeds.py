"""Models compared over seeds: components by hand, simulated equal models, and what runs of one seed can say."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import bartlett, t

from sentviz.analysis.seeds import SeedNoise, compare_correctness, equal_spread, pooled_noise, standard_error
from sentviz.errors import InputError
from sentviz.papers.studies.stats import compare_over_seeds, seed_noise
from sentviz.runs.store import Run
from tests.studies import answering

Bools = npt.NDArray[np.bool_]
Maker = Callable[..., Run]


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return partial(answering, tmp_path)


def trained(n: int, seeds: int, rng: np.random.Generator, between: float, chances: npt.NDArray[np.float64] | None = None) -> Bools:
    """Return answers (n, seeds) of a model: most rows easy, some by chance; each training is shifted by `between`."""
    easy = 1 - rng.beta(1, 40, n)
    chances = np.where(rng.random(n) < 0.8, easy, rng.beta(1.2, 1.2, n)) if chances is None else chances
    return rng.random((n, seeds)) < np.clip(chances[:, None] + rng.normal(0, between, seeds), 0, 1)


def slow(answers: Bools) -> tuple[float, float]:
    """Return the variances between seeds and of rows x seeds over n, by sums over single cells."""
    n, seeds = answers.shape
    whole = answers.mean()
    of_seed, of_row = [answers[:, s].mean() for s in range(seeds)], [answers[i].mean() for i in range(n)]
    between = sum((mean - whole) ** 2 for mean in of_seed) / (seeds - 1)
    left = sum((answers[i, s] - of_row[i] - of_seed[s] + whole) ** 2 for i in range(n) for s in range(seeds))
    return between, left / ((n - 1) * (seeds - 1)) / n


def test_components_are_those_of_a_two_way_table() -> None:
    """The pooled noise of configurations with three and two seeds is weighted 2 to 1."""
    rng = np.random.default_rng(0)
    first, second = trained(60, 3, rng, 0.1), trained(60, 2, rng, 0.1)
    pooled = pooled_noise([first, second])
    assert pooled is not None and pooled.freedom == 3
    (between, rows), (other_between, other_rows) = slow(first), slow(second)
    assert pooled.between == pytest.approx((2 * between + other_between) / 3)
    assert pooled.rows == pytest.approx((2 * rows + other_rows) / 3)
    assert SeedNoise(0.02, 0.03, 4).training == 0 and SeedNoise(0.03, 0.02, 4).training == pytest.approx(0.01)
    assert pooled_noise([]) is None


def test_error_and_freedom_by_hand() -> None:
    """Variance 4 and noise 9 - 3 = 6, counted 1/3 + 1/2 times, give the error; Satterthwaite's degrees are at least those of the noise."""
    error, freedom = standard_error(4.0, (SeedNoise(9.0, 3.0, 5), 5 / 6))
    assert error == pytest.approx(3.0)
    assert freedom == pytest.approx(9.0**2 / ((5 / 6 * 9) ** 2 / 5))
    assert standard_error(0.1, (SeedNoise(9.0, 9.0, 5), 1.0)) == (pytest.approx(math.sqrt(0.1)), 5)
    assert standard_error(4.0, (SeedNoise(0.0, 0.0, 5), 1.0)) == (2.0, math.inf)
    error, freedom = standard_error(1.0, (SeedNoise(6.0, 0.0, 2), 1 / 3), (SeedNoise(3.0, 0.0, 4), 1 / 3))  # Welch: 1 + 2 + 1
    assert error == pytest.approx(2.0) and freedom == pytest.approx(4.0**2 / (2.0**2 / 2 + 1.0**2 / 4))


def test_equal_spreads_are_tested_as_scipy_does() -> None:
    rng = np.random.default_rng(4)
    samples = [rng.normal(0, 1 + 2 * (k == 0), 3 + k) for k in range(5)]
    assert equal_spread([x.var(ddof=1) for x in samples], [len(x) - 1 for x in samples]) == pytest.approx(bartlett(*samples).pvalue)
    assert equal_spread([1.0], [2]) == 1.0


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("seeds", [(1, 1), (3, 1), (2, 5)])
@pytest.mark.exhaustive
def test_equal_models_are_told_apart_no_more_than_by_chance(seeds: tuple[int, int], unequal: bool) -> None:
    """Of 1,000 pairs of equal models at most 7 % are told apart, and few at Holm's level of 12, whether their spreads are equal or not.

    Accuracies vary by 2 points from seed to seed. Unequal: by 0.5 to 8 points, a spread of its own for each model and for each of twelve
    further configurations with three seeds, over which the noise is pooled. A test that does not decide tells nothing apart.
    """
    rng, ps = np.random.default_rng(1), []
    for _ in range(1_000):
        chances = np.where(rng.random(400) < 0.8, 1 - rng.beta(1, 40, 400), rng.beta(1.2, 1.2, 400))
        spreads = 0.005 * 16 ** rng.random(14) if unequal else np.full(14, 0.02)
        a, b, *more = (trained(400, s, rng, spread, chances) for s, spread in zip((*seeds, *(3,) * 12), spreads, strict=True))
        got = compare_correctness(a, b, pooled_noise([side for side in (a, b, *more) if side.shape[1] > 1]))
        ps.append(1.0 if got.unequal else got.p)
    assert np.mean(np.array(ps) < 0.05) <= 0.07 and np.mean(np.array(ps) < 0.05 / 12) <= 0.015
    assert unequal or np.mean(np.array(ps) < 0.05) >= 0.01  # the test decides if the spreads are equal


def test_over_seeds_from_runs(make: Maker) -> None:
    """Accuracies, their spread, the interval and p equal those computed in the test from the components."""
    rng = np.random.default_rng(5)
    a, b = trained(300, 3, rng, 0.05), trained(300, 2, rng, 0.05)
    of_a, of_b = ([make(f"{name}{s}", side[:, s]) for s in range(side.shape[1])] for name, side in (("a", a), ("b", b)))
    got = compare_over_seeds(of_a, of_b)
    assert got.n == 300 and got.accuracies_a == pytest.approx(a.mean(axis=0)) and got.accuracies_b == pytest.approx(b.mean(axis=0))
    (between_a, rows_a), (between_b, rows_b) = slow(a), slow(b)
    between, rows = (2 * between_a + between_b) / 3, (2 * rows_a + rows_b) / 3  # pooled, for the model with two seeds
    counted = max(0, between_a - rows_a) / 3 + max(0, between - rows) / 2
    variance = (a.mean(axis=1) - b.mean(axis=1)).var(ddof=1) / 300 + counted
    freedom = max(2, variance**2 / ((between_a / 3) ** 2 / 2 + (between / 2) ** 2 / 3))
    assert got.spread == "own and pooled spread"
    assert got.difference == pytest.approx(a.mean() - b.mean()) and got.freedom == pytest.approx(freedom)
    half = t.ppf(0.975, freedom) * math.sqrt(variance)
    assert (got.low, got.high) == pytest.approx((got.difference - half, got.difference + half))
    assert got.p == pytest.approx(2 * t.sf(abs(got.difference) / math.sqrt(variance), freedom))
    assert compare_over_seeds(of_b, of_a).p == got.p
    wider = compare_over_seeds(of_a, of_b, level=0.999)
    assert wider.high > got.high and wider.p == got.p
    noise = seed_noise([of_a, of_b, of_a[:1]])
    assert noise is not None and compare_over_seeds(of_a, of_b, noise=noise) == got
    assert compare_over_seeds(of_a, of_b[:1], noise=noise).accuracies_a == got.accuracies_a
    assert seed_noise([of_a[:1], of_b[:1]]) is None


def test_runs_that_never_part(make: Maker) -> None:
    """Runs with equal answers have no difference, an interval of width 0, and p = 1."""
    side = [make(f"r{s}", [True, False, True]) for s in range(4)]
    got = compare_over_seeds(side[:2], side[2:])
    assert (got.difference, got.low, got.high, got.p) == (0, 0, 0, 1)


def test_what_cannot_be_compared_is_said(make: Maker) -> None:
    """A repeated run, one seed per side without given noise, and other rows are refused."""
    a, b, few = make("a", [True, False]), make("b", [False, True]), make("few", [True])
    for sides in (([], [b]), ([a], []), ([a, a], [b])):
        with pytest.raises(InputError, match="at least one run, and no run twice"):
            compare_over_seeds(*sides)
    with pytest.raises(InputError, match="Seed variance cannot be estimated"):
        compare_over_seeds([a], [b])
    with pytest.raises(InputError, match="a and few were not tested on the same rows"):
        compare_over_seeds([a, b], [few])
