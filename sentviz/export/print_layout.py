"""Lay out a figure at the width of a printed column: margins and fonts keep their size, panels that become too narrow are stacked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from sentviz.figures.text import broken, label_width
from sentviz.io.lazy import go

MIN_WIDTH_FEW = 180  # pixels a panel needs if a figure has at most `MAX_FEW` panels
MIN_WIDTH_MANY = 100  # pixels a panel needs if there are more
MAX_FEW = 4  # largest number of panels with the larger width
LINE_HEIGHT = 17  # pixels of a text line
ENTRY_HEIGHT = 19  # pixels of a legend line
TICK_WIDTH = 38  # pixels a number on an axis needs
SMALLEST = 9  # pixels of the letters of a name
TITLE_SHIFT = 0.7  # Plotly draws a title of several lines too high by this share of the font size


def fit_width(plot: go.Figure, width: int) -> tuple[int, int]:
    """Lay out the plot for a width in pixels, and return its width and height.

    The area inside the margins is scaled; its height only if no axis has rows of words. If both axes have one scale, the height follows
    from the width. Titled panels of one kind that would be too narrow are put in fewer columns. The title is broken into lines, and tick
    labels are thinned or rotated. Names of a heatmap's rows and columns that would still overlap are thinned. Numbers that no longer fit
    into their cells are hidden. Legends and colour bars outside the axes keep
    their distance in pixels and get room for their lines.
    """
    natural, tall, top = plot.layout.width or 800, plot.layout.height or 480, plot.layout.margin.t or 0
    tall += _break_title(plot, width - 24)
    right = plot.layout.margin.r or 0
    if right > width / 5 and (plot.layout.legend.x or 0) >= 1:  # A legend on the right would take too much of the width.
        plot.update_layout(legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom"})
        below = ENTRY_HEIGHT * _legend_rows(plot, width - 88) + 14
        plot.update_layout(margin={"r": 64, "b": (plot.layout.margin.b or 0) + below})
        natural, tall = natural - right + 64, tall + below
    else:
        tall += _grow_legend(plot, natural, width)
    side, ends = (
        sum(80 if part is None else part for part in pair)
        for pair in ((plot.layout.margin.l, plot.layout.margin.r), (plot.layout.margin.t, plot.layout.margin.b))
    )
    wide, inner = max(width - side, 60), tall - ends
    room = wide / max(natural - side, 1)
    panels, before = _panels(plot), inner
    if panels and (columns := _columns(plot, panels, wide, room < 1)):
        inner = _regrid(plot, panels, inner, wide, columns, (panels[0][0][1] - panels[0][0][0]) * (natural - side))
        ends = (plot.layout.margin.t or 0) + (plot.layout.margin.b or 0)
    elif shape := _aspect(plot):
        inner = min(max(wide * shape, 0.3 * wide, 60), 1.4 * max(inner, wide))
    elif any(axis.scaleanchor for axis in plot.select_yaxes()):
        inner *= min(room, 1.4)
    elif not any(axis.ticktext for axis in plot.select_yaxes()):
        inner *= min(max(room, 0.8), 1.2)
    _keep_distance(plot, before, inner, (plot.layout.margin.t or 0) - top)
    _break_sides(plot, inner)
    height = round(ends + inner + _fit_ticks(plot, wide))
    _fit_cells(plot, wide)
    _thin_tokens(plot, wide, inner)
    plot.update_layout(width=width, height=height)
    return width, height


def _break_title(plot: go.Figure, room: float) -> int:
    """Break the title into lines that fit, and return by how many pixels its height grew."""
    title = plot.layout.title
    if not title.text:
        return 0
    title.text = broken(title.text, 1.1 * room, title.font.size or 15)  # Words are narrower than numbers.
    lines = int(title.text.count("<br>"))
    grown = lines * (LINE_HEIGHT + 3)
    if lines:
        title.pad.t = (title.pad.t or 0) + TITLE_SHIFT * (title.font.size or 15)
    plot.update_layout(margin_t=(plot.layout.margin.t or 0) + grown)
    return grown


def _break_sides(plot: go.Figure, inner: float) -> None:
    """Break the titles of the vertical axes into lines that are not longer than the axes."""
    most = 0
    for axis in plot.select_yaxes():
        start, end = axis.domain or (0, 1)
        if axis.title.text and axis.visible is not False:
            size, before = axis.title.font.size or 12, axis.title.text.count("<br>")
            axis.title.text = broken(axis.title.text, (end - start) * inner + 12, size)
            most = max(most, axis.title.text.count("<br>") - before)
    plot.update_layout(margin_l=(plot.layout.margin.l or 0) + LINE_HEIGHT * most)


def _legend_rows(plot: go.Figure, room: float) -> int:
    """Return the number of lines of a horizontal legend: one if all entries fit; otherwise all columns are as wide as the widest entry."""
    traces = [trace for trace in plot.data if trace.showlegend or (trace.showlegend is None and trace.name)]
    wide = [label_width(trace.name or "", 12) + 46 for trace in traces]
    if sum(wide) <= room:
        return min(len(wide), 1)
    return -(-len(wide) // max(int(room / max(wide)), 1))


def _grow_legend(plot: go.Figure, natural: float, width: float) -> int:
    """Make room for the additional lines of a legend above or below the axes, and return by how many pixels the figure's height grew."""
    legend, sides = plot.layout.legend, sum(80 if part is None else part for part in (plot.layout.margin.l, plot.layout.margin.r))
    edge = "" if legend.orientation != "h" or legend.y is None else "t" if legend.y > 1 else "b" if legend.y <= 0 else ""
    if not edge:
        return 0
    grown = ENTRY_HEIGHT * (_legend_rows(plot, width - sides) - _legend_rows(plot, natural - sides))
    plot.update_layout({f"margin_{edge}": (plot.layout.margin[edge] or 0) + grown})
    return grown


def _aspect(plot: go.Figure) -> float:
    """Return height by width of a single panel whose axes have one scale and known ranges; 0 for any other plot."""
    pairs = list(_panel_axes(plot))
    (x, y), *more = pairs or [(None, None)]
    if x is None or more or not (x.range and y.range and y.scaleanchor and y.constrain == "domain"):
        return 0.0
    across, up = (abs(float(axis.range[1]) - float(axis.range[0])) for axis in (x, y))
    return float(up * (y.scaleratio or 1) / across)


def _fit_cells(plot: go.Figure, wide: float) -> None:
    """Hide the numbers of a heatmap if they are wider than its cells: the colours still show the values."""
    cells = {}
    for trace in plot.data:
        if trace.type == "heatmap" and trace.z is not None:
            x = plot.layout["xaxis" + (trace.xaxis or "x")[1:]]
            start, end = x.domain or (0, 1)
            count = abs(x.range[1] - x.range[0]) if x.range else np.shape(trace.z)[1]
            cells[trace.xaxis or "x", trace.yaxis or "y"] = (end - start) * wide / max(float(count), 1)
    for trace in plot.data:
        room = cells.get((trace.xaxis or "x", trace.yaxis or "y")) if trace.type == "scatter" and trace.mode == "text" else None
        if room and trace.textposition in (None, "middle center") and trace.text is not None:
            size = trace.textfont.size or 12
            if max(label_width(str(text), size) for text in trace.text) > room:
                trace.visible = False
    names = [(note, cells.get((note.xref or "x", note.yref or "y"))) for note in plot.layout.annotations]
    tight = any(room and label_width(str(note.text), note.font.size or 12) > room for note, room in names)
    plot.layout.annotations = [note for note, room in names if not (tight and room)]


def _keep_distance(plot: go.Figure, before: float, inner: float, grown: float) -> None:
    """Keep the distance in pixels of a legend or colour bar outside the axes.

    A legend below the title moves with the title.

    Args:
        before, inner: old and new height of the area inside the margins, in pixels.
        grown: pixels by which the upper margin grew.
    """
    bars = [] if plot.layout.coloraxis.colorbar.y is None else [plot.layout.coloraxis.colorbar]
    for part in (*bars, *([plot.layout.legend] if plot.layout.legend.yref != "container" else [])):
        if part.y is not None and not 0 <= part.y <= 1:
            hung = grown if part.y > 1 and part.yanchor == "top" else 0
            part.y = part.y * before / inner if part.y < 0 else 1 + ((part.y - 1) * before + hung) / inner


def _fit_ticks(plot: go.Figure, inner: float) -> float:
    """Avoid overlaps of tick labels: thin out numbers and rotate words. Return the additional height in pixels."""
    grown = {"b": 0.0, "t": 0.0}
    for x, y in _panel_axes(plot):
        start, end = x.domain or (0, 1)
        room, size = (end - start) * inner, x.tickfont.size or 12
        if x.showticklabels is False or x.visible is False:
            continue
        if not x.ticktext:
            if x.tickvals is None and x.type not in ("log", "category", "multicategory"):
                x.update(nticks=max(min(x.nticks or 99, int(room / TICK_WIDTH)), 2), tickangle=0)
            continue
        labels = [str(label) for label in x.ticktext]
        at = np.log10(np.array(x.tickvals, float)) if x.type == "log" else np.array(x.tickvals, float)
        low, high = sorted(x.range) if x.range else (at.min() - 0.5, at.max() + 0.5)
        places = (room * (at - low) / (high - low)).tolist()
        if all(re.fullmatch(r"[\d.,%×−-]*", label) for label in labels):
            x.update(ticktext=_thin_labels(labels, places, size), tickangle=0)
            continue
        edge, anchored = ("t", 1) if x.side == "top" else ("b", 0)
        if (y.domain or (0, 1))[anchored] != anchored or len(labels) < 2:
            continue
        step, widest = min(b - a for a, b in pairwise(places)), max(label_width(label, size) for label in labels)
        depth = {0: float(size), -45: 0.71 * (widest + size), -90: widest}
        now = int(x.tickangle or 0)
        slanted = 0.71 * step >= 1.1 * size and _ends_inside(plot, labels, places, size, (start * inner, room, (1 - end) * inner), edge)
        angle = 0 if widest + 4 <= step else -45 if slanted else -90
        if now in depth and angle < now:
            x.tickangle = angle
            grown[edge] = max(grown[edge], depth[angle] - depth[now])
    for edge, more in grown.items():
        plot.update_layout({f"margin_{edge}": (plot.layout.margin[edge] or 0) + round(more)})
    return sum(grown.values())


def _thin_tokens(plot: go.Figure, wide: float, inner: float) -> None:
    """Keep every k-th name of the rows and columns of heatmaps, with the smallest k for which they do not overlap.

    Upright names of columns are written smaller if that is enough. Texts next to a row, such as its sum, are kept with the row's name.

    Args:
        wide, inner: width and height of the area inside the margins, in pixels.
    """
    heatmaps = {(trace.xaxis or "x", trace.yaxis or "y") for trace in plot.data if trace.type == "heatmap"}
    for x, y in _panel_axes(plot):
        name = f"y{y.plotly_name[5:]}"
        if (f"x{x.plotly_name[5:]}", name) not in heatmaps:
            continue
        across, up = _pixels_per_cell(x, wide), _pixels_per_cell(y, inner)
        size, widest = x.tickfont.size or 12, max((label_width(str(label), x.tickfont.size or 12) for label in x.ticktext or ()), default=0)
        angle = int(-90 if x.tickangle is None else x.tickangle)
        if angle == -90 and SMALLEST <= across < size:
            size = x.tickfont.size = int(across)
        _keep_every(x, {0: widest + 4, -45: size / 0.71}.get(angle, size), across)
        every = _keep_every(y, 1.1 * (y.tickfont.size or 12), min(across, up) if y.scaleanchor else up)
        for trace in plot.data:
            if every > 1 and trace.type == "scatter" and trace.textposition == "middle right" and (trace.yaxis or "y") == name:
                trace.text = [text if row % every == 0 else "" for text, row in zip(trace.text, trace.y, strict=True)]


def _pixels_per_cell(axis: Any, span: float) -> float:
    """Return the pixels between two neighbouring ticks of an axis of a heatmap, or all of `span` if it has no names."""
    if not axis.ticktext or len(axis.ticktext) < 2:
        return span
    start, end = axis.domain or (0, 1)
    cells = abs(axis.range[1] - axis.range[0]) if axis.range else len(axis.ticktext)
    return float((end - start) * span * (axis.tickvals[1] - axis.tickvals[0]) / cells)


def _keep_every(axis: Any, needed: float, step: float) -> int:
    """Replace names by "" so that those left are `needed` pixels apart, where neighbours have `step`; every how many-th name is left."""
    every = max(ceil(needed / step), 1)
    if every > 1 and axis.ticktext:
        axis.ticktext = [label if i % every == 0 else "" for i, label in enumerate(axis.ticktext)]
    return every


def _ends_inside(
    plot: go.Figure, labels: list[str], places: list[float], size: float, spans: tuple[float, float, float], edge: str
) -> bool:
    """Return whether labels at 45 degrees end inside the picture: Plotly leaves out those that do not.

    Args:
        spans: pixels left of the axis, of the axis, and right of it, without the margins.
        edge: "t" for labels above, which lean to the right; "b" for labels below, which lean to the left.
    """
    left, room, right = spans
    margin = plot.layout.margin.r if edge == "t" else plot.layout.margin.l
    free = (80 if margin is None else margin) + (right if edge == "t" else left)
    return all(
        0.71 * label_width(label, size) <= free + (room - at if edge == "t" else at) for label, at in zip(labels, places, strict=True)
    )


def _thin_labels(labels: list[str], places: list[float], size: float) -> list[str]:
    """Return the numbers on an axis, with "" instead of each number that would touch the number before it."""
    thinned, free = [], float("-inf")
    for label, at in zip(labels, places, strict=True):
        half = label_width(label, size) / 2
        thinned.append(label if at - half >= free else "")
        free = at + half + 4 if thinned[-1] else free
    return thinned


Span = tuple[float, float]


def _panels(plot: go.Figure) -> list[tuple[Span, Span]]:
    """Return the x and y domains of the panels in reading order; an empty list unless all have a title and the same size."""
    spans = [(tuple(x.domain or (0, 1)), tuple(y.domain or (0, 1))) for x, y in _panel_axes(plot)]
    titles = {(round(note.x, 3), round(note.y, 3)) for note in _titles(plot)}
    alike = all(max(sides) - min(sides) < 0.01 for sides in zip(*((x[1] - x[0], y[1] - y[0]) for x, y in spans), strict=True))
    titled = all((round(sum(x) / 2, 3), round(y[1], 3)) in titles for x, y in spans)
    plain = not any(axis.scaleanchor or axis.overlaying for axis in plot.select_yaxes())
    return spans if alike and titled and plain and len(spans) > 1 else []


def _columns(plot: go.Figure, panels: list[tuple[Span, Span]], wide: float, shrunk: bool) -> int:
    """Return the number of columns that fit into `wide` pixels; 0 if the panels and their titles can stay as they are."""
    need = MIN_WIDTH_FEW if len(panels) <= MAX_FEW else MIN_WIDTH_MANY
    starts = sorted({round(x[0], 3) for x, _ in panels})
    across = max(b - a for (a, b), _ in panels)
    if len(starts) == 1 or across * wide >= need:
        long = any(label_width(note.text, note.font.size or 12) > 1.1 * across * wide for note in _titles(plot))
        return len(starts) * (long or (shrunk and len(panels) > len(starts)))
    gap = (starts[1] - starts[0] - across) * wide
    return min(max(int((wide + gap) / (need + gap)), 1), len(starts))


def _panel_axes(plot: go.Figure) -> Iterator[tuple[Any, Any]]:
    """Yield the x axis and the y axis of each panel."""
    for x in plot.select_xaxes():
        yield x, plot.layout["yaxis" + (x.anchor or "y")[1:]]


def _titles(plot: go.Figure) -> list[Any]:
    return [note for note in plot.layout.annotations if note.xref == "paper" and note.yref == "paper" and note.yanchor == "bottom"]


def _regrid(plot: go.Figure, panels: list[tuple[Span, Span]], inner: float, wide: float, columns: int, before: float) -> float:
    """Arrange panels, which were `before` pixels wide, in `columns` columns, and return the new height between the margins."""
    pairs, titles = list(_panel_axes(plot)), _titles(plot)
    starts = sorted({x for x, _ in panels})
    gap = max((starts[1][0] - starts[0][1]) if len(starts) > 1 else 0.0, 10 / wide)
    across, rows = (1 - (columns - 1) * gap) / columns, -(-len(panels) // columns)
    has_labels = [[axis.showticklabels is not False for axis in axes] for axes in zip(*pairs, strict=True)]
    named = [next((axis.title for axis in axes if axis.title.text), None) for axes in zip(*pairs, strict=True)]
    below = [all(has_labels[0]) or (any(has_labels[0]) and i + columns >= len(panels)) for i in range(len(panels))]
    left = [all(has_labels[1]) or (any(has_labels[1]) and i % columns == 0) for i in range(len(panels))]
    lines = max(note.text.count("<br>") for note in titles)
    for note in titles:
        note.text = broken(note.text, 1.1 * across * wide, note.font.size or 12)
    grown = LINE_HEIGHT * (max(note.text.count("<br>") for note in titles) - lines)
    plot.update_layout(margin_t=(plot.layout.margin.t or 0) + grown)
    words, first = next((y for _, y in pairs if y.ticktext), None), pairs[0][1]
    high = (panels[0][1][1] - panels[0][1][0]) * inner
    high = (
        high * (1 if columns == len(starts) else 0.8)
        if words is None
        else max(high * min(across * wide / before, 1), 1.3 * len(words.ticktext) * (words.tickfont.size or 12))
    )
    each = 20 + 18 * (named[0] is not None)  # tick labels, and the axis title
    step = high + 9 + LINE_HEIGHT * max(1 + note.text.count("<br>") for note in titles) + (each if all(below) else 0)
    keys = _panel_legends(plot, panels)
    step += max(ENTRY_HEIGHT * bool(keys), LINE_HEIGHT * _lines_below(plot))
    total: float = (rows - 1) * step + high
    places = []
    for i in range(len(panels)):
        row, column = divmod(i, columns)
        start = column * (across + gap)
        places.append(((start, start + across), (1 - (row * step + high) / total, 1 - row * step / total)))
    moved = dict(zip([(round(sum(x) / 2, 3), round(y[1], 3)) for x, y in panels], places, strict=True))
    for note in titles:
        if (place := moved.get((round(note.x, 3), round(note.y, 3)))) is not None:
            note.update(x=sum(place[0]) / 2, y=place[1][1])
    for key, i in keys.items():
        plot.layout[key].update(x=places[i][0][0], y=places[i][1][0] - 3 / total)
    ticks = {"tickvals": first.tickvals, "ticktext": first.ticktext, "tickfont": first.tickfont}
    for i, ((x, y), (x_place, y_place)) in enumerate(zip(pairs, places, strict=True)):
        x.update(domain=list(x_place), showticklabels=below[i])
        y.update(domain=list(y_place), showticklabels=left[i])
        if left[i] and first.ticktext and not y.ticktext:
            y.update(ticks)
        for axis, title, is_shown, labelled in ((x, named[0], below[i], has_labels[0]), (y, named[1], left[i], has_labels[1])):
            if title is not None and not all(labelled):
                axis.title = title if is_shown else {"text": ""}
    return total


def _lines_below(plot: go.Figure) -> int:
    """Return the largest number of text lines below a panel."""
    below = (note for note in plot.layout.annotations if note.yanchor == "top" and note.y == 0 and str(note.yref).endswith("domain"))
    return max((1 + note.text.count("<br>") for note in below), default=0)


def _panel_legends(plot: go.Figure, panels: list[tuple[Span, Span]]) -> dict[str, int]:
    """Return the position of the panel above each legend, by the legend's name, for legends that lie below a panel."""
    places = {}
    for key in {trace.legend for trace in plot.data if trace.type.startswith("scatter") and trace.legend}:
        legend = plot.layout[key]
        for i, (x, y) in enumerate(panels):
            if legend.x is not None and abs(legend.x - x[0]) < 0.01 and 0 <= y[0] - (legend.y or 0) < 0.03:
                places[key] = i
    return places
