"""Accuracy by constraint and number of components, with the baselines as lines."""

from __future__ import annotations

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, base_layout, file_safe, sentence
from sentviz.figures.measured_vs_printed import span
from sentviz.figures.panels import legend_below, panel_grid, reported_marker, with_interval
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd

DASHES = ("dot", "dash", "solid")


def accuracy_grid(frame: pd.DataFrame, *, title: str, theme: Theme = "light") -> Figure:
    """Draw accuracy in a panel for each constraint, over C; baselines are horizontal lines through all panels, reported values open
    diamonds.

    Args:
        frame: model, constraint ("" of a baseline), components, value, low, high, printed, seeds; NaN if nothing was measured.
        title: name of the data set.
    """
    known = frame.dropna(subset="value")
    if known.empty:
        raise InputError("No run of this data set is installed.")
    colours, constraints = palette(theme), list(frame.loc[frame["constraint"] != "", "constraint"].unique())
    titles = [name.replace("inf", "∞").replace("-", "−") for name in constraints]
    plot, places = panel_grid(titles, len(titles), theme, apart=0.025, shared_yaxes=True)
    for k, base in enumerate(known[known["constraint"] == ""].to_dict("records")):
        line = {"color": colours.lines[k + 2], "width": 1.6, "dash": DASHES[k % 3]}
        for column, place in enumerate(places):
            plot.add_scatter(
                x=[1.5, 4.5],
                y=[base["value"]] * 2,
                mode="lines",
                line=line,
                name=f"{as_text(base['model'], 24)} {base['value']:.2%}",
                legendgroup=base["model"],
                showlegend=column == 0,
                hovertemplate=f"{as_text(base['model'], 24)} %{{y:.2%}}<extra></extra>",
                **place,
            )
    for column, (constraint, place) in enumerate(zip(constraints, places, strict=True)):
        measured = known[known["constraint"] == constraint]
        values = measured[["value", "low", "high"]].to_numpy(float)
        plot.add_scatter(
            x=measured["components"],
            **with_interval("y", values, colours.lines[0]),
            mode="markers",
            name="NDT, measured, 95% interval",
            legendgroup="ndt",
            showlegend=column == 0,
            marker={"size": 9, "color": colours.lines[0]},
            customdata=measured[["low", "high", "seeds"]].to_numpy(float),
            hovertemplate="C = %{x}: %{y:.2%} [%{customdata[0]:.2%}, %{customdata[1]:.2%}], seeds: %{customdata[2]:.0f}<extra></extra>",
            **place,
        )
        print_ = frame[(frame["constraint"] == constraint)].dropna(subset="printed")
        plot.add_scatter(
            x=print_["components"] + 0.2,
            y=print_["printed"],
            mode="markers",
            name="NDT, reported",
            legendgroup="printed",
            showlegend=column == 0 and bool(frame["printed"].notna().any()),
            marker=reported_marker(colours.lines[1], 10),
            hovertemplate="reported %{y:.2%}<extra></extra>",
            **place,
        )
    layout = base_layout(theme, title=f"Accuracy by constraint and number of maps, {as_text(title, 40)}", width=900, height=400,
                         margin=(64, 72, 20, 116), legend=legend_below(-0.22))  # fmt: skip
    plot.update_layout(layout)
    plot.update_xaxes(tickvals=[2, 3, 4], range=[1.5, 4.6], title_text="C", title_standoff=2, showgrid=False, automargin=False)
    plot.update_yaxes(tickformat=".1%", automargin=False, nticks=7)
    caption = sentence(
        [
            "Accuracy of each constraint over the number of maps C. Dots are measured; bars are 95% intervals over test rows, and over"
            " seeds if a configuration has several.",
            "Diamonds are reported in the paper." if frame["printed"].notna().any() else "",
            "Lines are the measured baselines.",
            f"Seeds per configuration: {span(known['seeds'])}; n = {int(known['n'].max()):,}." if "n" in known else "",
        ]
    )
    return Figure(file_safe("accuracy-grid", title), plot, frame.reset_index(drop=True), caption)
