"""Gains over a baseline: measured gains with intervals, and reported ones next to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, number, sentence
from sentviz.figures.panels import legend_below, reported_marker, row_axis, with_interval
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd

_SYMBOLS = {"one seed": "circle", "over seeds": "square"}
_LINE = 44  # pixels of a row


def gain_dots(
    frame: pd.DataFrame,
    printed: pd.DataFrame | None = None,
    *,
    order: Sequence[str],
    title: str,
    base: str = "the baseline",
    each: str = "one pretrained encoder each",
    theme: Theme = "light",
) -> Figure:
    """Draw a row per comparison in percentage points: filled marks with 95 % intervals are measured, open diamonds reported, one per
    encoder.

    Args:
        frame: row, kind ("one seed" or "over seeds"), difference, low, high (shares), n, seeds.
        printed: row, encoder, value (shares); if the paper can be read in several ways, also reading, in words.
        order: the rows, from top to bottom.
        title: of the figure.
        base: name of the baseline. each: the model of a reported diamond, for the legend; "" for none.
    Frame:
        row, kind (or "printed"), encoder, reading (if there are several), value, low, high, n, seeds, in shares.
    """
    theirs = pd.DataFrame(columns=["row", "encoder", "value"]) if printed is None else printed
    if frame.empty and theirs.empty:
        raise InputError("There is neither a reported nor a measured gain to draw.")
    rows, places = list(order), {row: i for i, row in enumerate(order)}
    colours = palette(theme)
    tall = _LINE * len(rows)
    legend = {"legend": legend_below(-48 / tall), "showlegend": True}
    left = max(150, 6 * min(30, max(map(len, rows), default=0)) + 12)  # pixels for the names of the rows
    readings = theirs.groupby(theirs.get("reading", pd.Series("", theirs.index)), sort=False)
    below = 52 + 20 * max(2, frame["kind"].nunique() + readings.ngroups)  # Plotly moves a legend that has too little room
    plot = new_plot(theme, title, (470 + left, tall + 44 + below), (left, 44, 24, below), **legend)
    plot.add_vline(x=0, line={"color": colours.muted, "width": 1.2})
    measured = set(frame["row"])
    for kind, symbol in _SYMBOLS.items():
        part = frame[frame["kind"] == kind]
        if part.empty:
            continue
        values = 100 * part[["difference", "low", "high"]].to_numpy(float)
        plot.add_scatter(
            **with_interval("x", values, colours.lines[0]),
            y=part["row"].map(places),
            mode="markers",
            name="measured, one seed of each" if kind == "one seed" else "measured",
            marker={"size": 10, "symbol": symbol, "color": colours.lines[0]},
            customdata=np.column_stack([values[:, 1:], part["n"].to_numpy(float), part["seeds"].to_numpy(float)]),
            hovertemplate="%{x:+.2f} points [%{customdata[0]:+.2f}, %{customdata[1]:+.2f}]<br>n = %{customdata[2]:,.0f},"
            " seeds: %{customdata[3]:.0f}<extra></extra>",
        )
    for place, (reading, part) in enumerate(readings):
        plot.add_scatter(
            x=100 * part["value"].astype(float),
            y=[places[row] - (0.25 if row in measured else 0) - 0.2 * place for row in part["row"]],
            mode="markers",
            name=", ".join(filter(None, ("reported", str(reading) or each))),
            marker=reported_marker(colours.lines[1 + place], 9, 1.8),
            customdata=[as_text(name, 30) for name in part["encoder"]],
            hovertemplate="%{customdata}, reported: %{x:+.2f} points<extra></extra>",
        )
    names = [as_text(row, 30) for row in rows]
    plot.update_yaxes(row_axis(names, 0.62, 0.45))
    plot.update_xaxes(title_text=f"percentage points over {base}", title_standoff=4, nticks=8, automargin=False)
    ours = frame.rename(columns={"difference": "value"})[["row", "kind", "value", "low", "high", "n", "seeds"]]
    together = pd.concat([part for part in (ours, theirs.assign(kind="printed")) if len(part)], ignore_index=True)
    caption = sentence(
        [
            f"{title}: difference of accuracy on the same test rows, in percentage points, with 95% intervals."
            if len(frame)
            else f"{title}, in percentage points.",
            "Filled marks are measured, open diamonds are reported." if len(frame) and len(theirs) else "",
            "The paper can be read in two ways, each with its own colour." if len(readings) > 1 else "",
            "With one seed of each model, the intervals do not cover retraining." if (frame["kind"] == "one seed").any() else "",
            f"Reported gains range from {_signed(theirs['value'].min())} to {_signed(theirs['value'].max())}." if len(theirs) else "",
            f"n = {_span(frame['n'])}." if len(frame) else "No run is installed.",
        ]
    )
    return Figure(file_safe(title), plot, together, caption)


def _signed(share: float) -> str:
    return ("+" if share > 0 else "") + number(100 * share)


def _span(counts: pd.Series[float]) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
