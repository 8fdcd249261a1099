"""Read the traces that a figure draws, without those that only stand for the entries of a legend."""

from __future__ import annotations

from typing import Any

from sentviz.figures.figure import Figure


def data_traces(figure: Figure) -> list[Any]:
    """Return the traces of a figure that have data."""
    return [trace for trace in figure.plot.data if trace.x is None or not len(trace.x) or trace.x[0] is not None]
