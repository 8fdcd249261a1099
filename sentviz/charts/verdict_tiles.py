"""Claims as tiles, for a narrow figure of several papers: a tile for each claim, with the colour and sign of its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sentviz.analysis.claim import VERDICT_WORDS, Verdict
from sentviz.charts.figure import new_plot
from sentviz.charts.look import Look
from sentviz.charts.text import as_text
from sentviz.charts.verdicts import VERDICTS, draw_sign, verdict_colour
from sentviz.io.lazy import go, pd

_TILE = 13  # pixels of a tile
SHORT = {"its own tables": "tables", "simulated runs": "simulated", "data sets": "data", "runs here": "runs"}


def claim_tiles(papers: Sequence[pd.DataFrame], width: int, heading: int, look: Look) -> go.Figure:
    """Draw the claims of each paper as tiles, in lines for each reference and kind; tiles have signs, but neither words nor effects.

    Args:
        papers: the claims of each paper, as `sentviz.papers.studies.claims.judged` returns them.
        width, heading: pixels of the figure, and of the title and legend that the caller draws.
    """
    label, top, at, colours = 112, heading + 4, 0.0, look.colours
    across = (width - 24 - label) // _TILE
    notes, shapes, tiles = list[dict[str, Any]](), list[dict[str, Any]](), list[tuple[Verdict, int, float]]()
    beside = {"xref": "paper", "yref": "y", "x": 0, "xanchor": "left", "yanchor": "middle", "xshift": -label}
    for group in papers:
        notes.append(beside | {"y": at + 10, "text": f"<b>{as_text(group['paper'].iloc[0], 36)}</b>", "font": {"size": 12}})
        at += 23
        for (against, kind), part in group.groupby(["against", "kind"], sort=False):
            words = {"text": f"{SHORT[str(against)]}, {kind}", "font": {"size": 11, "color": colours.muted}}
            notes.append(beside | words | {"y": at + _TILE / 2})
            tiles += [(verdict, i % across, at + _TILE * (i // across + 0.5)) for i, verdict in enumerate(part["verdict"])]
            at += _TILE * -(-len(part) // across) + 3
        at += 5
    size, margin = (width, round(top + at + 6)), (12 + label, top, 12, 6)
    plot = new_plot(look, "", size, margin, showlegend=False, barmode="overlay")
    plot.update_xaxes(visible=False, range=[0, (width - 24 - label) / _TILE])
    plot.update_yaxes(visible=False, range=[at, 0])
    for verdict in VERDICTS:
        own = [(i, y) for each, i, y in tiles if each == verdict]
        plot.add_bar(
            orientation="h",
            base=[i + 0.04 for i, _ in own],
            x=[0.92] * len(own),
            y=[y for _, y in own],
            width=0.92 * _TILE,
            marker={"color": verdict_colour(verdict, colours), "line": {"width": 0}},
            hoverinfo="skip",
            name=VERDICT_WORDS[verdict],
        )
    for verdict, i, y in tiles:
        draw_sign(shapes, notes, verdict, {"xref": "x", "yref": "y", "xanchor": i + 0.5, "yanchor": y}, 0.62, colours)
    plot.layout.annotations, plot.layout.shapes = notes, shapes
    return plot
