"""Names, numbers and colour scales for figures of attention maps."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.charts.colours import Palette, colour_scale
from sentviz.charts.look import Look
from sentviz.charts.text import broken, subscript
from sentviz.io.lazy import pd
from sentviz.io.numbers import number

Floats = npt.NDArray[np.floating[Any]]
Indices = npt.NDArray[np.int64]

TITLE_PAD = 22  # Plotly lifts a title by 10 px over a horizontal colour bar


def digits(most: float) -> int:
    """Return the number of decimals for a map whose largest entry is `most`: two, or more to show its first digit."""
    return max(2, -floor(log10(most))) if most > 0 else 2


def component_name(component: int | str) -> str:
    """Return the name of a component: A₁ for 0; "effective" is unchanged."""
    return component if isinstance(component, str) else f"A{subscript(component + 1)}"


def map_name(component: int | str) -> str:
    """Return the name of a map in a sentence: "effective attention" or A₁."""
    return "effective attention" if component == "effective" else component_name(component)


def map_title(component: int | str, layer: int | None = None, head: int | str = "") -> str:
    """Return the name of a map in a title, of one layer and head, counted from 0, or of all heads without a layer."""
    name = map_name(component)
    name = name[0].upper() + name[1:]
    return f"{name} · all heads" if layer is None else f"{name} · layer {layer + 1} · {head_name(head)}"


def title_lines(title: str, look: Look) -> tuple[str, int]:
    """Return a title, a Plotly label, in lines that fit the width of a look, and the pixels that further lines need."""
    title = broken(title, 1.1 * (look.room - 24), 15) if look.room and look.style.title else title
    return title, 20 * title.count("<br>")


def head_name(head: int | str) -> str:
    """Return the name of a head, counted from 0, or of a mean: "head 1", "mean of heads"."""
    return f"{head} of heads" if isinstance(head, str) else f"head {head + 1}"


def head_slug(head: int | str) -> str:
    """Return the head's part of a file name: ``mean`` or ``head3``."""
    return head if isinstance(head, str) else f"head{head + 1}"


def component_slug(component: int | str) -> str:
    """Return the component's part of a file name: ``effective`` or ``a1``."""
    return component if isinstance(component, str) else f"a{component + 1}"


def cells_frame(tokens: Sequence[str], queries: npt.ArrayLike, keys: npt.ArrayLike, values: Floats, **columns: object) -> pd.DataFrame:
    """Return a map as a table with a row for each cell.

    Args:
        queries, keys: indices of the tokens of rows and columns. values: (queries, keys).
        columns: first columns, with one value for all rows.
    Frame:
        those of `columns`, query, query_token, key, key_token, attention.
    """
    words = np.array(tokens, dtype=object)
    query, key = np.repeat(queries, values.shape[1]), np.tile(keys, values.shape[0])
    cells = {"query": query, "query_token": words[query], "key": key, "key_token": words[key], "attention": values.ravel()}
    return pd.DataFrame(columns | cells)


def ends_of(values: Floats) -> tuple[tuple[float, float], list[str]]:
    """Return the ends of a map's colour scale, and the numbers at it: from 0, or symmetric about 0 if any entry is negative."""
    finite = values[np.isfinite(values)]
    low, high = min(float(finite.min()), 0.0), max(float(finite.max()), 0.0)
    if low < 0:
        high = max(-low, high)
        low = -high
    high = high or 1.0
    return (low, high), [number(value, digits(high)) for value in ([low, 0, high] if low < 0 else [low, high])]


def coloraxis(values: Floats, colours: Palette, above: float) -> dict[str, Any]:
    """Return the colour axis of a map. `above` is the distance of the colour bar from the axes, in heights of the axes."""
    (low, high), ticks = ends_of(values)
    scale = colour_scale(colours.signed if low < 0 else colours.sequential)
    return {"cmin": low, "cmax": high, "colorscale": scale, "colorbar": colour_bar((low, high), ticks, colours) | {"y": 1 + above}}


def colour_bar(span: tuple[float, float], ticks: Sequence[str], colours: Palette) -> dict[str, Any]:
    """Return a flat colour bar that begins at the left end of the axes, with labels at evenly spaced places of its span."""
    return {
        "orientation": "h",
        "len": 170,
        "lenmode": "pixels",
        "thickness": 8,
        "x": 0,
        "xanchor": "left",
        "xpad": 0,
        "yanchor": "bottom",
        "ypad": 0,
        "outlinewidth": 0,
        "tickvals": np.linspace(*span, max(len(ticks), 1)).tolist(),
        "ticktext": list(ticks),
        "tickfont": {"size": 11, "color": colours.muted},
        "ticklabelposition": "outside",
    }
