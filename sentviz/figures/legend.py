"""The colour language as a figure: each role as it is, for three kinds of colour blindness, and in grey."""

from __future__ import annotations

from functools import partial

from sentviz.analysis.claim import VERDICT_WORDS
from sentviz.figures.colours import DEFICIENCIES, Palette, Theme, palette, simulated
from sentviz.figures.figure import SYMBOLS, Figure, new_plot
from sentviz.figures.verdicts import VERDICTS, verdict_colour
from sentviz.io.lazy import pd

_LEFT, _STEP, _ROW = 190, 22, 46  # pixels
_SLIM, _LINE = 116, 19  # pixels of the left margin and a line in a narrow figure


def _roles(colours: Palette, theme: Theme) -> dict[str, list[tuple[str, str]]]:
    """Return each role with the meanings and colours that it has."""
    ends = ("very negative", "negative", "neutral", "positive", "very positive")
    return {
        "Classes, stars": list(zip(ends, colours.classes, strict=True)),
        "Against and for, less and more": [
            ("against, less", colours.minus),
            ("nothing", colours.signed[3]),
            ("for, more", colours.plus),
        ],
        "Mistakes and right answers": [("wrong", colours.wrong), ("neither", colours.judged[3]), ("right", colours.right)],
        "Verdicts on claims": [(VERDICT_WORDS[verdict], verdict_colour(verdict, theme)) for verdict in VERDICTS],
        "Runs, layers, heads, components": [(f"series {i + 1}", line) for i, line in enumerate(colours.lines)],
        "Amounts from 0": [(f"{i / 5:.0%}", stop) for i, stop in enumerate(colours.sequential)],
    }


def colour_legend(theme: Theme = "light", *, width: int = 0) -> Figure:
    """Draw the meaning of each colour: a row for each role, a column for each way of seeing it. In a narrow figure, the ways of seeing are
    below their role.

    Args:
        width: pixels of the figure; 0 for the width that it needs.
    Frame:
        role, says, seen, colour.
    """
    colours = palette(theme)
    roles, ways = _roles(colours, theme), ("as it is", *DEFICIENCIES, "greys")
    most = max(map(len, roles.values()))
    wide = most + 1
    natural = _LEFT + 24 + wide * _STEP * len(ways)
    turned, group = 0 < width < 0.5 * natural, len(ways) + 1.5  # lines per role
    left, top, bottom = (_SLIM, 12, 12) if turned else (_LEFT, 44, 12)
    height = top + bottom + round(_LINE * group * len(roles) if turned else _ROW * len(roles) + 4)
    margin = (left, top, max(24, (width or natural) - left - 24 * wide if turned else 0), bottom)
    plot = new_plot(theme, "", (width or natural, height), margin, showlegend=False)
    rows = []
    for r, (role, parts) in enumerate(roles.items()):
        for w, way in enumerate(ways):
            seen = [colour if way == "as it is" else simulated(colour, way) for _, colour in parts]
            marked = role.startswith("Runs")
            plot.add_scatter(
                x=[j if turned else w * wide + j for j in range(len(parts))],
                y=[r * group + 1 + w if turned else r] * len(parts),
                mode="markers",
                marker={
                    "size": 13 if turned else 15,
                    "color": seen,
                    "symbol": [SYMBOLS[j % len(SYMBOLS)] if marked else "square" for j in range(len(parts))],
                    "line": {"width": 1, "color": colours.grid},
                },
                customdata=[says for says, _ in parts],
                hovertemplate=f"%{{customdata}}<extra>{way}</extra>",
                cliponaxis=False,
            )
            rows += [(role, says, way, colour) for (says, _), colour in zip(parts, seen, strict=True)]
    plain = {"showgrid": False, "automargin": False}
    if turned:
        lines = [(r * group + 1 + w, way) for r in range(len(roles)) for w, way in enumerate(ways)]
        ticks = {"tickvals": [line for line, _ in lines], "ticktext": [way for _, way in lines]}
        plot.update_yaxes(**ticks, range=[group * len(roles) - 0.5, -0.5], **plain)
        plot.update_xaxes(range=[-0.8, wide - 0.2], visible=False, **plain)
        for r, role in enumerate(roles):
            plot.add_annotation(x=0, xref="paper", xanchor="left", xshift=12 - left, y=r * group, text=f"<b>{role}</b>")
    else:
        plot.update_yaxes(tickvals=list(range(len(roles))), ticktext=list(roles), range=[len(roles) - 0.5, -0.5], **plain)
        middles = [w * wide + (most - 1) / 2 for w in range(len(ways))]
        plot.update_xaxes(tickvals=middles, ticktext=list(ways), side="top", range=[-0.8, wide * len(ways) - 1.2], **plain)
    caption = (
        "The colours of each role: unchanged, as seen with a colour vision deficiency (Machado, Oliveira and Fernandes 2009), and in"
        " grey. Series also differ in symbols or dashes, classes in symbols or positions, signs and predictions in a sign, a word or a"
        " length."
    )
    frame = pd.DataFrame(rows, columns=["role", "says", "seen", "colour"])
    return Figure("colours", plot, frame, caption, at_width=partial(colour_legend, theme))
