"""Vectors as points in two or three dimensions: PCA, t-SNE and UMAP, new vectors placed among them, layers turned onto each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Tick = Callable[[float, str], object]  # share done (0..1), what is being done; may raise to stop

METHODS = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
SETTINGS = {"tsne": "perplexity", "umap": "neighbours"}  # the number behind a method's name, as in "tsne-50"
MOST_SETTING = 500
_UMAP_ALONE = threading.Lock()  # UMAP's compiled code can crash the process if two threads run it at once.
LEAST = {"pca": 1, "tsne": 5, "umap": 5}  # rows
PERPLEXITY, NEIGHBOURS, MIN_DIST = 30.0, 15, 0.1
EARLY, LATE = 250, 500  # iterations of t-SNE, with and without exaggeration
BLOCK = 1 << 22  # distances held at once


@dataclass(frozen=True, eq=False)
class Turn:
    """y = scale * x @ rotation + shift; the identity unless given."""

    scale: float = 1.0
    rotation: Floats | None = None  # (dims, dims), orthogonal; may reflect
    shift: Floats | None = None  # (dims,)

    def __call__(self, points: npt.ArrayLike) -> Floats:
        """(n, dims) -> (n, dims)."""
        turned = np.asarray(points, dtype=np.float64)
        if self.rotation is not None:
            turned = self.scale * turned @ self.rotation
        return turned if self.shift is None else turned + self.shift


@dataclass(frozen=True, eq=False)
class Projection:
    """Vectors with their places in a picture, and what is needed to place more of them."""

    method: str  # key of `METHODS`, or with its setting, as in "tsne-50"
    seed: int
    vectors: npt.NDArray[np.floating[Any]]  # (n, d)
    raw: Floats  # (n, dims) as the method gave them
    parameters: dict[str, float] = field(default_factory=dict)
    shares: tuple[float, ...] = ()  # shares of the variance, for PCA only
    turn: Turn = Turn()
    fitted: Any = None  # fitted object for `place`; None = it is computed again

    @property
    def points(self) -> Floats:
        """(n, dims) turned."""
        return self.turn(self.raw)

    def onto(self, points: npt.ArrayLike) -> Projection:
        """The same picture turned onto the points (n, dims) of another one of the same rows."""
        return replace(self, turn=align(self.raw, points))

    def place(self, vectors: npt.ArrayLike) -> Floats:
        """Return the positions of new vectors, (m, d) -> (m, dims); the existing points do not move.

        PCA multiplies; t-SNE optimises each new point against the fixed ones (Policar et al. 2019); UMAP likewise.
        """
        new = _checked(vectors)
        if new.shape[1] != self.vectors.shape[1]:
            raise InputError(f"Vectors of width {new.shape[1]} cannot be placed among vectors of width {self.vectors.shape[1]}.")
        old = _checked(self.vectors)
        if not _differ(old):
            return self.turn(np.repeat(self.raw[:1], len(new), axis=0))
        base = parsed_method(self.method)[0]
        if base == "pca":
            mean, axes, _ = _axes(old, self.raw.shape[1])
            return self.turn((new - mean) @ axes)
        if base == "tsne":
            return self.turn(_place_tsne(self, old, new))
        mapper = self.fitted or _umap(old, self.raw.shape[1], self.seed, self.parameters, _quiet)[1]
        with _UMAP_ALONE, _no_warnings():
            return self.turn(mapper.transform(_distances(new, old)))


def project(
    vectors: npt.ArrayLike,
    method: str = "pca",
    dims: int = 2,
    seed: int = 0,
    *,
    perplexity: float = PERPLEXITY,
    neighbours: int = NEIGHBOURS,
    min_dist: float = MIN_DIST,
    tick: Tick | None = None,
) -> Projection:
    """Return a projection of vectors to two or three dimensions.

    A method is a key of `METHODS`; "tsne-50" is t-SNE with perplexity 50, "umap-50" UMAP with 50 neighbours.

    t-SNE (openTSNE) and UMAP start from the first principal components and need no random start. Perplexity and neighbours are reduced if
    there are few rows; the parameters of the result hold the values used. Equal vectors are projected to one point.

    Args:
        vectors: (n, d).
        dims: 2 or 3.
        perplexity: of t-SNE. neighbours, min_dist: of UMAP.
        tick: gets the share done and what is being done; an exception from it stops the work.
    """
    base, value = parsed_method(method)
    if base not in METHODS or dims not in (2, 3):
        raise InputError(f"A projection uses {', '.join(METHODS.values())} in 2 or 3 dimensions, not {method!r} in {dims}.")
    x, tell = _checked(vectors), tick or _quiet
    original = np.asarray(vectors)
    if len(x) < LEAST[base]:
        raise InputError(f"{METHODS[base]} needs at least {LEAST[base]} rows, and there are {len(x)}; PCA draws any number.")
    mean, axes, shares = _axes(x, dims)
    if base == "pca" or not _differ(x):
        return Projection(method, seed, original, (x - mean) @ axes, shares=shares if base == "pca" else ())
    if base == "tsne":
        parameters = {"perplexity": min(float(value or perplexity), (len(x) - 1) / 3), "iterations": float(EARLY + LATE)}
        raw, fitted, kl = _tsne(x, (x - mean) @ axes, seed, parameters["perplexity"], tell)
        return Projection(method, seed, original, raw, parameters | {"KL divergence": kl}, fitted=fitted)
    parameters = {"neighbours": float(min(value or neighbours, len(x) - 1)), "min_dist": float(min_dist)}
    raw, fitted = _umap(x, dims, seed, parameters, tell)
    return Projection(method, seed, original, raw, parameters, fitted=fitted)


def parsed_method(method: str) -> tuple[str, int]:
    """Return a method and its setting, ("tsne", 50) for "tsne-50"; 0 = the default. The method is "" if the text names none."""
    base, dash, value = method.partition("-")
    if not dash:
        return (base, 0) if base in METHODS else ("", 0)
    good = base in SETTINGS and value.isdecimal() and len(value) < 4 and 2 <= int(value) <= MOST_SETTING
    return (base, int(value)) if good else ("", 0)


def method_title(method: str) -> str:
    """Return the name of a method for readers, with its setting if it has one."""
    base, value = parsed_method(method)
    return METHODS.get(base, base) + (f" ({SETTINGS[base]} {value})" if value else "")


def align(points: npt.ArrayLike, onto: npt.ArrayLike) -> Turn:
    """The rotation or reflection, the shift and the scale that bring points (n, dims) nearest to others of the same rows.

    Orthogonal Procrustes (Schoenemann 1966) of the centred points; the scale makes both equally large instead of fitting best, which
    would shrink a picture that has little in common with the other.
    """
    x, y = np.asarray(points, dtype=np.float64), np.asarray(onto, dtype=np.float64)
    if x.shape != y.shape:
        raise InputError(f"Projections of {len(x)} and {len(y)} rows cannot be aligned: both need the same rows.")
    centred, target = x - x.mean(axis=0), y - y.mean(axis=0)
    u, _, v = np.linalg.svd(centred.T @ target)
    rotation = u @ v
    size, wanted = float(np.linalg.norm(centred)), float(np.linalg.norm(target))
    scale = wanted / size if size > 0 and wanted > 0 else 1.0
    return Turn(scale, rotation, y.mean(axis=0) - scale * x.mean(axis=0) @ rotation)


def nearest(x: Floats, k: int) -> tuple[Ints, Floats]:
    """The k nearest other rows of each row (n, d), nearest first, and their euclidean distances, both (n, k); exact."""
    n = len(x)
    neighbours, far = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    for start in range(0, n, step := max(1, BLOCK // n)):
        away = _distances(x[start : start + step], x)
        away[np.arange(len(away)), np.arange(start, start + len(away))] = np.inf
        candidates = np.argpartition(away, min(k, n - 1) - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(away, candidates, axis=1), axis=1, kind="stable")
        candidates = np.take_along_axis(candidates, order, axis=1)
        neighbours[start : start + step], far[start : start + step] = candidates, np.take_along_axis(away, candidates, axis=1)
    return neighbours, far


def inside(points: npt.ArrayLike, outline: npt.ArrayLike) -> Bools:
    """(n,) which points (n, 2) lie inside a closed outline (v, 2), by the even-odd rule."""
    p, corners = np.asarray(points, dtype=np.float64).reshape(-1, 2), np.asarray(outline, dtype=np.float64).reshape(-1, 2)
    result = np.zeros(len(p), dtype=bool)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y0 == y1:
            continue
        crosses = (y0 > p[:, 1]) != (y1 > p[:, 1])
        result ^= crosses & (p[:, 0] < x0 + (p[:, 1] - y0) * (x1 - x0) / (y1 - y0))
    return result


def simplified(outline: npt.ArrayLike, corners: int = 24) -> Floats:
    """An outline (v, 2) with at most that many corners: those of the smallest triangles go first (Visvalingam and Whyatt 1993).

    Corners on a straight line, of triangles below a 100,000th of the outline's box, go in any case.
    """
    points = np.asarray(outline, dtype=np.float64).reshape(-1, 2)
    remaining, least = list(points), 1e-5 * float(np.prod(np.ptp(points, axis=0))) if len(points) else 0.0
    while len(remaining) > 3:
        c = np.array(remaining)
        before, after = np.roll(c, 1, axis=0) - c, np.roll(c, -1, axis=0) - c
        areas = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]) / 2
        if len(remaining) <= max(corners, 3) and areas.min() > least:
            break
        remaining.pop(int(areas.argmin()))
    return np.array(remaining).reshape(-1, 2)


# ---- the methods


def _quiet(share: float, doing: str) -> None:
    return None


def _checked(vectors: npt.ArrayLike) -> Floats:
    x = np.asarray(vectors, dtype=np.float64)
    if x.ndim != 2 or not x.size:
        raise InputError("There is no vector to draw.")
    if bad := int((~np.isfinite(x)).any(axis=1).sum()):
        raise InputError(f"{bad:,} of {len(x):,} vectors contain values that are not finite numbers, so their source is damaged.")
    return x


def _differ(x: Floats) -> bool:
    return bool((x != x[:1]).any())


def _axes(x: Floats, dims: int) -> tuple[Floats, Floats, tuple[float, ...]]:
    """Mean (d,), the first principal axes (d, dims), and their shares of the variance; axes that do not exist are zero."""
    mean = x.mean(axis=0)
    values, vectors = np.linalg.eigh((x - mean).T @ (x - mean))
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1][:, :dims]
    signs = np.sign(
        vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    )  # Fix the signs, so that equal data never give a mirrored picture.
    axes = np.zeros((x.shape[1], dims))
    axes[:, : vectors.shape[1]] = vectors * signs
    total = values.sum()
    shares = [float(value / total) if total > 0 else 0.0 for value in values[:dims]]
    return mean, axes, (*shares, *[0.0] * (dims - len(shares)))


def _distances(a: Floats, b: Floats) -> Floats:
    """(n, m) euclidean; exactly 0 between equal rows at most up to rounding."""
    squared = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * a @ b.T
    return np.asarray(np.sqrt(np.maximum(squared, 0)))


def _tsne(x: Floats, start: Floats, seed: int, perplexity: float, tell: Tick) -> tuple[Floats, Any, float]:
    """Coordinates, affinities and the KL divergence at the end."""
    tell(0.0, "looking for neighbours")
    from openTSNE import TSNE
    from openTSNE.initialization import rescale

    affinities = _affinities(x, seed, perplexity)
    done = 0

    def after(iteration: int, error: float, embedding: Any) -> None:
        nonlocal done
        done += 25
        tell(done / (EARLY + LATE), f"t-SNE, iteration {done} of {EARLY + LATE}")

    fitted = TSNE(
        n_components=start.shape[1],
        perplexity=perplexity,
        early_exaggeration_iter=EARLY,
        n_iter=LATE,
        n_jobs=1,
        random_state=seed,
        negative_gradient_method=_gradient(start.shape),
        callbacks=[after],
        callbacks_every_iters=25,
    ).fit(affinities=affinities, initialization=rescale(start))
    return np.asarray(fitted, dtype=np.float64), affinities, float(fitted.kl_divergence)


def _affinities(x: Floats, seed: int, perplexity: float) -> Any:
    from openTSNE.affinity import PerplexityBasedNN

    return PerplexityBasedNN(x, perplexity=perplexity, n_jobs=1, random_state=seed)


def _gradient(shape: tuple[int, ...]) -> str:
    """Interpolation is for many points in two dimensions; Barnes-Hut for the rest."""
    return "fft" if shape[1] == 2 and shape[0] >= 10_000 else "bh"


def _place_tsne(projection: Projection, old: Floats, new: Floats) -> Floats:
    from openTSNE import TSNEEmbedding

    perplexity = projection.parameters["perplexity"]
    affinities = projection.fitted or _affinities(old, projection.seed, perplexity)
    embedding = TSNEEmbedding(
        projection.raw,
        affinities,
        negative_gradient_method=_gradient(projection.raw.shape),
        random_state=projection.seed,
        n_jobs=1,
    )
    return np.asarray(embedding.transform(new, perplexity=min(5.0, perplexity)), dtype=np.float64)


def _umap(x: Floats, dims: int, seed: int, parameters: dict[str, float], tell: Tick) -> tuple[Floats, Any]:
    """Coordinates and the fitted mapper. It gets the graph of exact nearest neighbours, so that nothing has to be compiled to find them."""
    from scipy.sparse import coo_matrix

    tell(0.05, "looking for neighbours")
    n, k = len(x), int(parameters["neighbours"])
    to, away = nearest(x, k)
    rows = np.repeat(np.arange(n), k)
    away = np.maximum(away, 1e-9).ravel()  # a stored zero would count as no edge
    graph = coo_matrix((away, (rows, to.ravel())), shape=(n, n)).tocsr()
    graph = graph.maximum(graph.T).tocsr()
    graph.sort_indices()
    tell(0.2, "loading UMAP, which takes up to a minute the first time")
    with _no_warnings():
        from umap import UMAP

    tell(0.5, "UMAP")
    mean, axes, _ = _axes(x, dims)
    start = (x - mean) @ axes
    start *= 10 / max(float(np.abs(start).max()), 1e-12)
    with _UMAP_ALONE, _no_warnings():
        mapper = UMAP(
            n_components=dims,
            n_neighbors=k,
            min_dist=parameters["min_dist"],
            metric="precomputed",
            init=start.astype(np.float32),
            random_state=seed,
            n_jobs=1,
        ).fit(graph)
    tell(1.0, "UMAP")
    return np.asarray(mapper.embedding_, dtype=np.float64), mapper


def _no_warnings() -> Any:
    """UMAP warns of what is meant here, distances instead of vectors, and of libraries that are not needed."""
    import warnings

    return warnings.catch_warnings(action="ignore")
