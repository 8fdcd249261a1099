"""Accuracy by number of layers, and lambda by layer, of models with several depths."""

from __future__ import annotations

import pandas as pd

from sentviz.errors import InputError
from sentviz.figures.beside import span
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import DASHES, SYMBOLS, Figure, lay_out, sentence
from sentviz.figures.panels import dotted, legend_below, panel_grid, with_interval
from sentviz.figures.text import as_text


def by_depth(accuracies: pd.DataFrame, lambdas: pd.DataFrame, *, theme: Theme = "light") -> Figure:
    """Draw accuracy over the number of layers, a mark per model, and beside it lambda over the layer, a line per number of layers.

    Args:
        accuracies: model, layers, value, low, high (shares), n, seeds.
        lambdas: layers, layer, start, end; means over components and seeds, layers counted from 1.
    Raises:
        InputError: nothing was measured.
    """
    if accuracies.empty:
        raise InputError("No run of the depth study is installed: `sentviz study ndt-depth --dataset sst2` trains them.")
    colours, models = palette(theme), list(accuracies["model"].unique())
    plot, (left, right) = panel_grid(["Accuracy", "Lambda, mean over components"], 2, theme, apart=0.12)
    for k, model in enumerate(models):
        part = accuracies[accuracies["model"] == model]
        values = part[["value", "low", "high"]].to_numpy(float)
        plot.add_scatter(
            x=part["layers"] + 0.12 * (k - (len(models) - 1) / 2),
            **with_interval("y", values, colours.line(k)),
            mode="markers",
            name=as_text(model, 30),
            marker={"size": 9, "color": colours.line(k), "symbol": SYMBOLS[k]},
            customdata=values[:, 1:],
            hovertemplate=f"{as_text(model, 30)}: %{{y:.2%}} [%{{customdata[0]:.2%}}, %{{customdata[1]:.2%}}]<extra></extra>",
            **left,
        )
    for k, (layers, line) in enumerate(lambdas.groupby("layers")):
        colour = colours.line(k + len(models))
        style = {"color": colour, "width": 2, "dash": DASHES[k]}
        end = {"name": f"{layers} layers, after training", "hovertemplate": "layer %{x}: %{y:.3f}<extra></extra>"}
        plot.add_scatter(x=line["layer"], y=line["end"], mode="lines+markers", line=style, marker={"size": 7}, **end, **right)
        if k == lambdas["layers"].nunique() - 1:
            start = {"name": "start", "hovertemplate": "start, layer %{x}: %{y:.3f}<extra></extra>"}
            plot.add_scatter(x=line["layer"], y=line["start"], mode="lines", line=dotted(colours, 2), **start, **right)
    lay_out(plot, theme, "Models with more layers", (820, 380), (72, 72, 24, 100), legend=legend_below(-0.2))
    plot.update_yaxes(tickformat=".1%", automargin=False, **left)
    depths = sorted(set(accuracies["layers"]))
    plot.update_xaxes(tickvals=depths, title_text="layers", title_standoff=2, automargin=False, **left)
    plot.update_xaxes(dtick=1, title_text="layer", title_standoff=2, automargin=False, **right)
    caption = sentence(
        [
            "Left: test accuracy with 95% intervals over test rows, and over seeds if a configuration has several.",
            "Right: learned lambda by layer; dots are the start values of the deepest model.",
            f"Seeds per configuration: {span(accuracies['seeds'])}; n = {int(accuracies['n'].max()):,}.",
        ]
    )
    frame = pd.concat([accuracies.assign(of="accuracy"), lambdas.assign(of="lambda")], ignore_index=True)
    return Figure("by-depth", plot, frame, caption)
