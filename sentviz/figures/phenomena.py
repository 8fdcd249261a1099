"""Accuracy of runs by phenomenon, each dot with its interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, sentence
from sentviz.figures.panels import UNFADED, dotted, note_above, row_axis, run_marks, with_interval
from sentviz.figures.text import as_run, as_text
from sentviz.io.lazy import pd

MOST = 6  # runs
_ALL = "all"


def phenomena(
    frame: pd.DataFrame, *, chance: float = 0.5, chosen: str = "", sided: bool = False, series: Sequence[int] = (), theme: Theme = "light"
) -> Figure:
    """Draw a row of dots per phenomenon, the easiest at the top, "all" at the bottom; each run has a colour and a symbol.

    Args:
        frame: run, phenomenon, n, accuracy, low, high, from `sentviz.analysis.testset.rows.accuracy_by_phenomenon`; at most 6 runs.
        chance: accuracy of guessing, drawn as a dotted line.
        chosen: phenomenon to outline.
        sided: True if predictions on the side of the label were counted as right.
        series: number of the colour and symbol of each run of `frame`, as in `run_marks`.
    """
    runs = list(dict.fromkeys(frame["run"]))
    if not 1 <= len(runs) <= MOST:
        raise InputError(f"This figure has room for 1 to {MOST} runs, not {len(runs)}.")
    means = (
        frame[frame["phenomenon"] != _ALL].groupby("phenomenon", sort=False)["accuracy"].mean().sort_values(ascending=False, kind="stable")
    )
    order = [*means.index, *([_ALL] if (frame["phenomenon"] == _ALL).any() else [])]
    places = {name: i for i, name in enumerate(order)}
    colours = palette(theme)
    step = 13 if len(runs) > 2 else 16  # pixels between the dots of one phenomenon
    row = max(34, step * len(runs) + 14)
    below = 56 + 22 * -(-len(runs) // 2) if len(runs) > 1 else 32  # one run has no legend
    height = 52 + row * len(order) + below
    plot = new_plot(
        theme,
        "Accuracy by phenomenon, demo set",
        (620, height),
        (140, 52, 28, below),
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom", "xref": "container", "entrywidth": 210},
    )
    for i in range(0, len(order), 2):
        plot.add_hrect(y0=i - 0.5, y1=i + 0.5, fillcolor=colours.neutral, opacity=0.5, line_width=0, layer="below")
    if chosen in places:
        at = places[chosen]
        plot.add_shape(
            type="rect", xref="paper", x0=0, x1=1, y0=at - 0.5, y1=at + 0.5, line={"color": colours.ink, "width": 1.5}, layer="below"
        )
    plot.add_vline(x=chance, line=dotted(colours))
    note_above(plot, chance, "guessing", colours.muted)
    for r, (run, mark) in enumerate(run_marks(runs, theme, series).items()):
        rows = frame[frame["run"] == run]
        values = rows[["accuracy", "low", "high"]].to_numpy(float)
        shift = (r - (len(runs) - 1) / 2) * step / row
        plot.add_scatter(
            **with_interval("x", values, mark.colour),
            y=[places[name] + shift for name in rows["phenomenon"]],
            mode="markers",
            name=as_run(run, 30),
            marker={"size": 9, "symbol": mark.symbol, "color": mark.colour},
            customdata=rows[["low", "high", "n", "phenomenon"]].to_numpy(object).tolist(),
            hovertemplate=f"{as_run(run, 30)}<br>%{{x:.0%}} [%{{customdata[0]:.0%}}, %{{customdata[1]:.0%}}], n = %{{customdata[2]}}"
            "<extra></extra>",
            **UNFADED,
        )
    sizes = frame.groupby("phenomenon")["n"].max()
    plot.update_yaxes(row_axis([f"{as_text(name, 20)} ({sizes[name]})" for name in order]))
    least = min(float(frame["low"].min()), chance)
    plot.update_xaxes(range=[max(0.0, np.floor(least * 10) / 10 - 0.02), 1.02], tickformat=".0%", nticks=7, automargin=False)
    caption = sentence(
        [
            "Share of the demo set's sentences that each run predicts right, by phenomenon; the number in brackets is the number of"
            " sentences.",
            "With more than two classes, a prediction on the side of the label is right, and a neutral one is wrong." if sided else "",
            "Bars are Wilson's 95% intervals over sentences. Phenomena are sorted by the mean over the drawn runs.",
            "Overlapping intervals do not show that two runs are equal: the sentences are the same, so use a paired test.",
        ]
    )
    return Figure(file_safe("phenomena", *(runs if len(runs) < 3 else [])), plot, frame.reset_index(drop=True), caption)
