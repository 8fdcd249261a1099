"""Confusion matrices side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

from sentviz.charts.chart import Drawing
from sentviz.charts.colours import blend, colour_scale
from sentviz.charts.figure import Figure, annotate, lay_out, sentence
from sentviz.charts.look import Look
from sentviz.charts.maps import title_lines
from sentviz.charts.panels import cell_texts, panel_axes, panel_grid
from sentviz.charts.text import as_text, label_width
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import percent

WIDE = 200  # least pixels of one of two panels side by side


def confusion_panels(frame: pd.DataFrame, *, chosen: str = "", missing: Sequence[str] = ()) -> Figure:
    """Draw a panel per data set, two per row: each cell has its count and its share of the row, which is also its colour.

    Args:
        frame: panel, run, label, predicted, count, share.
        chosen: how the NDT was chosen, for the caption.
        missing: names of the panels that cannot be drawn, for the caption.
    """
    panels = list(frame["panel"].unique())
    if not panels:
        raise InputError("No run of an NDT configuration is installed, so there is no confusion matrix.")
    totals = frame.groupby("panel", sort=False)["count"].sum()
    caption = sentence(
        [
            "Labels down, predictions across, on the test split. A cell has its count and its share of the row, which is also its colour.",
            f"Rows: {', '.join(f'{panel} {total:,}' for panel, total in totals.items())}.",
            f"{chosen} Its first seed is drawn." if chosen else "",
            f"No run is installed for: {', '.join(missing)}." if missing else "",
        ]
    )
    return Figure("confusion-panels", Drawing(_draw, {"frame": frame}), frame.reset_index(drop=True), caption)


def _draw(look: Look, frame: pd.DataFrame) -> go.Figure:
    """Draw the panels of a frame; those of a narrow figure are below each other."""
    colours, panels = look.colours, list(frame["panel"].unique())
    names = {panel: [as_text(name, 12) for name in part["label"].unique()] for panel, part in frame.groupby("panel")}
    left = 40 + round(max(label_width(name, 12) for each in names.values() for name in each))
    across = 1 if 0 < look.room < 2 * (left + WIDE) else min(len(panels), 2)
    wide = look.room or across * (left + 300)
    side, down = wide / across - left - 12, ceil(len(panels) / across)
    high = min(side, 240)
    runs = frame.drop_duplicates("panel").set_index("panel")["run"]
    titles = [f"{as_text(panel, 40)}<br>{as_text(runs[panel], 40)}" for panel in panels]
    inner = down * high + 96 * (down - 1)
    plot, places = panel_grid(titles, across, look, apart=left / (wide - left - 12), below=96 * down / inner)
    notes: list[dict[str, Any]] = []
    for i, (panel, place) in enumerate(zip(panels, places, strict=True)):
        cells, at = frame[frame["panel"] == panel], np.arange(len(names[panel]))
        shares, counts = (cells[column].to_numpy().reshape(len(at), -1) for column in ("share", "count"))
        plot.add_heatmap(
            z=shares,
            x=at,
            y=at,
            customdata=[[f"{counts[i, j]:,} rows, {percent(shares[i, j])} of their label" for j in at] for i in at],
            coloraxis="coloraxis",
            hovertemplate="%{customdata}<extra></extra>",
            **place,
        )
        texts = [[f"{counts[i, j]:,}<br>{percent(shares[i, j])}" for j in at] for i in at]
        if max(label_width(text, 11) for row in texts for text in row) < side / len(at):
            notes += cell_texts(texts, blend(colours.sequential, shares.ravel()), 13 if len(at) < 4 else 11, **panel_axes(i))
        fits = max(label_width(name, 12) for name in names[panel]) < side / len(at)
        plot.update_xaxes(tickvals=at, ticktext=names[panel], tickangle=0 if fits else -90, title_text="predicted" * fits, **place)
        plot.update_yaxes(tickvals=at, ticktext=names[panel], autorange="reversed", **place)
    title, more = title_lines("Confusion matrices of the best NDT of each data set", look)
    scale = {"colorscale": colour_scale(colours.sequential), "cmin": 0, "cmax": 1, "showscale": False}
    lay_out(plot, look, title, (wide, round(inner) + 152 + more), (left, 84 + more, 12, 68), coloraxis=scale)
    plot.update_xaxes(title_standoff=4, showgrid=False, automargin=False)
    plot.update_yaxes(showgrid=False, automargin=False, ticklabelstandoff=4)
    annotate(plot, notes)
    return plot
