"""A measure over the number of training examples: one line per model, and the reported values."""

from __future__ import annotations

from collections.abc import Mapping

from sentviz.charts.chart import Axis, Chart, line, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd


def learning_curve(frame: pd.DataFrame, titles: Mapping[str, str], *, title: str, unit: str = "rows", note: str = "") -> Figure:
    """Draw measured values as dots with 95 % intervals joined by lines, reported values as open diamonds; the number of rows is on a
    logarithmic axis.

    Args:
        frame: preset, rows, value, low, high, n, seeds, printed; value and printed may be NaN.
        titles: preset -> title, in order.
        unit: unit of the horizontal axis. note: sentence for the caption.
    Frame:
        The rows of `frame`, with the titles.
    """
    measured = frame.dropna(subset="value")
    if measured.empty:
        raise InputError("No point of this learning curve has been measured.")
    marks = []
    for place, (preset, name) in enumerate(titles.items()):
        own = measured[measured["preset"] == preset].sort_values("rows")
        reported = frame[(frame["preset"] == preset)].dropna(subset="printed")
        hover = f"{{rows:,}} {unit}: {{value:.2%}} [{{low:.2%}}, {{high:.2%}}]"
        if len(own):
            shape = ("circle", "square", "triangle-up")[place % 3]
            marks.append(
                line(own, "rows", "value", low="low", high="high", whiskers=True, role=place, symbol=shape, name=name, hover=hover)
            )
        if len(reported):
            hover = f"reported, {{rows:,}} {unit}: {{printed:.2%}}"
            marks.append(points(reported, "rows", "printed", role=place, symbol="diamond-open", name=f"{name}, reported", hover=hover))
    ticks = sorted({int(rows) for rows in frame["rows"]})
    labelled = [tick for i, tick in enumerate(ticks) if not i or tick > 1.6 * ticks[i - 1] or tick == ticks[-1]]
    across, down = Axis(unit, log=True, ticks={float(tick): f"{tick:,}" for tick in labelled}), Axis(form=".0%")
    chart = Chart(title, marks, across, down)
    seeds = measured["seeds"].astype(int)
    diamonds = "; open diamonds are reported" if frame["printed"].notna().any() else ""
    caption = sentence(
        [
            f"{title}. Filled marks are measured, with 95 % intervals{diamonds}.",
            note,
            f"n = {int(measured['n'].max()):,}; seeds: {seeds.min()}" + (f" to {seeds.max()}." if seeds.min() < seeds.max() else "."),
        ]
    )
    table = frame.assign(model=frame["preset"].map(dict(titles))).reset_index(drop=True)
    return Figure(file_safe(title), chart, table, caption)
