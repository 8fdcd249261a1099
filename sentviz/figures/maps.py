"""What the views of attention maps share."""

from __future__ import annotations

from math import floor, log10
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.figures.colours import Palette
from sentviz.figures.figure import number

Floats = npt.NDArray[np.floating[Any]]
Indices = npt.NDArray[np.int64]

TITLE_PAD = 22  # Plotly lifts a title by 10 px over a horizontal colour bar
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def digits(most: float) -> int:
    """Decimals of a map's numbers whose largest is `most`: two, or as many as its first figure needs."""
    return max(2, -floor(log10(most))) if most > 0 else 2


def component_name(component: int | str) -> str:
    """``"effective"`` stays; component 0 is A₁."""
    return component if isinstance(component, str) else f"A{component + 1}".translate(_SUBSCRIPTS)


def head_slug(head: int | str) -> str:
    """Part of a file name: ``mean`` or ``head3``."""
    return head if isinstance(head, str) else f"head{head + 1}"


def component_slug(component: int | str) -> str:
    """Part of a file name: ``effective`` or ``a1``."""
    return component if isinstance(component, str) else f"a{component + 1}"


def coloraxis(values: Floats, colours: Palette, above: float) -> dict[str, Any]:
    """Colours of a map: from 0, or centred at 0 when any entry is negative; its bar stands so far above the plot."""
    finite = values[np.isfinite(values)]
    low, high = min(float(finite.min()), 0.0), max(float(finite.max()), 0.0)
    if low < 0:
        high = max(-low, high)
        low = -high
    high = high or 1.0
    stops = colours.signed if low < 0 else colours.sequential
    return {
        "cmin": low,
        "cmax": high,
        "colorscale": [[i / (len(stops) - 1), stop] for i, stop in enumerate(stops)],
        "colorbar": {
            "orientation": "h",
            "len": 170,
            "lenmode": "pixels",
            "thickness": 8,
            "x": 0,
            "xanchor": "left",
            "xpad": 0,
            "y": 1 + above,
            "yanchor": "bottom",
            "ypad": 0,
            "outlinewidth": 0,
            "tickvals": [low, 0, high] if low < 0 else [low, high],
            "ticktext": [number(value, digits(high)) for value in ([low, 0, high] if low < 0 else [low, high])],
            "tickfont": {"size": 11, "color": colours.muted},
            "ticklabelposition": "outside",
        },
    }
