"""Time against the length of a text for full attention and for a window, with the length at which the two are equal."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, new_plot, sentence
from sentviz.figures.panels import legend_below
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd

NAMES = {"attention": "one layer's attention", "model": "the whole model"}


def crossing_curves(frame: pd.DataFrame, crossings: Mapping[str, float | None], *, about: str, theme: Theme = "light") -> Figure:
    """Draw the milliseconds of one text over its number of tokens on log scales: full attention dashed, sparse attention solid, crossings
    marked.

    Args:
        frame: of ("attention" | "model"), tokens, full, sparse (seconds).
        crossings: number of tokens from which full attention takes longer, by `of`; None if it never does, 0 if it always does.
        about: sentence for the caption: what was measured, and on which machine.
    """
    if frame.empty:
        raise InputError("Time by length has not been measured.")
    colours = palette(theme)
    plot = new_plot(theme, "Time of one text by its length", (620, 430), (64, 44, 16, 96), legend=legend_below(-0.17))
    statements = []
    for (of, rows), colour in zip(frame.groupby("of", sort=True), colours.lines, strict=False):
        name, times = NAMES.get(str(of), str(of)), rows.sort_values("tokens")
        for way, dash in (("full", "dash"), ("sparse", "solid")):
            plot.add_scatter(
                x=times["tokens"],
                y=1e3 * times[way],
                mode="lines+markers",
                name=f"{as_text(name, 40)}, {way}",
                line={"color": colour, "dash": dash, "width": 2},
                marker={"size": 6, "color": colour},
                hovertemplate=f"%{{x:,}} tokens: %{{y:.3g}} ms<extra>{as_text(name, 40)}, {way}</extra>",
            )
        at = crossings.get(str(of))
        if at:
            first = at == min(
                filter(None, crossings.values())
            )  # The first label is to the left of its line, so that no line crosses a label.
            plot.add_vline(x=at, line={"color": colour, "width": 1, "dash": "dot"})
            plot.add_annotation(
                x=math.log10(at),
                y=0.98 if of == "attention" else 0.9,
                yref="paper",
                xref="x",
                text=f"{at:,.0f}",
                showarrow=False,
                xanchor="right" if first else "left",
                xshift=-4 if first else 4,
                font={"size": 12, "color": colour},
            )
        statements.append(
            f"{name}: {'at no length measured' if at is None else f'from about {at:,.0f} tokens on' if at else 'at every length'}"
        )
    ticks = sorted(frame["tokens"].unique())
    plot.update_xaxes(type="log", title_text="tokens", tickvals=ticks, ticktext=[f"{n:,}" for n in ticks], title_standoff=4)
    plot.update_yaxes(type="log", title_text="milliseconds", title_standoff=4, dtick=1, tickformat=",")
    caption = sentence([f"Full attention takes longer for {'; for '.join(statements)}.", about])
    return Figure("time-by-length", plot, frame, caption)
