"""Confusion matrices side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, colour_scale, palette
from sentviz.figures.figure import Figure, annotate, lay_out, sentence
from sentviz.figures.panels import cell_texts, panel_axes, panel_grid
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd


def confusion_panels(frame: pd.DataFrame, *, chosen: str = "", missing: Sequence[str] = (), theme: Theme = "light") -> Figure:
    """Draw a panel per data set, two per row: each cell has its count and its share of the row, which is also its colour.

    Args:
        frame: panel, run, label, predicted, count, share.
        chosen: how the NDT was chosen, for the caption.
        missing: names of the panels that cannot be drawn, for the caption.
    """
    panels = list(frame["panel"].unique())
    if not panels:
        raise InputError("No run of an NDT configuration is installed, so there is no confusion matrix.")
    colours = palette(theme)
    runs = frame.drop_duplicates("panel").set_index("panel")["run"]
    titles = [f"{as_text(panel, 40)}<br>{as_text(runs[panel], 40)}" for panel in panels]
    plot, places = panel_grid(titles, 2, theme, apart=0.16, below=0.3)
    notes: list[dict[str, Any]] = []
    for i, (panel, place) in enumerate(zip(panels, places, strict=True)):
        cells = frame[frame["panel"] == panel]
        classes = list(cells["label"].unique())
        shares = cells["share"].to_numpy(float).reshape(len(classes), -1)
        counts = cells["count"].to_numpy(int).reshape(len(classes), -1)
        names = [as_text(name, 12) for name in classes]
        at = np.arange(len(classes))
        plot.add_heatmap(
            z=shares,
            x=at,
            y=at,
            customdata=counts,
            coloraxis="coloraxis",
            hovertemplate="%{customdata:,} rows, %{z:.1%} of their label<extra></extra>",
            **place,
        )
        texts = [[f"{counts[i, j]:,}<br>{shares[i, j]:.1%}" for j in at] for i in at]
        notes += cell_texts(texts, blend(colours.sequential, shares.ravel()), 13 if len(classes) < 4 else 10, **panel_axes(i))
        plot.update_xaxes(tickvals=at, ticktext=names, title_text="predicted", title_standoff=4, showgrid=False, automargin=False, **place)
        plot.update_yaxes(tickvals=at, ticktext=names, autorange="reversed", showgrid=False, automargin=False, ticklabelstandoff=4, **place)
    lay_out(
        plot,
        theme,
        "Confusion matrices of the best NDT of each data set",
        (430 * min(len(panels), 2) + 40, 330 * places[-1]["row"] + 76),
        (84, 84, 72, 56),
        coloraxis={
            "colorscale": colour_scale(colours.sequential),
            "cmin": 0,
            "cmax": 1,
            "colorbar": {"tickformat": ".0%", "thickness": 12, "outlinewidth": 0, "tickfont": {"size": 12}},
        },
    )
    annotate(plot, notes)
    totals = frame.groupby("panel", sort=False)["count"].sum()
    caption = sentence(
        [
            "Labels down, predictions across, on the test split. A cell has its count and its share of the row, which is also its colour.",
            f"Rows: {', '.join(f'{panel} {total:,}' for panel, total in totals.items())}.",
            f"{chosen} Its first seed is drawn." if chosen else "",
            f"No run is installed for: {', '.join(missing)}." if missing else "",
        ]
    )
    return Figure("confusion-panels", plot, frame.reset_index(drop=True), caption)
