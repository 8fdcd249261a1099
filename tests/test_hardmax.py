"""Hardmax dynamics against the rule written out over all pairs."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentviz.errors import InputError
from sentviz.models.clustering import dynamics as hardmax
from sentviz.models.clustering.dynamics import TOLERANCE, attended, kind, simulate, step, weights
from tests.kit import refused

Doubles = npt.NDArray[np.float64]


def members(z: Doubles, a: Doubles, tolerance: float = TOLERANCE) -> list[list[int]]:
    """Return C_i of every token, from loops over pairs of rows."""
    radius = max(math.sqrt(float(x @ x)) for x in z)
    groups = []
    for x in z:
        u = a @ x
        length = math.sqrt(float(u @ u))
        if length == 0:
            groups.append(list(range(len(z))))
            continue
        along = z @ (u / length)
        groups.append(np.flatnonzero(along >= along.max() - tolerance * radius).tolist())
    return groups


def positive(rng: np.random.Generator, d: int) -> Doubles:
    q = rng.normal(size=(d, d))
    return np.asarray(q @ q.T + 0.1 * np.eye(d))


def rows(tokens: Doubles, a: Doubles, tolerance: float = TOLERANCE) -> list[list[int]]:
    indptr, indices = attended(tokens, a, tolerance)
    return [indices[start:end].tolist() for start, end in pairwise(indptr)]


def scattered(rng: np.random.Generator, n: int, d: int) -> Doubles:
    return rng.normal(size=(n, d))


def on_a_grid(rng: np.random.Generator, n: int, d: int) -> Doubles:
    return np.round(rng.normal(size=(n, d)) * 2) / 2


def on_a_sphere_twice(rng: np.random.Generator, n: int, d: int) -> Doubles:
    z = rng.normal(size=(n, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    z[n // 2 :] = z[: n - n // 2]
    return z


def on_a_polygon(rng: np.random.Generator, n: int, d: int) -> Doubles:
    """Return many tokens on a few edges, and some in the middle of one."""
    corners = rng.normal(size=(d + 3, d))
    first, second = rng.integers(0, len(corners), size=(2, n))
    share = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], size=(n, 1))
    return np.asarray(share * corners[first] + (1 - share) * corners[second])


@pytest.mark.parametrize("layout", [scattered, on_a_grid, on_a_sphere_twice, on_a_polygon])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (5, 7), (700, 3)])  # below and above the size from which the hull is taken
def test_the_rule_is_that_of_all_pairs(layout: Callable[[np.random.Generator, int, int], Doubles], n: int, d: int) -> None:
    rng = np.random.default_rng([n, d])
    z, a, alpha = layout(rng, n, d), positive(rng, d), float(rng.uniform(0.1, 5))
    low_rank = np.outer(rng.normal(size=d), rng.normal(size=d))
    for matrix in (a, -a, rng.normal(size=(d, d)), low_rank):
        expected = members(z, matrix)
        assert rows(z, matrix) == expected
        means = np.array([z[some].mean(axis=0) for some in expected])
        np.testing.assert_allclose(step(z, matrix, alpha), z + alpha / (1 + alpha) * (means - z), atol=1e-12)


@pytest.mark.parametrize("tolerance", [0.0, 1e-12, 1e-3, 0.05])
@pytest.mark.parametrize("d", [2, 3])
def test_ties_within_any_tolerance(tolerance: float, d: int) -> None:
    rng = np.random.default_rng(d)
    z, a = rng.normal(size=(600, d)), positive(rng, d)
    z[300:] = z[:300] * (1 - 10 ** rng.uniform(-14, -1, size=(300, 1)))  # every token has another just inside
    tied = rows(z, a, tolerance)
    assert tied == members(z, a, tolerance)
    if tolerance >= 1e-3:
        assert max(map(len, tied)) > 1


def test_planted_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [0.0, 0.5]])
    assert rows(square, np.eye(2)) == [[0], [1], [2], [3], [0, 1]]
    many = np.concatenate([square, 0.1 * np.random.default_rng(0).normal(size=(400, 2))])
    assert rows(many, np.eye(2))[4] == [0, 1]
    np.testing.assert_allclose(step(many, alpha=1.0)[4], [0, 0.75])  # half the way to (0, 1)
    z = np.random.default_rng(1).normal(size=(500, 6))
    whole, soft = step(z), step(z, temperature=0.5)
    monkeypatch.setattr(hardmax, "BLOCK", 1_700)
    np.testing.assert_array_equal(step(z), whole)
    np.testing.assert_allclose(step(z, temperature=0.5), soft, atol=1e-14)
    turn = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    a = turn @ np.diag([1.0, 0.0]) @ turn.T
    z = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -2.0], 3 * turn[:, 1]])
    assert rows(z, a)[3] == [0, 1, 2, 3] and len(rows(z, a)[0]) == 1


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 40), st.floats(0.01, 100), st.booleans())
def test_simulate_is_step_after_step(seed: int, d: int, n: int, alpha: float, grid: bool) -> None:
    rng = np.random.default_rng(seed)
    z, a = (on_a_grid if grid else scattered)(rng, n, d), positive(rng, d)
    run = simulate(z, a, alpha, 6)
    since: dict[int, int] = {}
    for k in range(6):
        places = run.positions[k]
        tied = members(places, a)
        means = np.array([places[some].mean(axis=0) for some in tied])
        np.testing.assert_allclose(run.positions[k + 1], places + alpha / (1 + alpha) * (means - places), atol=1e-10)
        for i, some in enumerate(tied):
            if all((z[j] == z[i]).all() for j in some) and i in some and z[i].any() and not any((z[j] == z[i]).all() for j in range(i)):
                since.setdefault(i, k)
    assert dict(zip(run.leaders.tolist(), run.since.tolist(), strict=True)) == since


def test_leaders_and_odd_tokens_by_hand() -> None:
    run = simulate([[3.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]], layers=2, alpha=1.0)
    np.testing.assert_allclose(run.positions[:, :, 0], [[3, 1, -1, -1], [3, 2, -1, -1], [3, 2.5, -1, -1]])
    assert run.leaders.tolist() == [0, 2] and run.since.tolist() == [0, 0]
    assert run.notes == ("Tokens 2, 3 are equal, so they move together.",)
    late = simulate([[1.0, 1.0], [-1.0, 1.0], [0.0, 1.0], [0.0, -1.0]], layers=3)
    assert late.leaders.tolist() == [0, 1, 3]  # token 2 ties between two and stays
    assert simulate([[2.0], [-1.0]], layers=3).converged == 0
    assert simulate([[2.0], [1.0]], alpha=1.0, layers=8).converged is None
    run = simulate([[2.0], [1.0]], alpha=1.0, layers=40, tolerance=1e-6)
    assert run.converged == 18  # half of 2^-k moved at layer k, of a norm of 2
    assert simulate([[2.0], [1.0]], layers=0).positions.shape == (1, 2, 1)
    z = np.array([[2.0, 0.0], [1.0, 0.1], [0.5, 0.0]])
    run = simulate(z, layers=4, pinned=[1])
    np.testing.assert_array_equal(run.positions[:, 1], np.tile(z[1], (5, 1)))
    np.testing.assert_allclose(run.positions[:, 2], simulate(z[[0, 2]], layers=4).positions[:, 1])
    refused(InputError, "no token 7 to pin", simulate, z, pinned=[7])
    z = np.concatenate([np.zeros((1, 2)), np.random.default_rng(0).normal(size=(400, 2))])
    assert rows(z, np.eye(2))[0] == list(range(401))
    run = simulate(z, layers=1)
    np.testing.assert_allclose(run.positions[1, 0], z.mean(axis=0) / 2)
    assert run.notes == ("Token 0 at the origin: without a direction, attention goes to all tokens.",)
    assert 0 not in run.leaders
    for z in (np.ones((300, 2)), np.outer(np.linspace(-1, 2, 300), [1.0, 2.0]), np.tile([[1.0, 0], [0, 1]], (150, 1))):
        for position in simulate(z, layers=3).positions:
            assert np.isfinite(position).all() and rows(position, np.eye(z.shape[1])) == members(position, np.eye(z.shape[1]))
    cases: list[tuple[dict[str, object], str]] = \
    [({"tokens": [[np.nan, 1.0]]}, "Token 0 has a coordinate that is not a finite number"), ({"tokens": []}, "at least one"),
     ({"tokens": [1.0, 2.0]}, "a row for each token"), ({"tokens": [["a", "b"]]}, "table of numbers"), ({"A": np.eye(3)}, "2 x 2 numbers"),
     ({"A": [[np.inf, 0], [0, 1]]}, "not a finite number"), ({"alpha": 0.0}, "alpha must be a finite number above 0"),
     ({"alpha": "much"}, "must be numbers"), ({"temperature": -1.0}, "temperature"), ({"tolerance": 1.5}, "tolerance"),
     ({"layers": -1}, "number of layers"), ({"layers": 2.5}, "number of layers")]  # fmt: skip
    for change, message in cases:
        refused(InputError, message, simulate, **({"tokens": [[1.0, 2.0], [0.5, 0.1]]} | change))


@pytest.mark.parametrize("symmetric", [True, False])
def test_softmax_becomes_hardmax(symmetric: bool) -> None:
    """Weights are softmax of <A z_i, z_j> / temperature over j, from loops over pairs of rows; ties are shared evenly."""
    rng = np.random.default_rng(0)
    z, a = rng.normal(size=(30, 3)), positive(rng, 3) if symmetric else rng.normal(size=(3, 3))
    scores = np.array([[float((a @ x) @ y) for y in z] for x in z]) / 0.7
    table = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weights(z, a, 0.7), table, atol=1e-13)
    np.testing.assert_allclose(step(z, a, 3.0, temperature=0.7), z + 0.75 * (table @ z - z), atol=1e-13)
    hard = weights(z, a)
    np.testing.assert_allclose(hard.sum(axis=1), 1)
    gaps = [np.abs(weights(z, a, t) - hard).max() for t in (1.0, 0.1, 1e-4)]
    assert gaps[0] > gaps[1] > gaps[2] and gaps[2] < 1e-6
    run = simulate(z, a, temperature=0.3, layers=3)
    assert run.temperature == 0.3 and not np.allclose(run.positions[3], simulate(z, a, layers=3).positions[3])
    tied = weights(np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.5], [0.0, 0.0]]))
    np.testing.assert_allclose(tied, [[1, 0, 0, 0], [0, 1, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4])


@pytest.mark.parametrize("scale", [1e-150, 1e9])
def test_scale_changes_nothing(scale: float) -> None:
    rng = np.random.default_rng(5)
    z, a = rng.normal(size=(500, 2)), positive(rng, 2)
    assert rows(z * scale, a) == rows(z, a)
    assert rows(z, a * scale) == rows(z, a)
    np.testing.assert_array_equal(simulate(z * scale, a).leaders, simulate(z, a).leaders)


@pytest.mark.parametrize(
    ("a", "name"),
    [([[2.0, 1.0], [1.0, 2.0]], "definite"), ([[1.0, 1.0 + 1e-12], [1.0, 2.0]], "definite"), ([[1.0, 1.0], [1.0, 1.0]], "semidefinite"),
     ([[1.0, 2.0], [2.0, 1.0]], "indefinite"), ([[-1.0, 0.0], [0.0, -2.0]], "indefinite"), ([[1.0, 0.5], [0.0, 1.0]], "general")],
)  # fmt: skip
def test_kinds_of_matrices(a: list[list[float]], name: str) -> None:
    """Only a symmetric positive definite matrix is without a note on the theorem; tokens stay in the hull of their start with any."""
    assert kind(a) == name
    tokens = np.random.default_rng(0).normal(size=(30, 2))
    run = simulate(tokens, a, 1.0, 40)
    assert [note.startswith("A is") for note in run.notes] == [True] * (name != "definite")
    assert ("(-1)" in " ".join(run.notes)) == (a == [[1.0, 2.0], [2.0, 1.0]])
    assert (run.positions.min(axis=(0, 1)) >= tokens.min(axis=0)).all() and (run.positions.max(axis=(0, 1)) <= tokens.max(axis=0)).all()
