"""How the learned scalars of a model move while it trains: lambda, the weights of position signals, temperatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.ends import name_ends
from sentviz.figures.figure import Figure, base_layout, file_safe, is_panel_title, number, sentence
from sentviz.figures.text import as_run, as_text

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = {"lambda": "λ", "alpha": "α", "beta": "β", "gamma": "γ", "temperature": "τ"}
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_COLUMNS = ["run", "name", "layer", "component", "step", "epoch", "value"]
_AT = "step %{x}: %{y:.4f}<extra></extra>"
_LABELS = 6  # final values written per panel, at most

Series = tuple[str, int]  # name, component (-1 = none)


def scalar_evolution(
    history: Mapping[str, pd.DataFrame],
    names: Sequence[str],
    *,
    change: bool = False,
    printed: pd.DataFrame | None = None,
    theme: Theme = "light",
) -> Figure:
    """Learned scalars over the training steps: a panel for each layer, those of the whole model in one; a colour for each scalar and
    component, a dash for each run. Panels of one scalar share their axis.

    An open circle marks the start, a filled one the end, with its value.

    Args:
        history: run name to frame with columns step, epoch, name, layer (-1 = the whole model), component (counted from 0, -1 = none),
            value.
        names: the scalars; other rows, and the fixed first component of ``"lambda"``, are left out.
        change: draw value minus start instead of value.
        printed: run, name, layer, component, value: a paper's final values, drawn as open diamonds at the right edge; not
            drawn with ``change``, since their starts are unknown.
    Frame:
        run, name, layer, component, step, epoch, value (and, drawn with ``change``, change).
    Raises:
        InputError: no run has such a scalar.
    """
    frame = _tidy(history, names)
    if frame.empty:
        raise InputError(f"None of these runs has a learned {' or '.join(names) or 'scalar'} in its history.")
    shown = "change" if change else "value"
    colours = palette(theme)
    runs = list(frame["run"].unique())
    series: list[Series] = [(name, int(c)) for name in names for c in sorted(frame.loc[frame["name"] == name, "component"].unique())]
    symbols = [_symbol(name) for name in dict.fromkeys(name for name, _ in series)]
    colour = {each: colours.lines[i % len(colours.lines)] for i, each in enumerate(series)}
    dash = {run: DASHES[i % len(DASHES)] for i, run in enumerate(runs)}
    marks = None if printed is None or change else printed[printed["component"] != 0]

    rows = _rows(frame, names)
    per_row = max(map(len, rows))
    several = len({family for row in rows for family, _ in row}) > 1
    plot = make_subplots(
        rows=len(rows),
        cols=per_row,
        specs=[[{} if i < len(row) else None for i in range(per_row)] for row in rows],
        horizontal_spacing=0.04,
        vertical_spacing=0.25 / len(rows),
        subplot_titles=[_title(family, layer, several) for row in rows for family, layer in row],
    )
    first, last = int(frame["step"].min()), int(frame["step"].max())
    span = last - first or 1
    leaders: dict[str, str] = {}
    panels = [(i + 1, j + 1, *panel) for i, row in enumerate(rows) for j, panel in enumerate(row)]
    for at, (row_at, column, family, layer) in enumerate(panels):
        place = {"row": row_at, "col": column}
        low, high = _range(frame, marks, family, shown)
        room = max(high - low, 1e-3)
        axis = "y" if at == 0 else f"y{at + 1}"
        plot.update_yaxes(
            tickformat=".2f" if room > 0.05 else ".3f",
            range=[low - 0.1 * room, high + 0.1 * room],
            matches=None if leaders.setdefault(family, axis) == axis else leaders[family],
            showticklabels=column == 1,
            automargin=False,
            **place,
        )
        ends: list[tuple[float, str, str]] = []
        here = _of(frame, family, layer)
        for each, line in here.groupby(["run", "name", "component"], sort=False):
            run, name, component = str(each[0]), str(each[1]), int(line["component"].iloc[0])
            steps, heights, own = line["step"].to_numpy(), line[shown].to_numpy(), colour[(name, component)]
            label = scalar_label(name, component)
            ends.append((float(heights[-1]), own, f"{label} {number(heights[-1], 3)}"))
            plot.add_scatter(
                x=steps,
                y=heights,
                mode="lines",
                line={"color": own, "dash": dash[run], "width": 2},
                showlegend=False,
                hovertemplate=f"{as_run(run, 60)}<br>{label}{f', layer {layer + 1}' if layer >= 0 else ''}<br>{_AT}",
                **place,
            )
            plot.add_scatter(
                x=steps[[0, -1]],
                y=heights[[0, -1]],
                mode="markers",
                marker={"size": 8, "color": [colours.paper, own], "line": {"color": own, "width": 2}},
                showlegend=False,
                hoverinfo="skip",
                cliponaxis=False,
                **place,
            )
        if len(ends) <= _LABELS:
            at_axis = "" if at == 0 else str(at + 1)
            name_ends(plot, ends, last, span=1.2 * room, inner=226, axis=at_axis, shift=10 if marks is None else 26)
        if marks is not None:
            said = _of(marks, family, layer)
            plot.add_scatter(
                x=np.full(len(said), last + 0.05 * span),
                y=said["value"].to_numpy(dtype=float),
                mode="markers",
                marker={
                    "symbol": "diamond-open",
                    "size": 10,
                    "color": [colour.get(each, colours.ink) for each in zip(said["name"], said["component"], strict=True)],
                },
                customdata=[as_text(str(run), 60) for run in said["run"]],
                hovertemplate="%{customdata}<br>printed: %{y:.4f}<extra></extra>",
                showlegend=False,
                cliponaxis=False,
                **place,
            )

    keys: list[tuple[str, Any, str, Any]] = [(scalar_label(*each), {"color": colour[each], "width": 3}, "lines", None) for each in series]
    if len(runs) > 1:
        keys += [(as_run(run, 32), {"color": colours.muted, "dash": dash[run], "width": 2}, "lines", None) for run in runs]
    if marks is not None:
        keys.append(("printed in the paper", None, "markers", {"symbol": "diamond-open", "size": 9, "color": colours.muted}))
    for name, line_style, mode, marker in keys:
        plot.add_scatter(x=[None], y=[None], mode=mode, name=name, line=line_style, marker=marker)

    legend = 210 if len(runs) > 1 or marks is not None else 90
    what = ", ".join(symbols)
    plot.update_layout(
        base_layout(
            theme,
            title=f"{what} while training, change from the start" if change else f"{what} while training",
            width=310 * per_row + 40 + legend,
            height=270 * len(rows) + 100,
            margin=(64, 72, legend, 52),
            legend={"x": 1, "xanchor": "left", "y": 1, "yanchor": "top"},
        )
    )
    plot.update_xaxes(
        range=[first - 0.04 * span, last + (0.32 if marks is not None else 0.26 if per_row > 1 else 0.36) * span],
        title_text="step",
        title_standoff=6,
        nticks=5,
        automargin=False,
    )
    if change:
        plot.add_hline(y=0, line={"color": colours.muted, "width": 1, "dash": "dot"})
    plot.update_annotations(selector=is_panel_title, font={"size": 13, "color": colours.muted})
    caption = sentence(
        [
            f"Learned {what} of {_listed(runs)} over the training steps; open circles are the start, filled ones the end.",
            "Drawn is the change from the start, because the start is put in by the initialisation." if change else "",
            "Diamonds are the paper's final values." if marks is not None else "",
        ]
    )
    of = [name for name in names if (frame["name"] == name).any()]
    return Figure(file_safe(*of, *(["change"] if change else []), *runs[:3]), plot, frame, caption)


def _tidy(history: Mapping[str, pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    parts = []
    for run, rows in history.items():
        fixed = (rows["name"] == "lambda") & (rows["component"] <= 0)
        kept = rows[rows["name"].isin(list(names)) & ~fixed].sort_values(["layer", "component", "step"], kind="stable")
        if len(kept):
            parts.append(kept.assign(run=run)[_COLUMNS])
    if not parts:
        return pd.DataFrame(columns=_COLUMNS)
    frame = pd.concat(parts, ignore_index=True).astype({"layer": int, "component": int, "step": int, "value": float})
    frame["change"] = frame["value"] - frame.groupby(["run", "name", "layer", "component"])["value"].transform("first")
    return frame


def _rows(frame: pd.DataFrame, names: Sequence[str]) -> list[list[tuple[str, int]]]:
    """Panels, three in a row: what shares an axis ("" = the whole model, else a scalar's name) and a layer."""
    rows: list[list[tuple[str, int]]] = [[("", -1)]] if (frame["layer"] < 0).any() else []
    for name in names:
        layers = sorted(int(layer) for layer in frame.loc[(frame["name"] == name) & (frame["layer"] >= 0), "layer"].unique())
        rows += [[(name, layer) for layer in layers[i : i + 3]] for i in range(0, len(layers), 3)]
    return rows


def _of(frame: pd.DataFrame, family: str, layer: int | None = None) -> pd.DataFrame:
    """The rows of a family of panels, or of one of its panels."""
    rows = frame[frame["layer"] < 0] if not family else frame[(frame["name"] == family) & (frame["layer"] >= 0)]
    return rows if layer is None else rows[rows["layer"] == layer]


def _range(frame: pd.DataFrame, marks: pd.DataFrame | None, family: str, shown: str) -> tuple[float, float]:
    values = _of(frame, family)[shown].to_numpy(float)
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
    """A scalar's symbol, with its component counted from 0 (-1 = none): λ₂ is ("lambda", 1)."""
    return _symbol(name) + (f"{component + 1}".translate(_SUBSCRIPTS) if component >= 0 else "")


def _listed(names: Sequence[str], most: int = 4) -> str:
    if len(names) > most:
        return f"{len(names)} runs"
    return f"run{'s' * (len(names) > 1)} {', '.join(names)}"
