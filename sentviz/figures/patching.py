"""Maps with signs of layers by tokens, heads or components: shares that patching brings over, contributions to the log-odds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.chart import Axis, Chart, cells
from sentviz.figures.figure import Figure, file_safe, number, sentence
from sentviz.figures.text import shortened
from sentviz.io.lazy import pd

Unit = Literal["share", "log-odds"]
MOST_COLUMNS = 40  # columns that are drawn


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
    names = {int(place): shortened(columns[place], 24) for place in np.sort(np.argsort(-strongest, kind="stable")[:MOST_COLUMNS])}
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
    scale, digits = (100, 0) if unit == "share" else (1, 2)
    table = pd.DataFrame({"row": places[0], "column": places[1], "value": values.ravel(), "written": scale * values.ravel()})
    table["where"] = [f"{rows[i]}, {columns[j]}" for i, j in places.T]
    table["said"] = [_number(value, unit) for value in table["value"]]
    table["note"] = [note or "no interval" for row in notes for note in row]
    numbered = known.ravel() & (table["written"].abs() >= 0.5 * 10**-digits)  # numbers that round to 0 are left out
    drawn = table["column"].isin(names) & np.isfinite(table["value"])
    top = float(table["value"][drawn].abs().max()) or 1.0
    ticks = [_number(-top, unit).partition("%")[0] + "%" if unit == "share" else number(-top), "0", _number(top, unit).removeprefix("+")]
    marks = [
        cells(
            part,
            "column",
            "row",
            "value",
            scale="signed",
            span=(-top, top),
            ticks=ticks,
            hover="{where}<br>{said}" + "<br>{note}" * any(map(any, notes)),
            text=text,
            click=("said", "row", "column"),
            chosen=[(j, i) for i, j in chosen],
        )
        for part, text in ((table[drawn & numbered], f"{{written:.{digits}f}}"), (table[drawn & ~numbered], ""))
    ]
    chart = Chart(title, marks, Axis(rows=names), Axis(rows=dict(enumerate(rows))))
    caption = sentence(
        [
            about,
            f"The {len(names)} {kind}s with the largest values of {len(columns):,} are drawn." if len(names) < len(columns) else "",
        ]
    )
    return Figure(file_safe(name), chart, frame, caption, from_zero=("layer",) if first_row == 0 else ())


def _number(value: float, unit: Unit) -> str:
    """Return a value with its unit and sign."""
    text = f"{100 * value:+.1f}% of the difference" if unit == "share" else f"{value:+.2f}"
    return text.replace("-", "−") + " log-odds" * (unit == "log-odds")
