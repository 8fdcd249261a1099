"""Losses and metrics during training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, lay_out, sentence
from sentviz.figures.panels import LEGEND_RIGHT, RunMarks, band, legend_entry, panel_grid, run_marks
from sentviz.figures.text import as_run, as_text
from sentviz.io.lazy import pd

NAMES = ("train_loss", "validation_loss", "validation_accuracy", "validation_f1_macro", "validation_f1_positive")
_BEST = "validation_accuracy"
_TIE = "validation_loss"
_COLUMNS = ["run", "name", "step", "epoch", "value"]
_BAND = ["low", "high"]


def curves(
    history: Mapping[str, pd.DataFrame],
    names: Sequence[str] = NAMES,
    *,
    stored: Mapping[str, int] | None = None,
    x: Literal["step", "epoch"] = "step",
    groups: Mapping[str, str] | None = None,
    series: Sequence[int] = (),
    theme: Theme = "light",
) -> Figure:
    """Draw one small panel per name with all runs; a star marks the step whose weights a run stores.

    Seeds of one configuration can be drawn together: the line is their mean, the band their range, over the steps that all have.

    Args:
        history: run name to frame with columns step, epoch, name, value.
        names: metrics to draw, in this order; names that no run recorded are left out.
        stored: step of each run's stored weights; by default that of the best validation accuracy, ties by loss.
        x: the horizontal axis.
        groups: run name -> name of its group, whose runs are drawn together; by default each run is drawn alone.
        series: number of the colour of each run of `history`, as in `run_marks`; a group has that of its first run.
    Frame:
        run, name, step, epoch, value, best (True at the marked step), low and high (NaN for single runs).
    """
    frame = _together(_tidy(history, names, stored or {}), groups or {})
    panels = [name for name in names if (frame["name"] == name).any()]
    if not panels:
        raise InputError(f"None of these runs recorded {', '.join(names)}.")
    colours = palette(theme)
    runs = list(frame["run"].unique())
    marks = _marks(history, runs, groups or {}, series, theme)
    per_row = min(len(panels), 3)
    plot, places = panel_grid([as_text(name.replace("_", " "), 40) for name in panels], per_row, theme, apart=0.08, below=0.28)
    for i, (name, place) in enumerate(zip(panels, places, strict=True)):
        for r, run in enumerate(runs):
            line = frame[(frame["run"] == run) & (frame["name"] == name)]
            colour = marks[run].colour
            label = as_run(run, 32)
            few = len(line) <= 30
            hover = f"{label}<br>{x} %{{x}}: %{{y:.4f}}<extra></extra>"
            if line["low"].notna().any():
                band(plot, line[x], line["low"], line["high"], colour, 0.2, legendgroup=run, **place)
            plot.add_scatter(
                x=line[x],
                y=line["value"],
                mode="lines+markers" if few else "lines",
                line={"color": colour, "width": 2, "dash": "solid" if r < len(colours.lines) else "dash"},
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
                    "color": colour,
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
        legend_entry(plot, "best on validation", "markers", marker=star, showlegend=True)
    legend = 210 if len(runs) > 1 else 160 if marked else 16
    lay_out(
        plot, theme, "Training", (290 * per_row + 72 + legend, 230 * places[-1]["row"] + 116), (56, 72, legend, 52), legend=LEGEND_RIGHT
    )
    plot.update_xaxes(title_text=x, title_standoff=6, nticks=6, automargin=False)
    plot.update_yaxes(nticks=6, automargin=False)
    caption = sentence(
        [
            f"{len(runs)} run{'s' * (len(runs) > 1)} by {x}." if len(runs) > 4 else f"Run{'s' * (len(runs) > 1)} {', '.join(runs)} by {x}.",
            "Stars mark the weights that are stored, the best on validation." if marked else "",
            "A line is the mean of the seeds, a band goes from the smallest to the largest." if frame["low"].notna().any() else "",
        ]
    )
    return Figure(file_safe("curves", *runs[:3]), plot, frame, caption)


def _together(frame: pd.DataFrame, groups: Mapping[str, str]) -> pd.DataFrame:
    """Merge the runs of each group by step into mean, minimum and maximum; a group of one run stays a run."""
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


def _marks(
    history: Mapping[str, pd.DataFrame], drawn: Sequence[str], groups: Mapping[str, str], series: Sequence[int], theme: Theme
) -> dict[str, RunMarks]:
    """Return the marks of each drawn line: those of its run, or of the first run of its group."""
    if not series:
        return run_marks(drawn, theme)
    marks = run_marks(list(history), theme, series)
    return {name: next(mark for run, mark in marks.items() if run == name or name.startswith(f"{groups.get(run)}, ")) for name in drawn}


def _tidy(history: Mapping[str, pd.DataFrame], names: Sequence[str], stored: Mapping[str, int]) -> pd.DataFrame:
    parts = []
    for run, rows in history.items():
        chosen = rows[rows["name"].isin(list(names))].sort_values("step", kind="stable").assign(run=run)[_COLUMNS]
        best_step = stored[run] if run in stored else _most_accurate(rows)
        best = (chosen["step"] == best_step) & chosen["name"].str.startswith("validation_")
        parts.append(chosen.assign(best=best.astype(bool)))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*_COLUMNS, "best"])


def _most_accurate(rows: pd.DataFrame) -> int | None:
    """Return the step of the best validation accuracy: ties by loss, then the earlier step; None if no accuracy was recorded."""
    wide = rows[rows["name"].isin([_BEST, _TIE])].drop_duplicates(["step", "name"]).pivot(index="step", columns="name", values="value")
    if _BEST not in wide:
        return None
    ranked = wide.assign(tie=wide.get(_TIE, 0.0)).sort_values([_BEST, "tie"], ascending=[False, True], kind="stable")
    return int(ranked.index[0])
