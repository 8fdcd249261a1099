"""Comparisons of runs and error levels, against scipy, slow definitions, hand-made cases and simulation."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binomtest, norm

from sentviz.analysis import claim
from sentviz.analysis.claim import Finding, Kind
from sentviz.analysis.evaluation import holm
from sentviz.errors import InputError, RunError
from sentviz.papers.studies.claims import claims_of
from sentviz.papers.studies.stats import aligned, paired, right
from sentviz.papers.studies.verdicts import stored_findings
from sentviz.runs.registry import built_in, find_paper
from sentviz.runs.store import Run
from tests.kit import refused
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


def test_cells_mcnemar_and_bootstrap_are_those_by_hand(make: Maker, run: Run) -> None:
    got = right(make("a", [True, False, True, True], order=np.array([2, 0, 1, 3])))
    assert list(got.items()) == [("x-2", True), ("x-0", True), ("x-1", False), ("x-3", True)]
    assert got.index.name == "id" and got.dtype == bool
    assert right(run).mean() == pytest.approx(run.metrics()["test"]["accuracy"]["value"], abs=1e-5)
    a = make("a", [True, True, True, True, False, False])
    b = make("b", [True, False, False, False, True, False], order=np.array([5, 1, 0, 3, 2, 4]))
    got, same = paired(a, b), paired(a, a)
    assert (got.n, got.both_right, got.only_a, got.only_b, got.neither) == (6, 1, 3, 1, 1)
    assert got.difference == pytest.approx(2 / 6) and got.low < got.difference < got.high
    assert got.p == pytest.approx(2 * (1 + 4) / 16) and (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)
    a, b = make("a", [True, False, True, True]), make("b", [False, True, True, False], order=np.array([3, 1, 0, 2]))
    np.testing.assert_array_equal(aligned([a, b], "test").T, [[True, False, True, True], [False, True, True, False]])
    np.testing.assert_array_equal(aligned([a, make("b", [True] * 4)], "test")[:, 1], [True] * 4)
    for n, a, b in [(40, 0.9, 0.5), (40, 0.6, 0.6), (900, 0.8, 0.83)]:
        first, second = (make(name, side) for name, side in zip("ab", answers(n, a, b, 0.5), strict=True))
        got, back = paired(first, second), paired(second, first)
        assert got.p == pytest.approx(binomtest(got.only_a, got.only_a + got.only_b).pvalue, rel=1e-9)
        assert back.p == got.p and back.difference == -got.difference
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


def test_holm_and_false_discovery_by_hand() -> None:
    raw = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}
    assert holm(raw) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}) and list(holm(raw)) == list(raw)
    assert holm({"a": 0.6, "b": 1.0, "c": 0.0}) == {"a": 1.0, "b": 1.0, "c": 0.0} and holm({}) == {} and holm({"one": 0.2}) == {"one": 0.2}
    for wrong in (-0.1, 1.1, math.nan):
        refused(InputError, "Outside this range: bad", holm, {"good": 0.5, "bad": wrong})
    rng = np.random.default_rng(0)
    for _ in range(300):
        p = np.round(rng.random(rng.integers(1, 30)) ** rng.integers(1, 6), 3)
        adjusted = claim.false_discovery({str(i): float(each) for i, each in enumerate(p)})
        for level in (0.01, 0.0512345, 0.2):
            assert {int(name) for name, each in adjusted.items() if each <= level + 1e-12} == slow_rejections(p.tolist(), level)
    assert claim.false_discovery({}) == {}
    refused(InputError, "Outside this range: b", claim.false_discovery, {"a": 0.5, "b": 1.5})
    for value in (-2.0, 0.3, 1.96, 4.0):
        for coverage in (0.9, 0.95, 0.999):
            half = 0.5 * norm.ppf((1 + coverage) / 2)
            p = claim.p_of_interval(value, value - half, value + half, 1.0, coverage=coverage)
            assert p == pytest.approx(2 * norm.sf(abs(value - 1.0) / 0.5))
    assert claim.p_of_interval(1.0, 1.0, 1.0, 1.0) == 1.0 and claim.p_of_interval(2.0, 2.0, 2.0, 1.0) == 0.0


def test_equivalence_has_three_answers() -> None:
    intervals = {(-0.4, 0.4): True, (0.5, 0.9): False, (-0.9, -0.6): False, (-0.6, 0.4): None, (0.1, 0.5): None}
    assert {interval: claim.equivalent(*interval, 0.5) for interval in intervals} == intervals
    refused(InputError, "larger than 0", claim.equivalent, 0, 1, 0)
    p_values = [claim.p_of_margin(*interval, 0.5) for interval in ((0.1, -0.3, 0.5), (0.7, 0.5, 0.9), (0.0, 0.0, 0.0))]
    assert p_values == pytest.approx([0.025, 0.025, 0])


def test_other_rows_and_damaged_predictions_are_named(make: Maker) -> None:
    a, shifted = make("a", [True] * 6), make("b", [True] * 6, shift=1)
    for second in (make("few", [True] * 5), make("more", [True] * 8, order=np.arange(2, 8)), shifted):
        refused(InputError, f"a and {second.name} were not tested on the same rows of test", paired, a, second)
    refused(InputError, "a was not tested on 'official_test'", right, a, "official_test")
    a, gone, altered = (make(name, [True, False, True]) for name in ("a", "gone", "altered"))
    (gone.folder / "test.parquet").unlink()
    (altered.folder / "test.parquet").write_bytes(b"PAR1")
    twice = make("twice", [True, False, True], order=np.array([0, 1, 1]))
    nameless = make("nameless", [True, False, True], neutral="indifferent")
    for run, reason in {gone: "missing", altered: "damaged", twice: "twice", nameless: "no column 'neutral'"}.items():
        refused(RunError, f"^{run.name}: test.parquet .*{reason}", paired, a, run)


def slow_rejections(p_values: list[float], level: float) -> set[int]:
    """Benjamini and Hochberg's rule word by word: the largest k whose k-th smallest p is at most k / m of the level."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    most = max((k for k in range(1, len(order) + 1) if p_values[order[k - 1]] <= k / len(order) * level), default=0)
    return set(order[:most])


def test_only_tested_claims_have_a_level() -> None:
    sure, unsure, unjudged = Finding("holds", "", p=0.02), Finding("open", "", p=0.001), Finding("unjudged", "", p=0.01)
    board: dict[str, tuple[Kind, Finding]] = {"a": ("tested", sure), "b": ("counted", sure), "c": ("tested", unjudged)}
    assert claim.over_board(board) == {"a": 0.02}
    assert claim.over_board(board | {"d": ("tested", unsure), "e": ("tested", unsure)}) == {"a": pytest.approx(0.06)}
    assert claim.over_board({"a": ("tested", Finding("fails", ""))}) == {"a": 1.0}
    assert claim.level_in_words(0.02, 0.06) == "p = 0.02, after Benjamini and Hochberg = 0.06: not significant over the paper's board"
    assert claim.level_in_words(1e-9, 0.03) == "p < 0.0001, after Benjamini and Hochberg = 0.03"
    assert claim.level_in_words(float("nan"), float("nan")) == ""
    words = claim.decided_in_words(["holds", "open", "fails", "holds"], ["printed", "tested", "tested", "printed"])
    assert words == "3 decided: 2 printed, 1 tested (5 % risk each)" and claim.decided_in_words(["open"], ["tested"]) == "0 decided"
    stored = stored_findings()
    for name in built_in():
        for each in claims_of(find_paper(name)):
            finding = stored[each.key(name)]
            if each.kind == "tested" and finding.verdict in ("holds", "fails"):
                effect = finding.effect
                assert finding.p is not None or (effect is not None and effect.low is not None and effect.high is not None), each.id
                assert finding.level is not None and finding.level <= 0.05, (each.id, finding.level)
