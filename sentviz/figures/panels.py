"""Shared parts of figures: grids of panels, legends, the marks of runs, bands, marks with intervals, axes of named rows, texts in cells,
and names at the ends of lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.colours import Palette, Theme, ink_on
from sentviz.figures.figure import DASHES, SYMBOLS
from sentviz.figures.look import LOOKS, Look
from sentviz.figures.maps import Floats
from sentviz.io.lazy import go, pd

FRAMELESS: dict[str, Any] = {"showgrid": False, "showticklabels": False, "showline": True, "mirror": True, "automargin": False}
"""An axis without numbers, for points whose coordinates have no unit."""
UNFADED: dict[str, Any] = {"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}
"""Marks that look the same whether they are selected or not."""
UNSEEN: dict[str, Any] = {"selected": {"marker": {"opacity": 0}}, "unselected": {"marker": {"opacity": 0}}}
"""Invisible marks that take a click."""
LEGEND_RIGHT: dict[str, Any] = {"x": 1, "xanchor": "left", "y": 1, "yanchor": "top"}


# ---- panels and legends


def panel_grid(
    titles: Sequence[str], across: int, look: Look | Theme, *, apart: float, below: float = 0.0, size: int = 13, **more: Any
) -> tuple[go.Figure, list[dict[str, int]]]:
    """Return a figure with a panel for each title, row by row, and the place of each panel as Plotly's `row` and `col`.

    Args:
        titles: Plotly labels. across: panels side by side, at most.
        apart: space between columns, as a share of the width. below: space between all rows together, as a share of the height.
        size: pixels of the titles' letters. more: further arguments of `make_subplots`.
    """
    across = min(across, len(titles))
    down = -(-len(titles) // across)
    plot = make_subplots(
        rows=down, cols=across, subplot_titles=list(titles), horizontal_spacing=apart, vertical_spacing=below / down, **more
    )
    plot.update_annotations(font={"size": size, "color": (LOOKS[look] if isinstance(look, str) else look).colours.muted})
    return plot, [{"row": i // across + 1, "col": i % across + 1} for i in range(len(titles))]


def panel_axes(panel: int) -> dict[str, str]:
    """Return the axes of a panel, counted from 0, for an annotation."""
    suffix = str(panel + 1) if panel else ""
    return {"xref": f"x{suffix}", "yref": f"y{suffix}"}


def legend_below(y: float) -> dict[str, Any]:
    """Return a legend in lines below the axes; `y` is its top, as a share of the height of the axes."""
    return {"orientation": "h", "x": 0, "y": y, "yanchor": "top"}


def legend_above(top: int, drawn: int) -> dict[str, Any]:
    """Return a legend in one line below the title, for a margin of `top` pixels above `drawn` pixels of axes."""
    return legend_below(1 + (top - 36) / drawn)


def legend_entry(plot: go.Figure, name: str, mode: str = "lines", **style: Any) -> None:
    """Add an entry to the legend that belongs to no single trace; `style` has its line or marker."""
    plot.add_scatter(x=[None], y=[None], mode=mode, name=name, **style)


# ---- marks of runs


@dataclass(frozen=True)
class RunMarks:
    """Colour, symbol and dash of one run, which tell it from the other runs of a figure."""

    colour: str
    symbol: str
    dash: str


def run_marks(runs: Sequence[str], look: Look | Theme, series: Sequence[int] = ()) -> dict[str, RunMarks]:
    """Return colour, symbol and dash of each run.

    Args:
        runs: names of all runs of the figure, also of those that a panel cannot draw.
        series: number of each run's colour, symbol and dash, counted from 0; by default 0, 1, 2 ... A page that draws only some of the
            chosen runs passes their places among all chosen runs, so that a run has the same marks on every page.
    """
    numbers = list(series) or list(range(len(runs)))
    if len(numbers) != len(runs) or min(numbers, default=0) < 0:
        raise InputError(f"`series` needs one number for each of {len(runs)} runs, not {len(numbers)}.")
    colours = (LOOKS[look] if isinstance(look, str) else look).colours
    return {
        run: RunMarks(colours.line(number), SYMBOLS[number % len(SYMBOLS)], DASHES[number % len(DASHES)])
        for run, number in zip(runs, numbers, strict=True)
    }


# ---- lines, bands and marks


def dotted(colours: Palette, width: float = 1) -> dict[str, Any]:
    """Return the line of a reference value, for example of chance."""
    return {"color": colours.muted, "width": width, "dash": "dot"}


def band(plot: go.Figure, x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, colour: str, opacity: float, **trace: Any) -> None:
    """Fill the area between two curves over the same x; `trace` has the panel's row and column."""
    across, lower, upper = (np.asarray(values) for values in (x, low, high))
    plot.add_scatter(
        x=np.concatenate([across, across[::-1]]),
        y=np.concatenate([upper, lower[::-1]]),
        mode="lines",
        fill="toself",
        fillcolor=colour,
        opacity=opacity,
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        **trace,
    )


def path(
    plot: go.Figure, points: npt.ArrayLike, colour: str, width: float, dash: str | None = None, opacity: float | None = None, **trace: Any
) -> None:
    """Draw a line through points (n, 2) that does not react to the pointer; NaN ends a line, so that one trace can have several."""
    at = np.asarray(points, dtype=float)
    line = {"color": colour, "width": width, "dash": dash}
    plot.add_scatter(x=at[:, 0], y=at[:, 1], mode="lines", line=line, opacity=opacity, hoverinfo="skip", **trace)


def with_interval(axis: str, values: npt.NDArray[np.float64], colour: str) -> dict[str, Any]:
    """Return coordinates and error bars of marks along the axis "x" or "y"; `values` has columns value, low, high, (n, 3)."""
    above, below = values[:, 2] - values[:, 0], values[:, 0] - values[:, 1]
    bars = {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "color": colour, "thickness": 1.6, "width": 0}
    return {axis: values[:, 0], f"error_{axis}": bars}


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


def row_axis(labels: Sequence[str], above: float = 0.5, below: float = 0.5, **more: Any) -> dict[str, Any]:
    """Return a vertical axis with a named row at 0, 1, 2 ... from top to bottom.

    Args:
        labels: Plotly labels. above, below: space beyond the middle of the first and the last row, in rows.
        more: further settings of the axis.
    """
    ticks = {"tickvals": list(range(len(labels))), "ticktext": list(labels)}
    return ticks | {"range": [len(labels) - below, -above], "showgrid": False, "automargin": False} | more


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
