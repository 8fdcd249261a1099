"""Measured beside printed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, base_layout, file_safe, interval_bars, sentence
from sentviz.figures.text import as_text


def measured_beside_printed(
    frame: pd.DataFrame,
    points: pd.DataFrame | None = None,
    *,
    title: str,
    percent: bool = False,
    other: str = "printed",
    theme: Theme = "light",
) -> Figure:
    """A row per configuration: filled dots with 95 % intervals are measured, open diamonds printed, small ticks single seeds.

    Args:
        frame: model, printed, value, low, high, n, seeds; one row per model.
        points: model, seed, value: each run by itself, drawn where a model has several.
        title: of the number.
        percent: the number is a share.
        other: what the diamonds are, where the paper does not print them.
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
    values = known[["value", "low", "high"]].to_numpy(float)
    form = ".2%" if percent else ".3f"
    plot.add_scatter(
        x=values[:, 0],
        y=[places[m] for m in known["model"]],
        mode="markers",
        name="measured, 95% interval",
        marker={"size": 9, "color": colours.lines[0]},
        error_x=interval_bars(values, colours.lines[0]),
        customdata=np.column_stack([known["seeds"].to_numpy(float), values[:, 1:]]) if len(known) else None,
        hovertemplate=f"%{{x:{form}}} [%{{customdata[1]:{form}}}, %{{customdata[2]:{form}}}], seeds: %{{customdata[0]:.0f}}<extra></extra>",
    )
    several = pd.DataFrame() if points is None else points[points.groupby("model")["model"].transform("size") > 1]
    if len(several):
        plot.add_scatter(
            x=several["value"],
            y=[places[m] + 0.28 for m in several["model"]],
            mode="markers",
            name="each seed",
            marker={"size": 9, "symbol": "line-ns-open", "color": colours.muted, "line": {"width": 1.5}},
            customdata=several[["seed"]].to_numpy(int),
            hovertemplate=f"seed %{{customdata[0]}}: %{{x:{form}}}<extra></extra>",
        )
    print_ = frame.dropna(subset="printed")
    if len(print_):
        plot.add_scatter(
            x=print_["printed"],
            y=[places[m] for m in print_["model"]],
            mode="markers",
            name=other,
            marker={"size": 11, "symbol": "diamond-open", "color": colours.lines[1], "line": {"width": 2}},
            hovertemplate=f"{other} %{{x:{form}}}<extra></extra>",
        )
    names = [as_text(model, 30) for model in models]
    plot.update_yaxes(tickvals=list(range(len(models))), ticktext=names, range=[len(models) - 0.4, -0.6], automargin=False)
    plot.update_xaxes(tickformat=".1%" if percent else None, nticks=7, automargin=False)
    plot.update_layout(legend={"x": 0, "y": -28 / (27 * len(models)), "yanchor": "top"})
    inside = known.dropna(subset="printed")
    held = int(((inside["printed"] >= inside["low"]) & (inside["printed"] <= inside["high"])).sum())
    caption = sentence(
        [
            f"{title}. Diamonds are {other}; of {len(inside)} measured numbers beside one, {held} have it inside their interval."
            if len(print_)
            else f"{title}. The paper prints nothing of these rows.",
            f"Seeds per configuration: {span(known['seeds'])}; n = {int(known['n'].max()):,}." if len(known) else "",
        ]
    )
    return Figure(file_safe("beside", title), plot, frame.reset_index(drop=True), caption)


def span(counts: pd.Series[float]) -> str:
    """ "3", or "1 to 3" where they differ."""
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"
