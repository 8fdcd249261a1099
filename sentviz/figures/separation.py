"""Accuracy on sequences whose class depends on the first word "not" and the last word "good", by their distance (SentiFormer,
Proposition 2).
"""

from __future__ import annotations

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, sentence
from sentviz.figures.panels import dotted, with_interval
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd

_MARKS = ("circle", "diamond", "square")


def accuracy_by_length(frame: pd.DataFrame, *, trained: int, theme: Theme = "light") -> Figure:
    """Draw a line for each model over the length of the sequences; Markov models are in shades of one colour.

    Args:
        frame: model, order (0 = no Markov model), length, n, accuracy, low, high.
        trained: the longest sequence of the training set; longer ones stand on a shaded ground.
    Frame:
        As given.
    """
    if frame.empty:
        raise InputError("No model was tested.")
    colours = palette(theme)
    most, longest, shortest = (int(value) for value in (frame["order"].max(), frame["length"].max(), frame["length"].min()))
    shades = blend(colours.sequential[2:5], np.linspace(0, 1, max(most, 1)))
    plot = new_plot(
        theme,
        "Accuracy by the length of the sequence",
        (760, 420),
        (60, 52, 208, 52),
        legend={"x": 1.02, "xanchor": "left", "y": 1, "yanchor": "top"},
    )
    right = np.log2(longest) + 0.12
    if trained < longest:
        plot.add_vrect(
            x0=np.log2(trained) + 0.06,
            x1=right,
            fillcolor=colours.neutral,
            opacity=0.7,
            line_width=0,
            layer="below",
            label={
                "text": "longer than in training",
                "textposition": "top right",
                "padding": 2,
                "font": {"size": 11, "color": colours.muted},
            },
        )
    plot.add_hline(y=0.5, line=dotted(colours), layer="below")
    for i, (model, rows) in enumerate(frame.groupby("model", sort=False)):
        order = int(rows["order"].iloc[0])
        colour = shades[order - 1] if order else colours.lines[(1, 2, 3)[i % 3]]
        values = rows[["accuracy", "low", "high"]].to_numpy(float)
        plot.add_scatter(
            x=np.log2(rows["length"]),
            **with_interval("y", values, colour),
            mode="lines+markers",
            name=as_text(str(model), 30),
            line={"color": colour, "width": 1.6 if order else 3, "dash": "solid"},
            marker={"size": 5 if order else 9, "symbol": "circle" if order else _MARKS[i % 3]},
            customdata=np.column_stack([rows["length"].to_numpy(float), values[:, 1:], rows["n"].to_numpy(float)]),
            hovertemplate=f"{as_text(str(model), 30)}<br>%{{customdata[0]:.0f}} words: %{{y:.1%}} [%{{customdata[1]:.1%}},"
            " %{customdata[2]:.1%}], n = %{customdata[3]:.0f}<extra></extra>",
            cliponaxis=False,
        )
    ticks = [length for length in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128) if shortest <= length <= longest]
    plot.update_xaxes(
        title_text="length of the sequence in words",
        title_standoff=6,
        tickvals=np.log2(ticks),
        ticktext=[str(length) for length in ticks],
        range=[np.log2(shortest) - 0.12, right],
        automargin=False,
    )
    least = min(0.4, float(frame["low"].min()) - 0.02)
    plot.update_yaxes(range=[max(0.0, least), 1.09], tickformat=".0%", nticks=8, automargin=False)
    caption = sentence(
        [
            f"Share of right predictions among {int(frame['n'].max()):,} new sequences of each length that end in “good”; half of them"
            " begin with “not”."
            " Bars are Wilson's 95% intervals.",
            "Dotted: guessing, which is also the best that a function of the last k words can reach in longer sequences." if most else "",
            f"All models learned from the same sequences of 2 to {trained} words.",
        ]
    )
    return Figure(file_safe("separation"), plot, frame.reset_index(drop=True), caption)
