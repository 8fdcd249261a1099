"""Measured numbers next to the numbers that a paper reports."""

from __future__ import annotations

from typing import Any

from sentviz.charts.chart import Axis, Chart
from sentviz.charts.chart import points as dots
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import span


def measured_beside_printed(
    frame: pd.DataFrame,
    points: pd.DataFrame | None = None,
    *,
    title: str,
    percent: bool = False,
    reference: str = "reported",
) -> Figure:
    """Draw a row for each configuration: filled dots with 95 % intervals are measured, open diamonds reported, small ticks single seeds.

    Args:
        frame: model, printed, value, low, high, n, seeds; one row per model.
        points: model, seed, value: the single runs; drawn for models with several.
        title: name of the number.
        percent: write the number as a percentage.
        reference: meaning of the diamonds, by default "reported" in the paper.
    """
    if frame[["printed", "value"]].isna().all(axis=None):
        raise InputError("There is neither a reported nor a measured value to draw.")
    known, reported = frame.dropna(subset="value"), frame.dropna(subset="printed")
    several = pd.DataFrame() if points is None else points[points.groupby("model")["model"].transform("size") > 1]
    form = ".2%" if percent else ".3f"
    hover = f"{{value:{form}}} [{{low:{form}}}, {{high:{form}}}], seeds: {{seeds:.0f}}"
    marks = [dots(known, "value", "model", low="low", high="high", name="measured, 95 % interval", hover=hover)]
    if len(several):
        seeds: Any = {"role": "muted", "symbol": "line-ns-open", "shift": 0.28, "name": "each seed"}
        marks.append(dots(several, "value", "model", hover=f"seed {{seed}}: {{value:{form}}}", **seeds))
    if len(reported):
        diamonds: Any = {"role": 1, "symbol": "diamond-open", "size": 1.2, "name": reference}
        marks.append(dots(reported, "printed", "model", hover=f"{reference} {{printed:{form}}}", **diamonds))
    chart = Chart(title, marks, Axis(form=".1%" if percent else ""), Axis(rows={model: model for model in frame["model"]}))
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
    return Figure(file_safe("beside", title), chart, frame.reset_index(drop=True), caption)
