"""The clustering theorem, checked statement by statement on a simulated run.

K is the convex hull of the leaders' limits, S the set of points that tokens converge to. Each statement is checked on the run, continued to
its limit, and is reported with its numerical error. Source: Alcalde, Fantuzzi and Zuazua 2024, arXiv 2407.01602.

A vertex v or a boundary point s is certified by the direction A v or A s: no other point of K may be further in that direction. If A is not
symmetric positive definite, that direction proves nothing, and vertices and boundary are found in the convex hull instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sentviz.models.clustering.dynamics import Clustering, _radius, _targets, _together, kind

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ACCURACY = 1e-6  # distance, relative to the largest norm, below which two points count as equal
SETTLED = 1e-9  # remaining distance, relative to the largest norm, at which a run has reached its limit


@dataclass(frozen=True, eq=False)
class Limit:
    """The points to which hardmax takes the tokens of a run."""

    points: Doubles  # (n, d) limit of each token
    leaders: Ints  # (r,) as in `Clustering`, over all layers
    since: Ints  # (r,) layer at which each leader became one
    settled: int | None  # layers until every token is within SETTLED of its limit; None if there were too few layers
    left: float  # estimated distance of the last token from its limit, relative to the largest norm
    drift: float  # largest distance that a leader moved after it became one, relative to the largest norm
    clusters: Doubles  # (s, d) S: the distinct limits, first those of leaders
    cluster: Ints  # (n,) row of `clusters` for each token


@dataclass(frozen=True)
class Statement:
    """One statement of the theorem on one run."""

    name: str
    says: str
    holds: bool | None  # None if there is nothing to check, or the limit was not reached
    error: float  # relative to the largest norm of a token; NaN if the statement has no numerical error
    detail: str


def limit(clustering: Clustering, layers: int = 2_000) -> Limit:
    """Run hardmax from the run's start until all tokens settle, for at most `layers` layers."""
    start, a, tolerance = clustering.positions[0], clustering.A, clustering.tolerance
    pace = clustering.alpha / (1 + clustering.alpha)
    radius = _radius(start) or 1.0
    first, size = _together(start)
    since = np.full(len(start), -1, dtype=np.int64)
    stood = start.copy()  # position of each token when it became a leader
    z, settled, left = start, None, 0.0
    for k in range(layers):
        target, alone = _targets(z, a, tolerance, size)
        new = alone & (since < 0)
        since[new], stood[new] = k, z[new]
        left = float(np.linalg.norm(target - z, axis=1).max()) / radius
        if left <= SETTLED:
            settled = k
            break
        z = z + pace * (target - z)
    leaders = np.flatnonzero((since >= 0) & (first == np.arange(len(start))))
    drift = float(np.linalg.norm(z[leaders] - stood[leaders], axis=1).max()) / radius if len(leaders) else 0.0
    clusters, cluster = _clusters(z, leaders, ACCURACY * radius)
    return Limit(z, leaders, since[leaders], settled, left, drift, clusters, cluster)


def theory(clustering: Clustering, layers: int = 2_000) -> list[Statement]:
    """Check each statement of the theorem on the run, continued as hardmax for at most `layers` layers.

    If an assumption is violated, the theorem claims nothing, but the statements are checked all the same.
    """
    end, a = limit(clustering, layers), clustering.A
    radius = _radius(clustering.positions[0]) or 1.0
    r, s = len(end.leaders), len(end.clusters)
    corners = end.points[end.leaders]
    statements = [
        Statement(
            "assumptions",
            "Tokens are not zero and differ from each other; A is symmetric positive definite.",
            not clustering.notes,
            float("nan"),
            " ".join(clustering.notes) or f"{len(end.points):,} tokens, smallest eigenvalue of A {np.linalg.eigvalsh(a)[0]:.3g}.",
        ),
        Statement("leaders", "There is at least one leader.", r > 0, float("nan"), f"{r:,} {'leader' if r == 1 else 'leaders'}."),
        Statement(
            "convergence",
            "Every token converges to a point of a finite set S.",
            True if end.settled is not None else None,
            end.left,
            f"S has {s:,} {'point' if s == 1 else 'points'}, reached in {end.settled:,} layers."
            if end.settled is not None
            else f"Not settled after {layers:,} layers.",
        ),
    ]
    if not r:
        return statements
    finite = end.drift <= ACCURACY
    statements.append(
        Statement(
            "finite layers",
            "Every leader reaches its limit in finitely many layers.",
            finite,
            end.drift,
            f"The last leader does not move after layer {int(end.since.max()):,}."
            if finite
            else "A leader moved after it became a leader.",
        )
    )
    definite = kind(a) == "definite"
    lead = _ahead(corners, a, radius) if definite else _apart(corners, radius)
    statements.append(
        Statement(
            "vertices",
            "Leaders converge to distinct vertices of K, and K has no others.",
            bool(lead > (0 if definite else ACCURACY)),
            max(0.0, -lead),
            f"K has {r:,} {'vertex' if r == 1 else 'vertices'}."
            + (f" The smallest margin is {lead:.1e} of the largest norm." if r > 1 else ""),
        )
    )
    if end.settled is None:
        return [*statements, *(Statement(name, says, None, float("nan"), "The limit was not reached.") for name, says in (BOUNDARY, FACES))]
    inside = max(float(np.linalg.norm(point - projection(corners, point=point))) for point in end.clusters) / radius
    behind = max(_behind(point, corners, a, radius) if definite else _depth(point, corners) / radius for point in end.clusters)
    error = max(inside, behind)
    statements.append(
        Statement(*BOUNDARY, error <= ACCURACY, error, f"The {s:,} {'point' if s == 1 else 'points'} of S against {r:,} vertices.")
    )
    if not definite:
        return [*statements, Statement(*FACES, None, float("nan"), "A defines no norm, because it is not symmetric positive definite.")]
    further = end.clusters[r:] if s >= r else end.clusters[:0]
    gaps = [float(np.linalg.norm(point - _on_face(point, corners, a, radius))) / radius for point in further]
    statements.append(
        Statement(
            *FACES,
            max(gaps) <= ACCURACY if gaps else None,
            max(gaps, default=float("nan")),
            f"{len(gaps):,} of the {s:,} points of S {'is not a vertex' if len(gaps) == 1 else 'are not vertices'}."
            if gaps
            else "Every token ends at a leader: there is no other point to check.",
        )
    )
    return statements


BOUNDARY = ("boundary", "S lies on the boundary of K.")
FACES = ("projections", "A point of S that is not a vertex is the projection of the origin onto a face of K in the norm of A.")


def projection(corners: Doubles, A: Doubles | None = None, point: Doubles | None = None) -> Doubles:
    """Return the point of the convex hull of corners (r, d) nearest to `point` (default: the origin) in the norm of A (default: identity).

    Non-negative least squares: of all t x with x in the hull and t >= 0, the one that minimises |t x|^2 + c^2 (1 - t)^2 has the nearest x.
    """
    from scipy.optimize import nnls

    shifted = corners if point is None else corners - point
    root = np.eye(corners.shape[1]) if A is None else np.linalg.cholesky(A).T  # |root x|^2 = <A x, x>
    columns = root @ shifted.T
    scale = np.linalg.norm(columns, axis=0).max() or 1.0
    shares, _ = nnls(np.vstack([columns / scale, np.ones(len(corners))]), np.append(np.zeros(len(columns)), 1.0))
    return np.asarray((shares / shares.sum()) @ corners)


def _clusters(points: Doubles, leaders: Ints, apart: float) -> tuple[Doubles, Ints]:
    """Return the distinct points, first those of the leaders, and the row of each point."""
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    tree = cKDTree(np.unique(points, axis=0))
    near = tree.sparse_distance_matrix(tree, apart, output_type="coo_matrix")
    near.data[:] = 1
    count, label = connected_components(near)
    group = label[tree.query(points)[1]]
    order = list(dict.fromkeys([*group[leaders].tolist(), *range(count)]))
    row = np.empty(count, dtype=np.int64)
    row[order] = np.arange(count)
    cluster = row[group]
    member = np.full(count, -1, dtype=np.int64)
    member[cluster[::-1]] = np.arange(len(points))[::-1]
    member[cluster[leaders]] = leaders
    return points[member], cluster


def _ahead(corners: Doubles, a: Doubles, radius: float) -> float:
    """Return the smallest lead of a corner over the others in its own direction, relative to the largest norm."""
    u = corners @ a.T
    scores = u @ corners.T / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), np.finfo(float).tiny)
    own = np.diag(scores).copy()
    if len(corners) == 1:
        return float(own[0]) / radius
    np.fill_diagonal(scores, -np.inf)
    return float((own - scores.max(axis=1)).min()) / radius


def _behind(point: Doubles, corners: Doubles, a: Doubles, radius: float) -> float:
    """Return how far a point is behind the furthest corner in its own direction, relative to the largest norm."""
    u = a @ point
    norm = float(np.linalg.norm(u))
    return float((corners @ u).max() - point @ u) / norm / radius if norm else 0.0


def _apart(corners: Doubles, radius: float) -> float:
    """Return the smallest distance of a corner from the hull of the others, relative to the largest norm; infinite for one corner."""
    without = [np.delete(corners, i, axis=0) for i in range(len(corners))] if len(corners) > 1 else []
    gaps = (np.linalg.norm(corner - projection(rest, point=corner)) for corner, rest in zip(corners, without, strict=False))
    return float(min(gaps, default=np.inf)) / radius


def _depth(point: Doubles, corners: Doubles) -> float:
    """Return how deep a point is inside the convex hull of corners (r, d); 0 if the hull is flat, because it is its own boundary."""
    from scipy.spatial import ConvexHull, QhullError

    d = corners.shape[1]
    if len(corners) <= d:
        return 0.0
    if d == 1:
        return max(0.0, float(min(point[0] - corners.min(), corners.max() - point[0])))
    try:
        facets = ConvexHull(corners).equations
    except QhullError:
        return 0.0
    return max(0.0, -float((facets[:, :-1] @ point + facets[:, -1]).max()))


def _on_face(point: Doubles, corners: Doubles, a: Doubles, radius: float) -> Doubles:
    """Return the projection of the origin onto the face of K that is furthest in the point's own direction."""
    u = a @ point
    norm = float(np.linalg.norm(u)) or 1.0
    scores = corners @ u / norm
    return projection(corners[scores >= scores.max() - ACCURACY * radius], a)
