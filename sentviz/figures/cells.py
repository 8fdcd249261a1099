"""A table of numbers as coloured cells with the numbers in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sentviz.figures.colours import Theme, blend, colour_scale, palette
from sentviz.figures.figure import annotate, new_plot, number
from sentviz.figures.maps import Floats
from sentviz.figures.panels import cell_texts
from sentviz.io.lazy import go


def number_cells(
    values: Floats,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    top: float,
    digits: int = 2,
    left: int = 70,
    row: int = 40,
    hover: Sequence[Sequence[str]] = (),
    theme: Theme = "light",
) -> go.Figure:
    """Draw values from 0 to `top`, (rows, columns), with the first row at the top; NaN is an empty cell.

    Args:
        rows, columns: Plotly labels (escape the user's strings with ``as_text``). title: a Plotly label.
        digits: decimals of the numbers. left: pixels for the names of rows. row: pixels of a row.
        hover: hover text of each cell, Plotly labels; by default its number.
    """
    colours = palette(theme)
    plot = new_plot(
        theme,
        title,
        (max(360, left + 20 + 72 * len(columns)), 110 + row * len(rows)),
        (left, 76, 16, 20),
        go.Heatmap(
            z=values,
            x=list(columns),
            y=list(rows),
            colorscale=colour_scale(colours.sequential),
            zmin=0,
            zmax=top,
            showscale=False,
            xgap=2,
            ygap=2,
            hoverongaps=False,
            customdata=[list(line) for line in hover] or [[f"{value:.4f}" for value in line] for line in values],
            hovertemplate="%{y}, %{x}: %{customdata}<extra></extra>",
        ),
    )
    texts = [[number(value, digits) if np.isfinite(value) else "" for value in line] for line in values.tolist()]
    annotate(plot, cell_texts(texts, blend(colours.sequential, np.clip(np.nan_to_num(values) / top, 0, 1).ravel()), 12))
    plot.update_xaxes(type="category", side="top", showgrid=False, automargin=False)
    plot.update_yaxes(type="category", autorange="reversed", showgrid=False, automargin=False)
    return plot
