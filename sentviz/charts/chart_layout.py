"""The geometry of a chart in a look: sizes in pixels, labels in lines, the legend, and the stroke of each series."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from sentviz.charts.chart import Chart, Mark
from sentviz.charts.colours import class_colours
from sentviz.charts.figure import DASHES, SYMBOLS
from sentviz.charts.look import Look
from sentviz.charts.text import as_run, as_text, broken, label_width, shortened
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import written

EDGE, LINE, ENTRY = 12, 17, 20  # pixels: rim of the picture, a line of text, a line of the legend
NUMBERS, TITLE = 46, 20  # pixels for the numbers beside a vertical axis, and for the name of an axis
LETTERS, SMALL = 12, 11  # pixels of letters: labels, and notes
PANEL, NARROW, SLIM, ALONE = 208, 190, 118, 280  # pixels: height and smallest widths of one of several panels, height of a single one
MOST_ENTRIES = 30  # lines of a legend; the pointer names the other series
MOST_ENDS = 6  # names at the ends of lines of a panel; more would not be read
WIDE, SIDE = 300, 380  # best width of one of several panels, and of the area of a picture with named rows
HEADING = 162  # pixels of a line of a panel's title: two panels side by side still fit a phone that squeezes them
CELL, LEAST_CELL = 72, 26  # best and smallest width of a cell where the width is free
SQUARE = 230  # best width of a square panel
UPRIGHT = 16  # smallest width of a cell without a number, below an upright name
LABEL = 40  # columns of the longest label
MARKER = 9  # pixels of a symbol
SCALE = 34  # pixels of a scale of colours above a table


def row_texts(template: str, rows: pd.DataFrame) -> list[str]:
    """Return the words of a template for each row, as Plotly labels: texts are escaped, numbers have a true minus sign."""
    parts: list[list[str]] = []
    for literal, column, form, _ in string.Formatter().parse(template):
        parts.append([literal] * len(rows))
        if column:
            values = rows[column].tolist()
            words = {value: _in_words(value, form or "") for value in dict.fromkeys(values)}
            parts.append([words[value] for value in values])
    return ["".join(words) for words in zip(*parts, strict=True)] if parts else [""] * len(rows)


def _in_words(value: Any, form: str) -> str:
    return as_text(value, 80) if isinstance(value, str) else written(value, form)


def _names(column: pd.Series[Any]) -> list[str]:
    """Return the different values of a column as names, in the order of their first rows."""
    return list(dict.fromkeys(map(str, column.unique())))


def lines_of(text: str, room: float, size: float = LETTERS, limit: int | None = LABEL) -> str:
    """Return a label in lines that fit."""
    longest = max(int(room / (0.375 * size)), 6)  # columns of a word, which no line break can part
    lines = (" ".join(shortened(word, longest) for word in part.split(" ")) for part in text.split("\n"))
    return "<br>".join(broken(as_text(line, limit), room, size) for line in lines) if text else ""


def count_lines(label: str) -> int:
    """Return the number of lines of a Plotly label."""
    return label.count("<br>") + 1


@dataclass(frozen=True)
class Entry:
    """A line of the legend, with the style of the trace that it names."""

    name: str
    trace: Mapping[str, Any]


class Geometry:
    """The geometry of one chart in one look; all sizes are pixels."""

    def __init__(self, chart: Chart, look: Look) -> None:
        self.look, self.colours, self.chart = look, look.colours, chart
        chart = self._within(chart)
        self.chart = chart
        self.x, self.y = (replace(axis, span=span) if span else axis for axis, span in ((chart.x, look.style.x), (chart.y, look.style.y)))
        for letter, axis, span in (("x", chart.x, look.style.x), ("y", chart.y, look.style.y)):
            if span and axis.rows:
                raise InputError(f"The axis {letter} of this figure has no numbers, so its range cannot be set. Remove {letter}.")
            if span and axis.log and span[0] <= 0:
                raise InputError(f"The axis {letter} of this figure is logarithmic: its range must start above 0.")

    def _within(self, chart: Chart) -> Chart:
        """Leave out the columns of a table for which the width has no room, those of the smallest worth; the axis says how many."""
        self.x, self.y = chart.x, chart.y
        most = max(2, (self.look.room - self.left - self.right) // UPRIGHT) if self.look.room else len(chart.x.rows)
        if not chart.x.worth or most >= len(chart.x.rows):
            return chart
        columns = set(sorted(chart.x.rows, key=lambda key: -chart.x.worth[key])[:most])
        marks = [replace(mark, frame=mark.frame[mark.frame[mark.x].isin(columns)]) for mark in chart.marks]
        rows = {key: name for key, name in chart.x.rows.items() if key in columns}
        title = f"{len(rows)} of {len(chart.x.rows)} columns, no room for {len(chart.x.rows) - len(rows)}"
        return replace(chart, marks=marks, x=replace(chart.x, rows=rows, title=". ".join(filter(None, [chart.x.title, title]))))

    # ---- what is drawn

    @cached_property
    def series(self) -> dict[str, int]:
        """Number of each series, in the order of the marks."""
        names = dict.fromkeys(name for mark in self.chart.marks if mark.by for name in _names(mark.frame[mark.by]))
        return {name: self.chart.series.get(name, i) for i, name in enumerate(names)}

    @cached_property
    def panels(self) -> dict[Any, str]:
        """Title of each panel by its key."""
        return dict(self.chart.panels.titles) if self.chart.panels else {None: ""}

    @cached_property
    def spread(self) -> list[str]:
        """Series that share the rows of an axis, which are drawn beside each other."""
        if not self.y.rows:
            return []
        return list(dict.fromkeys(name for mark in self.chart.marks if mark.by and not mark.faint for name in _names(mark.frame[mark.by])))

    @property
    def is_table(self) -> bool:
        """True if the chart is a table of coloured cells."""
        return any(mark.kind == "cells" for mark in self.chart.marks)

    # ---- pixels across

    @cached_property
    def names(self) -> list[str]:
        """Labels of the rows, in lines."""
        most = 0.42 * self.look.room if self.look.room else 230
        return [lines_of(text, most) for text in self.y.rows.values()]

    @cached_property
    def left(self) -> int:
        """Width of the left margin."""
        title = TITLE if self.y.title else 0
        if self.y.bare:
            return EDGE + 4 + title
        if self.y.rows:
            return round(max((label_width(name, LETTERS) for name in self.names), default=0)) + EDGE + 8 + title
        ticks = max((label_width(label, LETTERS) + 14 for label in self.y.ticks.values()), default=NUMBERS)
        return round(ticks) + EDGE - 2 + title

    @cached_property
    def ends(self) -> dict[Any, list[tuple[float, str, str]]]:
        """Height, colour and text of the last point of each line of each panel, if lines are named there and not in the legend."""
        by_panel = {key: self._ends(key) for key in self.panels} if self.chart.ends else {}
        named = {key: ends for key, ends in by_panel.items() if 0 < len(ends) <= MOST_ENDS}
        widest = max((label_width(text, LETTERS) for ends in named.values() for *_, text in ends), default=0)
        return {} if self.look.room and widest > 0.3 * self.look.room else named

    def _ends(self, key: Any) -> list[tuple[float, str, str]]:
        mark = self.chart.marks[0]
        last = self.own(mark, key).groupby([mark.by, *filter(None, [mark.dashes])], sort=False, observed=True).tail(1)
        last = last[np.isfinite(last[mark.y].astype(float))]
        if last.empty:
            return []
        colours = [self.stroke(mark, str(name))["marker"]["color"] for name in last[mark.by]]
        return sorted(zip(last[mark.y].astype(float), colours, row_texts(self.chart.ends, last), strict=True))

    @property
    def end_names(self) -> int:
        """Pixels of the longest name at the end of a line."""
        return round(max((label_width(text, LETTERS) for ends in self.ends.values() for *_, text in ends), default=0))

    @cached_property
    def groups(self) -> dict[str, Sequence[Any]]:
        """Labels of the groups of rows, in lines, with the keys of their rows."""
        most = 0.2 * self.look.room if self.look.room else 400
        return {lines_of(name, most, SMALL, None): keys for name, keys in self.y.groups.items()}

    @cached_property
    def right(self) -> int:
        """Width of the right margin."""
        if self.ends:
            return self.end_names + 24
        beside = [*self.y.notes, *(rule.note for rule in self.chart.rules if rule.note and rule.y is not None)]
        notes = [*(str(note).replace("\n", "<br>") for note in beside), *self.groups]
        widest = max((label_width(note, SMALL) for note in notes), default=0)
        return round(widest) + (20 if notes else 24)

    @cached_property
    def width(self) -> int:
        """Width of the picture."""
        if self.look.room:
            return self.look.room
        wide = SQUARE if self.chart.square else WIDE
        if self.is_table and not self.chart.square:
            cell = CELL if len(self.x.rows) < 12 else min(44, max(LEAST_CELL, 760 // len(self.x.rows)))
            wide = max(round(self.chart.height * cell) * len(self.x.rows), 190 if self.chart.panels else 240)
        if self.chart.panels:
            across = self._rows_of(min(len(self.panels), self.chart.panels.across))
            inner = across * wide + (across - 1) * self.gap
        elif self.is_table or self.chart.square:
            inner = wide
        else:
            inner = SIDE + 60 if self.y.rows else 440
        title = label_width(self.chart.title, 15) * 0.9 + 2 * EDGE
        return max(self.left + self.right + inner, min(round(title), 760))

    @property
    def gap(self) -> int:
        """Pixels between two panels side by side."""
        beside = self.end_names + 12 if self.ends else 0
        return beside + ((20 if self.x.rows else 30) if self.is_alike else self.left - (TITLE if self.y.title else 0) + 8)

    @property
    def is_alike(self) -> bool:
        """True if all panels have the same vertical axis, whose numbers stand at the left only."""
        return bool(self.y.rows) or self.y.span is not None or (self.chart.panels is not None and self.chart.panels.alike is True)

    @cached_property
    def across(self) -> int:
        """Number of panels side by side."""
        if not self.chart.panels:
            return 1
        inner = self.width - self.left - self.right
        least = SLIM if self.chart.panels.small else NARROW
        most = max(1, int((inner + self.gap) // (least + self.gap)))
        return self._rows_of(min(len(self.panels), self.chart.panels.across, most))

    def _rows_of(self, most: int) -> int:
        """Return how many panels stand side by side if `most` can: square ones in rows of about the same length."""
        return ceil(len(self.panels) / ceil(len(self.panels) / most)) if self.chart.square and self.panels else most

    @property
    def panel_width(self) -> float:
        """Width of a panel."""
        return (self.width - self.left - self.right - (self.across - 1) * self.gap) / self.across

    # ---- pixels down

    @cached_property
    def title(self) -> str:
        """The title, in lines."""
        return lines_of(self.chart.title, 1.1 * (self.width - 2 * EDGE), 15, None) if self.look.style.title else ""

    @cached_property
    def headings(self) -> list[str]:
        """Titles of the panels, in lines."""
        return [lines_of(title, min(self.panel_width, HEADING), 13, None) for title in self.panels.values()]

    @cached_property
    def heads(self) -> list[str]:
        """Labels of named columns."""
        return [] if self.x.bare else [lines_of(text, 160) for text in self.x.rows.values()]

    @property
    def angle(self) -> int:
        """Degrees by which the labels of columns are turned: 0 if all fit."""
        step = self.panel_width / max(len(self.heads), 1)
        return 0 if max((label_width(name, LETTERS) for name in self.heads), default=0) + 6 <= step else -90

    @cached_property
    def axis_title(self) -> str:
        """Name of the horizontal axis, in lines."""
        return lines_of(self.x.title, self.panel_width + 40, LETTERS, None)

    @cached_property
    def ticks(self) -> int:
        """Pixels for the labels and the title of a horizontal axis."""
        title = LINE * count_lines(self.axis_title) + 3 if self.x.title else 0
        if not self.heads:
            return title if self.x.bare else 22 + title
        deep = LINE * max(map(count_lines, self.heads)) if self.angle == 0 else max(label_width(name, LETTERS) for name in self.heads)
        return round(deep) + 8 + title

    @property
    def has_texts(self) -> bool:
        """True if something is written at points."""
        return any(mark.text and mark.kind == "points" for mark in self.chart.marks)

    @property
    def step(self) -> int:
        """Pixels between two series of a row; a text above a point needs a line."""
        return (13 if len(self.spread) > 2 else 16) + (LINE if self.has_texts else 0)

    @cached_property
    def row(self) -> int:
        """Pixels of a row."""
        if self.chart.square:
            return max(1, round(self.panel_width / max(len(self.y.rows), 1)))
        beside = [note.replace("\n", "<br>") for note in self.y.notes]
        lines = max((LINE * count_lines(name) + 9 for name in (*self.names, *beside)), default=0)
        least = round(self.chart.height * (26 if len(self.y.rows) > 8 else 40)) if self.is_table else 26 if len(self.y.rows) > 16 else 30
        reported = 44 if any(mark.shift for mark in self.chart.marks) else 0
        return max(least + 8 * self.has_texts, lines, reported, self.step * len(self.spread) + 12 if len(self.spread) > 1 else 0)

    @cached_property
    def area(self) -> int:
        """Height of the area inside the axes of one panel."""
        if self.chart.square:
            return round(self.panel_width)
        if self.y.rows:
            return self.row * len(self.y.rows)
        usual = PANEL if len(self.panels) > 1 else ALONE
        return round(self.chart.height * usual * min(1.0, max(0.75, self.panel_width / 240)))

    @cached_property
    def entries(self) -> list[Entry]:
        """The legend: series first, then named marks, each once; of very many the first, and their number."""
        by_name: dict[str, Entry] = {}
        for entry in (entry for mark in self.chart.marks for entry in self._entries(mark)):
            by_name.setdefault(entry.name, entry)
        if (more := len(by_name) - MOST_ENTRIES) <= 1:
            return list(by_name.values())
        rest = Entry(f"and {more:,} more", {"mode": "lines", "line": {"color": self.colours.muted, "width": 0}})
        return [*list(by_name.values())[:MOST_ENTRIES], rest]

    def _entries(self, mark: Mark) -> Iterator[Entry]:
        if mark.name:
            yield Entry(mark.name, self.stroke(mark, None))
        elif mark.by and not mark.plain and (not self.ends or mark.dashes):
            for name in _names(mark.frame[mark.by]):
                yield Entry(name, self.stroke(mark, name))
            lines = _names(mark.frame[mark.dashes]) if mark.dashes else []
            for name in lines if len(lines) > 1 else ():
                yield Entry(name, self.stroke(replace(mark, role="muted", symbol="", dash=self.dash(mark, name)), None))

    @property
    def has_legend(self) -> bool:
        """True if there is something to tell apart."""
        return len(self.entries) > 1 or any(mark.name for mark in self.chart.marks)

    @cached_property
    def legend(self) -> tuple[str, int, int]:
        """Place of the legend, pixels of an entry, and lines."""
        place = {"own": "below"}.get(self.look.style.legend, self.look.style.legend)
        if place == "none" or not self.has_legend:
            return "none", 0, 0
        labels = [self.label(entry.name) for entry in self.entries]
        wide = ceil(max(label_width(label, LETTERS) for label in labels)) + 56
        per_line = max(1, (self.width - self.left - self.right) // wide)  # Plotly makes a legend as wide as the axes at most.
        return place, wide, sum(max(map(count_lines, labels[i : i + per_line])) for i in range(0, len(labels), per_line))

    def label(self, name: str) -> str:
        """Return the name of a series as a label: a sentence in lines that fit, a run's name shortened in its middle."""
        return lines_of(name, self.width - 2 * EDGE - 56, LETTERS, None) if " " in name else as_run(name, LABEL)

    # ---- series

    def own(self, mark: Mark, key: Any) -> pd.DataFrame:
        """Return the rows of a mark that a panel shows."""
        panels = self.chart.panels
        return mark.frame if panels is None or panels.by not in mark.frame else mark.frame[mark.frame[panels.by] == key]

    def stroke(self, mark: Mark, name: str | None) -> dict[str, Any]:
        """Return mode, line and marker of a series or of a mark without series."""
        number = None if name is None or mark.plain else self.series[name]
        colour = self.look.colour(mark.role) if number is None or name is None else self.colour_of(name, number)
        symbol = SYMBOLS[(number or 0) % len(SYMBOLS)] if mark.symbol == "auto" else mark.symbol
        marker: dict[str, Any] = {"size": mark.size * MARKER, "symbol": symbol or "circle", "color": colour}
        marker["line"] = {"width": 1.8, "color": colour} if "open" in symbol else {"width": 0}
        if mark.kind == "bars":
            return {"mode": "markers", "marker": marker | {"symbol": "square", "opacity": 0.45 if mark.faint else 1}}
        if mark.kind == "points" and not symbol:
            return {"mode": "lines", "marker": marker, "line": {"color": colour, "width": mark.size * MARKER}}
        if mark.kind == "points":
            return {"mode": "markers", "marker": marker}
        dash = mark.dash if number is None or mark.dash != "solid" else "dash" if name in (self.chart.dashed or ()) else "solid"
        if number is not None and (self.chart.dashed is None or self.look.is_grey) and dash == "solid":
            dash = DASHES[number % len(DASHES)]
        stroke = {"color": colour, "width": 1.6 if mark.faint else 2.2, "dash": dash}
        return {"mode": "lines+markers" if symbol else "lines", "marker": marker, "line": stroke}

    def dash(self, mark: Mark, name: str) -> str:
        """Return the dash of one of the lines into which `dashes` splits the series."""
        return DASHES[self.chart.series.get(name, self.parts.index(name)) % len(DASHES)]

    @cached_property
    def parts(self) -> list[str]:
        """The lines into which `dashes` splits series."""
        return list(dict.fromkeys(name for mark in self.chart.marks if mark.dashes for name in _names(mark.frame[mark.dashes])))

    def colour_of(self, name: str, number: int) -> str:
        """Return the colour of a series: that of a class with its name, or of its number."""
        classes = list(self.chart.classes)
        return class_colours(classes, self.colours)[classes.index(name)] if name in classes else self.colours.line(number)
