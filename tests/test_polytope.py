"""The theorem's statements on simulated runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentviz.models.clustering import simulate
from sentviz.models.clustering.polytope import ACCURACY, Statement, _apart, _depth, limit, projection, theory


def by_name(statements: list[Statement]) -> dict[str, Statement]:
    return {statement.name: statement for statement in statements}


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 24), st.floats(0.2, 20), st.booleans())
def test_the_theorem_holds_on_random_runs(seed: int, d: int, n: int, alpha: float, grid: bool) -> None:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(d, d))
    z = np.unique(np.round(rng.normal(size=(n, d)) * 2), axis=0) if grid else rng.normal(size=(n, d))
    z = z[z.any(axis=1)]
    if not len(z):
        z = np.ones((1, d))
    statements = theory(simulate(z, np.eye(d) if grid else q @ q.T + 0.2 * np.eye(d), alpha))
    assert [statement.name for statement in statements] == [
        "assumptions", "leaders", "convergence", "finite layers", "vertices", "boundary", "projections",
    ]  # fmt: skip
    for statement in statements:
        assert statement.holds or (statement.holds is None and statement.name == "projections"), statement
        assert not statement.error > ACCURACY


def test_a_token_between_two_leaders_ends_at_the_projection_of_the_origin() -> None:
    a = np.array([[2.0, 0.0], [0.0, 1.0]])
    run = simulate([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.3], [0.0, -1.0]], a)
    end, statements = limit(run), by_name(theory(run))
    np.testing.assert_allclose(end.points[2], [0, 1], atol=1e-8)
    assert end.leaders.tolist() == [0, 1, 3] and end.cluster.tolist() == [0, 1, 3, 2]
    assert statements["projections"].holds and statements["projections"].error < 1e-8
    assert statements["vertices"].detail.startswith("K has 3 vertices")
    assert statements["convergence"].detail.startswith("S has 4 points")


def test_the_norm_of_A_decides_which_point_of_a_face() -> None:
    a = np.array([[1.0, 0.6], [0.6, 1.0]])
    ends = np.array([[1.0, 2.0], [-3.0, 2.0]])
    share = np.linspace(0, 1, 200_001)[:, None]
    between = share * ends[0] + (1 - share) * ends[1]
    nearest = between[np.einsum("ij,jk,ik->i", between, a, between).argmin()]
    np.testing.assert_allclose(projection(ends, a), nearest, atol=1e-4)
    assert not np.allclose(projection(ends), nearest, atol=0.1)


def test_projection_onto_a_hull_by_hand() -> None:
    triangle = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    for point, nearest in (((0.0, 0.0), (0.5, 0.5)), ((3.0, 3.0), (2, 2)), ((0.9, 0.9), (0.9, 0.9))):
        np.testing.assert_allclose(projection(triangle, point=np.array(point)), nearest, atol=1e-9)
    np.testing.assert_allclose(projection(1e6 * triangle), [5e5, 5e5])


def test_leaders_limits_are_the_hull_of_all_limits() -> None:
    from scipy.spatial import ConvexHull

    run = simulate(np.random.default_rng(4).normal(size=(150, 2)), [[2.0, 0.5], [0.5, 1.0]], 0.7)
    end = limit(run)
    corners = end.clusters[ConvexHull(end.clusters).vertices]
    assert {tuple(np.round(c, 6)) for c in corners} == {tuple(np.round(c, 6)) for c in end.points[end.leaders]}
    assert end.settled is not None and end.left < 1e-8


def test_broken_assumptions_are_named() -> None:
    statements = by_name(theory(simulate([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [-1.0, 0.5]])))
    assert statements["assumptions"].holds is False
    assert "Token 0 at the origin" in statements["assumptions"].detail and "Tokens 1, 2 are equal" in statements["assumptions"].detail
    nothing = theory(simulate(np.zeros((3, 2))))
    assert [(s.name, s.holds) for s in nothing] == [("assumptions", False), ("leaders", False), ("convergence", True)]


def test_another_matrix_is_named_and_defines_no_norm() -> None:
    """Every statement is checked all the same; of those that need the norm of A nothing is said."""
    rng = np.random.default_rng(0)
    general = by_name(theory(simulate(rng.normal(size=(12, 2)), [[1.0, 0.4], [0.0, 1.0]])))
    assert general["assumptions"].holds is False and general["assumptions"].detail == "A is not symmetric."
    assert general["leaders"].holds and general["projections"].holds is None and "no norm" in general["projections"].detail
    assert general["vertices"].holds and general["boundary"].holds
    indefinite = by_name(theory(simulate([[2.0, 0.0], [-1.0, 0.2], [-1.0, -0.5], [0.1, 3.0]], [[1.0, 0.0], [0.0, -1.0]])))
    assert "negative (-1)" in indefinite["assumptions"].detail and indefinite["leaders"].holds
    nowhere = by_name(theory(simulate(rng.normal(size=(12, 2)), np.zeros((2, 2)))))
    assert nowhere["leaders"].holds is False and nowhere["convergence"].detail.startswith("S has 1 point")


def test_a_run_cut_short_claims_nothing() -> None:
    statements = by_name(theory(simulate([[2.0, 0.0], [0.1, 0.0], [-1.0, 0.0]], alpha=0.01), layers=20))
    assert {name: statement.holds for name, statement in statements.items() if name != "assumptions"} == {
        **dict.fromkeys(("convergence", "boundary", "projections")), "vertices": True, "leaders": True, "finite layers": True}  # fmt: skip
    assert statements["convergence"].error > 0.1


def test_vertices_and_boundary_of_a_hull() -> None:
    """A square, its middle and a point of its edge are checked by hand; a flat hull is its own boundary."""
    square = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    assert _depth(np.array([1.0, 1.0]), square) == pytest.approx(1.0) and _depth(np.array([1.0, 0.0]), square) == pytest.approx(0.0)
    assert _depth(np.array([0.5, 0.5]), square[[0, 2]]) == 0.0 and _depth(np.array([1.0]), np.array([[0.0], [3.0]])) == 1.0
    assert _depth(np.array([1.0, 1.0]), np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])) == 0.0
    assert _apart(square, 2.0) == pytest.approx(2**0.5 / 2)
    assert _apart(np.vstack([square, [1.0, 1.0]]), 2.0) == pytest.approx(0.0, abs=1e-9) and _apart(square[:1], 2.0) == np.inf


@pytest.mark.parametrize("tokens", [[[3.0]], [[1.0], [-2.0]], [[5.0, 1.0]]])
def test_one_or_two_tokens(tokens: list[list[float]]) -> None:
    statements = by_name(theory(simulate(tokens)))
    assert all(s.holds for name, s in statements.items() if name != "projections")
    assert statements["projections"].holds is None
