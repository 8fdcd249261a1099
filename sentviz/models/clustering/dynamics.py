"""Hardmax attention: every token moves towards the tokens that lie furthest in its own direction.

    z_i <- z_i + alpha / (1 + alpha) * mean over j in C_i of (z_j - z_i)        C_i = argmax over j of <A z_i, z_j>, all ties

Source: Alcalde, Fantuzzi and Zuazua 2024, arXiv 2407.01602, equations 1a and 1b.

A tie: the projection of z_j on the direction of A z_i is smaller than the largest one by at most `tolerance` times the largest norm of a
token. The maximum of a linear function is on the convex hull, so only points within that distance of the hull's boundary can be in C_i. Up
to dimension 5, only these points are compared (in the plane, the hull's vertex is found by bisection over the angles of its edges). In
higher dimensions and for degenerate hulls the full product is computed in blocks of bounded memory. The result is the same.

The theorem assumes that A is symmetric positive definite. The rule works with any A; `Clustering.notes` names violated assumptions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

TOLERANCE = 1e-12
BLOCK = 1 << 22  # numbers of the n x n product in memory at the same time
SMALL = 256  # number of tokens below which the full product is faster than a hull
MOST_DIMENSIONS = 5
ROUNDING = 1e-14  # rounding error of a projection, relative to the largest norm

Kind = Literal["definite", "semidefinite", "indefinite", "general"]
OUTSIDE: dict[Kind, str] = {  # kind of A -> which assumption of the theorem it violates
    "definite": "",
    "semidefinite": "A is symmetric, but an eigenvalue is 0, so that A is not positive definite.",
    "indefinite": "A is symmetric, but an eigenvalue is negative ({smallest:.3g}), so that A is not positive definite.",
    "general": "A is not symmetric.",
}


@dataclass(frozen=True, eq=False)
class Clustering:
    """Positions of tokens through the layers.

    Tokens that start at the same place stay together; as leaders they count as one, under the index of the first.
    """

    positions: Doubles  # (K + 1, n, d) before each layer, and after the last
    leaders: Ints  # (r,) tokens with C_i = {i} at one of the K layers, ascending
    since: Ints  # (r,) the first such layer, counted from 0; its input is positions[layer]
    converged: int | None  # first k for which every token is within tolerance x norm of positions[k + 1]; None if there is none
    A: Doubles  # (d, d)
    alpha: float
    temperature: float  # 0 is hardmax
    tolerance: float
    notes: tuple[str, ...] = ()  # violations of the theorem's assumptions: tokens that are zero or equal to another one, another kind of A


def simulate(
    tokens: npt.ArrayLike,
    A: npt.ArrayLike | None = None,
    alpha: float = 1.0,
    layers: int = 8,
    *,
    temperature: float = 0.0,
    tolerance: float = TOLERANCE,
    pinned: npt.ArrayLike = (),
) -> Clustering:
    """Move the tokens through `layers` layers.

    Args:
        tokens: (n, d).
        A: (d, d), any matrix; the identity by default. The theorem assumes that it is symmetric positive definite.
        alpha: step size above 0: each layer moves a token by alpha / (1 + alpha) of its distance to the target.
        temperature: 0 is hardmax; above 0, softmax of <A z_i, z_j> / temperature over j, which costs n x n. Leaders are always hardmax's.
        tolerance: tolerance of ties, relative to the largest norm of a token.
        pinned: indices of tokens that do not move; other tokens still move towards them.
    """
    z = places(tokens)
    a = matrix(A, z.shape[1])
    _check(alpha, temperature, tolerance)
    if isinstance(layers, bool) or not isinstance(layers, int | np.integer) or layers < 0:
        raise InputError(f"The number of layers must be a whole number from 0, not {layers!r}.")
    first, size = _together(z)
    positions = np.empty((layers + 1, *z.shape))
    positions[0] = z
    since = np.full(len(z), -1, dtype=np.int64)
    converged: int | None = None
    fixed = np.unique(np.asarray(pinned, dtype=np.int64))
    if fixed.size and not (fixed[0] >= 0 and fixed[-1] < len(z)):
        raise InputError(f"There is no token {fixed[0] if fixed[0] < 0 else fixed[-1]} to pin. The tokens are 0 to {len(z) - 1}.")
    for k in range(layers):
        z = positions[k]
        target, alone = _targets(z, a, tolerance, size)
        since[alone & (since < 0)] = k
        if temperature > 0:
            target = _soft_targets(z, a, temperature)
        positions[k + 1] = z + alpha / (1 + alpha) * (target - z)
        positions[k + 1, fixed] = z[fixed]
        moved = np.linalg.norm(positions[k + 1] - z, axis=1).max()
        if converged is None and moved <= tolerance * _radius(z):
            converged = k
    leaders = np.flatnonzero((since >= 0) & (first == np.arange(len(z))))
    return Clustering(
        positions, leaders, since[leaders], converged, a, float(alpha), float(temperature), float(tolerance), _notes(positions[0], a)
    )


def attended(tokens: npt.ArrayLike, A: npt.ArrayLike | None = None, tolerance: float = TOLERANCE) -> tuple[Ints, Ints]:
    """Return C_i of every token: (indptr (n + 1,), indices), C_i = indices[indptr[i] : indptr[i + 1]], ascending."""
    z = places(tokens)
    rows, columns = [], []
    for block, members, mask in _furthest(z, matrix(A, z.shape[1]), tolerance):
        if mask is None:
            rows.append(block)
            columns.append(members)
        else:
            i, j = np.nonzero(mask)
            rows.append(block[i])
            columns.append(members[j])
    row, column = np.concatenate(rows), np.concatenate(columns)
    order = np.lexsort((column, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(z)))]).astype(np.int64)
    return indptr, column[order]


def weights(tokens: npt.ArrayLike, A: npt.ArrayLike | None = None, temperature: float = 0.0, tolerance: float = TOLERANCE) -> Doubles:
    """Return attention of each token (row) to each other, (n, n); rows sum to 1. For few tokens, since all n x n numbers are in memory."""
    z = places(tokens)
    a = matrix(A, z.shape[1])
    _check(1.0, temperature, tolerance)
    if temperature > 0:
        return _softmax(z @ a.T @ z.T / temperature)
    table = np.zeros((len(z), len(z)))
    for rows, members, mask in _furthest(z, a, tolerance):
        if mask is None:
            table[rows, members] = 1
        else:
            table[np.ix_(rows, members)] = mask / mask.sum(axis=1, keepdims=True)
    return table


def step(
    tokens: npt.ArrayLike, A: npt.ArrayLike | None = None, alpha: float = 1.0, *, temperature: float = 0.0, tolerance: float = TOLERANCE
) -> Doubles:
    """Return the tokens after one layer, (n, d); arguments as in `simulate`."""
    z = places(tokens)
    a = matrix(A, z.shape[1])
    _check(alpha, temperature, tolerance)
    target = _soft_targets(z, a, temperature) if temperature > 0 else _targets(z, a, tolerance)[0]
    return np.asarray(z + alpha / (1 + alpha) * (target - z))


def places(tokens: npt.ArrayLike) -> Doubles:
    """Return tokens as (n, d) float64."""
    try:
        z = np.asarray(tokens, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("The tokens must be a table of numbers, a row for each token.") from error
    if z.ndim != 2 or 0 in z.shape:
        raise InputError(f"The tokens must be a table with a row for each token, at least one, not of shape {z.shape}.")
    if not np.isfinite(z).all():
        raise InputError(f"Token {int(np.argmin(np.isfinite(z).all(axis=1)))} has a coordinate that is not a finite number.")
    return z


def matrix(A: npt.ArrayLike | None, dimension: int) -> Doubles:
    """Return A as (d, d) float64, the identity for None."""
    if A is None:
        return np.eye(dimension)
    try:
        a = np.asarray(A, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"A must be a table of {dimension} x {dimension} numbers.") from error
    if a.shape != (dimension, dimension):
        raise InputError(
            f"A must be a table of {dimension} x {dimension} numbers for tokens of dimension {dimension}, not of shape {a.shape}."
        )
    if not np.isfinite(a).all():
        raise InputError("A has an entry that is not a finite number.")
    return (a + a.T) / 2 if _is_symmetric(a) else a


def kind(A: npt.ArrayLike) -> Kind:
    """Return the kind of a matrix (d, d), which decides what the theorem says about it. Rounding errors are ignored."""
    a = np.asarray(A, dtype=np.float64)
    if not _is_symmetric(a):
        return "general"
    values = np.linalg.eigvalsh((a + a.T) / 2)
    small = ROUNDING * float(np.abs(values).max())
    return "definite" if values[0] > small else "semidefinite" if values[0] >= -small else "indefinite"


def _is_symmetric(a: Doubles) -> bool:
    return bool(np.abs(a - a.T).max() <= 1e-8 * np.abs(a).max())


def _check(alpha: Any, temperature: Any, tolerance: Any) -> None:
    try:
        numbers = [float(alpha), float(temperature), float(tolerance)]
    except (TypeError, ValueError) as error:
        raise InputError("alpha, temperature and tolerance must be numbers.") from error
    if not (np.isfinite(numbers[0]) and numbers[0] > 0):
        raise InputError(f"alpha must be a finite number above 0, not {alpha}.")
    if not (np.isfinite(numbers[1]) and numbers[1] >= 0):
        raise InputError(f"The temperature must be a finite number from 0, not {temperature}.")
    if not 0 <= numbers[2] < 1:
        raise InputError(f"The tolerance must be from 0 to below 1, not {tolerance}.")


def _radius(z: Doubles) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", z, z).max()))


def _together(z: Doubles) -> tuple[Ints, Ints]:
    """Return, for each token, the first token at the same place and the number of tokens there."""
    order = np.lexsort(z.T[::-1])
    new = np.concatenate([[True], (z[order][1:] != z[order][:-1]).any(axis=1)])
    group = np.cumsum(new) - 1
    first, size = np.empty(len(z), dtype=np.int64), np.empty(len(z), dtype=np.int64)
    first[order], size[order] = order[np.flatnonzero(new)][group], np.bincount(group)[group]
    return first, size


def _notes(z: Doubles, a: Doubles, most: int = 8) -> tuple[str, ...]:
    """Return a sentence for each violation of the theorem's assumptions."""

    def listed(indices: Ints) -> str:
        return ", ".join(str(i) for i in indices[:most]) + (f" and {len(indices) - most} more" if len(indices) > most else "")

    notes = [note.format(smallest=float(np.linalg.eigvalsh(a)[0]))] if (note := OUTSIDE[kind(a)]) else []
    if len(zero := np.flatnonzero(~z.any(axis=1))):
        notes.append(
            f"{'Token' if len(zero) == 1 else 'Tokens'} {listed(zero)} at the origin: without a direction, attention goes to all tokens."
        )
    first, _ = _together(z)
    for original in np.unique(first[first != np.arange(len(z))])[:most]:
        same = np.flatnonzero(first == original)
        notes.append(f"Tokens {listed(same)} are equal, so they move together.")
    return tuple(notes)


# ---- the rule ------------------------------------------------------------------------------------------------------


def _targets(z: Doubles, a: Doubles, tolerance: float, size: Ints | int = 1) -> tuple[Doubles, Bools]:
    """Return the mean of C_i, (n, d), and whether C_i is the token itself with the `size` tokens that started at its place."""
    target, alone = np.empty_like(z), np.zeros(len(z), dtype=np.bool_)
    column = np.full(len(z), -1, dtype=np.int64)
    for rows, members, mask in _furthest(z, a, tolerance):
        if mask is None:
            target[rows] = z[members]
            alone[rows] = members == rows
            continue
        count = mask.sum(axis=1)
        target[rows] = mask @ z[members] / count[:, None]
        column[members] = np.arange(len(members))
        own = column[rows]
        alone[rows] = (own >= 0) & mask[np.arange(len(rows)), own] & (count == np.broadcast_to(size, len(z))[rows])
        column[members] = -1
    alone &= z.any(axis=1)
    return target, alone


def _soft_targets(z: Doubles, a: Doubles, temperature: float) -> Doubles:
    u = z @ a.T / temperature
    return np.concatenate([_softmax(u[block] @ z.T) @ z for block in _blocks(len(z), len(z))])


def _softmax(scores: Doubles) -> Doubles:
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    size = max(1, BLOCK // columns)
    return (slice(i, min(i + size, rows)) for i in range(0, rows, size))


def _furthest(z: Doubles, a: Doubles, tolerance: float) -> Iterator[tuple[Ints, Ints, Bools | None]]:
    """Yield C_i in blocks of rows: (rows, members, mask (rows, members)), or (rows, the one member of each, None)."""
    n = len(z)
    radius = _radius(z)
    u = z @ a.T
    norm = np.linalg.norm(u, axis=1)
    moving = norm > 4 * np.finfo(np.float64).eps * np.linalg.norm(a) * np.linalg.norm(z, axis=1)  # below, A z is only rounding error
    u = np.divide(u, norm[:, None], out=np.zeros_like(u), where=moving[:, None])
    if not moving.all():  # no direction: every token ties
        rows = np.flatnonzero(~moving)
        for block in _blocks(len(rows), n):
            yield rows[block], np.arange(n), np.ones((len(rows[block]), n), dtype=np.bool_)
    slack = tolerance * radius
    rows = np.flatnonzero(moving)
    members, corners = _near_hull(z, slack + ROUNDING * radius)
    if corners is not None and len(rows):
        best, sure = _by_angle(z, u[rows], members, corners, 2 * slack + ROUNDING * radius)
        yield rows[sure], best[sure], None
        rows = rows[~sure]
    for block in _blocks(len(rows), len(members)):
        scores = u[rows[block]] @ z[members].T
        yield rows[block], members, scores >= scores.max(axis=1, keepdims=True) - slack


def _by_angle(z: Doubles, u: Doubles, members: Ints, corners: Ints, slack: float) -> tuple[Ints, Bools]:
    """Return, in the plane, the corner furthest along each direction, and whether no other member can tie with it.

    A corner is furthest for directions between the normals of its two edges. There, another point at distance r is behind it by at least
    r sin(gap), where gap is the angle to the nearer of the two normals: the lead is a sine that is not negative on the complete arc.
    """
    from scipy.spatial import cKDTree

    edges = z[np.roll(corners, -1)] - z[corners]  # counter-clockwise; edge k leaves corner k
    normals = np.unwrap(np.arctan2(-edges[:, 0], edges[:, 1]))
    turn = 2 * np.pi
    angle = normals[0] + np.mod(np.arctan2(u[:, 1], u[:, 0]) - normals[0], turn)
    k = np.searchsorted(normals, angle, side="right")  # between normals k - 1 and k
    ends = np.append(normals, normals[0] + turn)
    gap = np.minimum(angle - ends[k - 1], ends[k] - angle)
    nearest = cKDTree(z[members]).query(z[corners], k=2)[0][:, 1] if len(members) > 1 else np.full(len(corners), np.inf)
    place = np.where(k == len(corners), 0, k)
    return corners[place], nearest[place] * np.sin(np.minimum(gap, np.pi / 2)) > slack


def _near_hull(z: Doubles, slack: float) -> tuple[Ints, Ints | None]:
    """Return every token at most `slack` inside the hull's boundary, perhaps others, and in the plane the corners, counter-clockwise."""
    n, d = z.shape
    everyone = np.arange(n)
    if n <= SMALL or d > MOST_DIMENSIONS:
        return everyone, None
    if d == 1:
        return np.flatnonzero((z[:, 0] <= z[:, 0].min() + slack) | (z[:, 0] >= z[:, 0].max() - slack)), None
    from scipy.spatial import ConvexHull, QhullError

    try:
        outer = _outside(z, everyone, ConvexHull(z[_extremes(z)]).equations, slack)
        hull = ConvexHull(z[outer])
        few = len(hull.equations) < len(outer) or d == 2
        near = _outside(z, outer, hull.equations, slack) if few and d > 2 else outer
        corners = outer[hull.vertices] if d == 2 else None
        return near, corners
    except QhullError:
        return everyone, None


def _extremes(z: Doubles, directions: int = 32) -> Ints:
    """Return the tokens furthest along a few directions: corners of a polytope that contains most other tokens deep inside."""
    n, d = z.shape
    if d == 2:
        turn = np.pi * np.arange(directions // 2) / (directions // 2)
        along = np.stack([np.cos(turn), np.sin(turn)])
    else:
        along = np.random.default_rng(0).normal(size=(d, directions * (d - 1)))
    low, high = np.full((2, along.shape[1]), [[np.inf], [-np.inf]])
    ends = np.zeros((2, along.shape[1]), dtype=np.int64)
    columns = np.arange(along.shape[1])
    for block in _blocks(n, 4 * along.shape[1]):
        scores = z[block] @ along
        least, most = scores.argmin(axis=0), scores.argmax(axis=0)
        lower, higher = scores[least, columns] < low, scores[most, columns] > high
        low[lower], high[higher] = scores[least, columns][lower], scores[most, columns][higher]
        ends[0, lower], ends[1, higher] = least[lower] + block.start, most[higher] + block.start
    return np.unique(ends)


def _outside(z: Doubles, indices: Ints, facets: Doubles, slack: float) -> Ints:
    """Return the indices of points that are outside some facet (rows: normal, offset), or at most `slack` inside."""
    outside = []
    for block in _blocks(len(indices), 4 * len(facets)):
        depth = z[indices[block]] @ facets[:, :-1].T
        depth += facets[:, -1]
        outside.append(indices[block][depth.max(axis=1) >= -slack])
    return np.concatenate(outside)
