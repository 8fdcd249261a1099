"""What every figure is, and how it looks: one look for light and one for dark pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

__all__ = ["MONOSPACE", "SYMBOLS", "Figure", "Palette", "Theme", "base_layout", "blend", "file_safe", "ink_on", "palette"]

Theme = Literal["light", "dark"]

MONOSPACE = "DejaVu Sans Mono, Menlo, Consolas, monospace"
_SANS = "Source Sans, Source Sans Pro, Helvetica Neue, Arial, Liberation Sans, sans-serif"
_MINUS = "−"


@dataclass(frozen=True, eq=False)
class Figure:
    """A picture with its numbers and its words.

    ``name`` is a safe file name without suffix; ``frame`` holds every number drawn, one observation a row, with the
    user's strings as they are and indices counted from 0; ``caption`` is plain text, to be shown below as no markup.
    ``at_width`` draws the same figure for ``width=`` pixels, where its lines or columns of words have to be laid out anew.
    """

    name: str
    plot: go.Figure
    frame: pd.DataFrame
    caption: str
    source: str = ""  # run, seed, n, digest; exports end with it, pages show it once
    at_width: Callable[..., Figure] | None = None

    def __post_init__(self) -> None:
        if self.name != file_safe(self.name):
            raise ValueError(f"{self.name!r} is no safe file name; build it with file_safe")


@dataclass(frozen=True)
class Palette:
    """The colours of one theme. Blue and orange, and the line colours, stay apart for colour-blind eyes."""

    paper: str
    ink: str
    muted: str
    grid: str
    neutral: str  # a cell that says nothing
    sequential: tuple[str, ...]  # 0 to the largest value
    diverging: tuple[str, ...]  # negative orange, 0 neutral, positive blue
    lines: tuple[str, ...]  # 3:1 or better against paper


SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")  # one per series, beside its colour

_LIGHT = Palette(
    paper="#ffffff",
    ink="#31333f",
    muted="#6b7080",
    grid="#e6e9ef",
    neutral="#eef1f6",
    sequential=("#f1f4f9", "#c9dcef", "#8fbbdd", "#4a90c4", "#1b62a5", "#08306b"),
    diverging=("#7f3b08", "#c75f10", "#f2a661", "#f1f4f9", "#82b6dc", "#2673b2", "#08306b"),
    lines=("#0072b2", "#d55e00", "#00805c", "#a6508a", "#8a6a00", "#5b5f97", "#4b4b4b"),
)
_DARK = Palette(
    paper="#0e1117",
    ink="#fafafa",
    muted="#a3a8b8",
    grid="#2b303b",
    neutral="#222834",
    sequential=("#1b202b", "#173a63", "#1f66a8", "#3d9be0", "#93cff5", "#eef8ff"),
    diverging=("#ffd2ab", "#ee8a3c", "#7d4417", "#1b202b", "#1b4f86", "#3d9be0", "#d6eeff"),
    lines=("#56b4e9", "#ff9d5c", "#2fc79a", "#e39ac7", "#f0c94a", "#a5a9f0", "#bfc5ce"),
)


def palette(theme: Theme) -> Palette:
    """The colours of ``"light"`` or ``"dark"``; ValueError for any other name."""
    if theme == "light":
        return _LIGHT
    if theme == "dark":
        return _DARK
    raise ValueError(f"theme must be 'light' or 'dark', not {theme!r}")


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
        "tickfont": {"size": 12, "color": colours.ink},
        "title": {"font": {"size": 12, "color": colours.muted}, "standoff": 6},
    }
    template = {
        "layout": {
            "paper_bgcolor": colours.paper,
            "plot_bgcolor": colours.paper,
            "font": {"family": _SANS, "size": 13, "color": colours.ink},
            "colorway": colours.lines,
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {"bgcolor": colours.neutral, "bordercolor": colours.grid, "font": {"color": colours.ink}},
            "legend": {"bgcolor": "rgba(0,0,0,0)", "font": {"size": 12}},
            "annotationdefaults": {"showarrow": False},
        }
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


def blend(stops: Sequence[str], at: npt.ArrayLike) -> list[str]:
    """Colours ``#rrggbb`` of a scale with evenly spaced ``stops``, at positions (n,) in 0..1."""
    channels = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops], dtype=float)
    where = np.clip(np.asarray(at, dtype=float), 0, 1) * (len(stops) - 1)
    mixed = np.stack([np.interp(where, np.arange(len(stops)), channels[:, i]) for i in range(3)], axis=-1)
    return ["#" + "".join(f"{round(value):02x}" for value in rgb) for rgb in mixed]


def ink_on(background: str) -> str:
    """Black or white, whichever reads better on ``#rrggbb`` (WCAG contrast)."""
    parts = [int(background[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if luminance > 0.179 else "#ffffff"


def interval_bars(values: npt.NDArray[np.float64], colour: str) -> dict[str, Any]:
    """Plotly's error bars for rows of (value, low, high), (n, 3)."""
    above, below = values[:, 2] - values[:, 0], values[:, 0] - values[:, 1]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "color": colour, "thickness": 1.6, "width": 0}


def halo(paper: str) -> dict[str, str]:
    """For the font of letters that stand on points: a rim in the colour of the paper."""
    return {"shadow": ", ".join([f"0 0 3px {paper}"] * 3)}


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
