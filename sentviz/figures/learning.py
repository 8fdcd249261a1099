"""A measure over the number of training examples: one line per model, and the reported values."""

from __future__ import annotations

from collections.abc import Mapping

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, sentence
from sentviz.figures.panels import legend_below, reported_marker, with_interval
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd


def learning_curve(
    frame: pd.DataFrame, titles: Mapping[str, str], *, title: str, unit: str = "rows", note: str = "", theme: Theme = "light"
) -> Figure:
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
    colours = palette(theme)
    plot = new_plot(theme, title, (620, 380), (64, 44, 24, 96), legend=legend_below(-0.2))
    for i, (preset, name) in enumerate(titles.items()):
        colour = colours.line(i)
        own = measured[measured["preset"] == preset].sort_values("rows")
        if len(own):
            values = own[["value", "low", "high"]].to_numpy(float)
            plot.add_scatter(
                x=own["rows"],
                **with_interval("y", values, colour),
                mode="lines+markers",
                name=as_text(name, 30),
                line={"color": colour, "width": 2},
                marker={"size": 8, "color": colour, "symbol": ("circle", "square", "triangle-up")[i % 3]},
                customdata=values[:, 1:],
                hovertemplate=f"%{{x:,}} {unit}: %{{y:.2%}} [%{{customdata[0]:.2%}}, %{{customdata[1]:.2%}}]<extra></extra>",
            )
        reported = frame[(frame["preset"] == preset)].dropna(subset="printed")
        if len(reported):
            plot.add_scatter(
                x=reported["rows"],
                y=reported["printed"],
                mode="markers",
                name=f"{as_text(name, 30)}, reported",
                marker=reported_marker(colour),
                hovertemplate=f"reported, %{{x:,}} {unit}: %{{y:.2%}}<extra></extra>",
            )
    ticks = sorted({int(rows) for rows in frame["rows"]})
    labelled = [tick for i, tick in enumerate(ticks) if not i or tick > 1.6 * ticks[i - 1] or tick == ticks[-1]]
    plot.update_xaxes(type="log", title_text=unit, tickvals=labelled, ticktext=[f"{tick:,}" for tick in labelled], title_standoff=4)
    plot.update_yaxes(tickformat=".0%")
    seeds = measured["seeds"].astype(int)
    diamonds = "; open diamonds are reported" if frame["printed"].notna().any() else ""
    caption = sentence(
        [
            f"{title}. Filled marks are measured, with 95% intervals{diamonds}.",
            note,
            f"n = {int(measured['n'].max()):,}; seeds: {seeds.min()}" + (f" to {seeds.max()}." if seeds.min() < seeds.max() else "."),
        ]
    )
    table = frame.assign(model=frame["preset"].map(dict(titles))).reset_index(drop=True)
    return Figure(file_safe(title), plot, table, caption)
