"""Read a picture back from a browser: its words, its marks and its frame, with their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.export.chromium import find_browser

Box = tuple[float, float, float, float]  # left, top, right, bottom
Corners = npt.NDArray[np.float64]  # (4, 2)

ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
)

READ = (Path(__file__).parent / "picture.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Word:
    """A line of letters: which, of what part of the picture, how large, its corners, and what it is cut to."""

    text: str
    part: str
    letters: float  # pixels of the smallest letters' font
    corners: Corners
    clip: Box | None

    @property
    def box(self) -> Box:
        """Left, top, right, bottom."""
        (left, top), (right, bottom) = self.corners.min(axis=0), self.corners.max(axis=0)
        return float(left), float(top), float(right), float(bottom)

    @property
    def level(self) -> bool:
        """Return whether the word is not rotated."""
        return bool(abs(self.corners[1, 1] - self.corners[0, 1]) < 0.5)


@dataclass(frozen=True)
class Mark:
    """A drawn shape other than letters: its part, box and clip, and for a line the points along it, (n, 2)."""

    part: str
    kind: str
    box: Box
    clip: Box | None
    along: Corners


@dataclass(frozen=True)
class Picture:
    """A picture as it is drawn, in pixels."""

    frame: Box
    words: Sequence[Word]
    marks: Sequence[Mark]


class Reader:
    """One page of a browser, which draws one picture after the other."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def read(self, svg: bytes) -> Picture:
        """The picture of an SVG."""
        elements = self._page.evaluate(READ, svg.decode())
        words = [
            Word(word["text"], word["part"], word["letters"], np.array(word["corners"], float), _box(word["clip"]))
            for word in elements["words"]
        ]
        marks = [
            Mark(mark["part"], mark["kind"], tuple(mark["box"]), _box(mark["clip"]), np.array(mark["along"], float).reshape(-1, 2))
            for mark in elements["marks"]
        ]
        return Picture(tuple(elements["frame"]), words, marks)


def _box(edges: Sequence[float] | None) -> Box | None:
    return None if edges is None else (edges[0], edges[1], edges[2], edges[3])


@contextmanager
def reader() -> Iterator[Reader]:
    """A quiet Chromium of its own, which goes at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_browser(), args=ARGUMENTS.split())
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_content("<!DOCTYPE html><html><body style='margin: 0'></body></html>")
        yield Reader(page)
        browser.close()
