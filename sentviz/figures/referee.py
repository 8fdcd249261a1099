"""Explanation methods against exact values: curves of deletion and insertion, and the board of all runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.chart import Axis, Chart, Panels, cells, line
from sentviz.figures.figure import Figure, file_safe, sentence
from sentviz.io.lazy import pd

MOST = 6  # lines of a panel
CURVES = {"deletion": "The named words removed", "insertion": "Only the named words"}


def referee_curves(frame: pd.DataFrame, methods: Sequence[str], *, n: int) -> Figure:
    """Draw the mean probability while words are removed in the order of an explanation, and while they are added to an empty text.

    Args:
        frame: method, curve ("deletion" or "insertion"), point (0, 1 .. at even shares of the words), value, low, high; the method
            "random" is drawn as a line with its band from low to high.
        methods: methods to draw, at most 6, the most important first.
        n: number of texts.
    Frame:
        method, curve, share (of the words), probability, low, high.
    """
    if not 1 <= len(methods) <= MOST:
        raise InputError(f"This figure has room for 1 to {MOST} methods, not {len(methods)}.")
    if missing := [name for name in methods if name not in set(frame["method"])]:
        raise InputError(f"There is no curve of {missing[0]!r}.")
    data = frame[frame["method"].isin([*methods, "random"])].sort_values("point")
    data = data.assign(share=data["point"] / data["point"].max()).rename(columns={"value": "probability"})
    hover: Any = {"hover": "{method}<br>{share:.0%} of the words: {probability:.3f}", "symbol": ""}
    chance, lines = data[data["method"] == "random"], data[data["method"] != "random"]
    order = dict(zip(methods, range(len(methods)), strict=True))
    marks = [
        line(chance, "share", "probability", low="low", high="high", role="muted", dash="dot", faint=True, name="random orders", **hover),
        line(lines, "share", "probability", by="method", **hover),
    ]
    across = Axis("share of the words, in the method's order", ".0%", span=(0, 1))
    down = Axis("mean probability of the prediction", ".0%", span=(-0.02, 1.02))
    panels = Panels("curve", CURVES, 2)
    chart = Chart("What the words that a method names do", marks, across, down, panels=panels, series=order, dashed=None)
    tidy = data[["method", "curve", "share", "probability", "low", "high"]].reset_index(drop=True)
    caption = sentence(
        [
            f"Means over {n} short texts. A good method makes the left curve fall early, because the words that it names first decide the"
            " prediction, and the right curve rise early, because they are enough for it.",
            "The grey band has 95% of the means of random orders, 20 drawn for each text.",
        ]
    )
    return Figure(file_safe("referee-curves"), chart, tidy, caption)


def referee_board(frame: pd.DataFrame, *, title: str, better: str = "higher") -> Figure:
    """Draw a row per run and a column per method; colours compare each number with that of random explanations of the same texts.

    Args:
        frame: run, title (of the method), value, low, high, random, n; runs and methods are drawn in the order of their first rows.
        title: name of the number. better: "higher" or "lower".
    Frame:
        run, method, value, low, high, random, n, beyond (True if the interval does not reach the random value).
    """
    if frame.empty:
        raise InputError("No run of these has measured explanations.")
    sign = 1 if better == "higher" else -1
    beyond = (frame["low"] > frame["random"]) if sign > 0 else (frame["high"] < frame["random"])
    best = 1.0 if sign > 0 else 0.0
    strength = ((frame["value"] - frame["random"]) / (best - frame["random"])).clip(-1, 1)
    data = frame.assign(beyond=beyond, shade=np.where(beyond, strength.clip(lower=0), np.minimum(strength, 0)))
    percent = bool((data["value"].between(0, 1) & data["random"].between(0, 1)).all())
    hover = "{run}, {title}<br>{value:.3f} [{low:.3f}, {high:.3f}], random {random:.3f}, n = {n:.0f}"
    shades = data.assign(hundredths=100 * data["value"])
    text = "{hundredths:.0f}" if percent else "{value:.2f}"
    marks = [cells(shades, "title", "run", "shade", scale="judged", span=(-1, 1), text=text, hover=hover)]
    columns, rows = (Axis(rows={name: name for name in dict.fromkeys(data[key])}) for key in ("title", "run"))
    chart = Chart(title, marks, columns, rows)
    caption = sentence(
        [
            f"{title}{', in %' if percent else ''}: {better} is better; {int(data['n'].min())} to {int(data['n'].max())} texts per run.",
            "Teal: better than random explanations of the same texts (95% bootstrap interval), the darker the closer to the exact values."
            " White and magenta: not better, the darker the worse.",
        ]
    )
    tidy = data.assign(method=data["title"])[["run", "method", "value", "low", "high", "random", "n", "beyond"]]
    return Figure(file_safe("referee-board"), chart, tidy.reset_index(drop=True), caption)
