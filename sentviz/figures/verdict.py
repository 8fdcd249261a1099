"""The model's prediction: one slim bar per class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, class_colours, palette
from sentviz.figures.figure import Figure, new_plot
from sentviz.figures.text import as_text, text_columns
from sentviz.io.lazy import pd


def probability_bars(labels: Sequence[str], probabilities: npt.ArrayLike, *, theme: Theme = "light") -> Figure:
    """Draw class probabilities as horizontal bars, the first class at the top, the largest probability in full colour.

    Args:
        labels: names of the K classes.
        probabilities: (K,) in 0..1.
    """
    shares = np.asarray(probabilities, dtype=float)
    if shares.shape != (len(labels),) or not len(labels):
        raise InputError(f"{len(labels)} labels do not fit probabilities of shape {shares.shape}.")
    colours = palette(theme)
    best = int(shares.argmax())
    names = [as_text(label) for label in labels]
    rows, fills = list(range(len(labels))), class_colours(labels, theme)
    plot = new_plot(
        theme,
        "",
        (460, 30 * len(labels) + 16),
        (24 + 8 * max(min(text_columns(label), 24) for label in labels), 8, 56, 8),
        showlegend=False,
        barmode="overlay",
        xaxis={"range": [0, 1], "visible": False, "fixedrange": True},
        yaxis={
            "range": [len(labels) - 0.5, -0.5],
            "tickvals": rows,
            "ticktext": names,
            "fixedrange": True,
            "showgrid": False,
            "ticklabelstandoff": 6,
            "tickfont": {"size": 13},
        },
    )
    shape = {"orientation": "h", "y": rows, "width": 0.5}
    plot.add_bar(x=[1.0] * len(labels), marker={"color": colours.neutral, "cornerradius": 4}, hoverinfo="skip", **shape)
    plot.add_bar(
        x=shares,
        marker={"color": fills, "opacity": [1.0 if i == best else 0.45 for i in rows], "cornerradius": 4},
        customdata=names,
        hovertemplate="%{customdata}: %{x:.1%}<extra></extra>",
        **shape,
    )
    for row, share in zip(rows, shares, strict=True):
        plot.add_annotation(
            x=1,
            y=row,
            text=f"{share:.1%}",
            xanchor="left",
            xshift=8,
            font={"size": 13, "weight": 600 if row == best else 400},
        )
    frame = pd.DataFrame({"label": list(labels), "probability": shares})
    return Figure("probabilities", plot, frame, f"The model's probability of each of the {len(labels)} classes.")
