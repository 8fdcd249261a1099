"""Losses and metrics during training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from sentviz.charts.chart import Axis, Chart, Panels, line, numbered, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.options import Series, choice
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Runs
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.runs.store import Run

NAMES = ("train_loss", "validation_loss", "validation_accuracy", "validation_f1_macro", "validation_f1_positive")
_BEST = "validation_accuracy"
_TIE = "validation_loss"
_COLUMNS = ["run", "name", "step", "epoch", "value"]
_BAND = ["low", "high"]
FEW = 30  # largest number of points of a line that are marked


def curves(
    history: Mapping[str, pd.DataFrame],
    names: Sequence[str] = NAMES,
    *,
    stored: Mapping[str, int] | None = None,
    x: str = "step",
    groups: Mapping[str, str] | None = None,
    series: Sequence[int] = (),
) -> Figure:
    """Draw one small panel per name with all runs; a star marks the step whose weights a run stores.

    Seeds of one configuration can be drawn together: the line is their mean, the band their range, over the steps that all have.

    Args:
        history: run name to frame with columns step, epoch, name, value.
        names: metrics to draw, in this order; names that no run recorded are left out.
        stored: step of each run's stored weights; by default that of the best validation accuracy, ties by loss.
        x: the horizontal axis.
        groups: run name -> name of its group, whose runs are drawn together; by default each run is drawn alone.
        series: number of the colour of each run of `history`, counted from 0; a group has that of its first run.
    Frame:
        run, name, step, epoch, value, best (True at the marked step), low and high (NaN for single runs).
    """
    frame = _together(_tidy(history, names, stored or {}), groups or {})
    panels = {name: name.replace("_", " ") for name in names if (frame["name"] == name).any()}
    if not panels:
        raise InputError(f"None of these runs recorded {', '.join(names)}.")
    runs = list(frame["run"].unique())
    few = frame.groupby(["run", "name"]).size().max() <= FEW
    hover = f"{{run}}<br>{x} {{{x}:g}}: {{value:.4f}}"
    marks = [line(frame, x, "value", low="low", high="high", by="run", hover=hover, symbol="circle" if few else "", size=0.6)]
    best = frame[frame["best"]]
    if len(best):
        star: Any = {"symbol": "star", "size": 1.4, "role": "muted", "name": "best on validation", "hover": f"best: {hover}"}
        marks.append(points(best, x, "value", by="run", **star))
    caption = sentence(
        [
            f"{len(runs)} run{'s' * (len(runs) > 1)} by {x}." if len(runs) > 4 else f"Run{'s' * (len(runs) > 1)} {', '.join(runs)} by {x}.",
            "Stars mark the weights that are stored, the best on validation." if len(best) else "",
            "A line is the mean of the seeds, a band goes from the smallest to the largest." if frame["low"].notna().any() else "",
        ]
    )
    numbers = _numbers(history, runs, groups or {}, series) if series else {}
    chart = Chart("Training", marks, Axis(x), panels=Panels("name", panels), series=numbers)
    return Figure(file_safe("curves", *runs[:3]), chart, frame, caption)


def with_seeds(runs: Sequence[Run], installed: Iterable[Run]) -> list[Run]:
    """Return runs, and the installed ones that differ from one of them only in the seed."""
    wanted = set(map(_setup, runs))
    return [run for run in installed if _setup(run) in wanted]


def first_seeds(drawn: Sequence[Run], runs: Sequence[Run]) -> list[Run]:
    """Return for each drawn run the first of `runs` that differs from it only in the seed; it decides the colour."""
    first = {_setup(run): run for run in reversed(runs)}
    return [first[_setup(run)] for run in drawn]


def _setup(run: Run) -> tuple[str, str]:
    return run.config["data"]["name"], run.configuration


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


def _numbers(history: Mapping[str, pd.DataFrame], drawn: Sequence[str], groups: Mapping[str, str], series: Sequence[int]) -> dict[str, int]:
    """Return the number of each drawn line: that of its run, or of the first run of its group."""
    known = numbered(history, series)
    return {name: next(at for run, at in known.items() if run == name or name.startswith(f"{groups.get(run)}, ")) for name in drawn}


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


AXES = {"epoch": "epoch", "step": "step"}


@figure("curves", "Loss and metrics over training", Runs)
def _curves(of: Runs, *, x: Annotated[str, choice(AXES)] = "epoch", bands: bool = False, series: Series = ()) -> Figure:
    groups = {run.name: f"{run.config['data']['name']}/{run.configuration}" for run in of.sources} if bands else None
    stored = {run.name: run.config["best"]["step"] for run in of.sources}
    return curves({run.name: run.history() for run in of.sources}, stored=stored, x=x, groups=groups, series=series)
