"""How lambda moves while a model trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.figure import Figure, Theme, base_layout, file_safe, is_panel_title, number, palette, sentence
from sentviz.figures.text import as_run, as_text

__all__ = ["lambda_evolution"]

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_COLUMNS = ["run", "layer", "component", "step", "epoch", "value"]
_AT = "step %{x}: %{y:.4f}<extra></extra>"
_LABELS = 6  # final values written per panel, at most


def lambda_evolution(
    history: Mapping[str, pd.DataFrame],
    *,
    change: bool = False,
    printed: pd.DataFrame | None = None,
    theme: Theme = "light",
) -> Figure:
    """Lambda per layer (panels), component (colour) and run (dash) over the training steps.

    An open circle marks the start, a filled one the end, with its value.

    Args:
        history: run name to frame with columns step, epoch, name, layer, component (counted from 0), value; rows of
            other names than ``"lambda"`` and the fixed first component are left out.
        change: draw value minus start instead of value.
        printed: run, layer, component, value: a paper's final values, drawn as open diamonds at the right edge; not
            drawn with ``change``, since their starts are unknown.
    Frame:
        run, layer, component, step, epoch, value (and, drawn with ``change``, change).
    Raises:
        InputError: no run has a learned lambda.
    """
    frame = _tidy(history)
    if frame.empty:
        raise InputError("None of these runs has a learned lambda in its history.")
    shown = "change" if change else "value"
    colours = palette(theme)
    runs, layers = list(frame["run"].unique()), sorted(frame["layer"].unique())
    components = sorted(frame["component"].unique())
    colour = {c: colours.lines[i % len(colours.lines)] for i, c in enumerate(components)}
    dash = {run: DASHES[i % len(DASHES)] for i, run in enumerate(runs)}
    per_row = min(len(layers), 3)
    n_rows = -(-len(layers) // per_row)
    marks = None if printed is None or change else printed[printed["component"] > 0]

    plot = make_subplots(
        rows=n_rows,
        cols=per_row,
        shared_yaxes="all",
        horizontal_spacing=0.04,
        vertical_spacing=0.25 / n_rows,
        subplot_titles=[f"layer {layer + 1}" for layer in layers],
    )
    first, last = int(frame["step"].min()), int(frame["step"].max())
    values = np.concatenate([frame[shown].to_numpy(), [] if marks is None else marks["value"].to_numpy(dtype=float)])
    low, high = float(values.min()), float(values.max())
    room = max(high - low, 1e-3)
    for i, layer in enumerate(layers):
        place = {"row": i // per_row + 1, "col": i % per_row + 1}
        ends: list[tuple[float, str, str]] = []
        for (run, component), line in frame[frame["layer"] == layer].groupby(["run", "component"], sort=False):
            steps, heights = line["step"].to_numpy(), line[shown].to_numpy()
            ends.append((float(heights[-1]), colour[component], f"{_lambda(component)} {number(heights[-1], 3)}"))
            plot.add_scatter(
                x=steps,
                y=heights,
                mode="lines",
                line={"color": colour[component], "dash": dash[run], "width": 2},
                showlegend=False,
                hovertemplate=f"{as_run(run, 60)}<br>{_lambda(component)}, layer {layer + 1}<br>{_AT}",
                **place,
            )
            plot.add_scatter(
                x=steps[[0, -1]],
                y=heights[[0, -1]],
                mode="markers",
                marker={
                    "size": 8,
                    "color": [colours.paper, colour[component]],
                    "line": {"color": colour[component], "width": 2},
                },
                showlegend=False,
                hoverinfo="skip",
                cliponaxis=False,
                **place,
            )
        if len(ends) <= _LABELS:
            _label_ends(plot, ends, last, room, i, 10 if marks is None else 26)
        if marks is not None:
            here = marks[marks["layer"] == layer]
            plot.add_scatter(
                x=np.full(len(here), last + 0.05 * (last - first or 1)),
                y=here["value"].to_numpy(dtype=float),
                mode="markers",
                marker={
                    "symbol": "diamond-open",
                    "size": 10,
                    "color": [colour.get(c, colours.ink) for c in here["component"]],
                },
                customdata=[as_text(str(run), 60) for run in here["run"]],
                hovertemplate="%{customdata}<br>printed: %{y:.4f}<extra></extra>",
                showlegend=False,
                cliponaxis=False,
                **place,
            )

    keys: list[tuple[str, Any, str, Any]] = [(_lambda(c), {"color": colour[c], "width": 3}, "lines", None) for c in components]
    if len(runs) > 1:
        keys += [(as_run(run, 32), {"color": colours.muted, "dash": dash[run], "width": 2}, "lines", None) for run in runs]
    if marks is not None:
        keys.append(("printed in the paper", None, "markers", {"symbol": "diamond-open", "size": 9, "color": colours.muted}))
    for name, line_style, mode, marker in keys:
        plot.add_scatter(x=[None], y=[None], mode=mode, name=name, line=line_style, marker=marker)

    legend = 210 if len(runs) > 1 or marks is not None else 90
    plot.update_layout(
        base_layout(
            theme,
            title="λ while training, change from the start" if change else "λ while training",
            width=310 * per_row + 40 + legend,
            height=270 * n_rows + 100,
            margin=(64, 72, legend, 52),
            legend={"x": 1, "xanchor": "left", "y": 1, "yanchor": "top"},
        )
    )
    span = last - first or 1
    plot.update_xaxes(
        range=[first - 0.04 * span, last + (0.26 if marks is None else 0.32) * span],
        title_text="step",
        title_standoff=6,
        nticks=5,
        automargin=False,
    )
    plot.update_yaxes(tickformat=".2f" if room > 0.05 else ".3f", range=[low - 0.1 * room, high + 0.1 * room], automargin=False)
    if change:
        plot.add_hline(y=0, line={"color": colours.muted, "width": 1, "dash": "dot"})
    plot.update_annotations(selector=is_panel_title, font={"size": 13, "color": colours.muted})
    caption = sentence(
        [
            f"Learned λ of {_listed(runs)} over the training steps; open circles are the start, filled ones the end.",
            "Drawn is the change from the start, because the start is put in by the initialisation." if change else "",
            "Diamonds are the paper's final values." if marks is not None else "",
        ]
    )
    return Figure(file_safe("lambda-change" if change else "lambda", *runs[:3]), plot, frame, caption)


def _tidy(history: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    parts = []
    for run, rows in history.items():
        kept = rows[(rows["name"] == "lambda") & (rows["component"] > 0)].sort_values(["layer", "component", "step"])
        if len(kept):
            parts.append(kept.assign(run=run)[_COLUMNS])
    if not parts:
        return pd.DataFrame(columns=_COLUMNS)
    frame = pd.concat(parts, ignore_index=True).astype({"layer": int, "component": int, "step": int, "value": float})
    frame["change"] = frame["value"] - frame.groupby(["run", "layer", "component"])["value"].transform("first")
    return frame


def _label_ends(plot: go.Figure, ends: list[tuple[float, str, str]], x: float, room: float, panel: int, shift: int) -> None:
    """Final values beside the filled circles, pushed apart where they would overlap."""
    ends = sorted(ends)
    heights = np.array([end[0] for end in ends])
    least = 0.075 * room
    spread = heights.copy()
    for i in range(1, len(spread)):
        spread[i] = max(spread[i], spread[i - 1] + least)
    spread -= (spread - heights).mean()
    axis = "" if panel == 0 else str(panel + 1)
    for height, (_, colour, text) in zip(spread, ends, strict=True):
        plot.add_annotation(
            x=x,
            y=height,
            xref=f"x{axis}",
            yref=f"y{axis}",
            text=text,
            xanchor="left",
            xshift=shift,
            font={"size": 12, "color": colour},
        )


def _lambda(component: int) -> str:
    return f"λ{component + 1}".translate(_SUBSCRIPTS)


def _listed(names: Sequence[str], most: int = 4) -> str:
    if len(names) > most:
        return f"{len(names)} runs"
    return f"run{'s' * (len(names) > 1)} {', '.join(names)}"
