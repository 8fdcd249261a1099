"""Sources of predictions compared on the same rows: the accuracy of each, and how far each is behind the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from sentviz.analysis.testset.comparison import compare_rows
from sentviz.charts.chart import Axis, Chart, Panels, Rule, points
from sentviz.charts.figure import Figure, sentence
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Answers
from sentviz.charts.text import shortened
from sentviz.errors import InputError
from sentviz.io.lazy import pd

_NAME = 30  # columns of a name


@figure("comparison", "Two to six models on the same rows", Answers)
def _comparison(of: Answers, *, together: bool = True) -> Figure:
    """Draw the accuracy of each source with its interval and those of its trainings, and its difference from the best source.

    Frame:
        source, seed (empty for the mean), accuracy, low, high, behind, behind_low, behind_high, p.
    """
    result = compare_rows(of.rows, together=together)
    table = result.table
    if len(table) < 2:
        raise InputError("The figure comparison needs two to six sources: name others with versus.")
    names = {
        name: shortened(name, _NAME) + (f" ({seeds} seeds)" if seeds > 1 else "")
        for name, seeds in zip(table["source"], table["seeds"], strict=True)
    }
    each = result.trainings().merge(pd.DataFrame({"source": table["source"], "row": np.arange(len(table))}), on="source")
    percent = 100 * table[["accuracy", "low", "high", "behind", "behind_low", "behind_high"]]
    shares = {"accuracy": percent.iloc[:, :3], "behind": percent.iloc[:, 3:]}
    accuracy, behind = (
        part.set_axis(["value", "low", "high"], axis=1).assign(source=table["source"], panel=panel) for panel, part in shares.items()
    )
    single = each.assign(panel="accuracy", value=100 * each["accuracy"])
    ends: Any = {"low": "low", "high": "high"}
    marks = [
        points(single, "value", "source", role="muted", symbol="circle-open", size=0.7, shift=0.28, hover="seed {seed}: {value:.2f}%"),
        points(accuracy, "value", "source", hover="{value:.2f} [{low:.2f}, {high:.2f}]", **ends),
        points(behind.dropna(), "value", "source", hover="{value:+.2f} [{low:+.2f}, {high:+.2f}]", **ends),
        points(behind.head(1).assign(value=0.0), "value", "source", role="muted", symbol="diamond"),
    ]
    panels = Panels("panel", {"accuracy": "Accuracy, %", "behind": "Difference from the best, points"}, 2)
    chart = Chart("Which is right more often?", marks, Axis(), Axis(rows=names), panels=panels, rules=[Rule(x=0, panel="behind")])
    frame = pd.concat(
        [table[["source", "accuracy", "low", "high", "behind", "behind_low", "behind_high", "p"]], each[["source", "seed", "accuracy"]]]
    )
    frame.insert(1, "seed", frame.pop("seed"))
    caption = sentence([result.headline, result.method, "Open circles are single trainings." if len(each) else ""])
    return Figure("comparison", chart, frame.reset_index(drop=True), caption)
