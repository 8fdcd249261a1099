"""Comparisons of runs against scipy, hand-made cases, plain loops and simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binomtest

from sentviz.analysis.evaluation import holm
from sentviz.errors import InputError, RunError
from sentviz.papers.studies.stats import aligned, paired, right
from sentviz.runs.store import Run
from tests.studies import answering

Bools = npt.NDArray[np.bool_]
Maker = Callable[..., Run]


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return partial(answering, tmp_path)


def answers(n: int, a: float, b: float, alike: float, seed: int = 0) -> tuple[Bools, Bools]:
    """Return answers of two runs with accuracies a and b that are partly correlated."""
    rng = np.random.default_rng(seed)
    luck = rng.random((n, 2))
    luck[:, 1] = np.where(rng.random(n) < alike, luck[:, 0], luck[:, 1])
    return luck[:, 0] < a, luck[:, 1] < b


def test_right_is_label_against_the_likeliest_class(make: Maker, run: Run) -> None:
    """A row is right if its label is the likeliest class; rows are in the run's order, of one split alone."""
    got = right(make("a", [True, False, True, True], order=np.array([2, 0, 1, 3])))
    assert list(got.items()) == [("x-2", True), ("x-0", True), ("x-1", False), ("x-3", True)]
    assert got.index.name == "id" and got.dtype == bool
    assert right(run).mean() == pytest.approx(run.metrics()["test"]["accuracy"]["value"], abs=1e-5)


def test_cells_by_hand(make: Maker) -> None:
    """The cells of six rows are counted by id, in any order; equal runs have no difference and p = 1."""
    a = make("a", [True, True, True, True, False, False])
    b = make("b", [True, False, False, False, True, False], order=np.array([5, 1, 0, 3, 2, 4]))
    got, same = paired(a, b), paired(a, a)
    assert (got.n, got.both_right, got.only_a, got.only_b, got.neither) == (6, 1, 3, 1, 1)
    assert got.difference == pytest.approx(2 / 6) and got.low < got.difference < got.high
    assert got.p == pytest.approx(2 * (1 + 4) / 16) and (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)


@pytest.mark.parametrize(("n", "a", "b"), [(40, 0.9, 0.5), (40, 0.6, 0.6), (900, 0.8, 0.83)])
def test_mcnemar_is_the_binomial_test_of_scipy(make: Maker, n: int, a: float, b: float) -> None:
    """McNemar's p equals scipy's two-sided binomial test of the discordant rows, from either side."""
    first, second = (make(name, side) for name, side in zip("ab", answers(n, a, b, 0.5), strict=True))
    got, back = paired(first, second), paired(second, first)
    assert got.p == pytest.approx(binomtest(got.only_a, got.only_a + got.only_b).pvalue, rel=1e-9)
    assert back.p == got.p and back.difference == -got.difference


def test_paired_bootstrap_is_resampling_rows(make: Maker) -> None:
    """The interval equals that of resampling row numbers one by one, up to chance, and is the same on every call."""
    a, b = answers(500, 0.8, 0.74, 0.6)
    rng, loop = np.random.default_rng(1), []
    for _ in range(4000):
        rows = rng.integers(0, len(a), size=len(a))
        loop.append(a[rows].mean() - b[rows].mean())
    first, second = make("a", a), make("b", b)
    got = paired(first, second)
    assert [got.low, got.high] == pytest.approx(np.percentile(loop, [2.5, 97.5]), abs=0.004)
    assert (got.high - got.low) / 2 == pytest.approx(1.96 * np.std(loop), rel=0.08)
    assert got == paired(first, second) and got != paired(first, second, seed=1)


def test_holm_by_hand() -> None:
    """Holm's method gives 4 x .005, 3 x .01 and 2 x .03, and raises .04 to the value before it; p values of 1 stay 1."""
    raw = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}
    assert holm(raw) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}) and list(holm(raw)) == list(raw)
    assert holm({"a": 0.6, "b": 1.0, "c": 0.0}) == {"a": 1.0, "b": 1.0, "c": 0.0} and holm({}) == {} and holm({"one": 0.2}) == {"one": 0.2}
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(InputError, match="Outside this range: bad"):
            holm({"good": 0.5, "bad": wrong})


def test_runs_on_other_rows_are_not_compared(make: Maker) -> None:
    """Fewer rows, other ids, other labels under the same ids and a missing split are refused."""
    a, shifted = make("a", [True] * 6), make("b", [True] * 6, shift=1)
    for second in (make("few", [True] * 5), make("more", [True] * 8, order=np.arange(2, 8)), shifted):
        with pytest.raises(InputError, match=f"a and {second.name} were not tested on the same rows of test"):
            paired(a, second)
    with pytest.raises(InputError, match="a was not tested on 'official_test'"):
        right(a, "official_test")


def test_answers_stand_row_by_row_whatever_the_files_order(make: Maker) -> None:
    """Answers are in the row order of the first run; a run trained again in the same folder is read again."""
    a, b = make("a", [True, False, True, True]), make("b", [False, True, True, False], order=np.array([3, 1, 0, 2]))
    np.testing.assert_array_equal(aligned([a, b], "test").T, [[True, False, True, True], [False, True, True, False]])
    np.testing.assert_array_equal(aligned([a, make("b", [True] * 4)], "test")[:, 1], [True] * 4)


def test_damaged_predictions_are_named(make: Maker) -> None:
    """Predictions that are missing, altered, with a repeated row or without a class are named."""
    a, gone, altered = (make(name, [True, False, True]) for name in ("a", "gone", "altered"))
    (gone.folder / "test.parquet").unlink()
    (altered.folder / "test.parquet").write_bytes(b"PAR1")
    twice = make("twice", [True, False, True], order=np.array([0, 1, 1]))
    nameless = make("nameless", [True, False, True], neutral="indifferent")
    for run, reason in {gone: "missing", altered: "damaged", twice: "twice", nameless: "no column 'neutral'"}.items():
        with pytest.raises(RunError, match=f"^{run.name}: test.parquet .*{reason}"):
            paired(a, run)
