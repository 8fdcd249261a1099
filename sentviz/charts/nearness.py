"""The share of words at a leader as a function of the distance that counts as near."""

from __future__ import annotations

import numpy as np

from sentviz.charts.chart import Axis, Chart, Rule, line
from sentviz.charts.figure import Figure
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import PERCENT, number, percent

LINES = {"q50": "half of the reviews", "mean": "mean", "q05": "19 of 20 reviews"}


def nearness_curve(frame: pd.DataFrame, *, near: float, wanted: float, layers: int = 8) -> Figure:
    """Draw the share of a review's words at a leader after the last layer over the distance that counts as near.

    Args:
        frame: nearness, mean, q05, q50 (shares of words: mean over reviews, shares that 19 of 20 and half of them reach), n.
        near, wanted: nearness and share of the claim, marked by dotted lines.
    Frame:
        The rows of `frame`, in the order of nearness.
    """
    rows = frame.sort_values("nearness").reset_index(drop=True)
    if rows.empty:
        raise InputError("The nearness of words to leaders has not been measured.")
    drawn = rows.melt("nearness", list(LINES), "column", "share").assign(name=lambda frame: frame["column"].map(LINES))
    lines = line(drawn, "nearness", "share", by="name", size=0.7, hover="within {nearness:.2g}: {share:.1%}, {name}")
    ends = rows["nearness"].to_numpy(float)[[0, -1]]
    decades = 10.0 ** np.arange(np.floor(np.log10(ends[0])), np.ceil(np.log10(ends[1])) + 1)
    ticks = {decade: number(100 * decade, max(0, round(-2 - np.log10(decade))), unit=PERCENT) for decade in decades.tolist()}
    across = Axis("near: within this share of the largest norm", log=True, span=(ends[0] * 0.8, ends[1] * 1.25), ticks=ticks)
    rules = [Rule(x=near), Rule(y=wanted)]
    across, down = across, Axis("share of words", ".0%", span=(0, 1.02))
    chart = Chart(f"Words near a leader after {layers} layers", [lines], across, down, rules=rules, dashed=None, ends="{name}")
    caption = (
        "Lines: the share of words at a leader that half of the reviews reach, that 19 of 20 reviews reach, and the mean. Dotted: the"
        f" limits of our test, {percent(wanted, 0)} of the words within {percent(near, 0)} (the poster names no number); n ="
        f" {int(rows['n'].max()):,}."
    )
    return Figure("nearness", chart, rows, caption)
