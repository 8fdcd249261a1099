"""Draw several figures on one sheet as a vector file, with panel letters, shared scales and shared legends."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np

from sentviz.errors import InputError
from sentviz.export.embedded_record import embed_record
from sentviz.export.files import BROWSER, bare_svg
from sentviz.export.record import Record
from sentviz.figures.figure import Figure, sentence
from sentviz.figures.fonts import embed_fonts
from sentviz.figures.look import FONTS, Style
from sentviz.figures.style import styled
from sentviz.io.files import write_file
from sentviz.io.lazy import go

FORMATS = ("svg", "pdf", "png")
MAX_FIGURES = 12  # figures

_PIXELS = 96 / 25.4  # CSS pixels per millimetre
_GAP, _STRIP = 5.0, 5.0  # millimetres between panels, and above each for its letter
_IDS = re.compile(r'(\bid="|url\((?:&quot;|[\'"])?#|href="#)')


@dataclass(frozen=True)
class Sheet:
    """Figures in reading order on a sheet of paper.

    Attributes:
        columns: panels per row, 1 to 4.
        shared: whether panels with one colour scale or of one kind get the same ranges, and a legend that they share is shown once.
        letters: whether panels are labelled a, b, c.
        style: style of every panel. Its width is the width of the sheet, by default 174 mm; a height is not allowed.
    """

    figures: Sequence[Figure]
    columns: int = 2
    shared: bool = True
    letters: bool = True
    style: Style = field(default_factory=lambda: Style(size="wide"))

    def __post_init__(self) -> None:
        if not 1 <= len(self.figures) <= MAX_FIGURES:
            raise InputError(f"A sheet holds 1 to {MAX_FIGURES} figures, not {len(self.figures)}.")
        if not 1 <= self.columns <= 4:
            raise InputError(f"A sheet has 1 to 4 columns, not {self.columns}.")
        if self.style.height:
            raise InputError("The height of a sheet follows from its figures. Remove the height setting.")

    @property
    def millimetres(self) -> float:
        """Width of the sheet in millimetres."""
        return self.style.millimetres or 174

    @property
    def caption(self) -> str:
        """Caption and source of each panel, as text for the caption in a paper."""
        names = ascii_lowercase if self.letters else " " * len(self.figures)
        return " ".join(
            f"{name}: {sentence([figure.caption, figure.source])}".strip(" :") for name, figure in zip(names, self.figures, strict=False)
        )

    @cached_property
    def panels(self) -> list[Figure]:
        """Figures in the style of the sheet, with shared scales and legends."""
        looks = replace(self.style, size="screen", width=self.panel, points=self.points)
        styled_figures = [styled(figure, looks) for figure in self.figures]
        if self.shared:
            plots = [go.Figure(figure.plot) for figure in styled_figures]
            _share_colours(plots)
            _share_axes(plots, [figure.call.figure if figure.call else figure.name for figure in self.figures])
            _share_legends(plots)
            styled_figures = [replace(figure, picture=plot) for figure, plot in zip(styled_figures, plots, strict=True)]
        return styled_figures

    @property
    def panel(self) -> float:
        """Width of a panel in millimetres."""
        count = min(self.columns, len(self.figures))
        return (self.millimetres - _GAP * (count - 1)) / count

    @property
    def points(self) -> float:
        """Font size in points."""
        return self.style.points or round(self.style.letters * 13 * 72 / 96, 2)

    def render(self, format: str) -> bytes:
        """Return the sheet as the bytes of a file that holds the record of each panel.

        Args:
            format: one of `FORMATS`.
        Raises:
            SentvizError: no browser is installed, or a figure cannot be drawn.
        """
        if format not in FORMATS:
            raise InputError(f"Sheets can be exported as {', '.join(FORMATS)}, not as {format!r}.")
        svg, wide, high = self._svg()
        data = svg if format == "svg" else BROWSER.paint(svg, format, wide, high, self.style.dpi / 96)
        return embed_record(
            data, format, Record.of_sheet("sheet", [Record.of(figure, self.style.text) for figure in self.figures], self.style.text)
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the sheet in the format of the suffix. Raises the errors of `render` and of `sentviz.io.files.write_file`."""
        return write_file(Path(path), self.render(Path(path).suffix.lower().lstrip(".")))

    def _svg(self) -> tuple[bytes, float, float]:
        """Return one SVG of all panels with embedded fonts, and its width and height in pixels."""
        looks = Style(width=self.panel, points=self.points, caption=False, note="")
        pictures = [bare_svg(panel, looks) for panel in self.panels]
        strip, gap, wide = (side * _PIXELS for side in (_STRIP if self.letters else 0, _GAP, self.millimetres))
        size, family = self.points * 96 / 72 + 2, FONTS[self.style.font] or "Arial, Liberation Sans, sans-serif"
        parts, top = [], 0.0
        for first in range(0, len(pictures), self.columns):
            row = pictures[first : first + self.columns]
            for column, (svg, _, _) in enumerate(row):
                place = first + column
                left = column * (self.panel + _GAP) * _PIXELS
                if self.letters:
                    looks_of_letter = f"font-family: {family}; font-size: {size:.2f}px; font-weight: bold"
                    parts.append(f'<text x="{left:.2f}" y="{top + size:.2f}" style="{looks_of_letter}">{ascii_lowercase[place]}</text>')
                parts.append(_nested(svg.decode(), left, top + strip, place))
            top += strip + max(high for _, _, high in row) + gap
        ground = self.panels[0].plot.layout.template.layout.paper_bgcolor or "#ffffff"
        high = top - gap
        head = f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{wide:.2f}" height="{high:.2f}"'
        body = f'{head} viewBox="0 0 {wide:.2f} {high:.2f}"><rect width="100%" height="100%" fill="{ground}"/>{"".join(parts)}</svg>'
        return embed_fonts(body.encode()), wide, high


def _nested(svg: str, left: float, top: float, place: int) -> str:
    """Return an SVG as a nested element at a position in pixels, with ids that are unique on the sheet."""
    renamed = _IDS.sub(lambda match: f"{match[1]}p{place}-", svg[svg.index("<svg") :])
    return renamed.replace("<svg", f'<svg x="{left:.2f}" y="{top:.2f}"', 1)


def _share_colours(plots: Sequence[go.Figure]) -> None:
    """Give panels with one colour scale the range of all their numbers, and show one colour bar."""
    groups: dict[str, list[tuple[Any, str]]] = {}
    for plot in plots:
        axes = [(axis, "c") for axis in plot.select_coloraxes()]
        maps = [(trace, "z") for trace in plot.select_traces({"type": "heatmap"}) if not trace.coloraxis and trace.zmax is not None]
        for part, letter in (*axes, *maps):
            if part[f"{letter}max"] is not None and part.colorscale:
                groups.setdefault(str(part.colorscale), []).append((part, letter))
    for group in (group for group in groups.values() if len(group) > 1):
        low, high = min(part[f"{letter}min"] for part, letter in group), max(part[f"{letter}max"] for part, letter in group)
        first = next((part for part, _ in group if part.showscale is not False), None)
        for part, letter in group:
            part.update({f"{letter}min": low, f"{letter}max": high, "showscale": part is first})


def _share_axes(plots: Sequence[go.Figure], kinds: Sequence[str]) -> None:
    """Give numeric axes without a set range the same range in all panels of one kind: from the smallest to the largest number."""
    for kind in {kind for kind in kinds if kinds.count(kind) > 1}:
        group = [plot for plot, other_kind in zip(plots, kinds, strict=True) if other_kind == kind]
        for letter in "xy":
            for name in {axis.plotly_name for plot in group for axis in getattr(plot, f"select_{letter}axes")()}:
                axes = [plot.layout[name] for plot in group]
                spans = [_span(plot, letter, name) for plot in group]
                if (
                    any(axis.range or axis.ticktext or axis.scaleanchor or axis.type not in (None, "-", "linear") for axis in axes)
                    or None in spans
                ):
                    continue
                low, high = min(span[0] for span in spans if span), max(span[1] for span in spans if span)
                for axis in axes:
                    axis.range = [low - 0.04 * (high - low), high + 0.04 * (high - low)]


def _span(plot: go.Figure, letter: str, name: str) -> tuple[float, float] | None:
    """Return the smallest and largest number along an axis; None if it has none, or shows words or bars."""
    short, values = letter + name[5:], list[float]()
    for trace in plot.data:
        if (trace[f"{letter}axis"] or letter) != short or trace[letter] is None:
            continue
        if trace.type not in ("scatter", "scattergl") or any(isinstance(value, str) for value in trace[letter]):
            return None
        values += [float(value) for value in trace[letter] if value is not None and np.isfinite(value)]
    return (min(values), max(values)) if values and min(values) < max(values) else None


def _share_legends(plots: Sequence[go.Figure]) -> None:
    """Hide each legend whose entries are all in legends of earlier panels."""
    seen: set[str] = set()
    for plot in plots:
        names = {trace.name for trace in plot.data if trace.showlegend is not False and trace.name}
        if names and names <= seen:
            plot.update_layout(showlegend=False)
        seen |= names
