"""Lines named at their ends instead of in a legend."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from sentviz.figures.figure import annotate
from sentviz.figures.maps import Floats

_LINE = 17  # pixels from name to name: in print they come closer by a fifth


def pushed_apart(heights: npt.ArrayLike, least: float) -> Floats:
    """Rising heights (n,), moved as little as squares can tell until each is at least so far above the one before.

    Less i x least, they must not fall: neighbours that do are pooled (isotonic regression).
    """
    steps = least * np.arange(np.size(heights))
    pools: list[list[float]] = []
    for height in np.asarray(heights, dtype=float) - steps:
        pools.append([float(height)])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    means = np.array([np.mean(pool) for pool in pools])
    return np.asarray(np.repeat(means, [len(pool) for pool in pools]) + steps)


def name_ends(
    plot: go.Figure,
    ends: Sequence[tuple[float, str, str]],
    x: float,
    *,
    span: float,
    inner: float,
    axis: str = "",
    shift: int = 8,
) -> None:
    """Names beside the last points of lines, none on another.

    Args:
        ends: height (its logarithm on a log axis), colour, name as a Plotly label.
        x: where the lines end.
        span, inner: what the y axis shows, and its pixels.
        axis: of the panel, "" or "2", "3" ...
        shift: pixels from the end to its name.
    """
    ordered = sorted(ends)
    heights = pushed_apart([end[0] for end in ordered], _LINE * span / inner)
    place = {"x": x, "xref": f"x{axis}", "yref": f"y{axis}", "xanchor": "left", "xshift": shift, "showarrow": False}
    annotate(
        plot,
        (
            {**place, "y": height, "text": text, "font": {"size": 12, "color": colour}}
            for height, (_, colour, text) in zip(heights, ordered, strict=True)
        ),
    )
