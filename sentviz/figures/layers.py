"""The prediction layer by layer, and the attention patterns of the heads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, class_colours, colour_scale, palette
from sentviz.figures.figure import Figure, annotate, base_layout, file_safe, new_plot, number
from sentviz.figures.panels import cell_texts, name_ends
from sentviz.figures.text import as_text
from sentviz.io.lazy import go, pd


def verdict_lines(labels: Sequence[str], probabilities: npt.ArrayLike, *, theme: Theme = "light") -> Figure:
    """Draw the class probabilities that the classifier gives for the states of each layer.

    Args:
        labels: names of the K classes.
        probabilities: (L + 1, K), row 0 = the embedding.
    Frame:
        layer (0 = embedding), label, probability.
    """
    shares = np.asarray(probabilities, dtype=float)
    if shares.ndim != 2 or shares.shape[1] != len(labels):
        raise InputError(f"{len(labels)} labels do not fit probabilities of shape {shares.shape}.")
    steps = list(range(len(shares)))
    names = ["embedding", *(f"layer {i}" for i in steps[1:])]
    layout = base_layout(theme, title="The prediction, layer by layer", width=520, height=280, margin=(56, 52, 120, 44))
    plot = go.Figure(layout=layout)
    for k, (label, colour) in enumerate(zip(labels, class_colours(labels, theme), strict=True)):
        plot.add_scatter(
            x=steps,
            y=shares[:, k],
            mode="lines+markers",
            name=as_text(label),
            line={"color": colour, "width": 2},
            marker={"size": 8},
            cliponaxis=False,
            hovertemplate=f"{as_text(label)}, %{{x}}: %{{y:.1%}}<extra></extra>",
        )
    last = [
        (share, colour, f"{as_text(label)} {share:.0%}")
        for label, colour, share in zip(labels, class_colours(labels, theme), shares[-1].tolist(), strict=True)
    ]
    name_ends(plot, last, steps[-1], span=1.06, inner=184)
    plot.update_xaxes(tickvals=steps, ticktext=names, range=[-0.1, steps[-1] + 0.1])
    plot.update_yaxes(range=[-0.03, 1.03], tickformat=".0%", automargin=False)
    plot.update_layout(showlegend=False)
    frame = pd.DataFrame({"layer": np.repeat(steps, len(labels)), "label": list(labels) * len(steps), "probability": shares.ravel()})
    caption = (
        "Class probabilities if the model's final norm and classifier read the states of each layer. Only the states of the last layer"
        " were trained"
        " for this."
    )
    return Figure(file_safe("verdict-by-layer"), plot, frame, caption, from_zero=("layer",))


def head_table(patterns: pd.DataFrame, *, theme: Theme = "light") -> Figure:
    """Draw a row for each head and a column for each pattern; each column is coloured from its smallest to its largest value.

    Args:
        patterns: layer, head (counted from 0) and one column per pattern, as `sentviz.analysis.maps.layers.head_patterns` gives it.
    Frame:
        layer, head, habit, value.
    """
    habits = [name for name in patterns.columns if name not in ("layer", "head")]
    if patterns.empty or not habits:
        raise InputError("There is no head to draw.")
    colours, values = palette(theme), patterns[habits].to_numpy(float)
    low, high = values.min(axis=0), values.max(axis=0)
    scaled = (values - low) / np.where(high > low, high - low, 1)
    rows = [f"L{layer + 1} H{head + 1}" for layer, head in patterns[["layer", "head"]].to_numpy(int)]
    scale = colour_scale(colours.sequential)
    height = 88 + 26 * len(rows)
    plot = new_plot(
        theme,
        "What each head attends to",
        (560, height),
        (64, 68, 16, 20),
        go.Heatmap(
            z=scaled,
            x=habits,
            y=rows,
            customdata=values,
            colorscale=scale,
            zmin=0,
            zmax=1,
            showscale=False,
            xgap=1,
            ygap=1,
            hovertemplate="%{y}, %{x}: %{customdata:.3f}<extra></extra>",
        ),
    )
    texts = [[number(value) for value in line] for line in values.tolist()]
    annotate(plot, cell_texts(texts, blend(colours.sequential, scaled.ravel()), 11))
    plot.update_xaxes(side="top", showgrid=False, automargin=False)
    plot.update_yaxes(autorange="reversed", showgrid=False, automargin=False)
    frame = patterns.melt(id_vars=["layer", "head"], var_name="habit", value_name="value")
    caption = (
        "Means over the tokens of the sentence: entropy as a share of its maximum, distance in tokens, the other columns as shares of the"
        " attention. Colours compare the heads of one column."
    )
    return Figure(file_safe("head-habits"), plot, frame, caption)
