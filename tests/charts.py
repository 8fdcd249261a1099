"""Make pictures of plots, and read the traces that a figure draws, without those that only stand for the entries of a legend."""

from __future__ import annotations

from typing import Any

from sentviz.charts.chart import Drawing
from sentviz.charts.figure import Figure
from sentviz.io.lazy import go


def data_traces(figure: Figure) -> list[Any]:
    """Return the traces of a figure that have data."""
    return [trace for trace in figure.plot.data if trace.x is None or not len(trace.x) or trace.x[0] is not None]


def picture(plot: go.Figure) -> Drawing:
    """Return a picture that is a given plot in every look."""
    return Drawing(lambda look: go.Figure(plot), {})
