"""The share of words at a leader as a function of the distance that counts as near."""

from __future__ import annotations

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, new_plot
from sentviz.figures.panels import dotted, name_ends
from sentviz.io.lazy import pd

LINES = {"q50": "half of the reviews", "mean": "mean", "q05": "19 of 20 reviews"}


def nearness_curve(frame: pd.DataFrame, *, near: float, wanted: float, layers: int = 8, theme: Theme = "light") -> Figure:
    """Draw the share of a review's words at a leader after the last layer over the distance that counts as near.

    Args:
        frame: nearness, mean, q05, q50 (shares of words: mean over reviews, shares that 19 of 20 and half of them reach), n.
        near, wanted: nearness and share of the claim, marked by dotted lines.
    Frame:
        The rows of `frame`, in the order of nearness.
    """
    rows = frame.sort_values("nearness").reset_index(drop=True)
    if rows.empty:
        raise InputError("The nearness of words to leaders has not been measured.")
    colours = palette(theme)
    title = f"Words near a leader after {layers} layers"
    plot = new_plot(theme, title, (520, 320), (62, 48, 132, 46), showlegend=False)
    ends = []
    for (column, name), colour, dash in zip(LINES.items(), colours.lines, ("solid", "dash", "dot"), strict=False):
        plot.add_scatter(
            x=rows["nearness"],
            y=rows[column],
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": dash},
            marker={"size": 6},
            hovertemplate=f"within %{{x:~%}}: %{{y:.1%}}, {name}<extra></extra>",
        )
        ends.append((float(rows[column].iloc[-1]), colour, name))
    mark = {"line": dotted(colours)}
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
        "Lines: the share of words at a leader that half of the reviews reach, that 19 of 20 reviews reach, and the mean. Dotted: the"
        f" limits of our test, {wanted:.0%} of the words within {near:.0%} (the poster names no number); n = {int(rows['n'].max()):,}."
    )
    return Figure("nearness", plot, rows, caption)
