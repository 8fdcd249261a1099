"""The scene of a hardmax transformer: tokens through the layers, as the animation and the figures draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.charts.plane import hull
from sentviz.charts.text import subscript
from sentviz.io.numbers import percent

if TYPE_CHECKING:
    from sentviz.models.clustering import Clustering
    from sentviz.models.hardmax import HardmaxModel, Review
    from sentviz.runs.store import Run

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NEAR = 1e-2
"""Largest distance within a cluster, as a share of the layer's largest norm; the same as in sentviz.analysis.testset.leaders."""
YAW, PITCH = -0.6, 0.42  # radians, the first view of a scene with three dimensions
WORD = 60  # characters
LIMIT_LAYERS = 400
LOOKS = ("spread", "decision", "axes")
"""Planes to look at tokens of more than two dimensions."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Tokens through K layers as they are drawn: in the plane, or in space if there are three dimensions and no decision."""

    title: str
    positions: Doubles  # (K + 1, n, 2 or 3)
    words: tuple[str, ...]  # n
    leaders: tuple[int, ...] = ()
    since: tuple[int, ...] = ()  # state (0 = start) from which each leader leads
    axes: tuple[str, ...] = ("z₁", "z₂")
    toward: Ints | None = None  # (K, n) a member of C_i, if possible another token
    corners: Doubles | None = None  # (v, p) limits of the leaders
    edges: tuple[tuple[int, int], ...] = ()  # edges of the polytope as pairs of corners
    means: Doubles | None = None  # (K + 1, 2) mean token
    probabilities: Doubles | None = None  # (K + 1,) probability of the second label at the mean
    decision: tuple[Doubles, float] | None = None  # (w (2,), b): sigmoid(w . z + b) is the second label's probability
    exact: bool = True  # the decision is exact at every token, not only at the last mean
    labels: tuple[str, str] = ("negative", "positive")
    pinned: tuple[int, ...] = ()
    note: str = ""  # sentence about the projection
    story: str = ""  # the animation restarts if this text changes

    @property
    def layers(self) -> int:
        """Number of layers K."""
        return len(self.positions) - 1

    @cached_property
    def _together(self) -> list[Ints]:
        return [together(state) for state in self.positions]

    @property
    def groups(self) -> Ints:
        """Cluster of each token after the last layer, (n,); 0 is the largest cluster."""
        return self._together[-1]

    @property
    def clusters(self) -> Ints:
        """Number of clusters after each layer, (K + 1,)."""
        return np.array([groups.max() + 1 for groups in self._together])


def together(points: npt.ArrayLike, near: float = NEAR) -> Ints:
    """Return the cluster of each point (n, p), (n,) int64, numbered from the largest cluster; a cluster is all points within `near` of its
    first point, relative to the largest norm.
    """
    z = np.asarray(points, dtype=float)
    room = near * max(float(np.linalg.norm(z, axis=1).max()), np.finfo(float).tiny)
    distinct, back = np.unique(z, axis=0, return_inverse=True)
    place = np.full(len(distinct), -1)
    count = 0
    for i in range(len(distinct)):
        if place[i] < 0:
            end = int(np.searchsorted(distinct[:, 0], distinct[i, 0] + room, side="right"))  # sorted by the first coordinate
            candidates = distinct[i:end]
            place[i:end][(np.linalg.norm(candidates - distinct[i], axis=1) <= room) & (place[i:end] < 0)] = count
            count += 1
    of = place[back.ravel()]
    rank = np.argsort(np.argsort(-np.bincount(of, minlength=count), kind="stable"), kind="stable")
    return np.asarray(rank[of], dtype=np.int64)


def seen(points: npt.ArrayLike, yaw: float = YAW, pitch: float = PITCH) -> Doubles:
    """Project points (..., 2 or 3) to the picture: right and up, (..., 2). Three dimensions are rotated and projected along the view."""
    z = np.asarray(points, dtype=float)
    if z.shape[-1] == 2:
        return z
    x, y, up = z[..., 0], z[..., 1], z[..., 2]
    away = x * np.sin(yaw) + y * np.cos(yaw)
    return np.stack([x * np.cos(yaw) - y * np.sin(yaw), up * np.cos(pitch) + away * np.sin(pitch)], axis=-1)


def leaders_by_size(scene: Scene, layer: int) -> list[tuple[int, int]]:
    """Return the leaders with the number of tokens at each after a layer, the largest number first."""
    groups = together(scene.positions[layer])
    sizes = np.bincount(groups)
    return sorted(((i, int(sizes[groups[i]])) for i in scene.leaders), key=lambda leader: -leader[1])


def look_at(
    positions: npt.ArrayLike,
    look: str = "spread",
    *,
    w: npt.ArrayLike | None = None,
    axes: tuple[int, int] = (0, 1),
) -> tuple[Doubles, tuple[str, str]]:
    """Return two orthonormal directions of view, (2, d), and their names.

    Args:
        positions: (K + 1, n, d).
        look: "spread", the two principal axes of the tokens of all layers; "decision", across the decision boundary, and the principal axis
            along it; "axes", two coordinates.
        w: (d,) the decoder's direction, for "decision".
        axes: for "axes", counted from 0.
    """
    z = np.asarray(positions, dtype=float)
    d = z.shape[-1]
    points = z.reshape(-1, d)
    if d == 1:
        return np.array([[1.0], [0.0]]), ("z₁", "")
    if d == 2 or look == "axes":
        first, second = (0, 1) if d == 2 else axes
        return np.eye(d)[[first, second]], (f"z{subscript(first + 1)}", f"z{subscript(second + 1)}")
    centred = points - points.mean(axis=0)
    if look == "decision" and w is not None and np.any(np.asarray(w)):
        across = np.asarray(w, dtype=float) / np.linalg.norm(w)
        along = _principal(centred - np.outer(centred @ across, across), 1)[0]
        along -= (along @ across) * across
        return np.stack([across, along / np.linalg.norm(along)]), ("across the decision", "along it")
    return _principal(centred, 2), ("1st principal axis", "2nd")


def _principal(centred: Doubles, count: int) -> Doubles:
    """Return the first right singular vectors, each with its largest entry positive."""
    _, _, axes = np.linalg.svd(centred.T @ centred)
    axes = axes[:count]
    return np.asarray(axes * np.sign(axes[np.arange(count), np.abs(axes).argmax(axis=1)])[:, None])


def limits(clustering: Clustering, layers: int = LIMIT_LAYERS, still: float = 1e-9) -> tuple[Doubles, int, bool]:
    """Return the limits of the tokens, (n, d), the number of layers until each token is within `still` of its limit, relative to the
    largest norm, and whether `layers` were enough.
    """
    from sentviz.models.clustering import simulate

    z = clustering.positions
    pace = clustering.alpha / (1 + clustering.alpha)  # share of the distance that a step covers
    room = pace * still * max(float(np.linalg.norm(z[0], axis=1).max()), np.finfo(float).tiny)
    for k in range(len(z) - 1):
        if np.linalg.norm(z[k + 1] - z[k], axis=1).max() <= room:
            return z[k + 1], k, True
    done = len(z) - 1
    while done < layers:
        z = simulate(
            z[-1], clustering.A, clustering.alpha, 10, temperature=clustering.temperature, tolerance=clustering.tolerance
        ).positions
        moved = np.linalg.norm(np.diff(z, axis=0), axis=2).max(axis=1)
        if (moved <= room).any():
            return z[-1], done + int(np.argmax(moved <= room)), True
        done += 10
    return z[-1], done, False


def scene_of(
    clustering: Clustering,
    words: Sequence[str],
    title: str,
    *,
    look: str = "spread",
    axes: tuple[int, int] = (0, 1),
    decision: tuple[npt.ArrayLike, float] | None = None,
    means: npt.ArrayLike | None = None,
    probabilities: npt.ArrayLike | None = None,
    labels: tuple[str, str] = ("negative", "positive"),
    pinned: Sequence[int] = (),
    story: str = "",
) -> Scene:
    """Return the scene of a clustering: its tokens in the plane, or in space if there are three dimensions and no decoder.

    Args:
        clustering: K layers of n tokens.
        words: n names.
        look, axes: as in `look_at`, for more than two dimensions.
        decision: w (d,) and b of the decoder. In a plane other than "decision", the line and the shade are those of the parallel plane
            through the last mean, which are exact for d = 2 and at the last mean.
        means: (K + 1, d) mean tokens. probabilities: (K + 1,) of the second label.

    The polytope is that of the leaders. With hardmax, a token that is alone in its C_i never moves again, so it has reached its limit.
    """
    z = np.asarray(clustering.positions, dtype=float)
    d = z.shape[-1]
    solid = d == 3 and decision is None
    w = None if decision is None else np.asarray(decision[0], dtype=float)
    basis, named = (np.eye(3), ("z₁", "z₂", "z₃")) if solid else look_at(z, look, w=w, axes=axes)
    flat = z @ basis.T
    centre = np.asarray(means, dtype=float) if means is not None else z.mean(axis=1)
    line = None
    if decision is not None and w is not None:
        off = centre[-1] - basis.T @ (basis @ centre[-1])
        line = (basis @ w, float(decision[1]) + float(w @ off))
    corners, edges = (None, ()) if clustering.temperature else _polytope(flat[-1, clustering.leaders])
    note = ""
    if d > 2 and not solid:
        share = 1 - ((z - flat @ basis) ** 2).sum() / max((z**2).sum(), np.finfo(float).tiny)
        note = f"{d} dimensions; the picture keeps {percent(share, 0)} of the squared length of the vectors."
        if line is not None and look != "decision":
            note += " The line and the shading are exact only at the final mean."
    return Scene(
        title=title,
        positions=flat,
        words=tuple(words),
        leaders=tuple(int(i) for i in clustering.leaders),
        since=tuple(int(k) for k in clustering.since),
        axes=named,
        toward=None if clustering.temperature else _toward(clustering),
        corners=corners,
        edges=edges,
        means=None if means is None else centre @ basis.T,
        probabilities=None if probabilities is None else np.asarray(probabilities, dtype=float),
        decision=line,
        exact=d <= 2 or look == "decision",
        labels=labels,
        pinned=tuple(pinned),
        note=note,
        story=story,
    )


def scene_of_review(run: Run, model: HardmaxModel, review: Review, **how: Any) -> Scene:
    """Return the scene of a text on its path through a run's layers; `how` goes to `scene_of`."""
    weight, bias = model.decision
    return scene_of(
        review.clustering,
        review.words,
        f"A review of {len(review.words)} words through {run.name}",
        decision=(weight / model.calibration, bias / model.calibration),
        means=review.means,
        probabilities=review.probabilities[:, 1],
        labels=(run.labels[0], run.labels[1]),
        **how,
    )


def _toward(clustering: Clustering) -> npt.NDArray[np.int64]:
    """Return a member of each C_i, (K, n), if possible another token than i."""
    from sentviz.models.clustering import attended

    z = clustering.positions
    members = np.empty((len(z) - 1, z.shape[1]), dtype=np.int64)
    for k in range(len(z) - 1):
        indptr, indices = attended(z[k], clustering.A, clustering.tolerance)
        members[k] = indices[indptr[:-1]]
        second = np.minimum(indptr[:-1] + 1, len(indices) - 1)
        several = (members[k] == np.arange(z.shape[1])) & (np.diff(indptr) > 1)
        members[k][several] = indices[second[several]]
    return members


def _polytope(points: Doubles) -> tuple[Doubles, tuple[tuple[int, int], ...]]:
    """Return corners (v, p) and edges of the convex hull of the leaders' limits."""
    if len(points) < 2:
        return points, ()
    if points.shape[1] == 2:
        corners = points[hull(points)]
        around = [(i, (i + 1) % len(corners)) for i in range(len(corners))]
        return corners, tuple(around[: 1 if len(corners) == 2 else None])
    from scipy.spatial import ConvexHull, QhullError

    try:
        solid = ConvexHull(points)
    except (QhullError, ValueError):
        return points, ()
    edges: dict[tuple[int, int], list[Doubles]] = {}
    for facet, normal in zip(solid.simplices, solid.equations[:, :3], strict=True):
        for a, b in ((0, 1), (1, 2), (0, 2)):
            edges.setdefault((min(facet[a], facet[b]), max(facet[a], facet[b])), []).append(normal)
    return points, tuple((int(a), int(b)) for (a, b), sides in sorted(edges.items()) if len(sides) < 2 or sides[0] @ sides[1] < 1 - 1e-9)
