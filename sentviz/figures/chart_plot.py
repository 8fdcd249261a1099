"""Draw a chart with Plotly: all pixels, letters and colours of charts are decided here."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.chart import Axis, Chart, Mark, Rule
from sentviz.figures.colours import blend, class_colours, colour_scale, ink_on
from sentviz.figures.figure import DASHES, SYMBOLS, base_layout
from sentviz.figures.look import FONTS, PATTERNS, Look
from sentviz.figures.panels import pushed_apart
from sentviz.figures.text import as_run, as_text, broken, label_width
from sentviz.io.lazy import go, pd

EDGE, LINE, ENTRY = 12, 17, 20  # pixels: rim of the picture, a line of text, a line of the legend
NUMBERS, TITLE = 46, 20  # pixels for the numbers beside a vertical axis, and for the name of an axis
LETTERS, SMALL = 12, 11  # pixels of letters: labels, and notes
PANEL, NARROW, SLIM, ALONE = 208, 190, 118, 280  # pixels: height and smallest widths of one of several panels, height of a single one
MOST_ENDS = 6  # names at the ends of lines of a panel; more would not be read
WIDE, SIDE = 300, 380  # best width of one of several panels, and of the area of a picture with named rows
HEADING = 162  # pixels of a line of a panel's title: two panels side by side still fit a phone that squeezes them
CELL, LEAST_CELL = 72, 26  # best and smallest width of a cell
LABEL = 40  # columns of the longest label
MARKER = 9  # pixels of a symbol


def draw(chart: Chart, look: Look) -> go.Figure:
    """Return a chart as a Plotly figure."""
    return _Sheet(chart, look).plot()


class _Words(string.Formatter):
    """Write the cells of a row into a sentence as Plotly labels: texts escaped, numbers with a true minus sign."""

    def format_field(self, value: Any, form: str) -> str:
        if isinstance(value, str):
            return as_text(value, 80)
        text = format(value, form)
        return text.replace("-", "−") if isinstance(value, int | float | np.number) else text


_WORDS = _Words()


def _texts(template: str, rows: pd.DataFrame) -> list[str]:
    return [_WORDS.vformat(template, (), row) for row in rows.to_dict("records")]


def _label(text: str, room: float, size: float = LETTERS, limit: int | None = LABEL) -> str:
    """Return a label in lines that fit."""
    return "<br>".join(broken(as_text(part, limit), room, size) for part in text.split("\n")) if text else ""


def _lines(label: str) -> int:
    return label.count("<br>") + 1


@dataclass(frozen=True)
class _Entry:
    """A line of the legend: the trace that stands for it, without data."""

    name: str
    trace: Mapping[str, Any]


class _Sheet:
    """The geometry of one chart in one look."""

    def __init__(self, chart: Chart, look: Look) -> None:
        self.look, self.colours, self.chart = look, look.colours, chart
        chart = self._within(chart)
        self.chart = chart
        self.x, self.y = (
            replace(axis, span=span) if span else axis for axis, span in ((chart.x, look.style.x), (chart.y, look.style.y))
        )
        for letter, axis, span in (("x", chart.x, look.style.x), ("y", chart.y, look.style.y)):
            if span and axis.rows:
                raise InputError(f"The axis {letter} of this figure has no numbers, so its range cannot be set. Remove {letter}.")
            if span and axis.log and span[0] <= 0:
                raise InputError(f"The axis {letter} of this figure is logarithmic: its range must start above 0.")

    def _within(self, chart: Chart) -> Chart:
        """Leave out the columns of a table for which the width has no room, those of the smallest worth."""
        self.x, self.y = chart.x, chart.y
        most = max(2, (self.look.room - self.left - self.right) // LEAST_CELL) if self.look.room else len(chart.x.rows)
        if not chart.x.worth or most >= len(chart.x.rows):
            return chart
        kept = set(sorted(chart.x.rows, key=lambda key: -chart.x.worth[key])[:most])
        marks = [replace(mark, frame=mark.frame[mark.frame[mark.x].isin(kept)]) for mark in chart.marks]
        return replace(chart, marks=marks, x=replace(chart.x, rows={key: name for key, name in chart.x.rows.items() if key in kept}))

    # ---- what is drawn

    @cached_property
    def series(self) -> dict[str, int]:
        """Number of each series, in the order of the marks."""
        names = dict.fromkeys(str(name) for mark in self.chart.marks if mark.by for name in mark.frame[mark.by])
        return {name: self.chart.series.get(name, i) for i, name in enumerate(names)}

    @cached_property
    def panels(self) -> dict[Any, str]:
        return dict(self.chart.panels.titles) if self.chart.panels else {None: ""}

    @cached_property
    def spread(self) -> list[str]:
        """Series that share the rows of an axis, which are drawn beside each other."""
        if not self.y.rows:
            return []
        return list(dict.fromkeys(str(name) for mark in self.chart.marks if mark.by and not mark.faint for name in mark.frame[mark.by]))

    @property
    def is_table(self) -> bool:
        return any(mark.kind == "cells" for mark in self.chart.marks)

    # ---- pixels across

    @cached_property
    def names(self) -> list[str]:
        """Labels of the rows, in lines."""
        most = 0.42 * self.look.room if self.look.room else 230
        return [_label(text, most) for text in self.y.rows.values()]

    @cached_property
    def left(self) -> int:
        title = TITLE if self.y.title else 0
        if self.y.rows:
            return round(max((label_width(name, LETTERS) for name in self.names), default=0)) + EDGE + 8 + title
        ticks = max((label_width(label, LETTERS) + 14 for label in self.y.ticks.values()), default=NUMBERS)
        return round(ticks) + EDGE - 2 + title

    @cached_property
    def ends(self) -> dict[Any, list[tuple[float, str, str]]]:
        """Height, colour and text of the last point of each line of each panel, if lines are named there."""
        found = {key: self._ends(key) for key in self.panels} if self.chart.ends else {}
        return {key: ends for key, ends in found.items() if 0 < len(ends) <= MOST_ENDS}

    def _ends(self, key: Any) -> list[tuple[float, str, str]]:
        mark = self.chart.marks[0]
        last = self._own(mark, key).groupby([mark.by, *filter(None, [mark.dashes])], sort=False, observed=True).tail(1)
        if last.empty:
            return []
        colours = [self._stroke(mark, str(name))["marker"]["color"] for name in last[mark.by]]
        return sorted(zip(last[mark.y].astype(float), colours, _texts(self.chart.ends, last), strict=True))

    @property
    def end_names(self) -> int:
        """Pixels of the longest name at the end of a line."""
        return round(max((label_width(text, LETTERS) for ends in self.ends.values() for *_, text in ends), default=0))

    @cached_property
    def right(self) -> int:
        if self.ends:
            return self.end_names + 24
        notes = [*map(str, self.y.notes), *self.y.groups]
        widest = max((label_width(note.replace("\n", "<br>"), SMALL) for note in notes), default=0)
        return round(widest) + (20 if notes else 24)

    @cached_property
    def width(self) -> int:
        if self.look.room:
            return self.look.room
        wide = WIDE
        if self.is_table:
            wide = max((CELL if len(self.x.rows) < 12 else 44) * len(self.x.rows), 190 if self.chart.panels else 240)
        if self.chart.panels:
            across = min(len(self.panels), self.chart.panels.across)
            inner = across * wide + (across - 1) * self.gap
        elif self.is_table:
            inner = wide
        else:
            inner = SIDE + 60 if self.y.rows else 440
        title = label_width(self.chart.title, 15) * 0.9 + 2 * EDGE
        return max(self.left + self.right + inner, min(round(title), 760))

    @property
    def gap(self) -> int:
        """Pixels between two panels side by side."""
        beside = self.end_names + 12 if self.ends else 0
        return beside + (20 if self.is_alike else self.left - (TITLE if self.y.title else 0) + 8)

    @property
    def is_alike(self) -> bool:
        """True if all panels have the same vertical axis, whose numbers stand at the left only."""
        return bool(self.y.rows) or self.y.span is not None or (self.chart.panels is not None and self.chart.panels.alike is True)

    @cached_property
    def across(self) -> int:
        if not self.chart.panels:
            return 1
        inner = self.width - self.left - self.right
        least = SLIM if self.chart.panels.small else NARROW
        most = max(1, int((inner + self.gap) // (least + self.gap)))
        return min(len(self.panels), self.chart.panels.across, most)

    @property
    def panel_width(self) -> float:
        return (self.width - self.left - self.right - (self.across - 1) * self.gap) / self.across

    # ---- pixels down

    @cached_property
    def title(self) -> str:
        return _label(self.chart.title, 1.1 * (self.width - 2 * EDGE), 15, None) if self.look.style.title else ""

    @cached_property
    def headings(self) -> list[str]:
        return [_label(title, min(self.panel_width, HEADING), 13, None) for title in self.panels.values()]

    @cached_property
    def heads(self) -> list[str]:
        """Labels of named columns."""
        return [_label(text, 160) for text in self.x.rows.values()]

    @property
    def angle(self) -> int:
        """Degrees by which the labels of columns are turned: 0 if all fit."""
        step = self.panel_width / max(len(self.heads), 1)
        return 0 if max((label_width(name, LETTERS) for name in self.heads), default=0) + 6 <= step else -90

    @cached_property
    def axis_title(self) -> str:
        """Name of the horizontal axis, in lines."""
        return _label(self.x.title, self.panel_width + 40, LETTERS, None)

    @cached_property
    def ticks(self) -> int:
        """Pixels for the labels and the title of a horizontal axis."""
        title = LINE * _lines(self.axis_title) + 3 if self.x.title else 0
        if not self.heads:
            return 22 + title
        deep = LINE * max(map(_lines, self.heads)) if self.angle == 0 else max(label_width(name, LETTERS) for name in self.heads)
        return round(deep) + 8 + title

    @cached_property
    def row(self) -> int:
        """Pixels of a row."""
        step = 13 if len(self.spread) > 2 else 16
        lines = max((LINE * _lines(name) + 9 for name in (*self.names, *(note.replace("\n", "<br>") for note in self.y.notes))), default=0)
        texts = any(mark.text and mark.kind == "points" for mark in self.chart.marks)
        least = 26 if self.is_table and len(self.y.rows) > 8 else 40 if self.is_table else 30
        reported = 44 if any(mark.shift for mark in self.chart.marks) else 0
        return max(least + 8 * texts, lines, reported, step * len(self.spread) + 12 if len(self.spread) > 1 else 0)

    @cached_property
    def area(self) -> int:
        """Height of the area inside the axes of one panel."""
        if self.y.rows:
            return self.row * len(self.y.rows)
        usual = PANEL if len(self.panels) > 1 else ALONE
        return round(self.chart.height * usual * min(1.0, max(0.75, self.panel_width / 240)))

    @cached_property
    def entries(self) -> list[_Entry]:
        """The legend: series first, then named marks, each once."""
        found: dict[str, _Entry] = {}
        for entry in (entry for mark in self.chart.marks for entry in self._entries(mark)):
            found.setdefault(entry.name, entry)
        return list(found.values())

    def _entries(self, mark: Mark) -> Iterator[_Entry]:
        if mark.name:
            yield _Entry(mark.name, self._stroke(mark, None))
        elif mark.by and (not self.chart.ends or mark.dashes):
            for name in dict.fromkeys(mark.frame[mark.by].astype(str)):
                yield _Entry(name, self._stroke(mark, name))
            lines = dict.fromkeys(mark.frame[mark.dashes].astype(str)) if mark.dashes else {}
            for name in lines if len(lines) > 1 else ():
                yield _Entry(name, self._stroke(replace(mark, role="muted", symbol="", dash=self._dash(mark, name)), None))

    @property
    def has_legend(self) -> bool:
        return len(self.entries) > 1 or any(mark.name for mark in self.chart.marks)

    @cached_property
    def legend(self) -> tuple[str, int, int]:
        """Place of the legend, pixels of an entry, and lines."""
        place = {"own": "below"}.get(self.look.style.legend, self.look.style.legend)
        if place == "none" or not self.has_legend:
            return "none", 0, 0
        wide = ceil(max(label_width(as_run(entry.name, LABEL), LETTERS) for entry in self.entries)) + 56
        per_line = max(1, (self.width - self.left - self.right) // wide)  # Plotly makes a legend as wide as the axes at most.
        return place, wide, ceil(len(self.entries) / per_line)

    def plot(self) -> go.Figure:
        """Return the plot."""
        place, wide, lines = self.legend
        down = ceil(len(self.panels) / self.across)
        heading = LINE * max(map(_lines, self.headings)) + 6 if self.chart.panels else 0
        notes = 16 if any(rule.note and rule.x is not None and rule.rows is None for rule in self.chart.rules) else 0
        over = self.ticks if self.is_table else 0
        top = EDGE + (20 * _lines(self.title) + 10 if self.title else 0) + heading + notes + over
        between = heading + self.ticks + 14
        inner = down * self.area + (down - 1) * between
        bottom = (8 if self.is_table else self.ticks + 6) + (ENTRY * lines + 8 if place == "below" else 0)
        right = self.right
        if place == "above":
            top += ENTRY * lines + 4
        if place == "right":
            right += wide
        height = self.look.style.tall or top + inner + bottom
        inner = max(height - top - bottom, 60)
        across = self.width - self.left - right
        layout = base_layout(self.look.theme, title=self.title, width=self.width, height=height, margin=(self.left, top, right, bottom))
        layout["margin"]["autoexpand"] = False
        self._recolour(layout)
        layout["showlegend"] = place != "none"
        layout["legend"] = self._legend(place, wide, inner)
        layout["barmode"] = "overlay"
        traces: list[dict[str, Any]] = []
        annotations: list[dict[str, Any]] = []
        shapes: list[dict[str, Any]] = []
        area = (inner - (down - 1) * between) / down
        panel = (across - (self.across - 1) * self.gap) / self.across
        for number, (key, heading_text) in enumerate(zip(self.panels, self.headings, strict=True)):
            ends = "" if number == 0 else str(number + 1)
            x0, y1 = (number % self.across) * (panel + self.gap), inner - (number // self.across) * (area + between)
            domain = [x0 / across, min(1.0, (x0 + panel) / across)], [max(0.0, (y1 - area) / inner), y1 / inner]
            layout[f"xaxis{ends}"] = self._across(panel) | self._reach(key) | {"domain": domain[0], "anchor": f"y{ends}"}
            layout[f"yaxis{ends}"] = self._down(number) | {"domain": domain[1], "anchor": f"x{ends}"}
            axes = {"xaxis": f"x{ends}", "yaxis": f"y{ends}"}
            for mark in self.chart.marks:
                own = self._own(mark, key)
                traces += [trace | axes for trace in self._traces(replace(mark, frame=own))]
                if mark.kind == "cells":
                    annotations += [note | {"xref": axes["xaxis"], "yref": axes["yaxis"]} for note in self._cell_texts(mark, own, panel)]
            if heading_text:
                middle = {"x": sum(domain[0]) / 2, "y": domain[1][1], "xref": "paper", "yref": "paper", "yshift": over + 4}
                anchors = {"xanchor": "center", "yanchor": "bottom"}
                annotations.append({"text": heading_text, "font": {"size": 13, "color": self.colours.muted}, **middle, **anchors})
            if self.axis_title:
                apart = self.ticks - LINE * _lines(self.axis_title) - 2
                below = {"y": 0, "yref": f"y{ends} domain", "yanchor": "top", "yshift": -apart}
                if self.is_table:
                    below |= {"y": 1, "yanchor": "bottom", "yshift": apart}
                middle = {"x": 0.5, "xref": f"x{ends} domain", "xanchor": "center"}
                annotations.append({"text": self.axis_title, "font": {"size": LETTERS, "color": self.colours.muted}, **middle, **below})
            for rule in (rule for rule in self.chart.rules if rule.panel in (None, key)):
                self._rule(rule, ends, domain, shapes, annotations)
            self._rows(ends, number, shapes, annotations)
            annotations += self._end_names(key, ends, area)
            annotations += self._corner(key, ends)
        layout["annotations"], layout["shapes"] = annotations, shapes
        return go.Figure({"data": [*traces, *self._legend_traces(place)], "layout": layout})

    def _own(self, mark: Mark, key: Any) -> pd.DataFrame:
        """Return the rows of a mark that a panel shows."""
        panels = self.chart.panels
        return mark.frame if panels is None or panels.by not in mark.frame else mark.frame[mark.frame[panels.by] == key]

    def _reach(self, key: Any) -> dict[str, Any]:
        """Return the range of a horizontal axis whose bars have texts at their ends; else nothing."""
        parts = [self._own(mark, key)[mark.x].astype(float) for mark in self.chart.marks if mark.kind == "bars" and mark.text]
        if self.x.span or not self.y.rows or not any(map(len, parts)):
            return {}
        low, high = min(0.0, *(part.min() for part in parts if len(part))), max(0.0, *(part.max() for part in parts if len(part)))
        room = 0.22 * (high - low)
        return {"range": [low - room * (low < 0), high + room * (high > 0)]}

    def _recolour(self, layout: dict[str, Any]) -> None:
        """Put the colours and letters of the style into the layout."""
        template, colours = layout["template"]["layout"], self.colours
        if FONTS[self.look.style.font]:
            template["font"]["family"] = FONTS[self.look.style.font]
        template["font"]["color"] = template["hoverlabel"]["font"]["color"] = colours.ink
        template["colorway"] = colours.lines

    def _legend(self, place: str, wide: int, inner: float) -> dict[str, Any]:
        if place == "none":
            return {}
        if place == "right":
            return {"x": 1.02, "xanchor": "left", "y": 1, "yanchor": "top"}
        flat: dict[str, Any] = {"orientation": "h", "x": EDGE / self.width, "xref": "container", "xanchor": "left"}
        flat |= {"entrywidth": wide - 46, "tracegroupgap": 0}
        if place == "above":
            return flat | {"y": 1 + 6 / inner, "yanchor": "bottom"}
        below = 4 if self.is_table else self.ticks + 6
        return flat | {"y": -below / inner, "yanchor": "top"}

    def _legend_traces(self, place: str) -> Iterator[dict[str, Any]]:
        if place == "none":
            return
        for entry in self.entries:
            yield {"type": "scatter", "x": [None], "y": [None], "name": as_run(entry.name, LABEL), "showlegend": True, **entry.trace} | {
                "legendgroup": entry.name
            }

    # ---- axes

    def _across(self, panel: float) -> dict[str, Any]:
        axis = self.x
        made: dict[str, Any] = {"automargin": False}
        if axis.rows:
            labels, count = self.heads, len(axis.rows)
            step = panel / max(count, 1)
            every = 1 if self.angle == 0 else max(1, ceil((LETTERS + 1) / step))
            shown = [label if i % every == 0 else "" for i, label in enumerate(labels)]
            edge = 0.5 if self.is_table else 0.1
            made |= {"tickvals": list(range(count)), "ticktext": shown, "tickangle": self.angle, "range": [-edge, count - 1 + edge]}
            return made | ({"side": "top", "showgrid": False} if self.is_table else {})
        made |= self._numbers(axis, max(2, min(8, int(panel // 56))))
        return made | ({"ticktext": self._thinned(axis, panel)} if axis.ticks else {})

    def _thinned(self, axis: Axis, room: float) -> list[str]:
        """Return the labels of an axis' own ticks, with "" in place of each that would touch the one before it."""
        scale = np.log10 if axis.log else np.asarray
        at = scale(np.array(list(axis.ticks), dtype=float))
        low, high = scale(np.array(axis.span)) if axis.span else (at.min(), at.max())
        places = room * (at - low) / ((high - low) or 1.0)
        labels, free = [], -np.inf
        for place, label in zip(places, axis.ticks.values(), strict=True):
            half = 0.9 * label_width(label, LETTERS) / 2
            labels.append(as_text(label, LABEL) if place - half >= free else "")
            free = place + half + 3 if labels[-1] else free
        return labels

    def _down(self, number: int) -> dict[str, Any]:
        axis = self.y
        is_first = number % self.across == 0
        title = _label(axis.title, self.area + 10, LETTERS, None) if is_first else ""
        made: dict[str, Any] = {"automargin": False, "title": {"text": title, "standoff": 6}}
        if axis.rows:
            count = len(axis.rows)
            ticks = {"tickvals": list(range(count)), "ticktext": self.names, "range": [count - 0.5, -0.5]}
            return made | ticks | {"showgrid": False, "showticklabels": is_first, "ticklabelstandoff": 4}
        made |= self._numbers(axis, max(3, min(7, int(self.area // 34))))
        panels = self.chart.panels
        if number and self.is_alike:
            made["matches"] = "y"
        elif number and panels is not None and isinstance(panels.alike, Mapping):
            keys = list(self.panels)
            first = next(i for i, key in enumerate(keys) if panels.alike.get(key) == panels.alike.get(keys[number]))
            if first != number:
                made["matches"] = "y" if first == 0 else f"y{first + 1}"
        return made | {"showticklabels": is_first or not self.is_alike}

    def _numbers(self, axis: Axis, most: int) -> dict[str, Any]:
        made: dict[str, Any] = {"tickformat": axis.form, "nticks": most, "tickangle": 0}
        if axis.log:
            made["type"] = "log"
        if axis.span:
            made["range"] = list(np.log10(axis.span)) if axis.log else list(axis.span)
        elif axis.zero:
            made["rangemode"] = "tozero"
        if axis.ticks:
            made |= {"tickvals": list(axis.ticks), "ticktext": [as_text(label, LABEL) for label in axis.ticks.values()]}
        if axis.step:
            made |= {"dtick": axis.step, "tick0": 0}
        return made

    # ---- marks

    def _stroke(self, mark: Mark, name: str | None) -> dict[str, Any]:
        """Return mode, line and marker of a series or of a mark without series."""
        number = None if name is None else self.series[name]
        colour = self.look.colour(mark.role) if number is None or name is None else self._colour(name, number)
        symbol = SYMBOLS[(number or 0) % len(SYMBOLS)] if mark.symbol == "auto" else mark.symbol
        marker: dict[str, Any] = {"size": mark.size * MARKER, "symbol": symbol or "circle", "color": colour}
        marker["line"] = {"width": 1.8, "color": colour} if "open" in symbol else {"width": 0}
        if mark.kind == "bars":
            return {"mode": "markers", "marker": marker | {"symbol": "square", "opacity": 0.45 if mark.faint else 1}}
        if mark.kind == "points":
            return {"mode": "markers", "marker": marker}
        dash = mark.dash if number is None or mark.dash != "solid" else "dash" if name in (self.chart.dashed or ()) else "solid"
        if number is not None and (self.chart.dashed is None or self.look.is_grey) and dash == "solid":
            dash = DASHES[number % len(DASHES)]
        stroke = {"color": colour, "width": 1.6 if mark.faint else 2.2, "dash": dash}
        return {"mode": "lines+markers" if symbol else "lines", "marker": marker, "line": stroke}

    def _dash(self, mark: Mark, name: str) -> str:
        """Return the dash of one of the lines into which `dashes` splits the series."""
        lines = list(dict.fromkeys(row for each in self.chart.marks if each.dashes for row in each.frame[each.dashes].astype(str)))
        return DASHES[self.chart.series.get(name, lines.index(name)) % len(DASHES)]

    def _colour(self, name: str, number: int) -> str:
        classes = list(self.chart.classes)
        return class_colours(classes, self.colours)[classes.index(name)] if name in classes else self.colours.line(number)

    def _traces(self, mark: Mark) -> Iterator[dict[str, Any]]:
        if mark.kind == "cells":
            yield self._heatmap(mark)
            return
        if mark.by and mark.dashes:
            for (name, run), part in mark.frame.groupby([mark.by, mark.dashes], sort=False, observed=True):
                yield from self._marks(replace(mark, dash=self._dash(mark, str(run))), part, str(name))
        elif mark.by:
            for name, part in mark.frame.groupby(mark.by, sort=False, observed=True):
                yield from self._marks(mark, part, str(name))
        elif len(mark.frame):
            yield from self._marks(mark, mark.frame, None)

    def _marks(self, mark: Mark, rows: pd.DataFrame, name: str | None) -> Iterator[dict[str, Any]]:
        x, y = (self._places(axis, rows[column]) for axis, column in ((self.x, mark.x), (self.y, mark.y)))
        if self.y.rows:
            y = y + self._shift(mark, name) + (rows[mark.lift].to_numpy(float) if mark.lift else 0.0)
        elif mark.apart and name is not None:
            x = x + mark.apart * (list(self.series).index(name) - (len(self.series) - 1) / 2)
        values = "x" if self.y.rows else "y"
        stroke = self._stroke(mark, name)
        colour = stroke["marker"]["color"]
        if mark.level:
            low_end, high_end = mark.span
            stroke["marker"]["color"] = blend(self._stops(mark), (rows[mark.level].to_numpy(float) - low_end) / (high_end - low_end))
        if mark.tint:
            stroke["marker"]["color"] = [self.look.colour(role) for role in rows[mark.tint]]
        trace: dict[str, Any] = {"x": x, "y": y, "showlegend": False, "legendgroup": name or mark.name, "name": name or mark.name}
        if mark.hover:
            trace |= {"hovertext": _texts(mark.hover, rows), "hovertemplate": "%{hovertext}<extra></extra>"}
        else:
            trace["hoverinfo"] = "skip"
        if mark.click:
            trace["customdata"] = rows[list(mark.click)].to_numpy(object).tolist()
        low, high = (rows[column].to_numpy(float) if column else None for column in (mark.low, mark.high))
        if low is not None and high is not None and np.isfinite(low).any():
            at = x if values == "x" else y
            if mark.kind == "line" and not mark.whiskers:
                known = np.isfinite(low) & np.isfinite(high)
                yield self._band(x[known], low[known], high[known], colour, name or mark.name)
            else:
                bar = self.colours.ink if mark.kind == "bars" else colour
                ends = {"type": "data", "symmetric": False, "array": high - at, "arrayminus": at - low, "thickness": 1.6, "width": 0}
                trace[f"error_{values}"] = ends | {"color": bar}
        unfaded = {"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}} if mark.click else {}
        if mark.kind == "bars":
            shade = {"color": stroke["marker"]["color"], "opacity": 0.45 if mark.faint else 1.0}
            if self.look.is_grey and mark.role in ("wrong", "minus"):
                shade["pattern"] = {"shape": PATTERNS[1], "size": 6, "solidity": 0.2, "fillmode": "overlay"}
            if unfaded:
                unfaded = {side: {"marker": {"opacity": shade["opacity"]}} for side in unfaded}
            if mark.text:
                trace |= {"text": _texts(mark.text, rows), "textposition": "outside", "cliponaxis": False, "textfont": {"size": SMALL}}
            yield trace | {"type": "bar", "orientation": "h" if self.y.rows else "v", "width": rows[mark.wide] if mark.wide else 0.55,
                           "marker": shade, **unfaded}  # fmt: skip
            return
        if mark.text:
            stroke = stroke | {"mode": f"{stroke['mode']}+text", "text": _texts(mark.text, rows), "textposition": "top center",
                               "textfont": {"size": SMALL, "color": self.colours.muted}}  # fmt: skip
        if mark.stepped:
            stroke["line"] = stroke["line"] | {"shape": "vh"}
        yield trace | {"type": "scatter", "cliponaxis": False, **stroke, **unfaded}

    def _places(self, axis: Axis, values: pd.Series[Any]) -> np.ndarray[Any, Any]:
        if not axis.rows:
            return values.to_numpy(float)
        at = {key: i for i, key in enumerate(axis.rows)}
        return np.array([at[value] for value in values], dtype=float)

    def _shift(self, mark: Mark, name: str | None) -> float:
        if name is None or name not in self.spread:
            return mark.shift
        step = (13 if len(self.spread) > 2 else 16) / self.row
        return mark.shift + (self.spread.index(name) - (len(self.spread) - 1) / 2) * step

    def _band(self, x: Any, low: Any, high: Any, colour: str, group: str) -> dict[str, Any]:
        outline = {"x": np.concatenate([x, x[::-1]]), "y": np.concatenate([high, low[::-1]]), "mode": "lines", "fill": "toself"}
        fill = {"fillcolor": colour, "opacity": 0.18, "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        return {"type": "scatter", "legendgroup": group, "name": group, **outline, **fill}

    # ---- cells

    def _table(self, mark: Mark, values: Sequence[Any]) -> np.ndarray[Any, Any]:
        """Return values of a mark's rows as a table, (rows, columns); None where there is no row."""
        table = np.full((len(self.y.rows), len(self.x.rows)), None, dtype=object)
        at = self._places(self.y, mark.frame[mark.y]).astype(int), self._places(self.x, mark.frame[mark.x]).astype(int)
        for row, column, value in zip(*at, values, strict=True):
            table[row, column] = value
        return table

    def _stops(self, mark: Mark) -> tuple[str, ...]:
        stops: tuple[str, ...] = getattr(self.colours, mark.scale)
        return stops

    def _heatmap(self, mark: Mark) -> dict[str, Any]:
        hover = self._table(mark, _texts(mark.hover, mark.frame))
        return {
            "type": "heatmap",
            "z": self._table(mark, mark.frame[mark.level].to_numpy(float)).astype(float),
            "x": list(range(len(self.x.rows))),
            "y": list(range(len(self.y.rows))),
            "zmin": mark.span[0],
            "zmax": mark.span[1],
            "colorscale": colour_scale(self._stops(mark)),
            "showscale": False,
            "xgap": 2,
            "ygap": 2,
            "hoverongaps": False,
            "customdata": np.where(hover == None, "", hover),  # noqa: E711 - an array is compared, element by element
            "hovertemplate": "%{customdata}<extra></extra>",
        }

    def _cell_texts(self, mark: Mark, rows: pd.DataFrame, panel: float) -> Iterator[dict[str, Any]]:
        """Yield the text of each cell, if all fit into their cells, in black or white."""
        known = rows[np.isfinite(rows[mark.level].to_numpy(float))]
        if not mark.text or known.empty:
            return
        texts = _texts(mark.text, known)
        if max(label_width(text, SMALL) for text in texts) + 2 > panel / len(self.x.rows):
            return
        low, high = mark.span
        shades = blend(self._stops(mark), (known[mark.level].to_numpy(float) - low) / (high - low))
        for x, y, text, shade in zip(self._places(self.x, known[mark.x]), self._places(self.y, known[mark.y]), texts, shades, strict=True):
            yield {"x": x, "y": y, "xanchor": "center", "yanchor": "middle", "text": text, "font": {"size": SMALL, "color": ink_on(shade)}}

    # ---- names at ends, rules and rows

    def _corner(self, key: Any, ends: str) -> Iterator[dict[str, Any]]:
        """Yield the notes in the corner of a panel, the first one on top."""
        notes = self.chart.panels.notes.get(key, ()) if self.chart.panels else ()
        is_right = self.chart.panels is not None and self.chart.panels.corner == "right"
        for i, (text, role) in enumerate(reversed(notes)):
            place = {"x": 0.98 if is_right else 0.02, "xref": f"x{ends} domain", "xanchor": "right" if is_right else "left"}
            place |= {"y": 0.02, "yref": f"y{ends} domain", "yanchor": "bottom", "yshift": i * (LINE - 1)}
            font = {"size": LETTERS, "color": self.look.colour(role)}
            yield {"text": as_text(text, None), "font": font, "bgcolor": self.colours.paper, **place}

    def _end_names(self, key: Any, ends: str, area: float) -> Iterator[dict[str, Any]]:
        """Yield the names of lines at their ends, moved apart until none covers another."""
        names = self.ends.get(key)
        if not names:
            return
        mark = self.chart.marks[0]
        seen = self._own(mark, key)[mark.y].astype(float)
        low, high = self.y.span or (min(0.0, seen.min()) if self.y.zero else seen.min(), seen.max())
        scale = np.log10 if self.y.log else np.asarray
        low, high, heights = scale(low), scale(high), scale([end[0] for end in names])
        places = pushed_apart(heights, LINE * (high - low or 1.0) / area)
        places = places - max(0.0, places[-1] - high)
        for y, (_, colour, text) in zip(places, names, strict=True):
            beside = {"x": 1, "xref": f"x{ends} domain", "xanchor": "left", "xshift": 4, "y": y, "yref": f"y{ends}"}
            yield {"text": text, "font": {"size": LETTERS, "color": colour}, **beside}

    def _rule(self, rule: Rule, ends: str, domain: Any, shapes: list[dict[str, Any]], notes: list[dict[str, Any]]) -> None:
        along, across = ("x", "y") if rule.y is None else ("y", "x")
        value = rule.x if rule.y is None else rule.y
        colour = self.look.colour(rule.role)
        keys = list(self.y.rows)
        span = (keys.index(rule.rows[0]) - 0.5, keys.index(rule.rows[1]) + 0.5) if rule.rows else (0, 1)
        side = {f"{across}ref": f"{across}{ends}" + ("" if rule.rows else " domain"), f"{across}0": span[0], f"{across}1": span[1]}
        if rule.low is not None and rule.high is not None:
            shapes.append({"type": "rect", f"{along}ref": f"{along}{ends}", f"{along}0": rule.low, f"{along}1": rule.high, **side,
                           "fillcolor": colour, "opacity": 0.18, "line": {"width": 0}, "layer": "below"})  # fmt: skip
        if value is not None:
            dash = {"color": colour, "width": 1.2 if rule.solid else 1, "dash": "solid" if rule.solid else "dot"}
            shapes.append({"type": "line", f"{along}ref": f"{along}{ends}", f"{along}0": value, f"{along}1": value, **side, "line": dash})
        if rule.note:
            value = value if value is not None or rule.low is None or rule.high is None else (rule.low + rule.high) / 2
            axis = self.x if along == "x" else self.y
            value = np.log10(value) if axis.log and value else value
            at = {"x": value, "xref": f"x{ends}", "xanchor": "center", "y": domain[1][1], "yref": "paper"}
            if rule.rows:
                at |= {"y": span[0], "yref": f"y{ends}"}
            beside = [other.x for other in self.chart.rules if other.note and other.x is not None and other.rows is None]
            if rule.x in beside and len(beside) > 1:
                at["xanchor"] = "right" if rule.x == min(beside) else "left"
            if along == "y":
                at = {"x": domain[0][1], "xref": "paper", "xanchor": "right", "y": value, "yref": f"y{ends}"}
            font = {"size": SMALL, "color": colour}
            notes.append({"text": as_text(rule.note, LABEL), "yanchor": "bottom", "font": font, **at})

    def _rows(self, ends: str, number: int, shapes: list[dict[str, Any]], notes: list[dict[str, Any]]) -> None:
        """Add shades, notes, groups and the outline of the chosen row."""
        across = {"xref": f"x{ends} domain", "x0": 0, "x1": 1, "yref": f"y{ends}", "layer": "below"}
        if self.y.striped:
            shade = {"type": "rect", "fillcolor": self.colours.neutral, "opacity": 0.5, "line": {"width": 0}, **across}
            shapes += [shade | {"y0": i - 0.5, "y1": i + 0.5} for i in range(0, len(self.y.rows), 2)]
        keys = list(self.y.rows)
        if self.y.chosen in keys:
            at = keys.index(self.y.chosen)
            shapes.append({"type": "rect", "y0": at - 0.5, "y1": at + 0.5, "line": {"color": self.colours.ink, "width": 1.5}, **across})
        if number % self.across != self.across - 1:
            return
        beside = {"x": 1, "xref": f"x{ends} domain", "xanchor": "left", "xshift": 8, "yref": f"y{ends}", "align": "left"}
        for i, note in enumerate(self.y.notes):
            notes.append({"y": i, "text": note.replace("\n", "<br>"), "font": {"size": SMALL}, **beside})
        for name, members in self.y.groups.items():
            first, last = keys.index(members[0]), keys.index(members[-1])
            text = name.replace("\n", "<br>")
            notes.append({"y": (first + last) / 2, "text": text, "font": {"size": SMALL, "color": self.colours.muted}, **beside})
            if first:
                line = {"color": self.colours.muted, "width": 1}
                shapes.append({"type": "line", "y0": first - 0.5, "y1": first - 0.5, "line": line, **across})
