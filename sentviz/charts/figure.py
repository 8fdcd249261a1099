"""The type of every figure, and the layout that all figures start from, for light and for dark pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sentviz.charts.chart import Picture
from sentviz.charts.look import FONTS, LOOKS, Look
from sentviz.charts.source import Call, Source
from sentviz.charts.text import broken
from sentviz.errors import InputError
from sentviz.io.lazy import go, late, pd

_SANS = "Source Sans, Source Sans Pro, Helvetica Neue, Arial, Liberation Sans, sans-serif"


@dataclass(frozen=True, eq=False)
class Figure:
    """A picture with its numbers and its caption.

    ``picture`` draws itself in any `Look`; ``plot`` is the picture in the figure's own look. ``name`` is a safe file name without suffix.
    ``frame`` has every drawn number, one observation per row, with unchanged strings of users and indices counted from 0. ``caption`` is
    plain text. ``printed`` is a shorter table for print. ``from_zero`` names columns in which 0 has a meaning, for example the embedding
    before the first layer; in files, all other indices count from 1.
    """

    name: str
    picture: Picture
    frame: pd.DataFrame
    caption: str
    source: str = ""  # run, seed, n and digest in one sentence, the end of an exported caption
    runs: tuple[Source, ...] = ()  # the runs of `source`
    call: Call | None = None  # the call that draws the figure again
    view: str = ""  # link to the page that showed the figure, without host
    printed: pd.DataFrame | None = None
    from_zero: tuple[str, ...] = ()
    look: Look = LOOKS["light"]

    @cached_property
    def plot(self) -> go.Figure:
        """The picture, drawn by Plotly."""
        return self.picture.draw(self.look)

    def __post_init__(self) -> None:
        if self.name != file_safe(self.name):
            raise InputError(f"The figure's name {self.name!r} is not a safe file name. Name it for example {file_safe(self.name)!r}.")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """Return the figure in the forms that a notebook can show."""
        bundle: dict[str, Any] = late("figure in a notebook")(self)
        return bundle


SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")  # one per series, in addition to its colour
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")  # one per run, class or curve


def base_layout(look: Look, *, width: int, height: int, margin: tuple[int, int, int, int], title: str = "", **more: Any) -> dict[str, Any]:
    """Return the layout that every figure starts from; Plotly checks it once, when the figure is built.

    Args:
        width, height: natural size in pixels; pages may stretch the width.
        margin: left, top, right, bottom in pixels. All labels must fit in them, because exports add the caption directly below.
        title: a Plotly label (escape the user's strings with ``as_text``). One that is too long for the width gets lines, for which the
            upper margin and the height grow.
        more: further settings of ``go.Layout``; names such as ``title_pad_t`` change single settings of this layout.
    """
    colours = look.colours
    axis = {
        "color": colours.muted,
        "gridcolor": colours.grid,
        "linecolor": colours.grid,
        "zeroline": False,
        "ticks": "",  # Plotly's default draws marks below heatmaps but not below bars
        "tickfont": {"size": 12, "color": colours.ink},
        "title": {"font": {"size": 12, "color": colours.muted}, "standoff": 6},
    }
    template = {
        "layout": {
            "paper_bgcolor": colours.paper,
            "plot_bgcolor": colours.paper,
            "font": {"family": FONTS[look.style.font] or _SANS, "size": 13, "color": colours.ink},
            "colorway": colours.lines,
            "xaxis": axis | {"ticklabelstandoff": 3},  # keeps the labels away from the lowest number of the other axis
            "yaxis": axis,
            "hoverlabel": {"bgcolor": colours.neutral, "bordercolor": colours.grid, "font": {"color": colours.ink}},
            "legend": {"bgcolor": "rgba(0,0,0,0)", "font": {"size": 12}},
            "annotationdefaults": {"showarrow": False},
        },
        "data": {"scatter": [{"cliponaxis": False}]},  # points at the end of an axis are drawn completely
    }
    left, top, right, bottom = margin
    if title and not look.style.title:
        title, top = "", max(top - 30, 12)
    if "<br>" not in title and (label := broken(title, 1.1 * (width - 24), 15)) != title:
        title, lines = label, label.count("<br>")
        top, height = top + 20 * lines + 10, height + 20 * lines + 10
    heading = {"text": title, "x": 0, "xref": "container", "y": 1, "yref": "container", "yanchor": "top"}
    base: dict[str, Any] = {
        "template": template,
        # Plotly draws a title of several lines too high.
        "title": heading | {"pad": {"l": 12, "t": 22 if "<br>" in title else 12}, "font": {"size": 15}},
        "width": width,
        "height": height,
        "margin": {"l": left, "t": top, "r": right, "b": bottom, "autoexpand": True},
        "separators": ".,",
    }
    for name, value in more.items():
        *path, last = name.split("_") if name.partition("_")[0] in base else [name]
        part = base
        for step in path:
            part = part[step]
        part[last] = value
    return base


def new_plot(look: Look, title: str, size: tuple[int, int], margin: tuple[int, int, int, int], *traces: Any, **more: Any) -> go.Figure:
    """Return a plot with the layout of `base_layout`; `size` is width and height in pixels."""
    layout = base_layout(look, title=title, width=size[0], height=size[1], margin=margin, **more)
    return go.Figure(list(traces), layout=layout, _validate=False)


def lay_out(plot: go.Figure, look: Look, title: str, size: tuple[int, int], margin: tuple[int, int, int, int], **more: Any) -> None:
    """Give a plot, for example a grid of panels, the layout of `base_layout`; `size` is width and height in pixels."""
    plot.update_layout(base_layout(look, title=title, width=size[0], height=size[1], margin=margin, **more))


def annotate(plot: go.Figure, notes: Iterable[dict[str, Any]]) -> None:
    """Add all annotations at once. Plotly would check all earlier annotations again with each one that is added alone."""
    plot.layout.annotations = [*plot.layout.annotations, *notes]


def file_safe(*parts: object) -> str:
    """Return a file name made of words: lower-case ASCII letters, digits and ``._-``, 1 to 100 characters."""
    name = re.sub(r"[^a-z0-9._-]+", "-", "-".join(map(str, parts)).lower())
    return name.strip("-._")[:100].strip("-._") or "figure"


def sentence(parts: Iterable[str]) -> str:
    """Join the non-empty parts to one caption."""
    return " ".join(part for part in parts if part)
