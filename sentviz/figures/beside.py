"""Measured beside printed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from sentviz.errors import InputError
from sentviz.figures.figure import Figure, Theme, base_layout, file_safe, interval_bars, palette
from sentviz.figures.text import as_text

__all__ = ["measured_beside_printed"]


def measured_beside_printed(frame: pd.DataFrame, *, title: str, percent: bool = False, theme: Theme = "light") -> Figure:
    """A row per configuration: filled dots with 95 % intervals are measured, open diamonds printed.

    Args:
        frame: model, printed, value, low, high, n, seed; several rows of a model are several seeds.
        title: of the number.
        percent: the number is a share.
    Raises:
        InputError: nothing measured and nothing printed.
    """
    models = list(dict.fromkeys(frame["model"]))
    if frame[["printed", "value"]].isna().all(axis=None):
        raise InputError("There is nothing printed and nothing measured here.")
    colours = palette(theme)
    places = {model: i for i, model in enumerate(models)}
    height = 104 + 27 * len(models)
    plot = go.Figure(
        layout=base_layout(theme, title=title, width=620, height=height, margin=(140, 44, 24, 60), legend={"orientation": "h"})
    )
    known = frame.dropna(subset="value")
    shift = known.groupby("model").cumcount() * 0.2
    values = known[["value", "low", "high"]].to_numpy(float)
    form = ".2%" if percent else ".3f"
    plot.add_scatter(
        x=values[:, 0],
        y=[places[m] for m in known["model"]] + shift.to_numpy(float),
        mode="markers",
        name="measured, 95% interval",
        marker={"size": 9, "color": colours.lines[0]},
        error_x=interval_bars(values, colours.lines[0]),
        customdata=np.column_stack([known["seed"].to_numpy(float), values[:, 1:]]) if len(known) else None,
        hovertemplate=f"%{{x:{form}}} [%{{customdata[1]:{form}}}, %{{customdata[2]:{form}}}], seed %{{customdata[0]:.0f}}<extra></extra>",
    )
    print_ = frame.dropna(subset="printed").drop_duplicates("model")
    plot.add_scatter(
        x=print_["printed"],
        y=[places[m] for m in print_["model"]],
        mode="markers",
        name="printed",
        marker={"size": 11, "symbol": "diamond-open", "color": colours.lines[1], "line": {"width": 2}},
        hovertemplate=f"printed %{{x:{form}}}<extra></extra>",
    )
    names = [as_text(model, 30) for model in models]
    plot.update_yaxes(tickvals=list(range(len(models))), ticktext=names, range=[len(models) - 0.4, -0.6], automargin=False)
    plot.update_xaxes(tickformat=".1%" if percent else None, nticks=7, automargin=False)
    plot.update_layout(legend={"x": 0, "y": -0.02, "yref": "container", "yanchor": "bottom"})
    inside = print_.merge(known, on="model", suffixes=("", "_run"))
    held = int(((inside["printed"] >= inside["low_run"]) & (inside["printed"] <= inside["high_run"])).sum()) if len(inside) else 0
    caption = f"{title}. Of {len(inside)} measured numbers that the paper prints, {held} lie with the print inside their interval."
    return Figure(file_safe("beside", title), plot, frame.reset_index(drop=True), caption)
