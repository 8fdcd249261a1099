"""What every figure is, and how it looks: one look for light and one for dark pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from sentviz.figures.colours import Theme, palette
from sentviz.figures.source import Call, Source
from sentviz.io.late import late

MONOSPACE = "DejaVu Sans Mono, Menlo, Consolas, monospace"
_SANS = "Source Sans, Source Sans Pro, Helvetica Neue, Arial, Liberation Sans, sans-serif"
_MINUS = "−"


@dataclass(frozen=True, eq=False)
class Figure:
    """A picture with its numbers and its words.

    ``name`` is a safe file name without suffix; ``frame`` holds every number drawn, one observation a row, with the
    user's strings as they are and indices counted from 0; ``caption`` is plain text, to be shown below as no markup.
    ``at_width`` draws the same figure for ``width=`` pixels, where its lines or columns of words have to be laid out anew. ``printed`` is
    what a paper prints of the frame, where that is not its rows. ``from_zero`` names columns of places whose 0 is one of its own, as the
    embedding before the first layer: files count the others from 1.
    """

    name: str
    plot: go.Figure
    frame: pd.DataFrame
    caption: str
    source: str = ""  # run, seed, n, digest; exports end with it, pages show it once
    at_width: Callable[..., Figure] | None = None
    runs: tuple[Source, ...] = ()  # what the source says, one by one
    call: Call | None = None  # how it is drawn again, by its name
    view: str = ""  # the page that showed it, as a link without host
    printed: pd.DataFrame | None = None
    from_zero: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.name != file_safe(self.name):
            raise ValueError(f"{self.name!r} is no safe file name; build it with file_safe")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """How a notebook shows it."""
        bundle: dict[str, Any] = late("figure in a notebook")(self)
        return bundle


SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")  # one per series, beside its colour


def base_layout(
    theme: Theme, *, width: int, height: int, margin: tuple[int, int, int, int], title: str = "", **more: Any
) -> dict[str, Any]:
    """The layout every figure starts from, for Plotly to check once, when it takes it over.

    Args:
        theme: the page it stands on; exports are drawn in ``"light"``.
        width, height: natural size in pixels; pages may stretch the width.
        margin: left, top, right, bottom in pixels. They hold all labels: exports put the caption right below.
        title: a Plotly label (escape the user's strings with ``as_text``).
        more: anything else of ``go.Layout``; ``title_pad_t`` and its like change what is set here.
    """
    colours = palette(theme)
    axis = {
        "color": colours.muted,
        "gridcolor": colours.grid,
        "linecolor": colours.grid,
        "zeroline": False,
        "ticks": "",  # Plotly's own are marks below a heatmap and none below bars, which vectors draw instead
        "tickfont": {"size": 12, "color": colours.ink},
        "title": {"font": {"size": 12, "color": colours.muted}, "standoff": 6},
    }
    template = {
        "layout": {
            "paper_bgcolor": colours.paper,
            "plot_bgcolor": colours.paper,
            "font": {"family": _SANS, "size": 13, "color": colours.ink},
            "colorway": colours.lines,
            "xaxis": axis | {"ticklabelstandoff": 3},  # off the lowest number of the other axis
            "yaxis": axis,
            "hoverlabel": {"bgcolor": colours.neutral, "bordercolor": colours.grid, "font": {"color": colours.ink}},
            "legend": {"bgcolor": "rgba(0,0,0,0)", "font": {"size": 12}},
            "annotationdefaults": {"showarrow": False},
        },
        "data": {"scatter": [{"cliponaxis": False}]},  # a point at the end of an axis is a whole one; one beyond it is hidden
    }
    left, top, right, bottom = margin
    heading = {"text": title, "x": 0, "xref": "container", "y": 1, "yref": "container", "yanchor": "top"}
    base: dict[str, Any] = {
        "template": template,
        "title": heading | {"pad": {"l": 12, "t": 12}, "font": {"size": 15}},
        "width": width,
        "height": height,
        "margin": {"l": left, "t": top, "r": right, "b": bottom, "autoexpand": True},
        "separators": ".",
    }
    for name, value in more.items():
        *path, last = name.split("_") if name.partition("_")[0] in base else [name]
        part = base
        for step in path:
            part = part[step]
        part[last] = value
    return base


def interval_bars(values: npt.NDArray[np.float64], colour: str) -> dict[str, Any]:
    """Plotly's error bars for rows of (value, low, high), (n, 3)."""
    above, below = values[:, 2] - values[:, 0], values[:, 0] - values[:, 1]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "color": colour, "thickness": 1.6, "width": 0}


def annotate(plot: go.Figure, notes: Iterable[dict[str, Any]]) -> None:
    """Add annotations all at once: Plotly checks those that are there again with each that is added by itself."""
    plot.layout.annotations = [*plot.layout.annotations, *notes]


def is_panel_title(annotation: go.layout.Annotation) -> bool:
    """Whether an annotation is the title of a panel, for `update_annotations`."""
    return bool(annotation.yref == "paper")


def number(value: float, digits: int = 2) -> str:
    """A number for a label, with a true minus sign."""
    text = f"{value:.{digits}f}"
    return _MINUS + text[1:] if text.startswith("-") and float(text) else text.lstrip("-")


def file_safe(*parts: object) -> str:
    """One file name out of words: lower-case ASCII letters, digits and ``._-``; never empty, 100 at most."""
    name = re.sub(r"[^a-z0-9._-]+", "-", "-".join(map(str, parts)).lower())
    return name.strip("-._")[:100].strip("-._") or "figure"


def sentence(parts: Iterable[str]) -> str:
    """The non-empty parts, joined to one caption."""
    return " ".join(part for part in parts if part)
