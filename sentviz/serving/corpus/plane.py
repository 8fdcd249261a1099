"""Pooled vectors of a whole corpus as points of a plane, and a sample of those in view.

The axes are the first two principal components. Their covariance is merged from the parts, so no more than a part is ever in memory. Points
are stored in an order drawn at random once: the first m of those in view are a fair sample of them, and zooming in keeps every point shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.io.files import replacing
from sentviz.serving.corpus.output import Scored

if TYPE_CHECKING:
    from sentviz.models.model import Progress

FILE = "_plane.npy"
MOST = 20_000  # points sent at a time
POINT = np.dtype([("x", "<f4"), ("y", "<f4"), ("said", "u1"), ("part", "<u4"), ("row", "<u4")])  # row of the part, from 0

Points = npt.NDArray[np.void]  # (n,) of POINT


def plane(scored: Scored, progress: Progress | None = None) -> Points:
    """The points (n,) of all rows that were answered, read from the disk where they are needed; computed once.

    Raises:
        InputError: it was scored without vectors, or fewer than two rows were answered.
    """
    path = scored.folder / FILE
    if not path.is_file():
        points = _computed(scored, progress)
        with replacing(path) as part, part.open("wb") as file:
            np.save(file, points)
    found: Points = np.load(path, mmap_mode="r")
    if found.dtype != POINT:
        raise InputError(f"{path} is damaged: remove it, it will be computed again.")
    return found


def sample(points: Points, x: tuple[float, float], y: tuple[float, float], most: int = MOST) -> tuple[npt.NDArray[np.int64], int]:
    """Places of at most `most` of the points within two ranges, and how many there are in them."""
    inside = (points["x"] >= x[0]) & (points["x"] <= x[1]) & (points["y"] >= y[0]) & (points["y"] <= y[1])
    found = np.flatnonzero(inside)
    return found[:most], len(found)


def _computed(scored: Scored, progress: Progress | None) -> Points:
    if not scored.wishes.vectors:
        raise InputError(f"{scored.folder} was scored without --vectors.")
    parts, count, total, products = len(scored.parts), 0, np.zeros(1), np.zeros((1, 1))
    for place in range(parts):
        x = _vectors(scored, place)[0].astype(np.float64)
        if len(x):
            count, total, products = count + len(x), total + x.sum(axis=0), products + x.T @ x
        if progress is not None:
            progress(place + 1, 2 * parts)
    if count < 2:
        raise InputError(f"{scored.folder} has {count} rows with an answer; a plane needs two.")
    mean = total / count
    axes = np.linalg.eigh(products / count - np.outer(mean, mean))[1][:, :-3:-1]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])
    points = np.empty(count, dtype=POINT)
    begun = 0
    for place in range(parts):
        vectors, rows, said = _vectors(scored, place)
        some = points[begun : begun + len(rows)]
        some["x"], some["y"] = ((vectors.astype(np.float64) - mean) @ axes).T
        some["said"], some["part"], some["row"] = said, place, rows
        begun += len(rows)
        if progress is not None:
            progress(parts + place + 1, 2 * parts)
    return points[np.random.default_rng(0).permutation(count)]


def _vectors(scored: Scored, place: int) -> tuple[npt.NDArray[np.float16], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Vectors (n, d) of the answered rows of a part, their places in it and their classes."""
    table = scored.part(place, ["vector", *scored.classes])
    column = table["vector"].combine_chunks()
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    shares = np.stack([table[name].to_numpy()[rows] for name in scored.classes], axis=1)
    return column.drop_null().flatten().to_numpy().reshape(len(rows), -1), rows, shares.argmax(axis=1)
