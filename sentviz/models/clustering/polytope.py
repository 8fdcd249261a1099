"""The clustering theorem, statement by statement, on a simulated run.

K is the convex hull of the leaders' limits, S the set of points that tokens converge to. Each statement is checked on the run continued
to its limit, with the numerical error that was found. Source: Alcalde, Fantuzzi and Zuazua 2024, arXiv 2407.01602.

That v is a vertex, and s on the boundary, is certified by the direction A v, A s: nothing else of K may lie further in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sentviz.models.clustering.dynamics import Clustering, _radius, _targets, _together

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ACCURACY = 1e-6  # relative to the largest norm: what is closer counts as the same point
SETTLED = 1e-9  # the distance left, relative likewise, at which a run counts as having reached its limit


@dataclass(frozen=True, eq=False)
class Limit:
    """Where hardmax takes the tokens of a run."""

    points: Doubles  # (n, d) each token's limit
    leaders: Ints  # (r,) as in `Clustering`, over all the layers
    since: Ints  # (r,)
    settled: int | None  # layers until every token is within SETTLED of its limit; None: not within the layers allowed
    left: float  # estimated distance of the last token from its limit, relative to the largest norm
    drift: float  # how far a leader still moved after it became one, relative likewise
    clusters: Doubles  # (s, d) S: the distinct limits, leaders' first
    cluster: Ints  # (n,) each token's row of `clusters`


@dataclass(frozen=True)
class Statement:
    """One statement of the theorem on one run."""

    name: str
    says: str
    holds: bool | None  # None: nothing to check, or the limit was not reached
    error: float  # relative to the largest norm of a token; NaN where there is none
    detail: str


def limit(clustering: Clustering, layers: int = 2_000) -> Limit:
    """The run's tokens under hardmax until they settle, from their start; at most `layers` layers."""
    start, a, tolerance = clustering.positions[0], clustering.A, clustering.tolerance
    pace = clustering.alpha / (1 + clustering.alpha)
    radius = _radius(start) or 1.0
    first, size = _together(start)
    since = np.full(len(start), -1, dtype=np.int64)
    stood = start.copy()  # where each token was when it became a leader
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
    """Each statement of the theorem on the run, continued as hardmax for at most `layers` layers.

    Where an assumption is broken the theorem claims nothing; the statements are checked all the same.
    """
    end, a = limit(clustering, layers), clustering.A
    radius = _radius(clustering.positions[0]) or 1.0
    r, s = len(end.leaders), len(end.clusters)
    corners = end.points[end.leaders]
    found = [
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
        return found
    finite = end.drift <= ACCURACY
    found.append(
        Statement(
            "finite layers",
            "Every leader reaches its limit in finitely many layers.",
            finite,
            end.drift,
            f"The last one stands still from layer {int(end.since.max()):,} on." if finite else "A leader moved on after it became one.",
        )
    )
    lead = _ahead(corners, a, radius)
    found.append(
        Statement(
            "vertices",
            "Leaders converge to distinct vertices of K, and K has no others.",
            bool(lead > 0),
            max(0.0, -lead),
            f"K has {r:,} {'vertex' if r == 1 else 'vertices'}." + (f" The closest call: {lead:.1e} of the largest norm." if r > 1 else ""),
        )
    )
    if end.settled is None:
        return [*found, *(Statement(name, says, None, float("nan"), "The limit was not reached.") for name, says in (BOUNDARY, FACES))]
    inside = max(float(np.linalg.norm(point - projection(corners, point=point))) for point in end.clusters) / radius
    behind = max(_behind(point, corners, a, radius) for point in end.clusters)
    error = max(inside, behind)
    found.append(
        Statement(*BOUNDARY, error <= ACCURACY, error, f"The {s:,} {'point' if s == 1 else 'points'} of S against {r:,} vertices.")
    )
    others = end.clusters[r:] if s >= r else end.clusters[:0]
    gaps = [float(np.linalg.norm(point - _on_face(point, corners, a, radius))) / radius for point in others]
    found.append(
        Statement(
            *FACES,
            max(gaps) <= ACCURACY if gaps else None,
            max(gaps, default=float("nan")),
            f"{len(gaps):,} of the {s:,} points of S {'is' if len(gaps) == 1 else 'are'} no vertex."
            if gaps
            else "Every token ends at a leader: there is no other point to check.",
        )
    )
    return found


BOUNDARY = ("boundary", "S lies on the boundary of K.")
FACES = ("projections", "A point of S that is no vertex is the projection of the origin onto a face of K in the norm of A.")


def projection(corners: Doubles, A: Doubles | None = None, point: Doubles | None = None) -> Doubles:
    """(d,) the point of the convex hull of corners (r, d) nearest to `point` (the origin) in the norm of A (the identity).

    Non-negative least squares: of all t x, x in the hull, t >= 0, the one that minimises |t x|^2 + c^2 (1 - t)^2 has the nearest x.
    """
    from scipy.optimize import nnls

    shifted = corners if point is None else corners - point
    root = np.eye(corners.shape[1]) if A is None else np.linalg.cholesky(A).T  # |root x|^2 = <A x, x>
    columns = root @ shifted.T
    scale = np.linalg.norm(columns, axis=0).max() or 1.0
    shares, _ = nnls(np.vstack([columns / scale, np.ones(len(corners))]), np.append(np.zeros(len(columns)), 1.0))
    return np.asarray((shares / shares.sum()) @ corners)


def _clusters(points: Doubles, leaders: Ints, apart: float) -> tuple[Doubles, Ints]:
    """Distinct points, those of the leaders first, and each point's row."""
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
    """The smallest lead of a corner over the others in its own direction, relative."""
    u = corners @ a
    scores = u @ corners.T / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), np.finfo(float).tiny)
    own = np.diag(scores).copy()
    if len(corners) == 1:
        return float(own[0]) / radius
    np.fill_diagonal(scores, -np.inf)
    return float((own - scores.max(axis=1)).min()) / radius


def _behind(point: Doubles, corners: Doubles, a: Doubles, radius: float) -> float:
    """How far a point falls short of the furthest corner in its own direction, relative."""
    u = a @ point
    norm = float(np.linalg.norm(u))
    return float((corners @ u).max() - point @ u) / norm / radius if norm else 0.0


def _on_face(point: Doubles, corners: Doubles, a: Doubles, radius: float) -> Doubles:
    """The projection of the origin onto the face of K that is furthest in the point's own direction."""
    u = a @ point
    norm = float(np.linalg.norm(u)) or 1.0
    scores = corners @ u / norm
    return projection(corners[scores >= scores.max() - ACCURACY * radius], a)
