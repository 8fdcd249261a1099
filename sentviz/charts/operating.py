"""ROC and precision-recall curves, reliability, and the effect of a decision threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from sentviz.analysis.testset import operating
from sentviz.analysis.testset.operating import thresholds
from sentviz.charts.chart import Axis, Chart, Mark, Panels, Rule, bars, line
from sentviz.charts.chart import points as dots
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.options import choice
from sentviz.charts.panels import stacked
from sentviz.charts.registry import RunRequirement, figure
from sentviz.charts.subjects import Answers
from sentviz.charts.text import shortened
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import number
from sentviz.runs.calibration import tempered, untempered

STEPS = {"width": "Steps of equal width", "mass": "Steps with equally many rows"}
TWO = RunRequirement(
    "two classes", lambda run: "" if len(run.labels) == 2 else f"{run.name} has {len(run.labels)} classes; this figure needs two."
)

POINTS = 400  # largest number of points of a curve


def diagonal(name: str = "") -> Mark:
    """Return the dotted diagonal from (0, 0) to (1, 1): chance in a ROC curve, perfect calibration in a reliability diagram."""
    ends = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    return line(ends, "x", "y", role="muted", symbol="", dash="dot", faint=True, name=name)


def _thinned(line: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Reduce a curve to at most 400 points, spread evenly over its length, with both ends."""
    if len(line) <= POINTS:
        return line
    step = np.hypot(np.diff(line[x], prepend=line[x].iloc[0]), np.diff(line[y], prepend=line[y].iloc[0]))
    length = np.cumsum(step)
    rows = np.searchsorted(length, np.linspace(0, length[-1], POINTS))
    return line.iloc[np.unique(np.r_[0, np.minimum(rows, len(line) - 1), len(line) - 1])]


@figure("roc", "ROC curves", Answers)
def _roc(of: Answers) -> Figure:
    return _one_vs_rest(of, "roc")


@figure("precision-recall", "Precision against recall", Answers)
def _precision_recall(of: Answers) -> Figure:
    return _one_vs_rest(of, "pr")


def _one_vs_rest(of: Answers, kind: Literal["roc", "pr"]) -> Figure:
    """Draw a panel per class with the curves of all runs, each with its area and interval; a marker shows the present predictions.

    Frame:
        run, class, threshold, fpr, recall, precision: the points drawn, at most 400 of a curve.
    """
    for rows in of.rows:
        rows.source.require("probabilities", "scores", what="curves")
    every = of.first.classes
    curves = {rows.source.name: of.statistic(operating.curves, rows, every) for rows in of.rows}
    areas = {rows.source.name: of.statistic(operating.areas, rows, every) for rows in of.rows}
    points = {rows.source.name: operating.operating_points(rows.labels, rows.predicted, every) for rows in of.rows}
    classes = [every[1]] if kind == "roc" else [every[1], every[0]]
    if len(every) > 2:
        curves = {run: pd.concat([curve, operating.macro(curve, kind)]) for run, curve in curves.items()}
        classes = [operating.MACRO, *every]
    x, y, metric = ("fpr", "recall", "AUC") if kind == "roc" else ("recall", "precision", "AP")
    runs = list(curves)
    parts, gone = [], []
    notes: dict[str, list[tuple[str, str | int]]] = {}
    for name in classes:
        for r, run in enumerate(runs):
            line_ = curves[run][curves[run]["class"] == name]
            if line_.empty:
                gone.append(name)
                continue
            parts.append(_thinned(line_, x, y).assign(run=run))
            area = areas[run].query("`class` == @name and metric == @metric").iloc[0]
            notes.setdefault(name, []).append((f"{metric} {number(area['value'], 3, ends=(area['low'], area['high']))}", r))
        if name in gone:
            notes.setdefault(name, []).append(("no curve: all rows have one class", "muted"))
    nothing = pd.DataFrame(columns=["run", "class", "threshold", "fpr", "recall", "precision"])
    frame = pd.concat(parts, ignore_index=True)[list(nothing)] if parts else nothing
    now = pd.concat([points[run].assign(run=run) for run in runs], ignore_index=True)
    words = {"fpr": "false positive rate", "recall": "recall", "precision": "precision"}
    hover = f"{{run}}<br>from {{threshold:.3f}} on: {words[x]} {{{x}:.3f}}, {words[y]} {{{y}:.3f}}"
    at_present = f"{{run}} now: {words[x]} {{{x}:.3f}}, {words[y]} {{{y}:.3f}}"
    marks = [
        *([diagonal()] if kind == "roc" else []),
        line(frame, x, y, by="run", symbol="", stepped=kind == "pr", hover=hover),
        dots(now[now["class"].isin(classes)], x, y, by="run", size=1.2, hover=at_present),
    ]
    title = ("ROC" if kind == "roc" else "Precision and recall") + (f", {runs[0]}" if len(runs) == 1 else "")
    corner: Literal["right", "left"] = "right" if kind == "roc" else "left"
    panels = Panels("class", {name: shortened(name, 24) for name in classes}, 2, notes=notes, corner=corner)
    across, down = Axis(words[x], span=(-0.02, 1.02)), Axis(words[y], span=(-0.02, 1.04))
    chart = Chart(title, marks, across, down, panels=panels, dashed=None, height=1.25)
    n = int(max(table["n"].max() for table in areas.values()))
    about = (
        "AUC: how often a row of the class gets a higher probability than a row of the other classes. Equal probabilities count half."
        " The dotted line is chance."
        if kind == "roc"
        else "AP: the mean of precision over recall. The AP of chance is the share of the class."
    )
    caption = sentence(
        [
            "Each class against the rest, at every threshold." if len(classes) > 1 else "The curve has a point for every threshold.",
            about,
            f"Brackets are 95 % bootstrap intervals over {n:,} rows. The marker shows the present predictions.",
        ]
    )
    printed = stacked(areas, "run")
    return Figure(file_safe(kind, *runs), chart, frame, caption, printed=printed[printed["metric"] == metric])


@figure("threshold", "Errors of both classes at each threshold", Answers, TWO)
def _threshold(of: Answers) -> Figure:
    """Draw accuracy and the recall of both classes at every threshold; a dotted line marks the present threshold.

    Frame:
        run, threshold, accuracy, recall_0, recall_1, precision_1.
    """
    for rows in of.rows:
        rows.source.require("probabilities", what="thresholds")
    tables = {rows.source.name: thresholds(rows.labels, rows.probabilities[:, 1]) for rows in of.rows}
    classes, threshold = of.first.classes, 0.5 if of.threshold < 0 else of.threshold
    if len(classes) != 2:
        raise InputError("A threshold decides between two classes of a run.")
    columns = {"accuracy": "accuracy"} | {f"recall_{k}": f"recall of {shortened(name, 16)}" for k, name in enumerate(classes)}
    frame = stacked(tables, "run")
    drawn = frame.melt(["run", "threshold"], list(columns), "column", "value").dropna(subset="value")
    drawn["name"] = drawn["column"].map(columns)
    hover = "from {threshold:.2f} on: {name} {value:.1%}<br>{run}"
    lines = line(drawn, "threshold", "value", by="name", dashes="run", symbol="", hover=hover)
    across, down = Axis("threshold", span=(0, 1)), Axis(form=".0%", span=(-0.02, 1.02))
    title = f"From which probability on “{shortened(classes[1], 20)}” is said"
    chart = Chart(title, [lines], across, down, rules=[Rule(x=threshold, note=f"{threshold:.2f}", role="ink")])
    caption = (
        "A lower threshold finds more rows of the second class and misses more of the first. A threshold that was chosen on these rows"
        " looks better than it is."
    )
    return Figure(file_safe("threshold", *tables), chart, frame, caption, printed=frame[np.isclose(frame["threshold"] * 10 % 1, 0)])


@figure("reliability", "Accuracy against confidence", Answers)
def _reliability(of: Answers, *, by: Annotated[str, choice(STEPS)] = "width") -> Figure:
    """Draw accuracy against confidence in bins, with intervals, and beside it the distribution of confidence.

    Frame:
        state (unchanged or tempered probabilities), left, right, n, confidence, accuracy, low, high.
    """
    rows = of.first
    rows.source.require("probabilities", what="probabilities to compare with the accuracy")
    raw = untempered(rows.probabilities, rows.calibration)
    tempers = {"as it is": raw}
    if (factor := rows.source.calibration) is not None:
        tempers[f"logits / {factor:.2f}"] = tempered(raw, factor)
    states = {name: operating.reliability(rows.labels, share, by=by) for name, share in tempers.items()}
    spread = {name: operating.reliability(rows.labels, share) for name, share in tempers.items()}
    title = f"{rows.source.name}: {STEPS[by].lower()}"
    points = stacked(states, "state").assign(panel="right")
    shares = stacked(spread, "state").assign(
        panel="rows",
        middle=lambda part: (part["left"] + part["right"]) / 2,
        share=lambda part: part["n"] / part.groupby("state")["n"].transform("sum"),
        wide=lambda part: 0.94 * (part["right"] - part["left"]),
    )
    start = min(1 / len(rows.classes), *(float(share["left"].min()) for share in spread.values()))
    hover = "confidence {confidence:.1%}, right {accuracy:.1%} [{low:.1%}, {high:.1%}]<br>{n:,} rows"
    marks = [
        replace(diagonal("calibrated"), frame=pd.DataFrame({"x": [start, 1.0], "y": [start, 1.0], "panel": "right"})),
        line(points, "confidence", "accuracy", by="state", low="low", high="high", whiskers=True, hover=hover),
        bars(shares, "middle", "share", by="state", wide="wide", faint=True, hover="{state}: {share:.1%} of the rows"),
    ]
    panels = Panels("panel", {"right": "Right, by confidence", "rows": "Rows, by confidence"}, 2)
    across = Axis("confidence: probability of the predicted class", ".0%", span=(start - 0.01, 1.01))
    chart = Chart(title, marks, across, Axis(form=".0%", zero=True), panels=panels, dashed=None)
    frame = stacked(states, "state")
    n = int(next(iter(states.values()))["n"].sum())
    caption = (
        f"Accuracy of {n:,} rows by confidence, the probability of the predicted class. Below the dotted line the model is overconfident."
        " Bars on the points are 95 % intervals (Wilson); the lower part shows the share of rows by confidence."
    )
    return Figure(file_safe("reliability", title), chart, frame, caption)
