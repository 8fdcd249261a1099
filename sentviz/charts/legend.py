"""The colour language as a figure: each role as it is, for three kinds of colour blindness, and in grey."""

from __future__ import annotations

from typing import Any

from sentviz.analysis.claim import VERDICT_WORDS
from sentviz.charts.chart import Drawing
from sentviz.charts.colours import DEFICIENCIES, LINE_NAMES, Palette, simulated
from sentviz.charts.figure import SYMBOLS, Figure, annotate, new_plot
from sentviz.charts.look import LOOKS, Look
from sentviz.charts.panels import row_axis
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Study
from sentviz.charts.verdicts import VERDICTS, verdict_colour
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import percent

SERIES = "Runs, layers, heads, components"
_LEFT, _STEP, _ROW = 190, 22, 50  # pixels
_WAYS = ("as it is", *DEFICIENCIES, "greys")
_SLIM, _LINE = 116, 19  # pixels of the left margin and a line in a narrow figure


def _roles(colours: Palette) -> dict[str, list[tuple[str, str]]]:
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
        "Verdicts on claims": [(VERDICT_WORDS[verdict], verdict_colour(verdict, colours)) for verdict in VERDICTS],
        SERIES: [(f"series {i + 1}, {name}", line) for i, (name, line) in enumerate(zip(LINE_NAMES, colours.lines, strict=True))],
        "Amounts from 0": [(percent(i / 5, 0), stop) for i, stop in enumerate(colours.sequential)],
    }


def _seen(colour: str, way: str) -> str:
    return colour if way == "as it is" else simulated(colour, way)


def _draw(look: Look) -> go.Figure:
    """Draw the colours of a look."""
    colours = look.colours
    roles = _roles(colours)
    most = max(map(len, roles.values()))
    wide = most + 1
    natural = _LEFT + 24 + wide * _STEP * len(_WAYS)
    width, group = look.room or natural, len(_WAYS) + 1.5  # lines per role
    turned, step = width < 0.6 * natural, min(15.0, (width - _LEFT - 24) / wide / len(_WAYS) - 2)
    left, top, bottom = (_SLIM, 12, 12) if turned else (_LEFT, 44, 12)
    height = top + bottom + round(_LINE * group * len(roles) if turned else _ROW * len(roles) + 4)
    margin = (left, top, max(24, width - left - 24 * wide if turned else 0), bottom)
    plot = new_plot(look, "", (width, height), margin, showlegend=False)
    for r, (role, parts) in enumerate(roles.items()):
        marker: dict[str, Any] = {"size": 13 if turned else step, "line": {"width": 1, "color": colours.grid}}
        marker["symbol"] = [SYMBOLS[j % len(SYMBOLS)] for j in range(len(parts))] if role == SERIES else "square"
        for w, way in enumerate(_WAYS):
            plot.add_scatter(
                x=[j if turned else w * wide + j for j in range(len(parts))],
                y=[r * group + 1 + w if turned else r] * len(parts),
                mode="markers",
                marker=marker | {"color": [_seen(colour, way) for _, colour in parts]},
                customdata=[says for says, _ in parts],
                hovertemplate=f"%{{customdata}}<extra>{way}</extra>",
            )
    plain = {"showgrid": False, "automargin": False}
    if turned:
        lines = [(r * group + 1 + w, way) for r in range(len(roles)) for w, way in enumerate(_WAYS)]
        ticks = {"tickvals": [line for line, _ in lines], "ticktext": [way for _, way in lines]}
        plot.update_yaxes(**ticks, range=[group * len(roles) - 0.5, -0.5], **plain)
        plot.update_xaxes(range=[-0.8, wide - 0.2], visible=False, **plain)
        beside = {"x": 0, "xref": "paper", "xanchor": "left", "xshift": 12 - left}
        named = {SERIES: f"<b>{SERIES}</b>: {', '.join(LINE_NAMES)}"}
        annotate(plot, ({"y": r * group, "text": named.get(role, f"<b>{role}</b>"), **beside} for r, role in enumerate(roles)))
    else:
        named = {SERIES: f"{SERIES}:<br>{', '.join(LINE_NAMES[:4])},<br>{', '.join(LINE_NAMES[4:])}"}
        plot.update_yaxes(row_axis([named.get(role, role) for role in roles]))
        middles = [w * wide + (most - 1) / 2 for w in range(len(_WAYS))]
        plot.update_xaxes(tickvals=middles, ticktext=list(_WAYS), side="top", range=[-0.8, wide * len(_WAYS) - 1.2], **plain)
    return plot


@figure("colours", "What each colour means", Study)
def _colours(of: Study) -> Figure:
    """Draw the meaning of each colour: a row for each role, a column for each way of seeing it. In a narrow figure, the ways of seeing are
    below their role.

    Frame:
        role, says, seen, colour (on light pages).
    """
    roles = _roles(LOOKS["light"].colours)
    rows = [(role, says, way, _seen(colour, way)) for role, parts in roles.items() for way in _WAYS for says, colour in parts]
    caption = (
        "The colours of each role: unchanged, as seen with a colour vision deficiency (Machado, Oliveira and Fernandes 2009), and in"
        " grey. Series also differ in symbols or dashes, classes in symbols or positions, signs and predictions in a sign, a word or a"
        " length."
    )
    return Figure("colours", Drawing(_draw, {}), pd.DataFrame(rows, columns=["role", "says", "seen", "colour"]), caption)
