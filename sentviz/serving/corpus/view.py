"""A page of this machine that shows points of a plane, and the server that it asks for those in view."""

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
from sentviz.figures.colours import class_colours, palette
from sentviz.serving.corpus.output import Scored
from sentviz.serving.corpus.plane import Points, sample

HERE = Path(__file__).parent / "web"
HOSTS = ("127.0.0.1", "localhost")


def server(points: Points, scored: Scored, port: int = 0) -> ThreadingHTTPServer:
    """A server for this machine alone: the page at /, at /points the sample of a range, at /row what is known of a point.

    Args:
        points: as `sentviz.serving.corpus.plane.plane` gives them.
        port: 0 = any free one.
    """
    whole = _page(points, scored).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            host = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host")
            if host not in HOSTS:  # a page of another site whose name was made to mean this machine
                self.send_error(HTTPStatus.FORBIDDEN)
                return
            try:
                asked = {name: values[0] for name, values in parse_qs(url.query).items()}
                if url.path == "/":
                    self._say(whole, "text/html; charset=utf-8")
                elif url.path == "/points":
                    self._say(_packed(points, *(float(asked[name]) for name in ("x0", "x1", "y0", "y1"))), "application/octet-stream")
                elif url.path == "/row":
                    self._say(json.dumps(_row(points, scored, int(asked["point"]))).encode(), "application/json")
                else:
                    self.send_error(HTTPStatus.NOT_FOUND)
            except (KeyError, ValueError, IndexError):
                self.send_error(HTTPStatus.BAD_REQUEST)

        def _say(self, body: bytes, kind: str) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Requests are not written down."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def _packed(points: Points, x0: float, x1: float, y0: float, y1: float) -> bytes:
    """How many are sent and how many there are (u4), their x and y (f4), their places (u4), their classes (u1)."""
    if not all(map(isfinite, (x0, x1, y0, y1))):
        raise ValueError("a range of numbers")
    found, there = sample(points, (x0, x1), (y0, y1))
    some = points[found]
    places = np.stack([some["x"], some["y"]], axis=1).astype("<f4")
    return b"".join(
        (np.array([len(found), there], dtype="<u4").tobytes(), places.tobytes(), found.astype("<u4").tobytes(), some["said"].tobytes())
    )


def _row(points: Points, scored: Scored, place: int) -> dict[str, object]:
    """File, row and answer of a point."""
    if not 0 <= place < len(points):
        raise IndexError(place)
    point = points[place]
    row = scored.part(int(point["part"]), ["file", "row", "predicted", *scored.classes]).slice(int(point["row"]), 1).to_pylist()[0]
    share = row[f"probability_{row['predicted']}"]
    return {"text": f"{row['file']}, row {row['row']}: {row['predicted']} {share:.0%}"}


def _page(points: Points, scored: Scored) -> str:
    look = palette("light")
    markup, style, script = front(HERE, "plane", page="plane")
    title = f"{scored.run}: {len(points):,} rows"
    data = {
        "n": len(points),
        "box": [[float(points[c].min()), float(points[c].max())] for c in ("x", "y")],
        "classes": [
            {"name": name, "colour": colour} for name, colour in zip(scored.labels, class_colours(scored.labels, "light"), strict=True)
        ],
        "title": title,
    }
    style = f":root {{ --accent: {look.accent}; color-scheme: light; }}\n{style}"
    return page(title, markup, colours=look, style=style, scripts=(script,), data={"plane": data}, asks=True)
