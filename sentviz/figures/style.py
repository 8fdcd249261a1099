"""Put a plot that is drawn already into a style."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from math import log10
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import THEMES, blend, palette, simulated
from sentviz.figures.figure import SYMBOLS, Figure
from sentviz.figures.look import FONTS, GREYS, JOURNAL, PATTERNS, Look, Style
from sentviz.figures.text import label_width
from sentviz.io.lazy import go

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "5px 2px 1px 2px")
MARKED = 2_500  # largest number of cells that get signs
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_SWATCH = re.compile(r"(#[0-9a-fA-F]{6})[^<>]*>■")


def styled(figure: Figure, style: Style) -> Figure:
    """Return the figure in a style, drawn for the style's width if it can be; its numbers and words stay the same.

    `sentviz.export.files.render` fits the layout to sizes in millimetres.
    """
    if figure.is_chart:
        return replace(figure, look=Look(figure.look.theme, 0, style))
    if style.pixels and figure.at_width:
        figure = replace(figure.at_width(width=style.pixels), source=figure.source, runs=figure.runs, call=figure.call, view=figure.view)
    plot = go.Figure(figure.plot)
    if FONTS[style.font]:
        plot.update_layout(font_family=FONTS[style.font])
    if not style.title and plot.layout.title.text:
        plot.update_layout(title_text="", margin_t=max((plot.layout.margin.t or 0) - 30, 12))
    if style.legend != "own":
        _place_legend(plot, style.legend)
    for letter, span in (("x", style.x), ("y", style.y)):
        if span is not None:
            _reach(plot, letter, span)
    if style.palette != "ours":
        plot = _in_greys(plot) if style.palette == "grey" else _recoloured(plot, _journal)
    return replace(figure, picture=plot, at_width=None)


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


def _reach(plot: go.Figure, letter: str, span: tuple[float, float]) -> None:
    """Set the ranges of the axes of numbers."""
    named = {trace[f"{letter}axis"] or letter for trace in plot.data if _worded(trace, letter)}
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


def _worded(trace: Any, letter: str) -> bool:
    """Return whether a trace is drawn at words along an axis."""
    values = getattr(trace, letter, None)
    return values is not None and any(isinstance(value, str) for value in values)


# ---- colours


def _journal(colour: str) -> str:
    return next((JOURNAL[theme][k] for theme in THEMES for k in _series(colour, palette(theme).lines)), colour)


def _grey(colour: str) -> str:
    """Return a colour in grey: series get greys that differ, all other colours keep their lightness, so that letters on them stay
    readable.
    """
    return next((GREYS[theme][k] for theme in THEMES for k in _series(colour, palette(theme).lines)), simulated(colour, "greys"))


def _series(colour: str, lines: tuple[str, ...]) -> list[int]:
    return [lines.index(colour)] if colour in lines else []


@cache
def _lower() -> npt.NDArray[np.int64]:
    """Return the colours of the lower halves of scales with two sides, (n, 3)."""
    scales = [scale for theme in THEMES for scale in (palette(theme).signed, palette(theme).judged, palette(theme).probability)]
    shades = [shade for scale in scales for shade in blend(scale, np.linspace(0, 0.47, 200))]
    return np.array([[int(shade[i : i + 2], 16) for i in (1, 3, 5)] for shade in shades])


def _below(colour: str) -> bool:
    """Return whether a colour is in the lower half of a scale with two sides, which greys cannot tell from the upper half."""
    if not _COLOUR.fullmatch(colour):
        return False
    own = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return bool((np.abs(_lower() - own).max(axis=1) <= 2).any())


def _in_greys(plot: go.Figure) -> go.Figure:
    """Return the figure in greys: dashes, symbols, hatching and signs replace the differences of colour."""
    places = {colour: k for theme in THEMES for k, colour in enumerate(palette(theme).lines)}
    marks = []
    for trace in plot.data:
        line: Any = getattr(trace, "line", None)
        marker: Any = getattr(trace, "marker", None)
        if trace.type in ("scatter", "scattergl"):
            place = places.get(str(line.color or marker.color).lower(), 0)
            if place and "lines" in (trace.mode or "lines") and line.dash in (None, "solid"):
                line.dash = _DASHES[place]
            if place and "markers" in (trace.mode or "") and marker.symbol in (None, "circle"):
                marker.symbol = SYMBOLS[place]
        elif trace.type == "bar" and marker.color is not None:
            fills = [str(fill).lower() for fill in ([marker.color] if isinstance(marker.color, str) else marker.color)]
            shapes = ["/" if _below(fill) else PATTERNS[places.get(fill, 0)] for fill in fills]
            if any(shapes) and not marker.pattern.shape:
                marker.pattern.update(shape=shapes[0] if len(shapes) == 1 else shapes, size=6, solidity=0.2, fillmode="overlay")
        elif trace.type == "heatmap":
            marks.append(_signs(trace, plot))
    return _recoloured(go.Figure([*plot.data, *filter(None, marks)], plot.layout), _grey)


def _signs(trace: go.Heatmap, plot: go.Figure) -> go.Scatter | None:
    """Return a minus sign for each cell in the lower half of a scale with two sides; None for other scales, and for too many cells."""
    scale = (plot.layout[trace.coloraxis] if trace.coloraxis else trace).colorscale
    z = np.asarray(trace.z, dtype=float)
    if not scale or not _below(str(scale[0][1]).lower()) or z.size > MARKED:
        return None
    middle = 0.0 if np.nanmin(z, initial=0.0) < 0 else 0.5
    rows, columns = np.nonzero(z < middle)
    x, y = (list(range(z.shape[axis])) if at is None else list(at) for axis, at in ((1, trace.x), (0, trace.y)))
    ink = plot.layout.template.layout.font.color
    return go.Scatter(
        x=[x[place] for place in columns],
        y=[y[place] for place in rows],
        mode="text",
        text="<b>−</b>",
        textposition="bottom center",
        textfont={"size": 9, "color": ink, "shadow": ", ".join(["0 0 2px #ffffff"] * 3)},
        hoverinfo="skip",
        showlegend=False,
        xaxis=trace.xaxis,
        yaxis=trace.yaxis,
    )


def _recoloured(plot: go.Figure, change: Callable[[str], str]) -> go.Figure:
    """Return the figure with every colour changed."""

    def recolour(value: Any) -> Any:
        if isinstance(value, str):
            value = _SWATCH.sub(lambda match: match[0][:-1] + "▨" if change is _grey and _below(match[1].lower()) else match[0], value)
            return _COLOUR.sub(lambda match: change(match[0].lower()), value)
        if isinstance(value, Mapping):
            return {key: item if key in _WORDS_OF_PEOPLE else recolour(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [recolour(item) for item in value]
        if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
            return np.array([recolour(item) for item in value.ravel()], dtype=object).reshape(value.shape)
        return value

    return go.Figure([recolour(trace.to_plotly_json()) for trace in plot.data], recolour(plot.layout.to_plotly_json()))


_WORDS_OF_PEOPLE = frozenset(
    {"customdata", "hovertext", "ids", "x", "y", "z", "name", "tickvals", "meta"}
)  # keys whose "#abcdef" is a text, not a colour
