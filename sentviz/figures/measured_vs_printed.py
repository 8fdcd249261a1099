"""Measured numbers next to the numbers that a paper reports."""

from __future__ import annotations

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, sentence
from sentviz.figures.panels import legend_below, reported_marker, row_axis, with_interval
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd


def measured_beside_printed(
    frame: pd.DataFrame,
    points: pd.DataFrame | None = None,
    *,
    title: str,
    percent: bool = False,
    reference: str = "reported",
    theme: Theme = "light",
) -> Figure:
    """Draw a row for each configuration: filled dots with 95 % intervals are measured, open diamonds reported, small ticks single seeds.

    Args:
        frame: model, printed, value, low, high, n, seeds; one row per model.
        points: model, seed, value: the single runs; drawn for models with several.
        title: name of the number.
        percent: write the number as a percentage.
        reference: meaning of the diamonds, by default "reported" in the paper.
    """
    models = list(dict.fromkeys(frame["model"]))
    if frame[["printed", "value"]].isna().all(axis=None):
        raise InputError("There is neither a reported nor a measured value to draw.")
    colours = palette(theme)
    places = {model: i for i, model in enumerate(models)}
    tall = 27 * len(models)
    legend = legend_below(-28 / tall)
    names = [as_text(model, 30) for model in models]
    left = max(140, 14 + 6 * max(map(len, names)))
    plot = new_plot(theme, title, (480 + left, 104 + tall), (left, 44, 24, 60), legend=legend)
    known = frame.dropna(subset="value")
    values = known[["value", "low", "high"]].to_numpy(float)
    form = ".2%" if percent else ".3f"
    plot.add_scatter(
        **with_interval("x", values, colours.lines[0]),
        y=[places[m] for m in known["model"]],
        mode="markers",
        name="measured, 95% interval",
        marker={"size": 9, "color": colours.lines[0]},
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
    reported = frame.dropna(subset="printed")
    if len(reported):
        plot.add_scatter(
            x=reported["printed"],
            y=[places[m] for m in reported["model"]],
            mode="markers",
            name=reference,
            marker=reported_marker(colours.lines[1]),
            hovertemplate=f"{reference} %{{x:{form}}}<extra></extra>",
        )
    plot.update_yaxes(row_axis(names, 0.6, 0.4, showgrid=None))
    plot.update_xaxes(tickformat=".1%" if percent else None, nticks=7, automargin=False)
    both = known.dropna(subset="printed")
    inside = int(both["printed"].between(both["low"], both["high"]).sum())
    caption = sentence(
        [
            f"{title}. Dots are measured, diamonds are {reference}; {inside} of {len(both)} diamonds lie inside the interval of their dot."
            if len(reported)
            else f"{title}. The paper reports no values for these rows.",
            f"Seeds per configuration: {span(known['seeds'])}; n = {int(known['n'].max()):,}." if len(known) else "",
        ]
    )
    return Figure(file_safe("beside", title), plot, frame.reset_index(drop=True), caption)


def span(counts: pd.Series[float]) -> str:
    """Return the smallest and largest count as text: "1 to 3", or "3" if they are equal."""
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"
