"""A measure over how much was learned from: one line a model, the printed points beside."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, base_layout, file_safe, interval_bars, sentence
from sentviz.figures.text import as_text


def learning_curve(
    frame: pd.DataFrame, titles: Mapping[str, str], *, title: str, unit: str = "rows", note: str = "", theme: Theme = "light"
) -> Figure:
    """Dots with 95 % intervals joined by lines are measured, open diamonds printed; rows on a logarithmic axis.

    Args:
        frame: preset, rows, value, low, high, n, seeds, printed; a value or a print may be NaN.
        titles: of each preset, in order.
        unit: what is counted. note: a sentence of the caption.
    Frame:
        the same rows, with the titles.
    Raises:
        InputError: nothing measured.
    """
    measured = frame.dropna(subset="value")
    if measured.empty:
        raise InputError("Nothing of this learning curve is measured here.")
    colours = palette(theme)
    plot = go.Figure(layout=base_layout(theme, title=title, width=620, height=380, margin=(64, 44, 24, 96), legend={"orientation": "h"}))
    for i, (preset, name) in enumerate(titles.items()):
        colour = colours.lines[i % len(colours.lines)]
        own = measured[measured["preset"] == preset].sort_values("rows")
        if len(own):
            values = own[["value", "low", "high"]].to_numpy(float)
            plot.add_scatter(
                x=own["rows"],
                y=values[:, 0],
                mode="lines+markers",
                name=as_text(name, 30),
                line={"color": colour, "width": 2},
                marker={"size": 8, "color": colour, "symbol": ("circle", "square", "triangle-up")[i % 3]},
                error_y=interval_bars(values, colour),
                customdata=values[:, 1:],
                hovertemplate=f"%{{x:,}} {unit}: %{{y:.2%}} [%{{customdata[0]:.2%}}, %{{customdata[1]:.2%}}]<extra></extra>",
            )
        said = frame[(frame["preset"] == preset)].dropna(subset="printed")
        if len(said):
            plot.add_scatter(
                x=said["rows"],
                y=said["printed"],
                mode="markers",
                name=f"{as_text(name, 30)}, printed",
                marker={"size": 11, "symbol": "diamond-open", "color": colour, "line": {"width": 2}},
                hovertemplate=f"printed, %{{x:,}} {unit}: %{{y:.2%}}<extra></extra>",
            )
    ticks = sorted({int(rows) for rows in frame["rows"]})
    shown = [tick for i, tick in enumerate(ticks) if not i or tick > 1.6 * ticks[i - 1] or tick == ticks[-1]]
    plot.update_xaxes(type="log", title_text=unit, tickvals=shown, ticktext=[f"{tick:,}" for tick in shown], title_standoff=4)
    plot.update_yaxes(tickformat=".0%")
    plot.update_layout(legend={"x": 0, "y": -0.2, "yanchor": "top"})
    seeds = measured["seeds"].astype(int)
    caption = sentence(
        [
            f"{title}, with 95% intervals; diamonds are printed.",
            note,
            f"n = {int(measured['n'].max()):,}; seeds: {seeds.min()}" + (f" to {seeds.max()}." if seeds.min() < seeds.max() else "."),
        ]
    )
    table = frame.assign(model=frame["preset"].map(dict(titles))).reset_index(drop=True)
    return Figure(file_safe(title), plot, table, caption)
