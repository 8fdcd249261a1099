"""The confusion matrix of one run, the agreement of two runs, and the scores of each class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import confusion
from sentviz.analysis.testset.operating import agreement, per_class
from sentviz.charts.chart import Axis, Chart, Mark, Panels, cells, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.panels import stacked
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Answers
from sentviz.charts.text import shortened
from sentviz.errors import InputError
from sentviz.io.lazy import pd

Cell = tuple[int, int]
FULL = 0.5  # share of a label's rows from which on a mistake has the full colour
PALE = 0.25  # strength of the colour of a row that is all right
WEIGHT = "Magenta is wrong: the larger the share of a label the stronger, in full from half of it on. Teal, which is paler, is right."


def strength(share: npt.ArrayLike, right: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the strength of the colours of cells, -1 to 1: mistakes below 0, by the root of their share; right answers, paler, above 0."""
    shares = np.nan_to_num(np.asarray(share, dtype=float))
    strengths: npt.NDArray[np.float64] = np.where(right, PALE * shares, -np.sqrt(np.minimum(shares / FULL, 1.0)))
    return strengths


def _table(title: str, drawn: pd.DataFrame, hover: str, across: Axis, down: Axis, selected: Cell | None) -> Chart:
    """Return cells, larger the fewer they are, with counts and, if they are few, shares; one cell has an outline."""
    k = len(down.rows)
    look: Mapping[str, Any] = {"scale": "judged", "span": (-1, 1), "hover": hover, "click": ("row", "column")}
    known, share = drawn["share"].notna(), '<br><span style="font-size:12px">{share:.1%}</span>' if k <= 5 else ""
    marks = [cells(drawn.assign(level=drawn["level"].where(known)), "column", "row", "level", text="{count:,}" + share, **look)]
    marks += [cells(drawn[~known], "column", "row", "level", text="{count:,}", **look)] if not known.all() else []
    if selected:
        marks[-1] = replace(marks[-1], chosen=[selected[::-1]])
    return Chart(title, marks, across, down, height=2.2 if k <= 3 else 1.5 if k <= 5 else 1.0)


@figure("confusion", "The confusion matrix", Answers)
def _confusion(of: Answers, *, selected: tuple[int, int] | None = None) -> Figure:
    """Draw counts as text and the share of the label's rows as colour: mistakes stronger than right answers (`strength`). A click
    anywhere picks a cell.

    Args:
        selected: the cell (label, prediction) that is outlined.
    Frame:
        label, predicted (names of classes), count, share (of the rows with the label; NaN without any).
    """
    classes, run = of.first.classes, of.first.source.name
    table, k = confusion(of.first.labels, of.first.predicted, len(classes)), len(classes)
    if not table.sum():
        raise InputError("A confusion matrix needs labelled rows.")
    rows = table.sum(axis=1)
    with np.errstate(invalid="ignore"):
        share = table / rows[:, None]
    places = np.indices((k, k)).reshape(2, -1)
    label, predicted = ([classes[i] for i in place] for place in places)
    frame = pd.DataFrame({"label": label, "predicted": predicted, "count": table.ravel(), "share": share.ravel()})
    drawn = frame.assign(row=places[0], column=places[1], level=strength(frame["share"], places[0] == places[1]))
    drawn["said"] = ["right" if i == j else f"predicted as {name}" for i, j, name in zip(*places, predicted, strict=True)]
    drawn["of"], names = rows[places[0]], [shortened(name, 18 if k <= 5 else 12) for name in classes]
    chart = _table(
        run or "Labels and predictions",
        drawn,
        "labelled {label}, {said}<br>{count:,} of {of:,} rows",
        Axis("predicted", rows=dict(enumerate(names))),
        Axis("label", rows={i: f"{name}\nn = {n:,}" for i, (name, n) in enumerate(zip(names, rows, strict=True))}),
        selected,
    )
    caption = sentence(
        [
            f"Labels down, predictions across: counts of {table.sum():,} rows, and shares of each label's rows. {WEIGHT}",
            "The outlined cell contains the rows that are listed." if selected else "",
        ]
    )
    return Figure(file_safe("confusion", run), chart, frame, caption)


@figure("agreement", "Which of two runs is right", Answers)
def _agreement(of: Answers, *, selected: tuple[int, int] | None = None) -> Figure:
    """Draw how often two runs are right on the same rows: counts as text, the share of all rows as colour.

    Args:
        selected: the cell that is outlined.
    Frame:
        first_right, second_right, count, share.
    """
    if len(of.rows) != 2:
        raise InputError("The figure agreement compares two runs: name the second run with versus.")
    runs = [rows.source.name for rows in of.rows]
    counts = agreement(*(rows.frame["right"].to_numpy(bool) for rows in of.rows))
    table = np.array([counts.both_right, counts.only_a, counts.only_b, counts.neither])
    share = table / table.sum()
    right = [True, True, False, False], [True, False, True, False]
    frame = pd.DataFrame({"first_right": right[0], "second_right": right[1], "count": table, "share": share})
    outcomes = ["both right", f"only {runs[0]} right", f"only {runs[1]} right", "both wrong"]
    drawn = frame.assign(row=[0, 0, 1, 1], column=[0, 1, 0, 1], level=frame["share"], said=outcomes, of=table.sum())
    sides = {0: "right", 1: "wrong"}
    hover = "{said}<br>{count:,} of {of:,} rows"
    chart = _table("Which run is right", drawn, hover, Axis(runs[1], rows=sides), Axis(runs[0], rows=sides), selected)
    caption = (
        f"Counts of {table.sum():,} rows by which run is right: {runs[0]} down, {runs[1]} across."
        " The larger the share, the stronger the teal."
    )
    return Figure(file_safe("agreement", *runs), chart, frame, caption)


@figure("classes", "Precision, recall and F1 of each class", Answers)
def _classes(of: Answers) -> Figure:
    """Draw precision, recall and F1 of each class as dots with intervals and numbers; one colour and symbol per run.

    Frame:
        run, class, metric, value, low, high, n, said.
    """
    tables = {rows.source.name: per_class(rows.labels, rows.predicted, rows.classes) for rows in of.rows}
    frame = stacked(tables, "run")
    classes, metrics, runs = (list(frame[name].unique()) for name in ("class", "metric", "run"))
    undefined = frame["value"].isna()
    lowest = float(np.nanmin([frame["low"].min(), frame["value"].min(), 1.0]))
    start = max(0.0, np.floor(10 * lowest - 0.5) / 10)
    middle = (1 + start) / 2
    at = np.where(frame["value"].fillna(start) > middle, "top left", "top right")
    drawn = frame.assign(at=at, shown=frame["value"].fillna(start))
    hover = "{run}<br>{metric} {value:.1%} [{low:.1%}, {high:.1%}]<br>{n:,.0f} rows, {said:,.0f} predicted as this class"
    shared: Mapping[str, Any] = {"by": "run", "text_at": "at"}
    marks: list[Mark] = [points(drawn[~undefined], "value", "class", low="low", high="high", hover=hover, text="{value:.1%}", **shared)]
    marks += [points(drawn[undefined], "shown", "class", symbol="", text="none", **shared)] if undefined.any() else []
    ticks = {float(tick): f"{100 * tick:.0f}" for tick in np.linspace(start, 1, 3)}
    chart = Chart(
        "Each class" + (f" of {runs[0]}" if len(runs) == 1 else ""),
        marks,
        Axis(span=(start, 1.02), ticks=ticks),
        Axis(rows={name: shortened(name, 18) for name in classes}),
        panels=Panels("metric", {metric: f"{metric}, %" for metric in metrics}, small=True),
    )
    caption = sentence(
        [
            "Precision: the share of the predictions of a class that are right.",
            "Recall: the share of the class's rows that are predicted right.",
            "F1: their harmonic mean.",
            f"Bars are Wilson's 95 % intervals over {int(frame.groupby(['run', 'metric'])['n'].sum().max()):,} rows.",
            "None means undefined: a class that is never predicted has no precision, and a class without rows has no recall."
            if undefined.any()
            else "",
        ]
    )
    return Figure(file_safe("classes", *runs), chart, frame, caption)
