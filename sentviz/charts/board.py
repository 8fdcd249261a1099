"""Claims with their verdicts as one figure: a row for each claim, a column for each data set, and a coloured cell with a sign and the
effect, if there is one. A claim with several parts has a cell for each part, side by side.

One paper is one panel; several papers make a poster. In a narrow figure, each claim of the poster is a tile. Colours and signs of verdicts
are those of `sentviz.charts.verdicts`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.claim import KINDS, VERDICT_WORDS, Effect, Reference, Verdict, decided_in_words, level_in_words
from sentviz.charts.chart import Drawing
from sentviz.charts.colours import Palette, ink_on
from sentviz.charts.figure import Figure, annotate, file_safe, new_plot
from sentviz.charts.look import Look
from sentviz.charts.panels import UNFADED, path
from sentviz.charts.text import as_text, broken, label_width
from sentviz.charts.verdict_tiles import claim_tiles
from sentviz.charts.verdicts import VERDICTS, draw_sign, effect_in_words, verdict_colour
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd

GROUPS: dict[Reference, str] = {
    "its own tables": "compared with its own tables",
    "simulated runs": "simulated",
    "data sets": "in data sets",
    "runs here": "compared with installed runs",
}
NOWHERE = "overall"  # the column of claims about no single data set
NARROW = 640  # pixels below which several papers are tiles
TWO = 760  # pixels of two papers side by side, at least
HEADING = 84  # pixels of title and legend
LEAST = 2, 3  # columns that a panel has room for at least: alone, among others
UPRIGHT = 56  # pixels; narrower columns have upright names, and cells with signs only
FULL = 700  # pixels of a panel from which letters have their full size, 13 pixels
SMALLEST = 0.92  # least size of letters, relative to the full size


def board(claims: pd.DataFrame, *, title: str, chosen: str = "", bare: bool = False) -> Figure:
    """Draw the board of one paper's claims, or the boards of several papers side by side.

    The width is at least 200 pixels; by default 860 for one paper and 1,440 for several. Below 640 pixels, several papers are tiles.

    Args:
        claims: as `sentviz.papers.studies.claims.judged` returns them.
        title: plain text.
        chosen: key of the claim to mark.
        bare: leave out title and legend, for a page that has both.
    Frame:
        paper, claim, on, against, kind, verdict, value, low, high, unit, held_against, p, adjusted; NaN if a verdict has no effect or no p.
    """
    if claims.empty:
        raise InputError("There is no claim to show.")
    name = file_safe("board", claims["name"].iloc[0] if claims["paper"].nunique() == 1 else "claims")
    data = {"claims": claims, "title": title, "chosen": chosen, "bare": bare}
    return Figure(name, Drawing(_board, data), _frame(claims), _words(claims))


def _board(look: Look, claims: pd.DataFrame, title: str, chosen: str, bare: bool) -> go.Figure:
    """Draw panels or tiles with a heading; the arguments are those of `board`."""
    papers = [group for _, group in claims.groupby("paper", sort=False)]
    wide = look.room or (860 if len(papers) == 1 else 1440)
    if wide < 200:
        raise InputError("A board needs a width of 200 pixels or more.")
    size = 14 if wide < NARROW else 19
    title = broken(as_text(title, None), 1.1 * (wide - 24), size) if look.style.title else ""
    top = 0 if bare else HEADING + 20 * title.count("<br>")
    plot = claim_tiles(papers, wide, top, look) if len(papers) > 1 and wide < NARROW else _panels(papers, wide, top, chosen, look)
    if not bare:
        plot.update_layout(title={"text": title, "font": {"size": size}})
        _legend(plot, claims, wide, look.colours)
    return plot


def _frame(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the claims that are drawn, without columns that a file cannot hold."""
    frame = claims[["paper", "claim", "on", "against", "kind", "verdict"]].reset_index(drop=True)
    frame["verdict"] = frame["verdict"].map(VERDICT_WORDS)
    for title, name in {"value": "value", "low": "low", "high": "high", "unit": "unit", "held_against": "null"}.items():
        frame[title] = [getattr(effect, name, None) for effect in claims["effect"]]
    return frame.assign(p=claims["p"].to_numpy(), adjusted=claims["adjusted"].to_numpy())


def heading(against: str, kind: str) -> str:
    """Return the words over the claims of one reference and one kind."""
    return f"{GROUPS[against]}, {kind}"  # type: ignore[index]


def _words(claims: pd.DataFrame) -> str:
    counts = claims["verdict"].value_counts()
    numbers = ", ".join(f"{VERDICT_WORDS[verdict]} {counts.get(verdict, 0)}" for verdict in VERDICTS)
    kinds = decided_in_words(claims["verdict"], claims["kind"])
    return (
        f"{len(claims)} claims in our words, each with its test: {numbers}. {kinds}. In a cell, the dot is the effect, the line its 95 %"
        " interval, and the tick the value that means no effect; each row has its own scale."
    )


# ---- panels: a paper each


@dataclass(eq=False)
class _Panel:
    """The rows of one paper from top to bottom, in pixels below the panel's top; `scale` is the size of its letters relative to the full
    size.
    """

    claims: pd.DataFrame
    scale: float
    label: float  # pixels for its words
    room: float  # pixels for its columns
    least: int  # columns that it has room for at least
    columns: list[str] = field(default_factory=list)
    heads: list[tuple[float, str]] = field(default_factory=list)
    rows: list[tuple[float, str, list[dict[Any, Any]]]] = field(default_factory=list)
    height: float = 0.0
    top: float = 0.0  # lower end of the columns' names, in pixels

    def __post_init__(self) -> None:
        step, size, by_row = (
            25 * self.scale,
            13 * self.scale,
            [list(filter(None, on)) for _, on in self.claims.groupby("row", sort=False)["on"]],
        )
        names = dict.fromkeys(name for row in sorted(by_row, key=len, reverse=True) for name in row)  # the longest row gives the order
        self.columns = [""] * ("" in set(self.claims["on"])) + list(names)  # claims of no data set first
        self.height = 16 * self.scale + max(30 * self.scale, *map(self._deep, self.columns))
        self.top = self.height
        for (against, kind), group in self.claims.groupby(["against", "kind"], sort=False):
            self.heads.append((self.height + step / 2, heading(str(against), str(kind))))
            self.height += step
            for words, row in group.groupby("row", sort=False):
                text = broken(as_text(str(words), 52), (self.label - 14) / 0.9, size)
                deep = step + 1.3 * size * text.count("<br>")
                self.rows.append((self.height + deep / 2, text, row.to_dict("records")))
                self.height += deep
            self.height += 6 * self.scale

    @property
    def wide(self) -> float:
        """Width of a column in pixels."""
        return self.room / self.across

    def named(self, name: str) -> list[str]:
        """Return a column's name in at most two lines; narrow columns have upright names."""
        return textwrap.wrap(name or NOWHERE, 12, break_long_words=False)[:2]

    def _deep(self, name: str) -> float:
        return self.scale * 8 + max(label_width(line, 11) for line in self.named(name)) if self.wide < UPRIGHT else 0.0

    @property
    def across(self) -> int:
        """Number of columns that the panel has room for."""
        return max(len(self.columns), self.least)

    @property
    def effects(self) -> list[tuple[float, str]]:
        """Position and words of the only effect of each row, if the panel has room for them on the right of its columns."""
        room = (self.across - len(self.columns)) * self.wide - 8
        words = [(at, [effect_in_words(claim["effect"]) for claim in row if claim["effect"] is not None]) for at, _, row in self.rows]
        single = [(at, texts[0]) for at, texts in words if len(texts) == 1]
        return single if all(label_width(text, 12 * self.scale) < room for _, text in single) else []

    @property
    def cells(self) -> list[_Cell]:
        """All claims with their positions. Claims of one row and column, and the parts of a claim, share the cell side by side."""
        cells = []
        for at, _, row in self.rows:
            parts = [part for claim in row for part in _parts(claim)]
            reach = max((_reach(part["effect"]) for part in parts if part["effect"] is not None), default=0.0) or 1.0
            for name in self.columns:
                of_column = [part for part in parts if part["on"] == name]
                roomy = self.wide >= UPRIGHT * max(1, len(of_column))
                cells += [_Cell(part, at, self.columns.index(name), i, len(of_column), reach, roomy) for i, part in enumerate(of_column)]
        return cells


def _parts(claim: dict[Any, Any]) -> list[dict[Any, Any]]:
    """Return a claim's parts as claims, each with its own verdict and effect and the name of the part; a claim without parts is its own."""
    if not claim["parts"]:
        return [claim]
    whole = claim | {"whole": claim["verdict"]}
    return [whole | {"verdict": finding.verdict, "effect": finding.effect, "part": name} for name, finding in claim["parts"]]


@dataclass(frozen=True)
class _Cell:
    """The position of a claim or of one of its parts: pixels below the panel's top, and its column or a part of the column."""

    claim: dict[Any, Any]
    at: float
    column: int
    part: int
    parts: int
    reach: float  # largest distance from the null value among the effects of the row
    roomy: bool  # True if the cell has room for the effect

    @property
    def middle(self) -> float:
        """Middle of the cell, in columns."""
        return self.column - 0.46 + 0.92 * (self.part + 0.5) / self.parts

    @property
    def half(self) -> float:
        """Half of the cell's width, in columns."""
        return 0.46 / self.parts - 0.01 * (self.parts > 1)

    @property
    def sign(self) -> float:
        """Position of the sign, in columns."""
        return self.middle - 0.72 * self.half * self.marked

    @property
    def marked(self) -> bool:
        """True if the effect is drawn."""
        return self.roomy and self.claim["effect"] is not None

    def to(self, value: float) -> float:
        """Return the position of a value of the effect, in columns; the null value is to the right of the middle."""
        effect: Effect = self.claim["effect"]
        return self.middle + self.half * (0.33 + 0.54 * (value - effect.null) / self.reach)


def _panels(papers: Sequence[pd.DataFrame], width: int, top: int, chosen: str, look: Look) -> go.Figure:
    """Draw one panel, or two columns of panels of about the same height."""
    beside = min(len(papers), 1 if width < TWO else 2)
    gap = 36 * (beside - 1)
    each = (width - 24 - gap) / beside
    scale = min(1.0, max(SMALLEST, each / FULL))
    longest = max(label_width(as_text(words, None), 13 * scale) for group in papers for words in group["row"])
    label = min(0.9 * longest + 14, 0.58 * each)
    panels = [_Panel(group, scale, label, each - label, LEAST[len(papers) > 1]) for group in papers]
    between = 24 * scale
    stacks = _stacked(panels, beside, between)
    inner = max(_tall(stack, between) for stack in stacks)
    margin = (12 + round(label), top or 8, 12, 10)
    plot = new_plot(look, "", (width, round(margin[1] + inner + 10)), margin, showlegend=False, barmode="overlay")
    room = width - 24 - label
    for i, stack in enumerate(stacks):
        start, at = i * (each + gap) / room, 0.0
        for panel in stack:
            down = max(1 - (at + panel.height) / inner, 0.0), 1 - at / inner
            _draw(plot, panels.index(panel), panel, (start, min(start + (each - label) / room, 1.0)), down, chosen, look.colours)
            at += panel.height + between
    return plot


def _tall(stack: Sequence[_Panel], between: float) -> float:
    return sum(panel.height for panel in stack) + between * (len(stack) - 1)


def _stacked(panels: Sequence[_Panel], beside: int, between: float) -> list[list[_Panel]]:
    """Distribute the panels over one or two columns of about equal height. Panels keep their order, and the first panel is at the top of
    the first column.
    """
    if beside == 1:
        return [list(panels)]
    ways = (
        [[panel for panel, side in zip(panels, (0, *sides), strict=True) if side == i] for i in range(2)]
        for sides in product(range(2), repeat=len(panels) - 1)
    )
    return min((way for way in ways if way[1]), key=lambda way: max(_tall(stack, between) for stack in way))


def _draw(
    plot: go.Figure,
    place: int,
    panel: _Panel,
    across: tuple[float, float],
    down: tuple[float, float],
    chosen: str,
    colours: Palette,
) -> None:
    """Draw a panel on separate axes: columns across, pixels down."""
    suffix, scale = str(place + 1) if place else "", panel.scale
    x, y, size = f"x{suffix}", f"y{suffix}", 13 * panel.scale
    still = {"fixedrange": True, "showticklabels": False, "showline": False}
    plot.update_layout(
        {
            f"xaxis{suffix}": still | {"domain": across, "range": [-0.5, panel.across - 0.5], "anchor": y, "showgrid": False},
            f"yaxis{suffix}": still | {"domain": down, "range": [panel.height, 0], "anchor": x, "showgrid": False},
        }
    )
    at_left = {"xref": f"{x} domain", "yref": y, "x": 0, "xanchor": "left", "xshift": -panel.label, "yanchor": "middle", "align": "left"}
    title = f"<b>{as_text(panel.claims['paper'].iloc[0], 36)}</b>"
    notes = [at_left | {"text": title, "y": 20 * scale, "font": {"size": 1.25 * size}}]
    notes += [at_left | {"text": words, "y": at + 2, "font": {"size": 11, "color": colours.muted}} for at, words in panel.heads]
    notes += [at_left | {"text": words, "y": at, "font": {"size": size}} for at, words, _ in panel.rows]
    for i, name in enumerate(panel.columns):
        words = "<br>".join(as_text(line, None) for line in panel.named(name))
        font, upright = {"size": 11, "color": colours.muted}, {"textangle": -90} if panel.wide < UPRIGHT else {}
        notes.append({"text": words, "xref": x, "yref": y, "x": i, "y": panel.top, "yanchor": "bottom", "font": font} | upright)
    line = {"color": colours.grid, "width": 1}
    ends = {"x0": 0, "x1": len(panel.columns) / panel.across}
    guide = {"type": "line", "xref": f"{x} domain", "yref": y, "layer": "below", "line": line} | ends
    shapes = [guide | {"y0": at, "y1": at} for at, _, _ in panel.rows] + _shares(panel, x, y, colours)
    for verdict in VERDICTS:
        _verdict(plot, verdict, [cell for cell in panel.cells if cell.claim["verdict"] == verdict], (x, y), scale, colours)
    if panel.effects:
        heights, texts = zip((panel.top - 10 * scale, "effect"), *panel.effects, strict=True)
        plot.add_scatter(
            x=[len(panel.columns) - 0.46] * len(texts),
            y=heights,
            text=[as_text(each, None) for each in texts],
            mode="text",
            textposition="middle right",
            textfont={"size": 12 * scale, "color": colours.muted},
            cliponaxis=False,
            hoverinfo="skip",
            xaxis=x,
            yaxis=y,
        )
    for cell in panel.cells:
        place_ = {"xref": x, "yref": y, "xanchor": cell.sign, "yanchor": cell.at}
        draw_sign(shapes, notes, cell.claim["verdict"], place_, scale * min(1.0, cell.half * panel.wide / 7.5), colours)
        if chosen == cell.claim["key"]:
            sides = {"x0": cell.middle - cell.half, "x1": cell.middle + cell.half, "y0": cell.at - 11 * scale, "y1": cell.at + 11 * scale}
            shapes.append({"type": "rect", "xref": x, "yref": y, "line": {"color": colours.ink, "width": 2.5}} | sides)
    annotate(plot, notes)
    plot.layout.shapes = [*plot.layout.shapes, *shapes]


def _verdict(plot: go.Figure, verdict: Verdict, cells: Sequence[_Cell], axes: tuple[str, str], scale: float, colours: Palette) -> None:
    """Draw the cells of one verdict, then their effects: null values as ticks, intervals as lines, values as dots."""
    if not cells:
        return
    colour, on = verdict_colour(verdict, colours), {"xaxis": axes[0], "yaxis": axes[1]}
    ink = ink_on(colour)
    plot.add_bar(
        orientation="h",
        base=[cell.middle - cell.half for cell in cells],
        x=[2 * cell.half for cell in cells],
        y=[cell.at for cell in cells],
        width=20.5 * scale,
        marker={"color": colour, "cornerradius": 4, "line": {"width": 0}},
        customdata=[[cell.claim["key"], _hover(cell.claim)] for cell in cells],
        hovertemplate="%{customdata[1]}<extra></extra>",
        **UNFADED,
        name=VERDICT_WORDS[verdict],
        **on,
    )
    marked = [(cell, cell.claim["effect"]) for cell in cells if cell.marked]
    spans = [(cell, effect.low, effect.high) for cell, effect in marked if effect.low is not None and effect.high is not None]
    ticks = _strokes([(cell.to(effect.null), cell.at - 6 * scale, cell.to(effect.null), cell.at + 6 * scale) for cell, effect in marked])
    lines = _strokes([(cell.to(low), cell.at, cell.to(high), cell.at) for cell, low, high in spans])
    for points, thick, opacity in ((ticks, 1.0, 0.55), (lines, 1.8, 1.0)):
        path(plot, points, ink, thick * scale, opacity=opacity, **on)
    dots = {"color": ink, "size": 6.5 * scale}
    xs, ys = [cell.to(effect.value) for cell, effect in marked], [cell.at for cell, _ in marked]
    plot.add_scatter(x=xs, y=ys, mode="markers", marker=dots, hoverinfo="skip", **on)


def _strokes(lines: Sequence[tuple[float, float, float, float]]) -> npt.NDArray[np.float64]:
    """Return line segments from a, b to c, d as the points of one trace, (3 n, 2), with NaN after each segment."""
    return np.array([[(a, b), (c, d), (np.nan, np.nan)] for a, b, c, d in lines], dtype=float).reshape(-1, 2)


def _reach(effect: Effect) -> float:
    """Return the largest distance between the effect's null value and its value or interval."""
    return max(abs(side - effect.null) for side in (effect.value, effect.low, effect.high) if side is not None)


def _hover(claim: dict[Any, Any]) -> str:
    effect = claim["effect"]
    words = [] if effect is None else textwrap.wrap(effect_in_words(effect) + (f" ({effect.of})" if effect.of else ""), 56)
    level = textwrap.wrap(level_in_words(claim["p"], claim["adjusted"]), 56)
    lines = [*textwrap.wrap(claim["claim"], 56), *words, *textwrap.wrap(f"{claim['kind']}: {KINDS[claim['kind']]}", 56), *level]
    if "part" in claim:
        lines = [*textwrap.wrap(f"on {claim['part']}; the claim as a whole {VERDICT_WORDS[claim['whole']]}", 56), *lines]
    return "<br>".join([f"<b>{VERDICT_WORDS[claim['verdict']]}</b>", *(as_text(line, None) for line in lines)])


def _shares(panel: _Panel, x: str, y: str, colours: Palette) -> list[dict[str, Any]]:
    """Return a thin bar over the columns whose parts are the shares of the verdicts."""
    counts, at, shapes = panel.claims["verdict"].value_counts(), 0.0, []
    for verdict in VERDICTS:
        share = counts.get(verdict, 0) / len(panel.claims)
        sides = {"x0": at, "x1": at + share, "y0": 0, "y1": 5 * panel.scale}
        shapes.append(
            {"type": "rect", "xref": f"{x} domain", "yref": y, "fillcolor": verdict_colour(verdict, colours), "line": {"width": 0}} | sides
        )
        at += share
    return shapes


# ---- the heading that explains the signs


def _legend(plot: go.Figure, claims: pd.DataFrame, width: int, colours: Palette) -> None:
    """Draw a swatch, a sign and the number of claims for each verdict."""
    counts, left = claims["verdict"].value_counts(), 12 - plot.layout.margin.l
    notes, shapes, at, up, size = list[dict[str, Any]](), list[dict[str, Any]](), left, HEADING - 50, 12 if width < NARROW else 13
    corner = {"xref": "paper", "yref": "paper", "xanchor": 0, "yanchor": 1}
    for verdict in VERDICTS:
        words = f"{VERDICT_WORDS[verdict]} <b>{counts.get(verdict, 0)}</b>"
        needed = 24 + 0.93 * label_width(words, size) + 14
        if at > left and at + needed > left + width - 24:
            at, up = left, up - 20
        swatch = {"x0": at, "x1": at + 18, "y0": up - 8, "y1": up + 8, "xsizemode": "pixel", "ysizemode": "pixel"}
        shapes.append({"type": "rect", "fillcolor": verdict_colour(verdict, colours), "line": {"width": 0}} | swatch | corner)
        draw_sign(shapes, notes, verdict, corner, 0.9, colours, (at + 9, up))
        beside = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "middle", "xshift": at + 24, "yshift": up}
        notes.append({"text": words, "font": {"size": size}} | beside)
        at += needed
    annotate(plot, notes)
    plot.layout.shapes = [*plot.layout.shapes, *shapes]
