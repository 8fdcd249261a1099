"""Confusion matrices side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, ink_on, palette
from sentviz.figures.figure import Figure, annotate, base_layout, is_panel_title, sentence
from sentviz.figures.text import as_text


def confusion_panels(frame: pd.DataFrame, *, missing: Sequence[str] = (), theme: Theme = "light") -> Figure:
    """A panel per data set, two a row: each cell says its count and its share of the row, which is also its colour.

    Args:
        frame: panel, run, label, predicted, count, share.
        missing: names of the panels that cannot be drawn; the caption says so.
    Raises:
        InputError: no panel.
    """
    panels = list(frame["panel"].unique())
    if not panels:
        raise InputError("There is no run of an NDT configuration here, so there is no confusion matrix.")
    colours, per_row = palette(theme), min(len(panels), 2)
    n_rows = -(-len(panels) // per_row)
    runs = frame.drop_duplicates("panel").set_index("panel")["run"]
    plot = make_subplots(
        rows=n_rows,
        cols=per_row,
        horizontal_spacing=0.16,
        vertical_spacing=0.3 / n_rows,
        subplot_titles=[f"{as_text(panel, 40)}<br>{as_text(runs[panel], 40)}" for panel in panels],
    )
    notes: list[dict[str, Any]] = []
    for i, panel in enumerate(panels):
        here, place = frame[frame["panel"] == panel], {"row": i // per_row + 1, "col": i % per_row + 1}
        classes = list(here["label"].unique())
        shares = here["share"].to_numpy(float).reshape(len(classes), -1)
        counts = here["count"].to_numpy(int).reshape(len(classes), -1)
        names = [as_text(name, 12) for name in classes]
        at, at_panel = np.arange(len(classes)), {"xref": f"x{i + 1 if i else ''}", "yref": f"y{i + 1 if i else ''}"}
        plot.add_heatmap(
            z=shares,
            x=at,
            y=at,
            customdata=counts,
            coloraxis="coloraxis",
            hovertemplate="%{customdata:,} rows, %{z:.1%} of their label<extra></extra>",
            **place,
        )
        for row, column in np.ndindex(*shares.shape):
            background = blend(colours.sequential, [shares[row, column]])[0]
            small = {"size": 13 if len(classes) < 4 else 10, "color": ink_on(background)}
            text = f"{counts[row, column]:,}<br>{shares[row, column]:.1%}"
            notes.append({"x": column, "y": row, "text": text, "font": small, **at_panel})
        plot.update_xaxes(tickvals=at, ticktext=names, title_text="predicted", title_standoff=4, showgrid=False, automargin=False, **place)
        plot.update_yaxes(tickvals=at, ticktext=names, autorange="reversed", showgrid=False, automargin=False, ticklabelstandoff=4, **place)
    plot.update_layout(
        base_layout(
            theme,
            title="Confusion matrices of the best NDT of each data set",
            width=430 * per_row + 40,
            height=330 * n_rows + 76,
            margin=(84, 84, 72, 56),
            coloraxis={
                "colorscale": [[i / (len(colours.sequential) - 1), c] for i, c in enumerate(colours.sequential)],
                "cmin": 0,
                "cmax": 1,
                "colorbar": {"tickformat": ".0%", "thickness": 12, "outlinewidth": 0, "tickfont": {"size": 12}},
            },
        )
    )
    annotate(plot, notes)
    plot.update_annotations(selector=is_panel_title, font={"size": 13, "color": colours.muted})
    totals = frame.groupby("panel", sort=False)["count"].sum()
    caption = sentence(
        [
            "Rows are labels, columns predictions on the test split; a cell has its count and its share of the row, which is its colour.",
            f"Rows: {', '.join(f'{panel} {total:,}' for panel, total in totals.items())}.",
            "Each data set's NDT configuration was chosen on validation accuracy; drawn is its first seed.",
            f"No run here: {', '.join(missing)}." if missing else "",
        ]
    )
    return Figure("confusion-panels", plot, frame.reset_index(drop=True), caption)
