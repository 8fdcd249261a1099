"""Place the pooled vectors of a corpus as points on a plane, and return a sample of the points in view.

The axes are the first two principal components. Their covariance is merged from the parts, so only one part is in memory at a time. Points
are stored in a random order: the first m points in view are a fair sample of them, and every point stays visible on zooming in. `server`
serves a page to this machine that shows the points and requests those in view.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import isfinite
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import numpy.typing as npt

from sentviz.browser.kit import front
from sentviz.browser.page import page
from sentviz.charts.colours import class_colours
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.files import replacing
from sentviz.io.numbers import percent
from sentviz.serving.corpus.output import Scored

FILE = "_plane.npy"
MAX_SAMPLE = 20_000  # points per response
POINT = np.dtype(
    [("x", "<f4"), ("y", "<f4"), ("said", "u1"), ("part", "<u4"), ("row", "<u4")]
)  # said: predicted class; row: row of the part, from 0

Points = npt.NDArray[np.void]  # (n,) array of POINT
WEB = Path(__file__).parent / "web"
HOSTS = ("127.0.0.1", "localhost")


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


def server(points: Points, scored: Scored, port: int = 0) -> ThreadingHTTPServer:
    """Return a server for this machine only: the page at /, a sample of the points in a range at /points, and a point's row at /row.

    Args:
        points: result of `sentviz.serving.corpus.plane.plane`.
        port: port to listen on; 0 = any free port.
    """
    body = _page(points, scored).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            host = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host")
            if host not in HOSTS:  # The host name of another site can be made to point to this machine.
                self.send_error(HTTPStatus.FORBIDDEN)
                return
            try:
                parameters = {name: values[0] for name, values in parse_qs(url.query).items()}
                if url.path == "/":
                    self._send(body, "text/html; charset=utf-8")
                elif url.path == "/points":
                    self._send(_pack(points, *(float(parameters[name]) for name in ("x0", "x1", "y0", "y1"))), "application/octet-stream")
                elif url.path == "/row":
                    self._send(json.dumps(_row(points, scored, int(parameters["point"]))).encode(), "application/json")
                else:
                    self.send_error(HTTPStatus.NOT_FOUND)
            except (KeyError, ValueError, IndexError):
                self.send_error(HTTPStatus.BAD_REQUEST)

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log no requests."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def _pack(points: Points, x0: float, x1: float, y0: float, y1: float) -> bytes:
    """Return the numbers of points sent and in the range (u4), then their x and y (f4), positions (u4) and classes (u1)."""
    if not all(map(isfinite, (x0, x1, y0, y1))):
        raise ValueError("a range of numbers")
    sampled, total = sample(points, (x0, x1), (y0, y1))
    points_sent = points[sampled]
    places = np.stack([points_sent["x"], points_sent["y"]], axis=1).astype("<f4")
    return b"".join(
        (
            np.array([len(sampled), total], dtype="<u4").tobytes(),
            places.tobytes(),
            sampled.astype("<u4").tobytes(),
            points_sent["said"].tobytes(),
        )
    )


def _row(points: Points, scored: Scored, place: int) -> dict[str, object]:
    """Return file, row and prediction of a point."""
    if not 0 <= place < len(points):
        raise IndexError(place)
    point = points[place]
    row = scored.part(int(point["part"]), ["file", "row", "predicted", *scored.classes]).slice(int(point["row"]), 1).to_pylist()[0]
    share = row[scored.classes[scored.labels.index(row["predicted"])]]
    return {"text": f"{row['file']}, row {row['row']}: {row['predicted']} {percent(share, 0)}"}


def _page(points: Points, scored: Scored) -> str:
    markup, style, script = front(WEB, "plane", page="plane")
    title = f"{scored.run}: {len(points):,} rows"
    data = {
        "n": len(points),
        "box": [[float(points[c].min()), float(points[c].max())] for c in ("x", "y")],
        "classes": [
            {"name": name, "colour": colour} for name, colour in zip(scored.labels, class_colours(scored.labels, "light"), strict=True)
        ],
        "title": title,
    }
    return page(title, markup, style=style, scripts=(script,), data={"plane": data}, asks=True)
