"""The share of the difference between two sentences that a replaced state brings over, as a map with signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, palette
from sentviz.figures.figure import Figure, annotate, file_safe, new_plot, sentence
from sentviz.figures.maps import Floats, coloraxis
from sentviz.figures.panels import cell_texts
from sentviz.figures.text import as_text

MOST_COLUMNS, NUMBERED = 40, 16  # columns that are drawn, and the largest number of columns whose cells show their numbers
LEFT, SIDE = 92, 560  # pixels for the names of rows, and the width of the cells at which they are made smaller


def share_map(
    share: npt.ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    what: str,
    title: str,
    about: str,
    probability: npt.ArrayLike,
    label: str,
    first_row: int = 1,
    kind: str = "token",
    chosen: Sequence[tuple[int, int]] = (),
    theme: Theme = "light",
) -> Figure:
    """Draw a cell for each layer and token, head or component, coloured by the share that it brings over.

    Args:
        share: (rows, columns); NaN for a cell that cannot be replaced.
        rows, columns: their names; of tokens with the partner if it differs. what: the quantity. title: of the figure.
        about: beginning of the caption.
        probability: (rows, columns) of the class `label` after the replacement; NaN for estimated cells.
        first_row: number of the first row: 0 if it is the embedding.
        kind: name of a column in the frame: token, head or component.
        chosen: (row, column) of cells that get a frame.
    Frame:
        layer (counted from 0; of states the depth, 0 = embedding), `kind` (counted from 0), name, share, probability, exact.
    Raises:
        InputError: there is no cell.
    """
    values, after = np.asarray(share, dtype=np.float64), np.asarray(probability, dtype=np.float64)
    if not np.isfinite(values).any():
        raise InputError("No cell of this map can be replaced.")
    strongest = np.nan_to_num(np.abs(values)).max(axis=0)
    kept_columns = np.sort(np.argsort(-strongest, kind="stable")[:MOST_COLUMNS])
    drawn, numbers = values[:, kept_columns], after[:, kept_columns]
    names = [columns[place] for place in kept_columns]
    colours, cell = palette(theme), int(np.clip(SIDE / len(names), 15, 62))
    row = min(max(cell, 26), 40)
    slanted = kind == "token" or cell < 52
    labels = [as_text(name, 24) for name in names]
    below = 26 + int(max(min(len(name), 24) for name in names) * 6.2) if slanted else 44
    width, height = LEFT + 24 + max(cell * len(names), 200), 92 + row * len(rows) + below
    cells = np.argwhere(np.isfinite(drawn))
    plot = new_plot(
        theme,
        title,
        (width, height),
        (LEFT, 92, 24, below),
        go.Heatmap(z=drawn, coloraxis="coloraxis", xgap=1, ygap=1, hoverongaps=False, hoverinfo="skip"),
        coloraxis=_axis(drawn, theme, 14 / (row * len(rows))),
    )
    hover = [_hover(rows[i], labels[j], drawn[i, j], numbers[i, j], as_text(label)) for i, j in cells]
    plot.add_scatter(  # a heatmap cannot be clicked
        x=cells[:, 1],
        y=cells[:, 0],
        mode="markers",
        marker={"symbol": "square", "size": min(cell, row) - 2, "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=[[text, int(i), int(kept_columns[j])] for text, (i, j) in zip(hover, cells, strict=True)],
        hovertemplate="%{customdata[0]}<extra></extra>",
        showlegend=False,
    )
    for i, j in chosen:
        if j in kept_columns:
            x = int(np.flatnonzero(kept_columns == j)[0])
            plot.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=i - 0.5, y1=i + 0.5, line={"color": colours.accent, "width": 2.5})
    if len(names) <= NUMBERED:
        annotate(plot, cell_texts(_texts(drawn, numbers), blend(colours.signed, _placed(drawn).ravel()), 11))
    plot.update_xaxes(
        tickvals=list(range(len(names))),
        ticktext=labels,
        tickangle=-90 if slanted else 0,
        showgrid=False,
        zeroline=False,
        range=[-0.5, len(names) - 0.5],
        automargin=False,
    )
    plot.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=list(rows),
        showgrid=False,
        zeroline=False,
        range=[len(rows) - 0.5, -0.5],
        automargin=False,
    )
    plot.update_layout(dragmode=False)
    caption = sentence(
        [
            about,
            f"The {len(names)} {kind}s with the largest shares of {len(columns):,} are drawn." if len(names) < len(columns) else "",
        ]
    )
    places = np.indices(values.shape).reshape(2, -1)
    frame = pd.DataFrame(
        {
            "layer": places[0],
            kind: places[1],
            "name": [columns[place] for place in places[1]],
            "share": values.ravel(),
            "probability": after.ravel(),
            "exact": np.isfinite(after).ravel(),
        }
    )
    return Figure(file_safe("patch", what), plot, frame, caption, from_zero=("layer",) if first_row == 0 else ())


def _axis(values: Floats, theme: Theme, above: float) -> dict[str, Any]:
    """Return the colour axis, symmetric about 0, with ends in percent."""
    axis = coloraxis(np.append(values.ravel(), -1e-9), palette(theme), above)
    ends = [f"{100 * axis['cmin']:.0f}%".replace("-", "−"), "0", f"{100 * axis['cmax']:.0f}% of the difference"]
    return axis | {"colorbar": axis["colorbar"] | {"ticktext": ends}}


def _placed(values: Floats) -> Floats:
    """Return the places of values on the colour scale, 0 to 1."""
    top = float(np.nanmax(np.abs(values))) or 1.0
    return np.asarray(0.5 + np.nan_to_num(values) / (2 * top))


def _texts(values: Floats, exact: Floats) -> list[list[str]]:
    """Return the shares of exact cells in percent; empty for other cells, and for shares that round to 0."""
    return [
        [
            f"{100 * value:.0f}".replace("-", "−") if np.isfinite(known) and abs(value) >= 0.005 else ""
            for value, known in zip(*pair, strict=True)
        ]
        for pair in zip(values.tolist(), exact.tolist(), strict=True)
    ]


def _hover(row: str, column: str, share: float, after: float, label: str) -> str:
    known = f"probability of {label} then {after:.1%}" if np.isfinite(after) else "estimated by the gradient"
    return f"{row}, {column}<br>{share:+.1%} of the difference<br>{known}".replace("-", "−")
