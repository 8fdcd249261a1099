"""Maps with signs of layers by tokens, heads or components: shares that patching brings over, contributions to the log-odds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, palette
from sentviz.figures.figure import Figure, annotate, file_safe, new_plot, sentence
from sentviz.figures.maps import Floats, coloraxis
from sentviz.figures.panels import cell_texts
from sentviz.figures.text import as_text
from sentviz.io.lazy import go, pd

Unit = Literal["share", "log-odds"]
MOST_COLUMNS, NUMBERED = 40, 16  # columns that are drawn, and the largest number of columns whose cells show their numbers
LEFT, SIDE = 92, 560  # pixels for the names of rows, and the width of the cells at which they are made smaller


def signed_map(
    values: npt.ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    name: str,
    title: str,
    about: str,
    notes: Sequence[Sequence[str]],
    more: Mapping[str, npt.ArrayLike],
    sure: npt.ArrayLike | None = None,
    unit: Unit = "share",
    first_row: int = 1,
    kind: str = "token",
    chosen: Sequence[tuple[int, int]] = (),
    theme: Theme = "light",
) -> Figure:
    """Draw a cell for each layer and token, head or component, coloured by its value.

    Args:
        values: (rows, columns); NaN for a cell without a value.
        rows, columns: their names; of tokens with the partner if it differs. name: of the file. title: of the figure.
        about: beginning of the caption.
        notes: (rows, columns) last line of what a cell says under the cursor.
        more: further columns of the frame, (rows, columns) each.
        sure: (rows, columns) True for cells whose number is written; by default all.
        unit: "share" of the difference between two sentences, or "log-odds".
        first_row: number of the first row: 0 if it is the embedding.
        kind: name of a column in the frame: token, head, component or place.
        chosen: (row, column) of cells that get a frame.
    Frame:
        layer (counted from 0; of states the depth, 0 = embedding), `kind` (counted from 0), name, the unit as the name of the value, and
        the columns of `more`.
    """
    values = np.asarray(values, dtype=np.float64)
    known = np.ones(values.shape, dtype=bool) if sure is None else np.asarray(sure, dtype=bool)
    if not np.isfinite(values).any():
        raise InputError("No cell of this map has a value.")
    strongest = np.nan_to_num(np.abs(values)).max(axis=0)
    kept_columns = np.sort(np.argsort(-strongest, kind="stable")[:MOST_COLUMNS])
    drawn, numbers = values[:, kept_columns], known[:, kept_columns]
    names = [columns[place] for place in kept_columns]
    colours, cell = palette(theme), int(np.clip(SIDE / len(names), 15, 62))
    row = min(max(cell, 26), 40)
    slanted = kind == "token" or cell < 52
    labels = [as_text(name, 24) for name in names]
    below = 26 + int(max(min(len(name), 24) for name in names) * 6.2) if slanted else 44
    width, height = LEFT + 24 + max(cell * len(names), 330), 92 + row * len(rows) + below
    cells = np.argwhere(np.isfinite(drawn))
    plot = new_plot(
        theme,
        title,
        (width, height),
        (LEFT, 92, 24, below),
        go.Heatmap(z=drawn, coloraxis="coloraxis", xgap=1, ygap=1, hoverongaps=False, hoverinfo="skip"),
        coloraxis=_axis(drawn, theme, 14 / (row * len(rows)), unit),
    )
    hover = [
        f"{as_text(rows[i])}, {labels[j]}<br>{_number(drawn[i, j], unit)}<br>{as_text(notes[i][kept_columns[j]])}".removesuffix("<br>")
        for i, j in cells
    ]
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
        annotate(plot, cell_texts(_texts(drawn, numbers, unit), blend(colours.signed, _placed(drawn).ravel()), 11))
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
            f"The {len(names)} {kind}s with the largest values of {len(columns):,} are drawn." if len(names) < len(columns) else "",
        ]
    )
    places = np.indices(values.shape).reshape(2, -1)
    frame = pd.DataFrame(
        {
            "layer": places[0],
            kind: places[1],
            "name": [columns[place] for place in places[1]],
            unit.replace("-", "_"): values.ravel(),
            **{key: np.asarray(value).ravel() for key, value in more.items()},
        }
    )
    return Figure(file_safe(name), plot, frame, caption, from_zero=("layer",) if first_row == 0 else ())


def _axis(values: Floats, theme: Theme, above: float, unit: Unit) -> dict[str, Any]:
    """Return the colour axis, symmetric about 0, with ends in the unit."""
    axis = coloraxis(np.append(values.ravel(), -1e-9), palette(theme), above)
    ends = [_short(axis["cmin"], unit), "0", _number(axis["cmax"], unit).removeprefix("+")]
    return axis | {"colorbar": axis["colorbar"] | {"ticktext": ends}}


def _short(value: float, unit: Unit) -> str:
    return (f"{100 * value:.0f}%" if unit == "share" else f"{value:.2f}").replace("-", "−")


def _number(value: float, unit: Unit) -> str:
    """Return a value with its unit and sign."""
    text = f"{100 * value:+.1f}% of the difference" if unit == "share" else f"{value:+.2f}"
    return text.replace("-", "−") + " log-odds" * (unit == "log-odds")


def _placed(values: Floats) -> Floats:
    """Return the places of values on the colour scale, 0 to 1."""
    top = float(np.nanmax(np.abs(values))) or 1.0
    return np.asarray(0.5 + np.nan_to_num(values) / (2 * top))


def _texts(values: Floats, sure: npt.NDArray[np.bool_], unit: Unit) -> list[list[str]]:
    """Return the numbers of cells, shares in percent; empty for cells that are not sure, and for numbers that round to 0."""
    scale, digits = (100, 0) if unit == "share" else (1, 2)
    return [
        [
            f"{scale * value:.{digits}f}".replace("-", "−") if known and abs(scale * value) >= 0.5 * 10**-digits else ""
            for value, known in zip(*pair, strict=True)
        ]
        for pair in zip(values.tolist(), (sure & np.isfinite(values)).tolist(), strict=True)
    ]
