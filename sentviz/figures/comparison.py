"""Sources of predictions compared on the same rows: the accuracy of each, and how far each is behind the best."""

from __future__ import annotations

from functools import partial

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, lay_out, sentence
from sentviz.figures.panels import dotted, panel_grid, row_axis, with_interval
from sentviz.figures.text import as_run, label_width
from sentviz.io.lazy import pd

_ROW, _TOP, _BELOW = 30, 68, 44  # pixels
_NARROW = 560  # pixels below which the panels are stacked
_NAME = 30  # columns of a name


def comparison_dots(
    table: pd.DataFrame, trainings: pd.DataFrame, *, headline: str, method: str, width: int = 820, theme: Theme = "light"
) -> Figure:
    """Draw the accuracy of each source with its interval and those of its trainings, and its difference from the best source.

    Args:
        table: source, seeds, accuracy, low, high, behind, behind_low, behind_high (NaN for the best), p; shares, the best first.
        trainings: source, seed, accuracy: of each training of sources with several.
        headline, method: sentences for the caption.
        width: pixels; if it is small, the panels are stacked.
    Frame:
        source, seed (empty for the mean), accuracy, low, high, behind, behind_low, behind_high, p.
    """
    if len(table) < 2:
        raise InputError("The figure comparison needs two to six sources: name others with versus.")
    colours, across = palette(theme), 2 if width >= _NARROW else 1
    names = [
        as_run(name, _NAME) + (f" ({seeds} seeds)" if seeds > 1 else "")
        for name, seeds in zip(table["source"], table["seeds"], strict=True)
    ]
    left, inner = 24 + round(max(label_width(name, 12) for name in names)), _ROW * len(table)
    titles = ("Accuracy, %", "Difference from the best, points")
    plot, places = panel_grid(titles, across, theme, apart=0.06, below=0.0 if across == 2 else 0.5)
    down = 2 // across
    height = _TOP + down * inner + (down - 1) * 76 + _BELOW
    lay_out(plot, theme, "Which is right more often?", (width, height), (left, _TOP, 24, _BELOW), showlegend=False)
    rows = np.arange(len(table))
    each = trainings.merge(pd.DataFrame({"source": table["source"], "row": rows}), on="source")
    plot.add_scatter(
        x=100 * each["accuracy"],
        y=each["row"] + 0.28,
        mode="markers",
        marker={"size": 6, "symbol": "circle-open", "color": colours.muted},
        customdata=each["seed"],
        hovertemplate="seed %{customdata}: %{x:.2f}%<extra></extra>",
        **places[0],
    )
    for values, place, sign in (
        (100 * table[["accuracy", "low", "high"]].to_numpy(float), places[0], ""),
        (100 * table[["behind", "behind_low", "behind_high"]].to_numpy(float), places[1], "+"),
    ):
        plot.add_scatter(
            **with_interval("x", values, colours.lines[0]),
            y=rows,
            mode="markers",
            marker={"size": 10, "color": colours.lines[0]},
            customdata=values,
            hovertemplate=f"%{{x:{sign}.2f}} [%{{customdata[1]:{sign}.2f}}, %{{customdata[2]:{sign}.2f}}]<extra></extra>",
            **place,
        )
    plot.add_vline(x=0, line=dotted(colours, 1.4), **places[1])
    plot.add_scatter(
        x=[0], y=[0], mode="markers", marker={"size": 10, "symbol": "diamond", "color": colours.muted}, hoverinfo="skip", **places[1]
    )
    for place in places:
        labels = {} if place["col"] == 1 else {"showticklabels": False}
        plot.update_yaxes(row_axis(names, 0.6, 0.6), **labels, **place)
    plot.update_xaxes(nticks=6, automargin=False)
    frame = pd.concat(
        [table[["source", "accuracy", "low", "high", "behind", "behind_low", "behind_high", "p"]], each[["source", "seed", "accuracy"]]]
    )
    frame.insert(1, "seed", frame.pop("seed"))
    caption = sentence([headline, method, "Open circles are single trainings." if len(each) else ""])
    return Figure(
        "comparison", plot, frame.reset_index(drop=True), caption, at_width=partial(_again, table, trainings, headline, method, theme)
    )


def _again(table: pd.DataFrame, trainings: pd.DataFrame, headline: str, method: str, theme: Theme, *, width: int) -> Figure:
    return comparison_dots(table, trainings, headline=headline, method=method, width=width, theme=theme)
