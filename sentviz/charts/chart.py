"""A picture as data: marks over tables, two axes, panels and rules. Colours, letters and pixels belong to the look it is drawn in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sentviz.charts.look import PLAIN, Look
from sentviz.errors import InputError
from sentviz.io.lazy import go, late, pd

Kind = Literal["points", "line", "bars", "cells"]
Role = str | int  # the name of a colour of `Palette`, or the number of a series


class Picture(Protocol):
    """A picture can be drawn in any look."""

    def draw(self, look: Look) -> go.Figure:
        """Return the plot."""
        ...


@dataclass(frozen=True, eq=False)
class Mark:
    """One mark for each row of a table, or one line for each series of it.

    Attributes:
        frame: the table. x, y: columns of the positions; on an axis of rows or columns the column has the keys of `Axis.rows`.
        low, high: columns of an interval of the value: bars at points and bars, a band at lines; "" for none.
        whiskers: lines have bars at their points in place of a band.
        by: column with the series of each row, which have a colour, a symbol and an entry of the legend each; "" for one kind of marks.
        role: colour of marks without series. dash: of lines without series.
        symbol: name of a symbol; "auto" for that of the series, "" for none. Points without symbols are intervals as wide as a symbol.
        size: of the symbols, relative to the usual one.
        name: entry of the legend for all marks together, in the colour `role`; "" for that of each series, or for none.
        hover, text: what the pointer shows, and what is written at each mark: words with columns in braces, as "{run}: {value:.1%}".
        click: columns that a page gets when a mark is clicked; anywhere in a cell.
        chosen: x and y of the cells with an outline. ticks: labels at evenly spaced places of the scale, which is drawn; () for no scale.
        level: cells and bars have the colour of this column, on the scale `scale` from `span[0]` to `span[1]`.
        shift: where the marks of a row are drawn, in rows below its middle; series are spread by themselves.
        apart: distance between the series along a horizontal axis of numbers, so that their intervals stay visible.
        dashes: column that splits a series into lines with a dash each, which the legend names; for example a run.
        stepped: a line goes across and then up, as the curve of a threshold does. wide: column with the widths of vertical bars.
        tint, lift: columns with the colour (a role) and the further shift of each row.
        plain: series are spread beside each other, but have the one colour `role`. text_at: column with the place of each text, as Plotly
            has it, for example "middle left".
        faint: drawn in the background.
    """

    kind: Kind
    frame: pd.DataFrame
    x: str
    y: str
    low: str = ""
    high: str = ""
    by: str = ""
    role: Role = 0
    symbol: str = "auto"
    dash: str = "solid"
    size: float = 1.0
    name: str = ""
    hover: str = ""
    text: str = ""
    click: Sequence[str] = ()
    level: str = ""
    scale: Literal["sequential", "signed", "judged", "classes"] = "sequential"
    span: tuple[float, float] = (0.0, 1.0)
    shift: float = 0.0
    apart: float = 0.0
    whiskers: bool = False
    dashes: str = ""
    stepped: bool = False
    wide: str = ""
    plain: bool = False
    text_at: str = ""
    tint: str = ""
    lift: str = ""
    faint: bool = False
    chosen: Sequence[tuple[Any, Any]] = ()
    ticks: Sequence[str] = ()


def points(frame: pd.DataFrame, x: str, y: str, **more: Any) -> Mark:
    """Return a symbol for each row; `more` are fields of `Mark`."""
    return Mark("points", frame, x, y, **more)


def line(frame: pd.DataFrame, x: str, y: str, **more: Any) -> Mark:
    """Return a line through the rows in their order, one for each series; `symbol` "" is a line without symbols."""
    return Mark("line", frame, x, y, **more)


def bars(frame: pd.DataFrame, x: str, y: str, **more: Any) -> Mark:
    """Return a bar from 0 for each row."""
    return Mark("bars", frame, x, y, **more)


def cells(frame: pd.DataFrame, x: str, y: str, level: str, **more: Any) -> Mark:
    """Return a coloured cell for each row whose level is a number."""
    return Mark("cells", frame, x, y, level=level, **more)


def numbered(names: Iterable[str], numbers: Sequence[int]) -> dict[str, int]:
    """Return the number of each series for `Chart.series`, in the order of their names; without numbers they are numbered as they come."""
    names = list(names)
    if numbers and (len(numbers) != len(names) or min(numbers) < 0):
        raise InputError(f"`series` needs one number for each of {len(names)} runs, not {len(numbers)}.")
    return dict(zip(names, numbers or range(len(names)), strict=True))


@dataclass(frozen=True)
class Axis:
    """An axis of numbers, or of named rows or columns.

    Attributes:
        title: its name with the unit. form: format of its numbers as Plotly has it, for example ".0%".
        rows: key -> label (plain text, a line break is written as a newline) of each row from top to bottom, or column from left to right.
        notes: text at the right of each row. groups: name -> keys of neighbouring rows, named at the right and divided by lines.
        striped: every second row has a shade, so that the eye keeps to it. chosen: key of the row with an outline.
        span: smallest and largest number; None for those of the marks. zero: the axis begins at 0. log: it is logarithmic.
        ticks: number -> label, in place of the usual ones. step: distance of the ticks.
        bare: without names and numbers, for coordinates without a unit and for columns that the pointer names.
        worth: key -> number; where the width has no room for all columns of a table, those of the largest numbers are drawn.
    """

    title: str = ""
    form: str = ""
    rows: Mapping[Any, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    groups: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    striped: bool = False
    chosen: Any = None
    span: tuple[float, float] | None = None
    zero: bool = False
    log: bool = False
    ticks: Mapping[float, str] = field(default_factory=dict)
    step: float = 0.0
    bare: bool = False
    worth: Mapping[Any, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """A value to compare with: a dotted line at `x` or at `y`, with a note at its end, and the area between `low` and `high`.

    Without `x` and `y` there is only the area, along the horizontal axis. `rows` are the keys of the first and the last row that the line
    crosses; by default it crosses the whole panel. `panel`: the only panel that has it. `role`: its colour.
    """

    x: float | None = None
    y: float | None = None
    note: str = ""
    low: float | None = None
    high: float | None = None
    solid: bool = False
    rows: tuple[Any, Any] | None = None
    panel: Any = None
    role: Role = "muted"


@dataclass(frozen=True)
class Panels:
    """Several panels: `by` is the column that says in which panel a row is drawn, `titles` has the panels in their order.

    Marks over tables without this column are drawn in all panels. `across`: panels side by side, where the width allows it. `alike`: all
    panels show the same span of numbers; a mapping has the group of each panel, whose panels do. `notes`: lines of text in a corner of a
    panel, each with its colour: at the lower right, or at the lower left. `small`: panels are read together and may be narrow.
    """

    by: str
    titles: Mapping[Any, str]
    across: int = 3
    alike: bool | Mapping[Any, str] = False
    notes: Mapping[Any, Sequence[tuple[str, Role]]] = field(default_factory=dict)
    corner: Literal["right", "left"] = "right"
    small: bool = False


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture that a function draws, where marks and axes do not suffice.

    Attributes:
        function: of a module, so that the picture can be stored; it takes the look and `data`. Its plot has the width `Look.room`, if
            that is not 0. Legend, ranges of axes and what greys need are put into the plot afterwards.
        data: arguments of the function.
    """

    function: Callable[..., go.Figure]
    data: Mapping[str, Any]

    def draw(self, look: Look) -> go.Figure:
        """Return the plot."""
        plot = self.function(look, **self.data)
        return plot if look.style == PLAIN else late("style of a drawing")(plot, look)


@dataclass(frozen=True, eq=False)
class Chart:
    """A picture of marks. `chart_plot.draw` decides all pixels.

    Attributes:
        title: plain text. marks: drawn in this order.
        series: number of the colour and symbol of each series, counted from 0; by default they are numbered as they come.
        classes: names of all classes of a model; series with these names have the colours of their sentiment.
        dashed: series whose lines are dashed; None for a dash of its own for each series.
        ends: series are named at the ends of their lines, with this text (words with columns in braces), and not in a legend.
        height: height of the area inside the axes, or of a table's cells, relative to the usual one, for pictures that need more.
        square: panels are as high as wide, and of axes of numbers both have one scale.
    """

    title: str
    marks: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    rules: Sequence[Rule] = ()
    panels: Panels | None = None
    series: Mapping[str, int] = field(default_factory=dict)
    classes: Sequence[str] = ()
    dashed: Sequence[str] | None = ()
    ends: str = ""
    height: float = 1.0
    square: bool = False

    def draw(self, look: Look) -> go.Figure:
        """Return the plot."""
        plot: go.Figure = late("plot of a chart")(self, look)
        return plot
