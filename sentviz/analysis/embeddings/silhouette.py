"""Measure what a projection preserves: silhouettes of the classes, and the neighbours of each row by trustworthiness and continuity."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.embeddings.projection import BLOCK, _distances, nearest
from sentviz.analysis.evaluation import interval, mean_draws
from sentviz.io.lazy import pd

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NEIGHBOURS = 10  # neighbours for trustworthiness and continuity
MOST = 3_000  # rows that are measured; larger sets are sampled with a seed
RESAMPLES = 1_000


def trustworthiness_and_continuity(x: npt.ArrayLike, y: npt.ArrayLike, k: int = NEIGHBOURS) -> tuple[Floats, Floats]:
    """Return trustworthiness and continuity of each row, (n,) each; their means are the measures of Venna and Kaski (2001).

    Trustworthiness measures whether the k neighbours in the projection y are also near in x: 1 - 2 / (k (2n - 3k - 1)) times the sum of the
    ranks beyond k in x, over neighbours in y that are not among the k nearest in x. Continuity is the same with x and y exchanged. k must
    be below n / 2.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return _intruders(a, b, k), _intruders(b, a, k)


def _intruders(x: Floats, y: Floats, k: int) -> Floats:
    n = len(x)
    neighbours, beyond = nearest(y, k)[0], np.empty(n)
    for start in range(0, n, step := max(1, BLOCK // n)):
        away, mine = _distances(x[start : start + step], x), neighbours[start : start + step]
        away[np.arange(len(away)), np.arange(start, start + len(away))] = np.inf
        ranks = np.stack([1 + (away < np.take_along_axis(away, mine[:, [j]], axis=1)).sum(axis=1) for j in range(k)], axis=1)
        beyond[start : start + step] = np.maximum(ranks - k, 0).sum(axis=1)
    return 1 - 2 / (k * (2 * n - 3 * k - 1)) * beyond


def measures(
    vectors: npt.ArrayLike,
    points: npt.ArrayLike,
    labels: npt.ArrayLike,
    classes: tuple[str, ...],
    *,
    k: int = NEIGHBOURS,
    seed: int = 0,
) -> pd.DataFrame:
    """Everything measured of a picture, each with a 95 % bootstrap interval over its rows.

    Args:
        vectors, points: (n, d) and (n, dims). labels: (n,), -1 = in no class; those rows have no silhouette.
        k: neighbours; fewer where there are few rows.
    Returns:
        measure (silhouette, trustworthiness, continuity), space (vectors, picture, both), class ("" = all), value, low, high, n, k;
        without the measures that these rows do not have.
    """
    from sklearn.metrics import silhouette_samples

    x, y, c = np.asarray(vectors, dtype=np.float64), np.asarray(points, dtype=np.float64), np.asarray(labels)
    rng = np.random.default_rng(seed)
    if len(x) > MOST:
        chosen = np.sort(rng.permutation(len(x))[:MOST])
        x, y, c = x[chosen], y[chosen], c[chosen]
    rows: list[dict[str, Any]] = []

    def add(measure: str, space: str, name: str, values: Floats, k: int = 0) -> None:
        estimate = interval(float(values.mean()), mean_draws(values, rng, RESAMPLES))
        rows.append({"measure": measure, "space": space, "class": name, **estimate, "n": len(values), "k": k})

    known = c >= 0
    codes = np.unique(c[known])
    for space, places in (("vectors", x), ("picture", y)):
        if len(codes) > 1 and (places != places[:1]).any():
            values = silhouette_samples(places[known], c[known]) if len(codes) < known.sum() else np.zeros(len(codes))
            add("silhouette", space, "", values)
            for code in codes:
                add("silhouette", space, classes[code], values[c[known] == code])
    k = min(k, (len(x) - 1) // 2)
    if k > 0 and (x != x[:1]).any():
        for measure, values in zip(("trustworthiness", "continuity"), trustworthiness_and_continuity(x, y, k), strict=True):
            add(measure, "both", "", values, k)
    return pd.DataFrame(rows, columns=["measure", "space", "class", "value", "low", "high", "n", "k"])
