"""A table of numbers as coloured cells that hold them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from sentviz.figures.colours import Theme, blend, ink_on, palette
from sentviz.figures.figure import annotate, base_layout, number
from sentviz.figures.maps import Floats


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
    said: Sequence[Sequence[str]] = (),
    theme: Theme = "light",
) -> go.Figure:
    """(rows, columns) values from 0 to `top`, the first row above; NaN is an empty cell.

    Args:
        rows, columns: Plotly labels (escape the user's strings with ``as_text``). title: the same.
        digits: behind the point. left: pixels for the names of rows. row: pixels of a row.
        said: what the pointer reads of each cell, Plotly labels; its number unless told.
    """
    colours = palette(theme)
    plot = go.Figure(
        go.Heatmap(
            z=values,
            x=list(columns),
            y=list(rows),
            colorscale=[[i / (len(colours.sequential) - 1), stop] for i, stop in enumerate(colours.sequential)],
            zmin=0,
            zmax=top,
            showscale=False,
            xgap=2,
            ygap=2,
            hoverongaps=False,
            customdata=[list(line) for line in said] or [[f"{value:.4f}" for value in line] for line in values],
            hovertemplate="%{y}, %{x}: %{customdata}<extra></extra>",
        ),
        layout=base_layout(
            theme,
            title=title,
            width=max(360, left + 20 + 72 * len(columns)),
            height=110 + row * len(rows),
            margin=(left, 76, 16, 20),
        ),
    )
    inks = [ink_on(fill) for fill in blend(colours.sequential, np.clip(np.nan_to_num(values) / top, 0, 1).ravel())]
    annotate(
        plot,
        (
            {"x": j, "y": i, "text": number(float(values[i, j]), digits), "showarrow": False, "font": {"size": 12, "color": ink}}
            for (i, j), ink in zip(np.ndindex(*values.shape), inks, strict=True)
            if np.isfinite(values[i, j])
        ),
    )
    plot.update_xaxes(type="category", side="top", showgrid=False, automargin=False)
    plot.update_yaxes(type="category", autorange="reversed", showgrid=False, automargin=False)
    return plot
