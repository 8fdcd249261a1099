"""Learned scalars of a model during training: lambda, the weights of position signals, temperatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, lay_out, number, sentence
from sentviz.figures.panels import LEGEND_RIGHT, dotted, legend_entry, name_ends, run_marks, start_and_end
from sentviz.figures.text import as_run, as_text, subscript
from sentviz.io.lazy import pd

SYMBOLS = {"lambda": "λ", "alpha": "α", "beta": "β", "gamma": "γ", "temperature": "τ"}
_COLUMNS = ["run", "name", "layer", "component", "step", "epoch", "value"]
_LABELS = 6  # largest number of final values that a panel shows

Scalar = tuple[str, int]  # name, component (-1 = none)


def scalar_evolution(
    history: Mapping[str, pd.DataFrame],
    names: Sequence[str],
    *,
    change: bool = False,
    x: Literal["step", "share"] = "step",
    series: Sequence[int] = (),
    printed: pd.DataFrame | None = None,
    theme: Theme = "light",
) -> Figure:
    """Draw learned scalars over the training: a panel for each layer, one panel for scalars of the complete model; a colour for each
    scalar and component, a dash for each run. Panels of one scalar share their axis.

    An open circle marks the start, a filled one the end, with its value.

    Args:
        history: run name to frame with columns step, epoch, name, layer (-1 = the whole model), component (counted from 0, -1 = none),
            value.
        names: the scalars; other rows, and the fixed first component of ``"lambda"``, are left out.
        change: draw value minus start instead of value.
        x: the horizontal axis, training steps or the share of each run's training (step / last step, 0 to 1).
        series: number of the dash of each run of `history`, as in `run_marks`.
        printed: run, name, layer, component, value: a paper's final values, drawn as open diamonds at the right edge; not
            drawn with ``change``, since their starts are unknown.
    Frame:
        run, name, layer, component, step, epoch, value, change (and, drawn by share, share).
    """
    if x not in ("step", "share"):
        raise InputError(f"`x` must be 'step' or 'share', not {x!r}.")
    frame = _tidy(history, names)
    if frame.empty:
        raise InputError(f"None of these runs has a learned {' or '.join(names) or 'scalar'} in its history.")
    column = "change" if change else "value"
    if x == "share":
        frame["share"] = frame["step"] / frame["run"].map(training_steps(history))
    colours = palette(theme)
    runs = list(frame["run"].unique())
    scalars: list[Scalar] = [(name, int(c)) for name in names for c in sorted(frame.loc[frame["name"] == name, "component"].unique())]
    symbols = [_symbol(name) for name in dict.fromkeys(name for name, _ in scalars)]
    colour = {each: colours.line(i) for i, each in enumerate(scalars)}
    dash = {run: mark.dash for run, mark in run_marks(list(history), theme, series).items()}
    marks = None if printed is None or change else printed[printed["component"] != 0]

    rows = _rows(frame, names)
    per_row = max(map(len, rows))
    several = len({family for row in rows for family, _ in row}) > 1
    titles = [_title(family, layer, several) for row in rows for family, layer in row]
    specs: list[list[dict[str, Any] | None]] = [[{} if i < len(row) else None for i in range(per_row)] for row in rows]
    spaces = {"horizontal_spacing": 0.04, "vertical_spacing": 0.25 / len(rows)}
    plot = make_subplots(rows=len(rows), cols=per_row, specs=specs, subplot_titles=titles, **spaces)
    plot.update_annotations(font={"size": 13, "color": colours.muted})
    first, last = frame[x].min().item(), frame[x].max().item()
    span = last - first or 1
    at_point = ("step %{x}" if x == "step" else "%{x:.0%} of training, step %{customdata}") + ": %{y:.4f}<extra></extra>"
    leaders: dict[str, str] = {}
    panels = [(i + 1, j + 1, *panel) for i, row in enumerate(rows) for j, panel in enumerate(row)]
    for at, (down, across, family, layer) in enumerate(panels):
        place = {"row": down, "col": across}
        low, high = _range(frame, marks, family, column)
        room = max(high - low, 1e-3)
        axis = "y" if at == 0 else f"y{at + 1}"
        plot.update_yaxes(
            tickformat=".2f" if room > 0.05 else ".3f",
            range=[low - 0.1 * room, high + 0.1 * room],
            matches=None if leaders.setdefault(family, axis) == axis else leaders[family],
            showticklabels=across == 1,
            automargin=False,
            **place,
        )
        ends: list[tuple[float, str, str]] = []
        lines = _of(frame, family, layer)
        for each, line in lines.groupby(["run", "name", "component"], sort=False):
            run, name, component = str(each[0]), str(each[1]), int(line["component"].iloc[0])
            across_axis, heights, own = line[x].to_numpy(), line[column].to_numpy(), colour[(name, component)]
            label = scalar_label(name, component)
            ends.append((float(heights[-1]), own, f"{label} {number(heights[-1], 3)}"))
            plot.add_scatter(
                x=across_axis,
                y=heights,
                mode="lines",
                line={"color": own, "dash": dash[run], "width": 2},
                showlegend=False,
                customdata=line["step"] if x == "share" else None,
                hovertemplate=f"{as_run(run, 60)}<br>{label}{f', layer {layer + 1}' if layer >= 0 else ''}<br>{at_point}",
                **place,
            )
            start_and_end(plot, across_axis, heights, own, colours.paper, 8, 2, cliponaxis=False, **place)
        if len(ends) <= _LABELS:
            at_axis = "" if at == 0 else str(at + 1)
            name_ends(plot, ends, last, span=1.2 * room, inner=226, axis=at_axis, shift=10 if marks is None else 26)
        if marks is not None:
            reported = _of(marks, family, layer)
            plot.add_scatter(
                x=np.full(len(reported), last + 0.05 * span),
                y=reported["value"].to_numpy(dtype=float),
                mode="markers",
                marker={
                    "symbol": "diamond-open",
                    "size": 10,
                    "color": [colour.get(each, colours.ink) for each in zip(reported["name"], reported["component"], strict=True)],
                },
                customdata=[as_text(str(run), 60) for run in reported["run"]],
                hovertemplate="%{customdata}<br>reported: %{y:.4f}<extra></extra>",
                showlegend=False,
                cliponaxis=False,
                **place,
            )

    for each in scalars:
        legend_entry(plot, scalar_label(*each), line={"color": colour[each], "width": 3})
    for run in runs if len(runs) > 1 else ():
        legend_entry(plot, as_run(run, 32), line={"color": colours.muted, "dash": dash[run], "width": 2})
    if marks is not None:
        legend_entry(plot, "reported in the paper", "markers", marker={"symbol": "diamond-open", "size": 9, "color": colours.muted})

    legend = 210 if len(runs) > 1 or marks is not None else 90
    what = ", ".join(symbols)
    lay_out(
        plot,
        theme,
        f"{what} while training, change from the start" if change else f"{what} while training",
        (310 * per_row + 40 + legend, 270 * len(rows) + 100),
        (64, 72, legend, 52),
        legend={**LEGEND_RIGHT, "x": 1.05},  # The names of the last panel's lines may be wider than the panel.
    )
    plot.update_xaxes(
        range=[first - 0.04 * span, last + (0.32 if marks is not None else 0.26 if per_row > 1 else 0.36) * span],
        title_text="step" if x == "step" else "share of training",
        title_standoff=6,
        nticks=5,
        automargin=False,
    )
    if x == "share":
        plot.update_xaxes(tickformat=".0%", tickvals=[0, 0.5, 1])
    if change:
        plot.add_hline(y=0, line=dotted(colours))
    over = "the training steps" if x == "step" else "the share of each run's training, whose lengths may differ"
    caption = sentence(
        [
            f"Learned {what} of {_listed(runs)} over {over}; open circles are the start, filled ones the end.",
            "Values are changes from the start, because the initialisation sets the start." if change else "",
            "Diamonds are the paper's final values." if marks is not None else "",
        ]
    )
    of = [name for name in names if (frame["name"] == name).any()]
    return Figure(file_safe(*of, *(["change"] if change else []), *(["share"] if x == "share" else []), *runs[:3]), plot, frame, caption)


def training_steps(history: Mapping[str, pd.DataFrame]) -> dict[str, int]:
    """Return the last recorded step of each run; 1 for a run without later steps."""
    return {run: max(1, int(rows["step"].max())) if len(rows) else 1 for run, rows in history.items()}


def _tidy(history: Mapping[str, pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    parts = []
    for run, rows in history.items():
        fixed = (rows["name"] == "lambda") & (rows["component"] <= 0)
        learned = rows[rows["name"].isin(list(names)) & ~fixed].sort_values(["layer", "component", "step"], kind="stable")
        if len(learned):
            parts.append(learned.assign(run=run)[_COLUMNS])
    if not parts:
        return pd.DataFrame(columns=_COLUMNS)
    frame = pd.concat(parts, ignore_index=True).astype({"layer": int, "component": int, "step": int, "value": float})
    frame["change"] = frame["value"] - frame.groupby(["run", "name", "layer", "component"])["value"].transform("first")
    return frame


def _rows(frame: pd.DataFrame, names: Sequence[str]) -> list[list[tuple[str, int]]]:
    """Return the panels, at most three per row: a scalar's name ("" = scalars of the complete model), whose panels share an axis, and a
    layer.
    """
    rows: list[list[tuple[str, int]]] = [[("", -1)]] if (frame["layer"] < 0).any() else []
    for name in names:
        layers = sorted(int(layer) for layer in frame.loc[(frame["name"] == name) & (frame["layer"] >= 0), "layer"].unique())
        rows += [[(name, layer) for layer in layers[i : i + 3]] for i in range(0, len(layers), 3)]
    return rows


def _of(frame: pd.DataFrame, family: str, layer: int | None = None) -> pd.DataFrame:
    """Return the rows of a scalar's panels, or of one of its panels."""
    rows = frame[frame["layer"] < 0] if not family else frame[(frame["name"] == family) & (frame["layer"] >= 0)]
    return rows if layer is None else rows[rows["layer"] == layer]


def _range(frame: pd.DataFrame, marks: pd.DataFrame | None, family: str, column: str) -> tuple[float, float]:
    values = _of(frame, family)[column].to_numpy(float)
    if marks is not None:
        values = np.concatenate([values, _of(marks, family)["value"].to_numpy(dtype=float)])
    return float(values.min()), float(values.max())


def _title(family: str, layer: int, several: bool) -> str:
    if not family:
        return "whole model"
    return f"{_symbol(family)}, layer {layer + 1}" if several else f"layer {layer + 1}"


def _symbol(name: str) -> str:
    return SYMBOLS.get(name, as_text(name))


def scalar_label(name: str, component: int) -> str:
    """Return a scalar's symbol with its component, counted from 0 (-1 = none): λ₂ is ("lambda", 1)."""
    return _symbol(name) + (subscript(component + 1) if component >= 0 else "")


def _listed(names: Sequence[str], most: int = 4) -> str:
    if len(names) > most:
        return f"{len(names)} runs"
    return f"run{'s' * (len(names) > 1)} {', '.join(names)}"
