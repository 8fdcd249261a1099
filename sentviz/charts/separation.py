"""Accuracy on sequences whose class depends on the first word "not" and the last word "good", by their distance (SentiFormer,
Proposition 2).
"""

from __future__ import annotations

from typing import Any

from sentviz.charts.chart import Axis, Chart, Rule, line
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd

SHADE = 0  # number of the colour that all Markov models have


def accuracy_by_length(frame: pd.DataFrame, *, trained: int) -> Figure:
    """Draw a line for each model over the length of the sequences; Markov models have thin lines of one colour.

    Args:
        frame: model, order (0 = no Markov model), length, n, accuracy, low, high.
        trained: the longest sequence of the training set; longer ones stand on a shaded ground.
    Frame:
        As given.
    """
    if frame.empty:
        raise InputError("No model was tested.")
    most, longest, shortest = (int(value) for value in (frame["order"].max(), frame["length"].max(), frame["length"].min()))
    hover = "{model}<br>{length} words: {accuracy:.1%} [{low:.1%}, {high:.1%}], n = {n}"
    ends: Any = {"low": "low", "high": "high", "whiskers": True, "by": "model", "hover": hover}
    marks = [
        line(frame[frame["order"] > 0], "length", "accuracy", faint=True, symbol="circle", size=0.55, **ends),
        line(frame[frame["order"] == 0], "length", "accuracy", **ends),
    ]
    ticks = [length for length in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128) if shortest <= length <= longest]
    across = Axis(
        "length of the sequence in words", log=True, span=(shortest / 1.1, longest * 1.1), ticks={float(tick): str(tick) for tick in ticks}
    )
    least = min(0.4, float(frame["low"].min()) - 0.02)
    rules = [Rule(y=0.5)]
    if trained < longest:
        rules.append(Rule(low=trained * 1.05, high=longest * 1.1, note="longer than in training"))
    places = iter(range(1, len(frame)))
    names = frame.drop_duplicates("model")
    series = {name: SHADE if order else next(places) for name, order in zip(names["model"], names["order"], strict=True)}
    across, down = across, Axis(form=".0%", span=(max(0.0, least), 1.09))
    marks = [mark for mark in marks if len(mark.frame)]
    chart = Chart("Accuracy by the length of the sequence", marks, across, down, rules=rules, series=series, height=1.2)
    caption = sentence(
        [
            f"Share of right predictions among {int(frame['n'].max()):,} new sequences of each length that end in “good”; half of them"
            " begin with “not”."
            " Bars are Wilson's 95 % intervals.",
            "Dotted: guessing, which is also the best that a function of the last k words can reach in longer sequences." if most else "",
            f"All models learned from the same sequences of 2 to {trained} words.",
        ]
    )
    return Figure(file_safe("separation"), chart, frame.reset_index(drop=True), caption)
