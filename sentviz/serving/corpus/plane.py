"""Place the pooled vectors of a corpus as points on a plane, and return a sample of the points in view.

The axes are the first two principal components. Their covariance is merged from the parts, so only one part is in memory at a time. Points
are stored in a random order: the first m points in view are a fair sample of them, and every point stays visible on zooming in.
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
MAX_SAMPLE = 20_000  # points per response
POINT = np.dtype(
    [("x", "<f4"), ("y", "<f4"), ("said", "u1"), ("part", "<u4"), ("row", "<u4")]
)  # said: predicted class; row: row of the part, from 0

Points = npt.NDArray[np.void]  # (n,) array of POINT


def plane(scored: Scored, progress: Progress | None = None) -> Points:
    """Return the points (n,) of all predicted rows, mapped from the disk. They are computed and stored once."""
    path = scored.folder / FILE
    if not path.is_file():
        points = _compute(scored, progress)
        with replacing(path) as part, part.open("wb") as file:
            np.save(file, points)
    stored: Points = np.load(path, mmap_mode="r")
    if stored.dtype != POINT:
        raise InputError(f"{path} is damaged. Remove the file, so that it is computed again.")
    return stored


def sample(points: Points, x: tuple[float, float], y: tuple[float, float], most: int = MAX_SAMPLE) -> tuple[npt.NDArray[np.int64], int]:
    """Return the positions of at most `most` points within two ranges, and the number of all points in them."""
    inside = (points["x"] >= x[0]) & (points["x"] <= x[1]) & (points["y"] >= y[0]) & (points["y"] <= y[1])
    positions = np.flatnonzero(inside)
    return positions[:most], len(positions)


def _compute(scored: Scored, progress: Progress | None) -> Points:
    if not scored.options.vectors:
        raise InputError(f"{scored.folder} was scored without --vectors. Score the files again with it.")
    parts, count, total, products = len(scored.parts), 0, np.zeros(1), np.zeros((1, 1))
    for place in range(parts):
        x = _vectors(scored, place)[0].astype(np.float64)
        if len(x):
            count, total, products = count + len(x), total + x.sum(axis=0), products + x.T @ x
        if progress is not None:
            progress(place + 1, 2 * parts)
    if count < 2:
        raise InputError(f"{scored.folder} has {count} rows with a prediction, and a plane needs at least two.")
    mean = total / count
    axes = np.linalg.eigh(products / count - np.outer(mean, mean))[1][:, :-3:-1]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])
    points = np.empty(count, dtype=POINT)
    start = 0
    for place in range(parts):
        vectors, rows, predicted = _vectors(scored, place)
        part_points = points[start : start + len(rows)]
        part_points["x"], part_points["y"] = ((vectors.astype(np.float64) - mean) @ axes).T
        part_points["said"], part_points["part"], part_points["row"] = predicted, place, rows
        start += len(rows)
        if progress is not None:
            progress(parts + place + 1, 2 * parts)
    return points[np.random.default_rng(0).permutation(count)]


def _vectors(scored: Scored, place: int) -> tuple[npt.NDArray[np.float16], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the vectors (n, d) of the predicted rows of a part, their positions in it and their predicted classes."""
    table = scored.part(place, ["vector", *scored.classes])
    column = table["vector"].combine_chunks()
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    shares = np.stack([table[name].to_numpy()[rows] for name in scored.classes], axis=1)
    return column.drop_null().flatten().to_numpy().reshape(len(rows), -1), rows, shares.argmax(axis=1)
