"""Methods ranked by a measured number, each with its interval."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, number
from sentviz.figures.panels import dotted, note_above, row_axis, with_interval
from sentviz.figures.text import as_text


def ranking(frame: pd.DataFrame, *, title: str, better: str = "higher", reference: str = "random", theme: Theme = "light") -> Figure:
    """Draw methods as dots with intervals, the best at the top; the reference is a grey line with its interval.

    Args:
        frame: method, value, low, high, n; one row per method.
        title: name of the number.
        better: "higher" or "lower".
        reference: method to draw as a line.
    Raises:
        InputError: there is no method besides the reference.
    """
    rows = frame[frame["method"] != reference].sort_values("value", ascending=better == "lower").reset_index(drop=True)
    if rows.empty:
        raise InputError("There is no method to rank.")
    colours = palette(theme)
    height = 96 + 30 * len(rows)
    plot = new_plot(theme, title, (560, height), (178, 44, 64, 44))
    base = frame[frame["method"] == reference]
    if not base.empty:
        chance = base.iloc[0]
        plot.add_vrect(x0=chance["low"], x1=chance["high"], fillcolor=colours.muted, opacity=0.18, line_width=0)
        plot.add_vline(x=chance["value"], line=dotted(colours))
        note_above(plot, chance["value"], reference, colours.muted)
    values = rows[["value", "low", "high"]].to_numpy(float)
    plot.add_scatter(
        **with_interval("x", values, colours.lines[0]),
        y=np.arange(len(rows)),
        mode="markers+text",
        marker={"size": 10, "color": colours.lines[0]},
        text=[number(value) for value in values[:, 0]],
        textposition="top center",
        textfont={"size": 11, "color": colours.muted},
        customdata=values,
        hovertemplate="%{x:.3f} [%{customdata[1]:.3f}, %{customdata[2]:.3f}]<extra></extra>",
    )
    names = [as_text(name, 40) for name in rows["method"]]
    plot.update_yaxes(row_axis(names, 0.7, 0.4))
    plot.update_xaxes(automargin=False, nticks=7)
    caption = f"{title}: {better} is better. Bars are 95% bootstrap intervals over {int(rows['n'].max())} texts."
    return Figure(file_safe("ranking", title), plot, frame.reset_index(drop=True), caption)
