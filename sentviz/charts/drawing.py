"""Put the choices of a style into the plot of a drawing: its height, place of the legend, ranges of the axes, and what greys need."""

from __future__ import annotations

from math import log10
from typing import Any

import numpy as np

from sentviz.charts.colours import colour_scale
from sentviz.charts.figure import SYMBOLS
from sentviz.charts.look import Look
from sentviz.charts.text import label_width
from sentviz.errors import InputError
from sentviz.io.lazy import go

MARKED = 2_500  # largest number of cells that get signs
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "5px 2px 1px 2px")


def in_style(plot: go.Figure, look: Look) -> go.Figure:
    """Return the plot of a drawing with the style of its look; colours, letters, title and width are those of the look already."""
    style = look.style
    if style.legend != "own":
        _place_legend(plot, style.legend)
    for letter, span in (("x", style.x), ("y", style.y)):
        if span is not None:
            _set_range(plot, letter, span)
    if look.is_grey:
        _tell_apart(plot, look)
    if style.tall:
        plot.update_layout(height=style.tall)
    return plot


def _place_legend(plot: go.Figure, place: str) -> None:
    """Move the legend and make room for it."""
    if place == "none":
        plot.update_layout(showlegend=False)
        return
    margin, names = plot.layout.margin, [trace.name or "" for trace in plot.data if trace.showlegend is not False]
    widest = max((label_width(name, 12) for name in names), default=0) + 52
    if (plot.layout.legend.x or 0) >= 1 and place != "right" and (margin.r or 0) > 40:
        plot.update_layout(margin_r=24)
    if place == "right":
        plot.update_layout(legend={"orientation": "v", "x": 1.02, "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "top"})
        plot.update_layout(margin_r=max(margin.r or 0, round(widest)))
        return
    room = max((plot.layout.width or 800) - 24, 60)
    more = 19 * -(-len(names) // max(int(room / widest), 1)) + 8
    side, tall = "b" if place == "below" else "t", (plot.layout.height or 480) + more
    at = {"y": 0, "yanchor": "bottom"} if side == "b" else {"y": 1 - (40 if plot.layout.title.text else 8) / tall, "yanchor": "top"}
    plot.update_layout(legend={"orientation": "h", "x": 0, "xanchor": "left", "yref": "container", **at})
    plot.update_layout({f"margin_{side}": (margin[side] or 0) + more, "height": tall})


def _set_range(plot: go.Figure, letter: str, span: tuple[float, float]) -> None:
    """Set the ranges of the axes of numbers."""
    named = {trace[f"{letter}axis"] or letter for trace in plot.data if _has_words(trace, letter)}
    axes = [
        axis
        for axis in (plot.select_xaxes() if letter == "x" else plot.select_yaxes())
        if axis.type not in ("category", "multicategory", "date") and not axis.ticktext and axis.visible is not False
        if letter + axis.plotly_name[5:] not in named
    ]
    if not axes:
        raise InputError(f"The axis {letter} of this figure has no numbers, so its range cannot be set. Remove {letter}.")
    if any(axis.type == "log" for axis in axes) and span[0] <= 0:
        raise InputError(f"The axis {letter} of this figure is logarithmic: its range must start above 0.")
    for axis in axes:
        ends = [log10(end) if axis.type == "log" else end for end in span]
        axis.update(range=ends[::-1] if axis.autorange == "reversed" else ends, autorange=None)


def _has_words(trace: Any, letter: str) -> bool:
    """Return whether a trace is drawn at words along an axis."""
    values = getattr(trace, letter, None)
    return values is not None and any(isinstance(value, str) for value in values)


def _tell_apart(plot: go.Figure, look: Look) -> None:
    """Give lines dashes, points symbols and negative cells a minus sign, which tell them apart in greys."""
    places = {colour: k for k, colour in enumerate(look.colours.lines)}
    for trace in plot.data:
        if trace.type in ("scatter", "scattergl"):
            place = places.get(str(trace.line.color or trace.marker.color), 0)
            if place and "lines" in (trace.mode or "lines") and trace.line.dash in (None, "solid"):
                trace.line.dash = _DASHES[place % len(_DASHES)]
            if place and "markers" in (trace.mode or "") and trace.marker.symbol in (None, "circle"):
                trace.marker.symbol = SYMBOLS[place % len(SYMBOLS)]
    with_signs(plot, look)


def with_signs(plot: go.Figure, look: Look) -> go.Figure:
    """Give the negative cells of heatmaps a minus sign."""
    plot.add_traces([sign for trace in plot.data if trace.type == "heatmap" and (sign := _signs(trace, plot, look))])
    return plot


def _signs(trace: go.Heatmap, plot: go.Figure, look: Look) -> dict[str, Any] | None:
    """Return a minus sign for each cell in the lower half of a scale with two sides; None for other scales, and for too many cells."""
    shared = plot.layout[trace.coloraxis] if trace.coloraxis else None
    scale, *span = (shared.colorscale, shared.cmin, shared.cmax) if shared else (trace.colorscale, trace.zmin, trace.zmax)
    two_sided = [[tuple(stop) for stop in colour_scale(getattr(look.colours, name))] for name in ("signed", "judged", "probability")]
    z = np.asarray(trace.z, dtype=float)
    if [tuple(stop) for stop in scale or ()] not in two_sided or z.size > MARKED:
        return None
    middle = 0.0 if np.nanmin(z, initial=0.0) < 0 else 0.5
    rows, columns = np.nonzero(z < (middle if None in span else sum(span) / 2))
    x, y = (list(range(z.shape[axis])) if at is None else list(at) for axis, at in ((1, trace.x), (0, trace.y)))
    return {
        "type": "scatter",
        "x": [x[place] for place in columns],
        "y": [y[place] for place in rows],
        "mode": "text",
        "text": "<b>−</b>",
        "textposition": "bottom center",
        "textfont": {"size": 9, "color": look.colours.ink, "shadow": ", ".join([f"0 0 2px {look.colours.paper}"] * 3)},
        "hoverinfo": "skip",
        "showlegend": False,
        "xaxis": trace.xaxis,
        "yaxis": trace.yaxis,
    }
