"""A table drawn as coloured cells on a scale from -1 to 1: rows named at the left, columns at the top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.figures.colours import Theme, blend, colour_scale
from sentviz.figures.figure import annotate, new_plot
from sentviz.figures.panels import cell_texts, row_axis
from sentviz.io.lazy import go


def matrix(
    theme: Theme,
    title: str,
    size: tuple[int, int],
    margin: tuple[int, int, int, int],
    values: npt.ArrayLike,
    names: Sequence[str],
    heads: Sequence[str],
    stops: Sequence[str],
    *,
    texts: Sequence[Sequence[str]] = (),
    text_size: int = 11,
    **cells: Any,
) -> go.Figure:
    """Return a plot of values (rows, columns) from -1 to 1; NaN is an empty cell.

    Args:
        size, margin: pixels, as for `new_plot`.
        names, heads: Plotly labels of the rows and of the columns.
        stops: colours of the scale.
        texts: (rows, columns) of the cells, in letters of `text_size` pixels.
        cells: further settings of the heat map, for example what is shown under the cursor.
    """
    z = np.asarray(values, dtype=float)
    plot = new_plot(
        theme,
        title,
        size,
        margin,
        go.Heatmap(
            z=z,
            x=list(range(len(heads))),
            y=list(range(len(names))),
            zmin=-1,
            zmax=1,
            colorscale=colour_scale(stops),
            showscale=False,
            xgap=2,
            ygap=2,
            hoverongaps=False,
            **cells,
        ),
    )
    annotate(plot, cell_texts(texts, blend(stops, (np.nan_to_num(z).ravel() + 1) / 2), text_size))
    ticks = {"tickvals": list(range(len(heads))), "ticktext": list(heads), "tickangle": -90}
    plot.update_xaxes(side="top", range=[-0.5, len(heads) - 0.5], showgrid=False, automargin=False, **ticks)
    plot.update_yaxes(row_axis(names, ticklabelstandoff=4))
    return plot
