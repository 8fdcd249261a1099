"""How a share depends on what counts as near."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.ends import name_ends
from sentviz.figures.figure import Figure, base_layout

LINES = {"q50": "half of the reviews", "mean": "mean", "q05": "19 of 20 reviews"}


def nearness_curve(frame: pd.DataFrame, *, near: float, wanted: float, layers: int = 8, theme: Theme = "light") -> Figure:
    """The share of a review's words at a leader after the last layer, over how near that is.

    Args:
        frame: nearness, mean, q05, q50 (shares of words: over reviews the mean, and what 19 of 20 and half of them have at least), n.
        near, wanted: the nearness and the share that are asked for, marked.
    Frame:
        as given, in the order of nearness.
    Raises:
        InputError: nothing was measured.
    """
    rows = frame.sort_values("nearness").reset_index(drop=True)
    if rows.empty:
        raise InputError("No nearness was measured.")
    colours = palette(theme)
    title = f"Words at a leader after {layers} layers, by what counts as near"
    plot = go.Figure(layout=base_layout(theme, title=title, width=520, height=320, margin=(62, 48, 132, 46), showlegend=False))
    ends = []
    for (column, said), colour, dash in zip(LINES.items(), colours.lines, ("solid", "dash", "dot"), strict=False):
        plot.add_scatter(
            x=rows["nearness"],
            y=rows[column],
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": dash},
            marker={"size": 6},
            hovertemplate=f"within %{{x:~%}}: %{{y:.1%}}, {said}<extra></extra>",
        )
        ends.append((float(rows[column].iloc[-1]), colour, said))
    mark = {"line": {"color": colours.muted, "width": 1, "dash": "dot"}}
    plot.add_vline(x=near, **mark)
    plot.add_hline(y=wanted, **mark)
    name_ends(plot, ends, float(np.log10(rows["nearness"].iloc[-1])), span=1.0, inner=226)
    ends_at = np.log10(rows["nearness"].to_numpy(float)[[0, -1]])
    decades = 10.0 ** np.arange(np.floor(ends_at[0]), np.ceil(ends_at[1]) + 1)
    plot.update_xaxes(
        title="near: within this share of the largest norm",
        type="log",
        range=[ends_at[0] - 0.1, ends_at[1] + 0.1],
        tickvals=decades,
        tickformat="~%",
        automargin=False,
    )
    plot.update_yaxes(title="share of words", tickformat=".0%", rangemode="tozero", automargin=False)
    caption = (
        f"What is asked for, {wanted:.0%} of the words within {near:.0%}, is marked. Half of the reviews, or 19 of 20, have at least the"
        f" share drawn; n = {int(rows['n'].max()):,}."
    )
    return Figure("nearness", plot, rows, caption)
