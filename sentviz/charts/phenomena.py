"""Accuracy of runs by phenomenon, each dot with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sentviz.analysis.testset.rows import Rows, accuracy_by_phenomenon
from sentviz.charts.chart import Axis, Chart, Rule, numbered, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.options import Series
from sentviz.charts.registry import figure
from sentviz.charts.subjects import WEIGHTS, Runs, sourced
from sentviz.data.labels import sides
from sentviz.errors import InputError
from sentviz.io.lazy import pd

MOST = 6  # runs
_ALL = "all"


@figure("phenomena", "Accuracy by phenomenon on the demo set", Runs, WEIGHTS)
def _phenomena(of: Runs, *, only: Sequence[str] = (), sided: bool = False, series: Series = (), selected: str | None = None) -> Figure:
    """Draw a row of dots per phenomenon, the easiest at the top, "all" at the bottom; each run has a colour and a symbol.

    Args:
        only: phenomena that are drawn; by default all.
        sided: count predictions on the side of the label as right.
        selected: phenomenon to outline.
    """
    rows = of.demo_rows
    chance = 0.5 if sided else 1 / max(len(each.classes) for each in rows.values())
    frame = accuracy_by_phenomenon(rows, sided=sided)
    if only:
        frame = frame[frame["phenomenon"].isin(list(only))]
    runs = list(dict.fromkeys(frame["run"]))
    if len(runs) > MOST:
        raise InputError(f"This figure has room for 1 to {MOST} runs, not {len(runs)}.")
    means = (
        frame[frame["phenomenon"] != _ALL].groupby("phenomenon", sort=False)["accuracy"].mean().sort_values(ascending=False, kind="stable")
    )
    order = [*means.index, *([_ALL] if (frame["phenomenon"] == _ALL).any() else [])]
    sizes = frame.groupby("phenomenon")["n"].max()
    least = min(float(frame["low"].min()), chance)
    hover = "{run}<br>{accuracy:.0%} [{low:.0%}, {high:.0%}], n = {n}"
    dots = points(frame, "accuracy", "phenomenon", low="low", high="high", by="run", hover=hover, click=("phenomenon",))
    chart = Chart(
        "Accuracy by phenomenon, demo set",
        [dots],
        Axis(form=".0%", span=(max(0.0, np.floor(least * 10) / 10 - 0.02), 1.02)),
        Axis(rows={name: f"{name} ({sizes[name]})" for name in order}, striped=True, chosen=selected),
        rules=[Rule(x=chance, note="guessing")],
        series=numbered(runs, series),
    )
    caption = sentence(
        [
            "Share of the demo set's sentences that each run predicts right, by phenomenon; the number in brackets is the number of"
            " sentences.",
            "With more than two classes, a prediction on the side of the label is right, and a neutral one is wrong." if sided else "",
            "Bars are Wilson's 95 % intervals over sentences. Phenomena are sorted by the mean over the drawn runs.",
            "Overlapping intervals do not show that two runs are equal: the sentences are the same, so use a paired test.",
        ]
    )
    drawn = Figure(file_safe("phenomena", *(runs if len(runs) < 3 else [])), chart, frame.reset_index(drop=True), caption)
    return sourced(drawn, *of.sources, rows=rows[of.run.name])


def predicted_sentences(rows: Mapping[str, Rows], group: str) -> pd.DataFrame:
    """Return the sentences of a group of the demo set with what each run predicts: text, label, and a column for each run."""
    of_group = {name: each.frame[each.frame["tag"] == group].reset_index(drop=True) for name, each in rows.items()}
    first = next(iter(rows))
    labels = [rows[first].classes[label] for label in of_group[first]["label"]]
    table = pd.DataFrame({"text": of_group[first]["text"], "label": labels})
    for name, each in rows.items():
        side = sides(each.classes)
        pairs = of_group[name][["label", "predicted"]].itertuples(index=False)
        table[name] = [f"{'✓' if side[label] == side[predicted] else '✗'} {each.classes[predicted]}" for label, predicted in pairs]
    return table
