"""Learned scalars of a model during training: lambda, the weights of position signals, temperatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from sentviz.charts.chart import Axis, Chart, Panels, Rule, line, numbered, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.options import Series, choice
from sentviz.charts.registry import capability, figure
from sentviz.charts.subjects import Runs, sourced
from sentviz.charts.text import as_text, subscript
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.runs.printed import printed
from sentviz.runs.store import Run

ScalarAxis = Annotated[Literal["step", "share"], choice({"step": "Steps", "share": "Share of training"})]
UNEQUAL = 1.25  # ratio of two lengths of training above which steps compare badly
LAMBDAS = capability("lambdas", "lambda")
SCALARS = capability("scalars", "learned scalars")

SYMBOLS = {"lambda": "λ", "alpha": "α", "beta": "β", "gamma": "γ", "temperature": "τ"}
_COLUMNS = ["run", "name", "layer", "component", "step", "epoch", "value"]

Scalar = tuple[str, int]  # name, component (-1 = none)


def scalar_evolution(
    history: Mapping[str, pd.DataFrame],
    names: Sequence[str],
    *,
    change: bool = False,
    x: ScalarAxis = "step",
    series: Sequence[int] = (),
    printed: pd.DataFrame | None = None,
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
        series: number of the dash of each run of `history`, counted from 0.
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
    runs = list(frame["run"].unique())
    scalars: list[Scalar] = [(name, int(c)) for name in names for c in sorted(frame.loc[frame["name"] == name, "component"].unique())]
    symbols = [_symbol(name) for name in dict.fromkeys(name for name, _ in scalars)]
    marks = None if printed is None or change else printed[printed["component"] != 0]

    panels = _panels(frame, names)
    several = len({family for family, _ in panels}) > 1
    families = {f"{family} {layer}": family for family, layer in panels}
    titles = {f"{family} {layer}": _title(family, layer, several) for family, layer in panels}
    drawn = _placed(frame, families).assign(where=lambda rows: [f", layer {layer + 1}" if layer >= 0 else "" for layer in rows["layer"]])
    first, last = frame[x].min().item(), frame[x].max().item()
    span = last - first or 1
    at_point = "step {step}" if x == "step" else "{share:.0%} of training, step {step}"
    hover = f"{{run}}<br>{{label}}{{where}}<br>{at_point}: {{{column}:.4f}}"
    by_line = drawn.groupby(["run", "name", "layer", "component"], sort=False)
    pictures = [
        line(drawn, x, column, by="label", dashes="run", symbol="", hover=hover),
        points(by_line.head(1), x, column, by="label", symbol="circle-open", size=0.9),
        points(by_line.tail(1), x, column, by="label", symbol="circle", size=0.9),
    ]
    if marks is not None:
        reported = _placed(marks, families).assign(**{x: last + 0.05 * span})
        look: Any = {"symbol": "diamond-open", "size": 1.1, "hover": "{run}<br>reported: {value:.4f}"}
        pictures += [points(reported, x, "value", by="label", **look), points(reported.iloc[:0], x, "value", role="muted",
                     symbol="diamond-open", name="reported in the paper")]  # fmt: skip
    what = ", ".join(symbols)
    across = Axis(
        "step" if x == "step" else "share of training",
        "" if x == "step" else ".0%",
        span=(first - 0.04 * span, last + (0.08 if marks is not None else 0.03) * span),
        ticks={} if x == "step" else {0.0: "0 %", 0.5: "50 %", 1.0: "100 %"},
    )
    numbers = {scalar_label(*each): i for i, each in enumerate(scalars)} | numbered(history, series)
    chart = Chart(
        f"{what} while training, change from the start" if change else f"{what} while training",
        pictures,
        across,
        Axis(form=".2f" if _least_range(drawn, column) > 0.05 else ".3f"),
        rules=[Rule(y=0)] if change else (),
        panels=Panels("panel", titles, 3, alike=families),
        series=numbers,
        ends=f"{{label}} {{{column}:.3f}}",
    )
    over = "the training steps" if x == "step" else "the share of each run's training, whose lengths may differ"
    caption = sentence(
        [
            f"Learned {what} of {_listed(runs)} over {over}; open circles are the start, filled ones the end.",
            "Values are changes from the start, because the initialisation sets the start." if change else "",
            "Diamonds are the paper's final values." if marks is not None else "",
        ]
    )
    of = [name for name in names if (frame["name"] == name).any()]
    return Figure(file_safe(*of, *(["change"] if change else []), *(["share"] if x == "share" else []), *runs[:3]), chart, frame, caption)


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


def _panels(frame: pd.DataFrame, names: Sequence[str]) -> list[tuple[str, int]]:
    """Return the panels: a scalar's name ("" = scalars of the complete model), whose panels share an axis, and a layer."""
    layered = frame[frame["layer"] >= 0].groupby("name")["layer"].unique()
    whole = [("", -1)] if (frame["layer"] < 0).any() else []
    return [*whole, *((name, int(layer)) for name in names if name in layered for layer in sorted(layered[name]))]


def _placed(rows: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    """Return rows with their panel and the label of their scalar."""
    panels = [f"{name} {layer}" if layer >= 0 else " -1" for name, layer in zip(rows["name"], rows["layer"], strict=True)]
    labels = [scalar_label(str(name), int(component)) for name, component in zip(rows["name"], rows["component"], strict=True)]
    placed = rows.assign(panel=panels, label=labels)
    return placed[placed["panel"].isin(list(families))]


def _least_range(rows: pd.DataFrame, column: str) -> float:
    """Return the smallest range of the values of one scalar."""
    values = rows.groupby("name")[column]
    return float((values.max() - values.min()).min())


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


@figure("lambda", "Lambda over training", Runs, LAMBDAS)
def _lambda(of: Runs, *, change: bool = False, x: ScalarAxis = "step", series: Series = ()) -> Figure:
    return _scalar_figure(of.sources, ("lambda",), change=change, x=x, series=series)


@figure("scalars", "Every learned scalar over training", Runs, SCALARS)
def _scalars(of: Runs, *, change: bool = False, x: ScalarAxis = "step", series: Series = ()) -> Figure:
    every = dict.fromkeys(name for run in of.sources for name in run.capabilities.scalars)
    return _scalar_figure(of.sources, tuple(every), change=change, x=x, series=series)


def _scalar_figure(sources: Sequence[Run], names: Sequence[str], **options: Any) -> Figure:
    """Draw learned scalars over training, with a paper's final values if it reports them; options are those of `scalar_evolution`."""
    marks = [
        frame[frame["name"].isin(names)].assign(run=run.name)[["run", "name", "layer", "component", "value"]]
        for run in sources
        if set(names) & set(run.capabilities.scalars)
        for frame in [printed(run.config["data"]["name"], run.configuration)]
    ]
    marks = [mark for mark in marks if not mark.empty]
    history = {run.name: run.history() for run in sources}
    reported = pd.concat(marks) if marks else None
    return sourced(scalar_evolution(history, names, printed=reported, **options), *sources)


def scalar_axis(sources: Sequence[Run]) -> ScalarAxis:
    """Return the axis on which learned scalars of runs are best compared: the share of training if the longest run has more than
    `UNEQUAL` times the steps of the shortest one, otherwise the steps.
    """
    steps = training_steps({run.name: run.history() for run in sources}).values()
    return "share" if max(steps) > UNEQUAL * min(steps) else "step"
