"""The language of colours as a picture: each role, and how eyes that lack a kind of cone, and a print in grey, see it."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from sentviz.figures.colours import DEFICIENCIES, Palette, Theme, palette, simulated
from sentviz.figures.figure import SYMBOLS, Figure, base_layout

__all__ = ["colour_legend"]

_LEFT, _STEP, _ROW = 190, 22, 46  # pixels


def _roles(colours: Palette) -> dict[str, list[tuple[str, str]]]:
    """Each role with what its colours say."""
    ends = ("very negative", "negative", "neutral", "positive", "very positive")
    return {
        "Classes, stars": list(zip(ends, colours.classes, strict=True)),
        "Against and for, less and more": [("against, less", colours.minus), ("nothing", colours.signed[3]), ("for, more", colours.plus)],
        "Mistakes and right answers": [("wrong", colours.wrong), ("neither", colours.judged[3]), ("right", colours.right)],
        "Runs, layers, heads, components": [(f"series {i + 1}", line) for i, line in enumerate(colours.lines)],
        "Amounts from 0": [(f"{i / 5:.0%}", stop) for i, stop in enumerate(colours.sequential)],
    }


def colour_legend(theme: Theme = "light") -> Figure:
    """What each colour says: a row a role, a column a way of seeing it.

    Frame:
        role, says, seen, colour.
    """
    colours = palette(theme)
    roles, ways = _roles(colours), ("as it is", *DEFICIENCIES, "greys")
    most = max(map(len, roles.values()))
    wide = most + 1
    width, height = _LEFT + 24 + wide * _STEP * len(ways), 60 + _ROW * len(roles)
    plot = go.Figure(layout=base_layout(theme, title="", width=width, height=height, margin=(_LEFT, 44, 24, 12), showlegend=False))
    rows = []
    for r, (role, parts) in enumerate(roles.items()):
        for w, way in enumerate(ways):
            seen = [colour if way == "as it is" else simulated(colour, way) for _, colour in parts]
            marked = role.startswith("Runs")
            plot.add_scatter(
                x=[w * wide + j for j in range(len(parts))],
                y=[r] * len(parts),
                mode="markers",
                marker={
                    "size": 15,
                    "color": seen,
                    "symbol": [SYMBOLS[j % len(SYMBOLS)] if marked else "square" for j in range(len(parts))],
                    "line": {"width": 1, "color": colours.grid},
                },
                customdata=[says for says, _ in parts],
                hovertemplate=f"%{{customdata}}<extra>{way}</extra>",
                cliponaxis=False,
            )
            rows += [(role, says, way, colour) for (says, _), colour in zip(parts, seen, strict=True)]
    plot.update_yaxes(
        tickvals=list(range(len(roles))), ticktext=list(roles), range=[len(roles) - 0.5, -0.5], showgrid=False, automargin=False
    )
    middles = [w * wide + (most - 1) / 2 for w in range(len(ways))]
    plot.update_xaxes(
        tickvals=middles, ticktext=list(ways), side="top", range=[-0.8, wide * len(ways) - 1.2], showgrid=False, automargin=False
    )
    caption = (
        "Each role of a colour, as it is, as eyes without one kind of cones see it (Machado, Oliveira and Fernandes 2009), and in grey."
        " Series differ in their symbols or dashes as well, classes in symbols or places, signs and answers in a sign, a word or a length."
    )
    return Figure("colours", plot, pd.DataFrame(rows, columns=["role", "says", "seen", "colour"]), caption)
