"""Accuracy by constraint and number of components, with the baselines as lines."""

from __future__ import annotations

import pandas as pd
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.beside import span
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, base_layout, file_safe, interval_bars, sentence
from sentviz.figures.text import as_text

DASHES = ("dot", "dash", "solid")


def accuracy_grid(frame: pd.DataFrame, *, title: str, theme: Theme = "light") -> Figure:
    """A panel per constraint, C across; baselines are horizontal lines through all panels, prints are open diamonds.

    Args:
        frame: model, constraint ("" of a baseline), components, value, low, high, printed, seeds; NaN where nothing was measured.
        title: the data set.
    Raises:
        InputError: nothing measured.
    """
    known = frame.dropna(subset="value")
    if known.empty:
        raise InputError("There is no run of this data set here.")
    colours, constraints = palette(theme), list(frame.loc[frame["constraint"] != "", "constraint"].unique())
    plot = make_subplots(
        rows=1,
        cols=len(constraints),
        shared_yaxes=True,
        horizontal_spacing=0.025,
        subplot_titles=[one.replace("inf", "∞").replace("-", "−") for one in constraints],
    )
    for k, base in enumerate(known[known["constraint"] == ""].to_dict("records")):
        line = {"color": colours.lines[k + 2], "width": 1.6, "dash": DASHES[k % 3]}
        for column in range(len(constraints)):
            plot.add_scatter(
                x=[1.5, 4.5],
                y=[base["value"]] * 2,
                mode="lines",
                line=line,
                name=f"{as_text(base['model'], 24)} {base['value']:.2%}",
                legendgroup=base["model"],
                showlegend=column == 0,
                hovertemplate=f"{as_text(base['model'], 24)} %{{y:.2%}}<extra></extra>",
                row=1,
                col=column + 1,
            )
    for column, constraint in enumerate(constraints):
        place = {"row": 1, "col": column + 1}
        here = known[known["constraint"] == constraint]
        values = here[["value", "low", "high"]].to_numpy(float)
        plot.add_scatter(
            x=here["components"],
            y=values[:, 0],
            mode="markers",
            name="NDT, measured, 95% interval",
            legendgroup="ndt",
            showlegend=column == 0,
            marker={"size": 9, "color": colours.lines[0]},
            error_y=interval_bars(values, colours.lines[0]),
            customdata=here[["low", "high", "seeds"]].to_numpy(float),
            hovertemplate="C = %{x}: %{y:.2%} [%{customdata[0]:.2%}, %{customdata[1]:.2%}], seeds: %{customdata[2]:.0f}<extra></extra>",
            **place,
        )
        print_ = frame[(frame["constraint"] == constraint)].dropna(subset="printed")
        plot.add_scatter(
            x=print_["components"] + 0.2,
            y=print_["printed"],
            mode="markers",
            name="NDT, printed",
            legendgroup="printed",
            showlegend=column == 0 and bool(frame["printed"].notna().any()),
            marker={"size": 10, "symbol": "diamond-open", "color": colours.lines[1], "line": {"width": 2}},
            hovertemplate="printed %{y:.2%}<extra></extra>",
            **place,
        )
    layout = base_layout(theme, title=f"Accuracy by constraint and number of maps, {as_text(title, 40)}", width=900, height=400,
                         margin=(64, 72, 20, 116), legend={"orientation": "h", "x": 0, "y": -0.22, "yanchor": "top"})  # fmt: skip
    plot.update_layout(layout)
    plot.update_xaxes(tickvals=[2, 3, 4], range=[1.5, 4.6], title_text="C", title_standoff=2, showgrid=False, automargin=False)
    plot.update_yaxes(tickformat=".1%", automargin=False, nticks=7)
    plot.update_annotations(font={"size": 13, "color": colours.muted})
    caption = sentence(
        [
            "Dots are measured with 95% intervals over test rows and, where a configuration has several seeds, over seeds"
            + ("; diamonds are printed" if frame["printed"].notna().any() else "")
            + "; lines are the baselines measured here.",
            f"Seeds per configuration: {span(known['seeds'])}; n = {int(known['n'].max()):,}." if "n" in known else "",
        ]
    )
    return Figure(file_safe("accuracy-grid", title), plot, frame.reset_index(drop=True), caption)
