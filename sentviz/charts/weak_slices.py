"""Slices on which a model is weaker than on the other rows: the difference of the accuracies with its interval."""

from __future__ import annotations

from sentviz.charts.chart import Axis, Chart, Rule, bars
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.registry import figure
from sentviz.charts.requirements import SEED
from sentviz.charts.subjects import Answers
from sentviz.errors import InputError
from sentviz.io.numbers import percent

LETTERS = 27  # letters of a slice's name in one line


def _weaker(count: int, tested: int) -> str:
    weaker = "significantly weaker (p adjusted by Holm below 0.05)"
    if count == 0:
        return f"No slice is {weaker}."
    if count == tested:
        return f"The slice is {weaker}." if tested == 1 else f"All are {weaker}."
    return f"{count} {'is' if count == 1 else 'are'} {weaker}; the others are grey."


@figure("weak-slices", "Where a model is weakest: slices found by search", Answers)
def _weak_slices(of: Answers, *, seed: int = SEED, selected: str | None = None) -> Figure:
    """Draw a bar with an interval for each slice that was tested, the weakest at the top; slices that are not weaker are grey.

    Args:
        selected: slice to outline.
    """
    weak = of.weak_slices(seed)
    frame, run = weak.frame, weak.name or "the model"
    if frame.empty:
        raise InputError(
            f"{weak.name or 'The model'} is not weaker on any of {weak.candidates:,} slices in the first half, so no slice was tested."
        )
    ends = ("difference", "low", "high")
    rows = frame.reset_index(drop=True).assign(**{name: 100 * frame[name].to_numpy(float) for name in ends})
    hover = (
        "{difference:+.1f} points<br>{accuracy:.1%} of {n} held-out rows right<br>{mistakes} mistakes in {rows} rows<br>"
        "adjusted p = {adjusted:.2g}"
    )
    low, high = min(-5.0, 1.06 * rows["low"].min()), max(5.0, 1.06 * rows["high"].max())
    names = zip(rows["slice"], rows["says"], strict=True)
    chart = Chart(
        f"Where {run} is weakest",
        [
            bars(part, "difference", "slice", low="low", high="high", role=role, faint=role == "muted", hover=hover, click=("slice",))
            for part, role in ((rows[rows["found"].astype(bool)], "wrong"), (rows[~rows["found"].astype(bool)], "muted"))
        ],
        Axis("difference in accuracy, points", span=(low, high), step=next((step for step in (5, 10, 20) if high - low < 6 * step), 50)),
        Axis(
            rows={slice_: says.replace("; ", "\n", 1) if len(says) > LETTERS else says for slice_, says in names},
            notes=[f"{percent(accuracy, 0)}\nof {n:,}" for accuracy, n in zip(rows["accuracy"], rows["n"], strict=True)],
            chosen=selected,
        ),
        rules=[Rule(x=0, note="other rows")],
    )
    caption = sentence(
        [
            f"Slices of the rows on which {run} is weakest: the accuracy of the slice minus that of all other rows.",
            f"{weak.candidates:,} slices were searched on one half of the rows; {len(frame)} {'was' if len(frame) == 1 else 'were'} tested"
            f" on {weak.halves[1]:,} held-out rows."
            if weak.candidates
            else "",
            f"The intervals hold together with 95 %. {_weaker(int(frame['found'].sum()), len(frame))}",
            "On the right: accuracy and number of the slice's held-out rows.",
        ]
    )
    return Figure(file_safe("weak-slices", weak.name), chart, frame.reset_index(drop=True), caption)
