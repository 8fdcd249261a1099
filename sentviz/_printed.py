"""A figure's layout at the width of a printed column: margins and letters keep their size, panels that grow too narrow are stacked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sentviz.figures.text import broken, label_width

__all__ = ["fit_width"]

NARROW = 180  # pixels below which a panel beside others is hard to read
MOST = 4  # panels that are stacked
LINE = 17  # pixels of a line of words
TICK = 38  # pixels that a number on an axis needs


def fit_width(plot: go.Figure, width: int) -> tuple[int, int]:
    """Lay the plot out for a width in pixels; returns width and height.

    What the margins leave shrinks or grows as a whole, in height only where no rows of words need it. Up to four titled panels of one kind
    that would be narrower than `NARROW` stand one above the other instead. The title is broken into lines, ticks are thinned or turned, and
    what stands above or below the axes stays as many pixels away.
    """
    natural, tall = plot.layout.width or 800, plot.layout.height or 480
    tall += _break_title(plot, width - 24)
    right = plot.layout.margin.r or 0
    if right > width / 5 and (plot.layout.legend.x or 0) >= 1:  # the legend moves below a narrow picture
        below = LINE * _legend_rows(plot, width - 88) + 18
        plot.update_layout(legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom"})
        plot.update_layout(margin={"r": 64, "b": (plot.layout.margin.b or 0) + below})
        natural, tall = natural - right + 64, tall + below
    side, ends = (
        sum(80 if part is None else part for part in pair)
        for pair in ((plot.layout.margin.l, plot.layout.margin.r), (plot.layout.margin.t, plot.layout.margin.b))
    )
    room, inner = max(width - side, 60) / max(natural - side, 1), tall - ends
    panels, before = _panels(plot), inner
    if 1 < len(panels) <= MOST and max(b - a for (a, b), _ in panels) * room * (natural - side) < NARROW:
        inner = _stack(plot, panels, inner)
    elif any(axis.scaleanchor for axis in plot.select_yaxes()):
        inner *= min(room, 1.4)
    elif not any(axis.ticktext for axis in plot.select_yaxes()):
        inner *= min(max(room, 0.8), 1.2)
    _stay_away(plot, before / inner)
    height = round(ends + inner + _fit_ticks(plot, max(width - side, 60)))
    plot.update_layout(width=width, height=height)
    return width, height


def _break_title(plot: go.Figure, room: float) -> int:
    """The title in lines that fit; returns by how many pixels it grew."""
    title = plot.layout.title
    if not title.text:
        return 0
    title.text = broken(title.text, 1.1 * room, title.font.size or 15)  # words are narrower than numbers
    grown: int = title.text.count("<br>") * (LINE + 3)
    plot.update_layout(margin_t=(plot.layout.margin.t or 0) + grown)
    return grown


def _legend_rows(plot: go.Figure, room: float) -> int:
    """Lines of a legend that lies: entries stand in columns as wide as the widest."""
    names = [trace.name or "" for trace in plot.data if trace.showlegend is not False]
    widest = max((label_width(name, 12) for name in names), default=0) + 46
    return -(-len(names) // max(int(room / widest), 1))


def _stay_away(plot: go.Figure, shrunk: float) -> None:
    """The legend and the colour bar, where they stand outside the axes, stay as many pixels away."""
    bars = [] if plot.layout.coloraxis.colorbar.y is None else [plot.layout.coloraxis.colorbar]
    for part in (*bars, *([plot.layout.legend] if plot.layout.legend.yref != "container" else [])):
        if part.y is not None and not 0 <= part.y <= 1:
            part.y = part.y * shrunk if part.y < 0 else 1 + (part.y - 1) * shrunk


def _fit_ticks(plot: go.Figure, inner: float) -> float:
    """Ticks below or above the axes without overlaps: fewer numbers, words slanted or upright; returns the pixels that those need more."""
    grown = {"b": 0.0, "t": 0.0}
    for x, y in _pairs(plot):
        start, end = x.domain or (0, 1)
        room, size = (end - start) * inner, x.tickfont.size or 12
        if x.showticklabels is False or x.visible is False:
            continue
        if not x.ticktext:
            if x.tickvals is None and x.type not in ("log", "category", "multicategory"):
                x.update(nticks=max(min(x.nticks or 99, int(room / TICK)), 2), tickangle=0)
            continue
        labels = [str(label) for label in x.ticktext]
        at = np.log10(np.array(x.tickvals, float)) if x.type == "log" else np.array(x.tickvals, float)
        low, high = sorted(x.range) if x.range else (at.min() - 0.5, at.max() + 0.5)
        places = (room * (at - low) / (high - low)).tolist()
        if all(re.fullmatch(r"[\d.,%×−-]*", label) for label in labels):
            x.update(ticktext=_thinned(labels, places, size), tickangle=0)
            continue
        edge, anchored = ("t", 1) if x.side == "top" else ("b", 0)
        if (y.domain or (0, 1))[anchored] != anchored or len(labels) < 2:
            continue
        step, widest = min(b - a for a, b in pairwise(places)), max(label_width(label, size) for label in labels)
        depth = {0: float(size), -45: 0.71 * (widest + size), -90: widest}
        now = int(x.tickangle or 0)
        angle = 0 if widest + 4 <= step else -45 if 0.71 * step >= 1.1 * size else -90
        if now in depth and angle < now:
            x.tickangle = angle
            grown[edge] = max(grown[edge], depth[angle] - depth[now])
    for edge, more in grown.items():
        plot.update_layout({f"margin_{edge}": (plot.layout.margin[edge] or 0) + round(more)})
    return sum(grown.values())


def _thinned(labels: list[str], places: list[float], size: float) -> list[str]:
    """Numbers on an axis, without those that would touch the one before."""
    kept, free = [], float("-inf")
    for label, at in zip(labels, places, strict=True):
        half = label_width(label, size) / 2
        kept.append(label if at - half >= free else "")
        free = at + half + 4 if kept[-1] else free
    return kept


Span = tuple[float, float]


def _panels(plot: go.Figure) -> list[tuple[Span, Span]]:
    """The domains of panels that each have a title of their own, in reading order; none where they are of several kinds."""
    spans = [(tuple(x.domain or (0, 1)), tuple(y.domain or (0, 1))) for x, y in _pairs(plot)]
    titles = {(round(note.x, 3), round(note.y, 3)) for note in _titles(plot)}
    alike = all(max(sides) - min(sides) < 0.01 for sides in zip(*((x[1] - x[0], y[1] - y[0]) for x, y in spans), strict=True))
    titled = all((round(sum(x) / 2, 3), round(y[1], 3)) in titles for x, y in spans)
    plain = not any(axis.scaleanchor or axis.overlaying for axis in plot.select_yaxes())
    return spans if alike and titled and plain else []


def _pairs(plot: go.Figure) -> Iterator[tuple[Any, Any]]:
    """The axes of each panel."""
    for x in plot.select_xaxes():
        yield x, plot.layout["yaxis" + (x.anchor or "y")[1:]]


def _titles(plot: go.Figure) -> list[Any]:
    return [note for note in plot.layout.annotations if note.xref == "paper" and note.yref == "paper" and note.yanchor == "bottom"]


def _stack(plot: go.Figure, panels: list[tuple[Span, Span]], inner: float) -> float:
    """One panel above the other, rows of words as high as they were; returns the new height between the margins."""
    rows = next((axis for axis in plot.select_yaxes() if axis.ticktext), None)
    high = (panels[0][1][1] - panels[0][1][0]) * inner * (1 if rows else 0.8)
    title = 9 + LINE * max(1 + note.text.count("<br>") for note in _titles(plot))
    step = high + title + 20 + 18 * any(axis.title.text for axis in plot.select_xaxes())  # ticks, and what they are
    total: float = (len(panels) - 1) * step + high
    places = [(1 - (i * step + high) / total, 1 - i * step / total) for i in range(len(panels))]
    moved = dict(zip([(round(sum(x) / 2, 3), round(y[1], 3)) for x, y in panels], places, strict=True))
    for note in _titles(plot):
        if (place := moved.get((round(note.x, 3), round(note.y, 3)))) is not None:
            note.update(x=0.5, y=place[1])
    for (x, y), place in zip(list(_pairs(plot)), places, strict=True):
        x.update(domain=[0, 1])
        y.update(domain=list(place), showticklabels=True)
        if rows is not None and not y.ticktext:
            y.update(tickvals=rows.tickvals, ticktext=rows.ticktext)
    return total
