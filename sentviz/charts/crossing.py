"""Time against the length of a text for full attention and for a window, with the length at which the two are equal."""

from __future__ import annotations

from collections.abc import Mapping

from sentviz.charts.chart import Axis, Chart, Rule, line
from sentviz.charts.figure import Figure, sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd

NAMES = {"attention": "one layer's attention", "model": "the whole model"}


def crossing_curves(frame: pd.DataFrame, crossings: Mapping[str, float | None], *, about: str) -> Figure:
    """Draw the milliseconds of one text over its number of tokens on log scales: full attention dashed, sparse attention solid, crossings
    marked.

    Args:
        frame: of ("attention" | "model"), tokens, full, sparse (seconds).
        crossings: number of tokens from which full attention takes longer, by `of`; None if it never does, 0 if it always does.
        about: sentence for the caption: what was measured, and on which machine.
    """
    if frame.empty:
        raise InputError("Time by length has not been measured.")
    marks, rules, statements = [], [], []
    for place, (of, rows) in enumerate(frame.groupby("of", sort=True)):
        name, times = NAMES.get(str(of), str(of)), rows.sort_values("tokens")
        for way, dash in (("full", "dash"), ("sparse", "solid")):
            drawn = times.assign(milliseconds=1e3 * times[way], name=f"{name}, {way}")
            hover = "{name}<br>{tokens:,} tokens: {milliseconds:.3g} ms"
            marks.append(line(drawn, "tokens", "milliseconds", role=place, dash=dash, size=0.7, name=f"{name}, {way}", hover=hover))
        at = crossings.get(str(of))
        if at:
            rules.append(Rule(x=at, note=f"{at:,.0f}", role=place))
        statements.append(
            f"{name}: {'at no length measured' if at is None else f'from about {at:,.0f} tokens on' if at else 'at every length'}"
        )
    ticks = {float(n): f"{n:,}" for n in sorted(frame["tokens"].unique())}
    across, down = Axis("tokens", log=True, ticks=ticks), Axis("milliseconds", ",", log=True, step=1)
    chart = Chart("Time of one text by its length", marks, across, down, rules=rules, height=1.1)
    caption = sentence([f"Full attention takes longer for {'; for '.join(statements)}.", about])
    return Figure("time-by-length", chart, frame, caption)
