"""Points in a plane with names: the view around them, their convex hull, and places for names so that none covers another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.charts.figure import annotate
from sentviz.charts.look import Look
from sentviz.charts.panels import path
from sentviz.charts.text import as_text, text_columns, visible
from sentviz.io.lazy import go

Doubles = npt.NDArray[np.float64]
LIMIT = 32  # columns of the longest name
HIGH = 17.0  # pixels of a name


@dataclass(frozen=True, eq=False)
class View:
    """The part of a plane that a picture shows.

    Attributes:
        low, high: (2,) ends of both axes. unit: length of a pixel. inner: (2,) pixels of the picture without its margins.
    """

    low: Doubles
    high: Doubles
    unit: float
    inner: Doubles

    @classmethod
    def around(cls, points: Doubles, inner: npt.ArrayLike, free: tuple[int, int]) -> View:
        """Return a view of points (n, 2) in the proportions of the picture.

        Args:
            inner: pixels of the picture without its margins, across and down.
            free: pixels that stay free next to the points, across and down, both sides together.
        """
        low, high, room = points.min(axis=0), points.max(axis=0), np.asarray(inner, dtype=float)
        unit = max(float(((high - low) / np.maximum(room - free, 20)).max()), 1e-12)
        middle = (low + high) / 2
        return cls(middle - room * unit / 2, middle + room * unit / 2, unit, room)

    def pixels(self, points: npt.ArrayLike) -> Doubles:
        """Return points (n, 2) in pixels from the left top corner."""
        at = np.asarray(points, dtype=float)
        return np.stack([at[:, 0] - self.low[0], self.high[1] - at[:, 1]], axis=-1) / self.unit

    def write(
        self,
        plot: go.Figure,
        look: Look,
        points: npt.ArrayLike,
        names: Sequence[str],
        strong: Sequence[bool],
        *,
        gaps: Sequence[float] = (),
        occupied: Iterable[tuple[float, float, float, float]] = (),
        axes: Mapping[str, str] | None = None,
        ground: str = "",
    ) -> None:
        """Write the names of points (n, 2) that have room, the first ones first; strong ones are bold and dark.

        Args:
            gaps: pixels between each point and its name. occupied: boxes (left, top, width, height) in pixels to keep free.
            axes: xref and yref of a panel. ground: colour behind the names.
        """
        if not len(names):
            return
        sizes = [(text_columns(visible(name)[:LIMIT]) * (7.4 if bold else 6.4) + 4, HIGH) for name, bold in zip(names, strong, strict=True)]
        gaps = gaps or [11 if bold else 7 for bold in strong]
        placed = label_places(self.pixels(points), sizes, gaps, (float(self.inner[0]), float(self.inner[1])), occupied)
        notes = []
        for i, (x, y) in placed.items():
            at = {"x": self.low[0] + x * self.unit, "y": self.high[1] - (y + HIGH / 2) * self.unit}
            text, colour = as_text(names[i], LIMIT), look.colours.ink if strong[i] else look.colours.muted
            font = {"size": 12 if strong[i] else 11, "color": colour}
            anchors = {"xanchor": "left", "yanchor": "middle", "showarrow": False, "bgcolor": ground or None, "borderpad": 0}
            notes.append(at | anchors | {"text": f"<b>{text}</b>" if strong[i] else text, "font": font} | dict(axes or {}))
        annotate(plot, notes)


def decision_line(plot: go.Figure, decision: tuple[npt.ArrayLike, float], view: View, colour: str, **trace: Any) -> None:
    """Draw the line w . z + b = 0 across a view, dashed; nothing if w is 0."""
    w, b = np.asarray(decision[0], dtype=float), float(decision[1])
    norm = float(np.hypot(*w))
    if norm > 0:
        foot, along = -b * w / norm**2, np.array([-w[1], w[0]]) / norm
        reach = float(np.abs([view.low, view.high]).max() * 4 + np.hypot(*foot))
        path(plot, [foot - reach * along, foot + reach * along], colour, 1.8, "dash", **trace)


def hull(points: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the indices of the corners of the convex hull of points (n, 2), counter-clockwise (Andrew's monotone chain)."""
    z = np.asarray(points, dtype=float)
    order = np.lexsort((z[:, 1], z[:, 0]))

    def chain(along: Iterable[int]) -> list[int]:
        corners: list[int] = []
        for i in along:
            while len(corners) > 1:
                (ax, ay), (bx, by) = z[corners[-1]] - z[corners[-2]], z[i] - z[corners[-2]]
                if ax * by - ay * bx > 0:
                    break
                corners.pop()
            corners.append(int(i))
        return corners[:-1] if len(corners) > 1 else corners

    return np.array(list(dict.fromkeys([*chain(order), *chain(order[::-1])])), dtype=np.int64)


def label_places(
    points: npt.NDArray[np.float64],
    sizes: Sequence[tuple[float, float]],
    gaps: Sequence[float],
    frame: tuple[float, float],
    occupied: Iterable[tuple[float, float, float, float]] = (),
) -> dict[int, tuple[float, float]]:
    """Place labels so that no two overlap: label -> left top corner in pixels, y down. Labels without room are left out.

    Args:
        points: (n, 2) named points, the most important first. sizes: width and height of each label. gaps: distance from its point.
        frame: width and height of the picture. occupied: boxes (left, top, width, height) to keep free. All numbers are pixels.
    """
    boxes = list(occupied)
    places: dict[int, tuple[float, float]] = {}
    for i, ((x, y), (wide, high), gap) in enumerate(zip(points, sizes, gaps, strict=True)):
        for left, top in (
            (x + gap, y - high / 2),
            (x - gap - wide, y - high / 2),
            (x - wide / 2, y - gap - high),
            (x - wide / 2, y + gap),
            (x + gap, y - gap - high / 2),
            (x + gap, y + gap - high / 2),
        ):
            inside = left >= 0 and top >= 0 and left + wide <= frame[0] and top + high <= frame[1]
            if inside and not any(left < a + w and a < left + wide and top < b + h and b < top + high for a, b, w, h in boxes):
                boxes.append((left, top, wide, high))
                places[i] = (left, top)
                break
    return places
