"""Shared parts of figures: grids of panels, marks with intervals, axes of named rows, texts in cells, and names at the ends of
lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.charts.colours import ink_on
from sentviz.charts.look import Look
from sentviz.charts.maps import Floats
from sentviz.io.lazy import go, pd, subplots

FRAMELESS: dict[str, Any] = {"showgrid": False, "showticklabels": False, "showline": True, "mirror": True, "automargin": False}
"""An axis without numbers, for points whose coordinates have no unit."""
UNFADED: dict[str, Any] = {"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}
"""Marks that look the same whether they are selected or not."""
UNSEEN: dict[str, Any] = {"selected": {"marker": {"opacity": 0}}, "unselected": {"marker": {"opacity": 0}}}
"""Invisible marks that take a click."""


# ---- panels


def panel_grid(
    titles: Sequence[str], across: int, look: Look, *, apart: float, below: float = 0.0, size: int = 13, **more: Any
) -> tuple[go.Figure, list[dict[str, int]]]:
    """Return a figure with a panel for each title, row by row, and the place of each panel as Plotly's `row` and `col`.

    Args:
        titles: Plotly labels. across: panels side by side, at most.
        apart: space between columns, as a share of the width. below: space between all rows together, as a share of the height.
        size: pixels of the titles' letters. more: further arguments of `make_subplots`.
    """
    across = min(across, len(titles))
    down = -(-len(titles) // across)
    plot = subplots.make_subplots(
        rows=down, cols=across, subplot_titles=list(titles), horizontal_spacing=apart, vertical_spacing=below / down, **more
    )
    plot.update_annotations(font={"size": size, "color": look.colours.muted})
    return plot, [{"row": i // across + 1, "col": i % across + 1} for i in range(len(titles))]


def panel_axes(panel: int) -> dict[str, str]:
    """Return the axes of a panel, counted from 0, for an annotation."""
    suffix = str(panel + 1) if panel else ""
    return {"xref": f"x{suffix}", "yref": f"y{suffix}"}


# ---- lines and marks


def path(
    plot: go.Figure, points: npt.ArrayLike, colour: str, width: float, dash: str | None = None, opacity: float | None = None, **trace: Any
) -> None:
    """Draw a line through points (n, 2) that does not react to the pointer; NaN ends a line, so that one trace can have several."""
    at = np.asarray(points, dtype=float)
    line = {"color": colour, "width": width, "dash": dash}
    plot.add_scatter(x=at[:, 0], y=at[:, 1], mode="lines", line=line, opacity=opacity, hoverinfo="skip", **trace)


# ---- lines named at their ends


def pushed_apart(heights: npt.ArrayLike, least: float) -> Floats:
    """Move rising heights (n,) apart until neighbours differ by at least `least`, with the smallest sum of squared moves.

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


# ---- rows and cells


def row_axis(labels: Sequence[str], **more: Any) -> dict[str, Any]:
    """Return a vertical axis with a named row at 0, 1, 2 ... from top to bottom.

    Args:
        labels: Plotly labels. more: further settings of the axis.
    """
    ticks = {"tickvals": list(range(len(labels))), "ticktext": list(labels)}
    return ticks | {"range": [len(labels) - 0.5, -0.5], "showgrid": False, "automargin": False} | more


def cell_texts(texts: Sequence[Sequence[str]], fills: Sequence[str], size: int, **more: Any) -> Iterator[dict[str, Any]]:
    """Yield an annotation for each cell with a text, in black or white, whichever reads better on the cell's colour.

    Args:
        texts: (rows, columns), "" for none. fills: (rows * columns,) ``#rrggbb``, row by row. size: pixels of the letters.
        more: further settings, for example the axes.
    """
    inks = iter(map(ink_on, fills))
    for i, row in enumerate(texts):
        for j, (text, ink) in enumerate(zip(row, inks, strict=False)):
            if text:
                yield {"x": j, "y": i, "text": text, "showarrow": False, "font": {"size": size, "color": ink}, **more}


def stacked(tables: Mapping[str, pd.DataFrame], name: str) -> pd.DataFrame:
    """Return tables of the same columns below each other; the first column, `name`, has their keys."""
    frame = pd.concat([table.assign(**{name: key}) for key, table in tables.items()], ignore_index=True)
    return frame[[name, *(column for column in frame if column != name)]]
