"""All learned lambdas of a data set in one figure."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, lay_out, sentence
from sentviz.figures.measured_vs_printed import span
from sentviz.figures.panels import band, dotted, legend_below, legend_entry, reported_marker, start_and_end
from sentviz.figures.text import as_text, subscript
from sentviz.io.lazy import go, pd

DASHES = {2: "solid", 3: "dash", 4: "dot"}
_NARROW, _SIDES = 120, 96  # smallest width of a panel in pixels, and pixels at both sides of the figure


def lambda_grid(
    frame: pd.DataFrame,
    *,
    title: str,
    change: bool = False,
    printed: pd.DataFrame | None = None,
    width: int = 0,
    theme: Theme = "light",
) -> Figure:
    """Draw layers downwards and constraints across, or the other way round if the width is too small.

    Colour is the component, dash the number of components C.

    Lines are means over seeds, bands their range; an open circle marks the start, a filled one the end.

    Args:
        frame: model, constraint, components, layer, component (counted from 0), step, value, low, high, change, change_low, change_high,
            seeds.
        title: name of the data set.
        change: draw the change from the start.
        printed: constraint, components, layer, component, value: a paper's final values, as open diamonds at the right; not drawn with
            ``change``, since their starts are unknown.
        width: pixels of the figure; 0 for the width that the panels need.
    """
    if frame.empty:
        raise InputError("No installed run of this data set has a learned lambda.")
    colours = palette(theme)
    constraints, layers = list(frame["constraint"].unique()), sorted(frame["layer"].unique())
    components = sorted(frame["component"].unique())
    colour = {c: colours.line(i) for i, c in enumerate(components)}
    value, low, high = ("change", "change_low", "change_high") if change else ("value", "low", "high")
    marks = None if change or printed is None or printed.empty else printed
    sides = [
        [as_text(constraint.replace("inf", "∞").replace("-", "−"), 20) for constraint in constraints],
        [f"layer {layer + 1}" for layer in layers],
    ]
    turned = 0 < width < _NARROW * len(constraints) + _SIDES
    across, down = sides[::-1] if turned else sides
    plot = make_subplots(
        rows=len(down),
        cols=len(across),
        shared_yaxes="all",
        shared_xaxes="all",
        horizontal_spacing=0.014 if not turned else 0.05,
        vertical_spacing=0.14 / len(down),
        column_titles=across,
        row_titles=down,
    )
    last = int(frame["step"].max())
    for row, layer in enumerate(layers):
        for column, constraint in enumerate(constraints):
            place = {"row": column + 1, "col": row + 1} if turned else {"row": row + 1, "col": column + 1}
            cell = frame[(frame["layer"] == layer) & (frame["constraint"] == constraint)]
            for (total, component), line in cell.groupby(["components", "component"], sort=True):
                line = line.sort_values("step")
                if (line["seeds"] > 1).any():
                    band(plot, line["step"], line[low], line[high], colour[component], 0.22, **place)
                _curve(plot, line, value, colour[component], DASHES.get(int(total), "solid"), colours.paper, place)
            if marks is not None:
                _diamonds(plot, marks[(marks["layer"] == layer) & (marks["constraint"] == constraint)], last, colour, place)
    _key(plot, frame, colour, colours.muted, with_marks=marks is not None)
    spans = np.concatenate([frame[low], frame[high], [] if marks is None else marks["value"]]).astype(float)
    room = max(float(spans.max() - spans.min()), 1e-3)
    tall = (130 if turned else 230) * len(down)
    lay_out(
        plot,
        theme,
        f"λ while training, {'change from the start, ' if change else ''}{as_text(title, 40)}",
        (width or max(230 * len(constraints) + _SIDES, 520), tall + 72 + 92),
        (60, 72, _SIDES - 60, 92),
        legend=legend_below(-52 / tall),
    )
    plot.update_xaxes(range=[-0.05 * last, 1.27 * last], nticks=4, automargin=False)
    plot.update_xaxes(title_text="step", title_standoff=4, row=len(down))
    plot.update_yaxes(
        automargin=False,
        nticks=5 if turned else 7,
        tickformat=".2f",
        range=[float(spans.min()) - 0.07 * room, float(spans.max()) + 0.07 * room],
    )
    if change or (frame["low"].min() < 0 < frame["high"].max()):
        plot.add_hline(y=0, line=dotted(colours))
    plot.update_annotations(font={"size": 13, "color": colours.muted})
    seeds = frame.groupby("model")["seeds"].max()
    caption = sentence(
        [
            f"Learned λ of {len(seeds)} configurations over the training steps; open circles are the start, filled ones the end.",
            f"Seeds per configuration: {span(seeds)}" + ("; lines are their means, bands their range." if seeds.max() > 1 else "."),
            "Values are changes from the start, because the initialisation sets the start." if change else "",
            "Diamonds are the paper's final values." if marks is not None else "",
            "For DT, −λ is drawn, which DT learns in another form." if "DT, −λ" in constraints else "",
        ]
    )
    name = file_safe("lambda-grid-change" if change else "lambda-grid", title)
    again = partial(lambda_grid, frame, title=title, change=change, printed=printed, theme=theme)
    return Figure(name, plot, frame.reset_index(drop=True), caption, at_width=again)


def _curve(plot: go.Figure, line: pd.DataFrame, value: str, colour: str, dash: str, paper: str, place: dict[str, int]) -> None:
    steps, heights = line["step"].to_numpy(), line[value].to_numpy(float)
    name = f"{as_text(str(line['model'].iloc[0]), 30)}, {_lambda(int(line['component'].iloc[0]))}"
    plot.add_scatter(
        x=steps,
        y=heights,
        mode="lines",
        line={"color": colour, "dash": dash, "width": 1.8},
        showlegend=False,
        hovertemplate=f"{name}<br>step %{{x}}: %{{y:.4f}}<extra></extra>",
        **place,
    )
    start_and_end(plot, steps, heights, colour, paper, 6, 1.5, **place)


def _diamonds(plot: go.Figure, marks: pd.DataFrame, last: int, colour: dict[Any, str], place: dict[str, int]) -> None:
    plot.add_scatter(
        x=last * (1.02 + 0.05 * (marks["components"].to_numpy(float) - 1)),
        y=marks["value"],
        mode="markers",
        marker=reported_marker([colour[c] for c in marks["component"]], 8, 1.6),
        customdata=marks[["components"]].to_numpy(int),
        hovertemplate="reported, C = %{customdata[0]}: %{y:.4f}<extra></extra>",
        showlegend=False,
        **place,
    )


def _key(plot: go.Figure, frame: pd.DataFrame, colour: dict[Any, str], muted: str, *, with_marks: bool) -> None:
    for component, shade in colour.items():
        legend_entry(plot, _lambda(component), line={"color": shade, "width": 3})
    for total in sorted(frame["components"].unique()):
        line = {"color": muted, "width": 2, "dash": DASHES.get(int(total), "solid")}
        legend_entry(plot, f"C = {total}", line=line)
    if with_marks:
        legend_entry(plot, "reported", "markers", marker=reported_marker(muted, 8, 1.6))


def _lambda(component: int) -> str:
    return f"λ{subscript(component + 1)}"
