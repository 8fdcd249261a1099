"""Claims as tiles, for a narrow figure of several papers: a tile for each claim, with the colour and sign of its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sentviz.analysis.claim import VERDICT_WORDS, Verdict
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import new_plot
from sentviz.figures.text import as_text
from sentviz.figures.verdicts import VERDICTS, draw_sign, verdict_colour
from sentviz.io.lazy import go, pd

SHORT = {"its own tables": "tables", "simulated runs": "simulated", "data sets": "data", "runs here": "runs"}


def claim_tiles(papers: Sequence[pd.DataFrame], width: int, heading: int, theme: Theme) -> go.Figure:
    """Draw the claims of each paper as tiles, a line for each reference and kind; tiles have signs, but neither words nor effects.

    Args:
        papers: the claims of each paper, as `sentviz.papers.studies.claims.judged` returns them.
        width, heading: pixels of the figure, and of the title and legend that the caller draws.
    """
    label, top = 96, heading + 4
    lines: list[tuple[float, str, str, list[Verdict]]] = []  # vertical position, reference and kind, paper's name, verdicts
    at = 0.0
    most = max(int(group[["against", "kind"]].value_counts().max()) for group in papers)
    side = min(15.0, (width - 24 - label) / most)
    for group in papers:
        lines.append((at + 10, "", str(group["paper"].iloc[0]), []))
        at += 21
        for (against, kind), part in group.groupby(["against", "kind"], sort=False):
            lines.append((at + side / 2, f"{SHORT[str(against)]}, {kind}", "", list(part["verdict"])))
            at += side + 3
        at += 5
    size, margin = (width, round(top + at + 6)), (12 + label, top, 12, 6)
    plot, colours = new_plot(theme, "", size, margin, showlegend=False, barmode="overlay"), palette(theme)
    plot.update_xaxes(visible=False, range=[0, (width - 24 - label) / side])
    plot.update_yaxes(visible=False, range=[at, 0])
    notes, shapes = list[dict[str, Any]](), list[dict[str, Any]]()
    for verdict in VERDICTS:
        tiles = [(i, y) for y, _, _, verdicts in lines for i, each in enumerate(verdicts) if each == verdict]
        plot.add_bar(
            orientation="h",
            base=[i + 0.04 for i, _ in tiles],
            x=[0.92] * len(tiles),
            y=[y for _, y in tiles],
            width=0.92 * side,
            marker={"color": verdict_colour(verdict, theme), "line": {"width": 0}},
            hoverinfo="skip",
            name=VERDICT_WORDS[verdict],
        )
    for y, against, paper, verdicts in lines:
        font = {"size": 10, "color": colours.muted} if against else {"size": 12}
        text = against if against else f"<b>{as_text(paper, 36)}</b>"
        at_left = {"xref": "paper", "yref": "y", "x": 0, "y": y, "xanchor": "left", "yanchor": "middle", "xshift": -label}
        notes.append({"text": text, "font": font} | at_left)
        for i, each in enumerate(verdicts):
            draw_sign(shapes, notes, each, {"xref": "x", "yref": "y", "xanchor": i + 0.5, "yanchor": y}, 0.72 * side / 15, theme)
    plot.layout.annotations, plot.layout.shapes = notes, shapes
    return plot
