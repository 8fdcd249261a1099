"""Losses and metrics while a model trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, base_layout, file_safe, sentence
from sentviz.figures.text import as_run, as_text

_BEST = "validation_accuracy"
_TIE = "validation_loss"
_COLUMNS = ["run", "name", "step", "epoch", "value"]
_BAND = ["low", "high"]


def curves(
    history: Mapping[str, pd.DataFrame],
    names: Sequence[str] = ("train_loss", "validation_loss", "validation_accuracy", "validation_f1_macro"),
    *,
    x: Literal["step", "epoch"] = "step",
    groups: Mapping[str, str] | None = None,
    theme: Theme = "light",
) -> Figure:
    """One small panel per name, runs overlaid; a star marks each run's best validation accuracy (ties by loss).

    Seeds of one configuration can be drawn together: their mean as the line, from least to most as the band, over the steps that all have.

    Args:
        history: run name to frame with columns step, epoch, name, value.
        names: what to draw, in this order; names that no run recorded are left out.
        x: the horizontal axis.
        groups: run name -> what it is drawn together with; each run by itself unless given.
    Frame:
        run, name, step, epoch, value, best (True at the marked step), low and high (of several runs together, else NaN).
    Raises:
        InputError: none of the names was recorded.
    """
    frame = _together(_tidy(history, names), groups or {})
    panels = [name for name in names if (frame["name"] == name).any()]
    if not panels:
        raise InputError(f"None of these runs recorded {', '.join(names)}.")
    colours = palette(theme)
    runs = list(frame["run"].unique())
    per_row = min(len(panels), 3)
    n_rows = -(-len(panels) // per_row)
    plot = make_subplots(
        rows=n_rows,
        cols=per_row,
        horizontal_spacing=0.08,
        vertical_spacing=0.28 / n_rows,
        subplot_titles=[as_text(name.replace("_", " "), 40) for name in panels],
    )
    for i, name in enumerate(panels):
        place = {"row": i // per_row + 1, "col": i % per_row + 1}
        for r, run in enumerate(runs):
            line = frame[(frame["run"] == run) & (frame["name"] == name)]
            style = {"color": colours.lines[r % len(colours.lines)], "width": 2}
            label = as_run(run, 32)
            few = len(line) <= 30
            hover = f"{label}<br>{x} %{{x}}: %{{y:.4f}}<extra></extra>"
            if line["low"].notna().any():
                plot.add_scatter(
                    x=[*line[x], *line[x][::-1]],
                    y=[*line["high"], *line["low"][::-1]],
                    fill="toself",
                    fillcolor=style["color"],
                    opacity=0.2,
                    line={"width": 0},
                    hoverinfo="skip",
                    legendgroup=run,
                    showlegend=False,
                    **place,
                )
            plot.add_scatter(
                x=line[x],
                y=line["value"],
                mode="lines+markers" if few else "lines",
                line=style | {"dash": "solid" if r < len(colours.lines) else "dash"},
                marker={"size": 5},
                name=label,
                legendgroup=run,
                showlegend=i == 0 and len(runs) > 1,
                hovertemplate=hover,
                **place,
            )
            best = line[line["best"]]
            plot.add_scatter(
                x=best[x],
                y=best["value"],
                mode="markers",
                marker={
                    "symbol": "star",
                    "size": 13,
                    "color": style["color"],
                    "line": {"color": colours.paper, "width": 1},
                },
                legendgroup=run,
                showlegend=False,
                hovertemplate=f"best: {hover}",
                cliponaxis=False,
                **place,
            )
    marked = bool(frame["best"].any())
    if marked:
        star = {"symbol": "star", "size": 11, "color": colours.muted}
        plot.add_scatter(x=[None], y=[None], mode="markers", marker=star, name="best on validation", showlegend=True)
    legend = 210 if len(runs) > 1 else 160 if marked else 16
    plot.update_layout(
        base_layout(
            theme,
            title="Training",
            width=290 * per_row + 72 + legend,
            height=230 * n_rows + 116,
            margin=(56, 72, legend, 52),
            legend={"x": 1, "xanchor": "left", "y": 1, "yanchor": "top"},
        )
    )
    plot.update_annotations(font={"size": 13, "color": colours.muted})
    plot.update_xaxes(title_text=x, title_standoff=6, nticks=6, automargin=False)
    plot.update_yaxes(nticks=6, automargin=False)
    caption = sentence(
        [
            f"{len(runs)} run{'s' * (len(runs) > 1)} by {x}." if len(runs) > 4 else f"Run{'s' * (len(runs) > 1)} {', '.join(runs)} by {x}.",
            "Stars mark the best validation accuracy." if marked else "",
            "Bands go from the least to the most of the seeds, the line is their mean." if frame["low"].notna().any() else "",
        ]
    )
    return Figure(file_safe("curves", *runs[:3]), plot, frame, caption)


def _together(frame: pd.DataFrame, groups: Mapping[str, str]) -> pd.DataFrame:
    """The runs of a group as one, by step: mean, least and most; a group of one stays a run."""
    members: dict[str, list[str]] = {}
    for run in frame["run"].unique():
        members.setdefault(groups.get(run, run), []).append(run)
    parts = [frame[frame["run"].isin(runs)].assign(low=float("nan"), high=float("nan")) for runs in members.values() if len(runs) == 1]
    for group, runs in members.items():
        if len(runs) == 1:
            continue
        each = frame[frame["run"].isin(runs)].groupby(["name", "step"], as_index=False, sort=True)
        rows = each.agg(epoch=("epoch", "mean"), value=("value", "mean"), low=("value", "min"), high=("value", "max"), n=("run", "nunique"))
        parts.append(rows[rows["n"] == len(runs)].drop(columns="n").assign(run=f"{group}, {len(runs)} seeds", best=False))
    order = [*_COLUMNS, "best", *_BAND]
    return pd.concat([part[order] for part in parts], ignore_index=True) if parts else pd.DataFrame(columns=order)


def _tidy(history: Mapping[str, pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    parts = []
    for run, rows in history.items():
        kept = rows[rows["name"].isin(list(names))].sort_values("step", kind="stable").assign(run=run)[_COLUMNS]
        wide = rows[rows["name"].isin([_BEST, _TIE])].drop_duplicates(["step", "name"]).pivot(index="step", columns="name", values="value")
        best_step = None
        if _BEST in wide:  # as training chooses: accuracy, ties by loss, then the earlier
            ranked = wide.assign(tie=wide.get(_TIE, 0.0)).sort_values([_BEST, "tie"], ascending=[False, True], kind="stable")
            best_step = ranked.index[0]
        best = (kept["step"] == best_step) & kept["name"].str.startswith("validation_")
        parts.append(kept.assign(best=best.astype(bool)))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*_COLUMNS, "best"])
