"""Serve a page to this machine that shows points on a plane and requests the points in view."""

from __future__ import annotations

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import isfinite
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np

from sentviz.browser.kit import front
from sentviz.browser.page import page
from sentviz.figures.colours import class_colours
from sentviz.serving.corpus.output import Scored
from sentviz.serving.corpus.plane import Points, sample

WEB = Path(__file__).parent / "web"
HOSTS = ("127.0.0.1", "localhost")


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
    return {"text": f"{row['file']}, row {row['row']}: {row['predicted']} {share:.0%}"}


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
