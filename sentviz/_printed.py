"""A figure's layout at the width of a printed column: margins and letters keep their size, panels that grow too narrow are stacked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import plotly.graph_objects as go

__all__ = ["fit_width"]

NARROW = 180  # pixels below which a panel beside others is hard to read
MOST = 4  # panels that are stacked
LINE = 17  # pixels of a title's line


def fit_width(plot: go.Figure, width: int) -> tuple[int, int]:
    """Lay the plot out for a width in pixels; returns width and height.

    What the margins leave shrinks or grows as a whole, in height only where no rows of words need it. Up to four titled panels of one kind
    that would be narrower than `NARROW` stand one above the other instead.
    """
    natural, tall = plot.layout.width or 800, plot.layout.height or 480
    right = plot.layout.margin.r or 0
    if right > width / 4 and plot.layout.legend.x == 1:  # the legend moves below a narrow picture
        plot.update_layout(legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"})
        plot.update_layout(margin={"r": 64, "b": (plot.layout.margin.b or 0) + 52})
        natural, tall = natural - right + 64, tall + 52
    side, ends = (
        sum(80 if part is None else part for part in pair)
        for pair in ((plot.layout.margin.l, plot.layout.margin.r), (plot.layout.margin.t, plot.layout.margin.b))
    )
    room, inner = max(width - side, 60) / max(natural - side, 1), tall - ends
    panels = _panels(plot)
    if 1 < len(panels) <= MOST and max(b - a for (a, b), _ in panels) * room * (natural - side) < NARROW:
        inner = _stack(plot, panels, inner)
    elif any(axis.scaleanchor for axis in plot.select_yaxes()):
        inner *= min(room, 1.4)
    elif not any(axis.ticktext for axis in plot.select_yaxes()):
        inner *= min(max(room, 0.7), 1.2)
    height = round(ends + inner)
    plot.update_layout(width=width, height=height)
    return width, height


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
    legend = plot.layout.legend
    if legend.yref != "container" and legend.y is not None and not 0 <= legend.y <= 1:  # outside: as many pixels away as before
        legend.y = legend.y * inner / total if legend.y < 0 else 1 + (legend.y - 1) * inner / total
    return total
