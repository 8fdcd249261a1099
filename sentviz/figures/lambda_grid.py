"""Every learned lambda of a data set at a glance."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.beside import span
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, base_layout, file_safe, sentence
from sentviz.figures.text import as_text

DASHES = {2: "solid", 3: "dash", 4: "dot"}
_NARROW, _SIDES = 120, 96  # pixels that a panel needs at least, and those at both sides of all
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def lambda_grid(
    frame: pd.DataFrame,
    *,
    title: str,
    change: bool = False,
    printed: pd.DataFrame | None = None,
    width: int = 0,
    theme: Theme = "light",
) -> Figure:
    """Layers downwards, constraints across, or the other way round where that is too narrow.

    Colour is the component, dash the number of components C.

    Lines are means over seeds, bands their least and largest; an open circle marks the start, a filled one the end.

    Args:
        frame: model, constraint, components, layer, component (counted from 0), step, value, low, high, change, change_low, change_high,
            seeds.
        title: the data set.
        change: draw the change from the start.
        printed: constraint, components, layer, component, value: a paper's final values, as open diamonds at the right; not drawn with
            ``change``, since their starts are unknown.
        width: of the picture, in pixels; as wide as its panels need unless given.
    Raises:
        InputError: no lambda.
    """
    if frame.empty:
        raise InputError("No run of this data set here has a learned lambda.")
    colours = palette(theme)
    constraints, layers = list(frame["constraint"].unique()), sorted(frame["layer"].unique())
    components = sorted(frame["component"].unique())
    colour = {c: colours.lines[i % len(colours.lines)] for i, c in enumerate(components)}
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
            here = frame[(frame["layer"] == layer) & (frame["constraint"] == constraint)]
            for (total, component), line in here.groupby(["components", "component"], sort=True):
                line = line.sort_values("step")
                if (line["seeds"] > 1).any():
                    _band(plot, line, low, high, colour[component], place)
                _curve(plot, line, value, colour[component], DASHES.get(int(total), "solid"), colours.paper, place)
            if marks is not None:
                _diamonds(plot, marks[(marks["layer"] == layer) & (marks["constraint"] == constraint)], last, colour, place)
    _key(plot, frame, colour, colours.muted, with_marks=marks is not None)
    spans = np.concatenate([frame[low], frame[high], [] if marks is None else marks["value"]]).astype(float)
    room = max(float(spans.max() - spans.min()), 1e-3)
    tall = (130 if turned else 230) * len(down)
    plot.update_layout(
        base_layout(
            theme,
            title=f"λ while training, {'change from the start, ' if change else ''}{as_text(title, 40)}",
            width=width or max(230 * len(constraints) + _SIDES, 520),
            height=tall + 72 + 92,
            margin=(60, 72, _SIDES - 60, 92),
            legend={"orientation": "h", "x": 0, "y": -52 / tall, "yanchor": "top"},
        )
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
        plot.add_hline(y=0, line={"color": colours.muted, "width": 1, "dash": "dot"})
    plot.update_annotations(font={"size": 13, "color": colours.muted})
    seeds = frame.groupby("model")["seeds"].max()
    caption = sentence(
        [
            f"Learned λ of {len(seeds)} configurations over the training steps; open circles are the start, filled ones the end.",
            f"Seeds per configuration: {span(seeds)}" + ("; lines are their means, bands their range." if seeds.max() > 1 else "."),
            "Drawn is the change from the start, because the start is put in by the initialisation." if change else "",
            "Diamonds are the paper's final values." if marks is not None else "",
            "Of DT, −λ is drawn, which is learned otherwise." if "DT, −λ" in constraints else "",
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
    plot.add_scatter(
        x=steps[[0, -1]],
        y=heights[[0, -1]],
        mode="markers",
        marker={"size": 6, "color": [paper, colour], "line": {"color": colour, "width": 1.5}},
        showlegend=False,
        hoverinfo="skip",
        **place,
    )


def _band(plot: go.Figure, line: pd.DataFrame, low: str, high: str, colour: str, place: dict[str, int]) -> None:
    steps = line["step"].to_numpy()
    plot.add_scatter(
        x=np.concatenate([steps, steps[::-1]]),
        y=np.concatenate([line[high].to_numpy(float), line[low].to_numpy(float)[::-1]]),
        fill="toself",
        mode="none",
        fillcolor=f"rgba({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))}, 0.22)",
        hoverinfo="skip",
        showlegend=False,
        **place,
    )


def _diamonds(plot: go.Figure, marks: pd.DataFrame, last: int, colour: dict[Any, str], place: dict[str, int]) -> None:
    plot.add_scatter(
        x=last * (1.02 + 0.05 * (marks["components"].to_numpy(float) - 1)),
        y=marks["value"],
        mode="markers",
        marker={
            "symbol": "diamond-open",
            "size": 8,
            "color": [colour[c] for c in marks["component"]],
            "line": {"width": 1.6},
        },
        customdata=marks[["components"]].to_numpy(int),
        hovertemplate="printed, C = %{customdata[0]}: %{y:.4f}<extra></extra>",
        showlegend=False,
        **place,
    )


def _key(plot: go.Figure, frame: pd.DataFrame, colour: dict[Any, str], muted: str, *, with_marks: bool) -> None:
    for component, shade in colour.items():
        plot.add_scatter(x=[None], y=[None], mode="lines", name=_lambda(component), line={"color": shade, "width": 3})
    for total in sorted(frame["components"].unique()):
        line = {"color": muted, "width": 2, "dash": DASHES.get(int(total), "solid")}
        plot.add_scatter(x=[None], y=[None], mode="lines", name=f"C = {total}", line=line)
    if with_marks:
        marker = {"symbol": "diamond-open", "size": 8, "color": muted, "line": {"width": 1.6}}
        plot.add_scatter(x=[None], y=[None], mode="markers", name="printed", marker=marker)


def _lambda(component: int) -> str:
    return f"λ{component + 1}".translate(_SUBSCRIPTS)
