"""Words coloured by their Shapley values, with arcs between the pairs that interact most."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, ink_on, palette
from sentviz.figures.figure import Figure, annotate, file_safe, new_plot, number, sentence
from sentviz.figures.look import MONOSPACE
from sentviz.figures.strip import anchored
from sentviz.figures.text import as_text, text_columns, token_label, visible
from sentviz.io.lazy import pd

_CHAR, _LINE = 8.2, 34  # pixels of a character and of a line, as in the strip
_ARC, _LABEL = 46, 16  # pixels: height of an arc over neighbours in a line or row, and of its label
_WORD, _PART = 20, 46  # largest width of a word in a line, and of a part in a row, in columns
_LEAST, _FAINT = 0.1, 1e-6  # least interaction of an arc, as a share of the strongest one and in its unit
_LONG = 30  # letters of a legend that has two lines


def interaction_arcs(
    parts: Sequence[str],
    values: npt.ArrayLike,
    interactions: npt.ArrayLike,
    *,
    about: str = "",
    low_label: str = "opposes the prediction",
    high_label: str = "supports the prediction",
    unit: str = "log-odds",
    arcs: int = 3,
    full: float = 16.0,
    knee: float = 0.5,
    width: int = 760,
    theme: Theme = "light",
) -> Figure:
    """Draw the parts in one line with arcs above; one part per row with arcs at the right if the line is too narrow.

    Args:
        parts: n words or longer parts, in text order.
        values: (n,) value of each part. interactions: (n, n) interaction of each pair, symmetric.
        about: sentence for the caption.
        low_label, high_label: meaning of negative and positive numbers. unit: unit of all numbers.
        arcs: largest number of pairs that are drawn, those with the strongest interactions.
        full, knee: colour scale, as in `token_strip`.
        width: largest width in pixels.
    Frame:
        kind ("value" or "interaction"), first, second ("" for a value), place, second_place (from 0; -1 for a value), number, drawn.
    """
    numbers, pairs = np.asarray(values, dtype=float), np.asarray(interactions, dtype=float)
    n = len(parts)
    if not n or numbers.shape != (n,) or pairs.shape != (n, n) or arcs < 0:
        raise InputError("A picture of interactions needs a value for each part, a number for each pair, and 0 arcs or more.")
    colours = palette(theme)
    ranked = sorted(combinations(range(n), 2), key=lambda pair: -abs(pairs[pair]))
    least = max(_LEAST * abs(pairs[ranked[0]]), _FAINT) if ranked else 0.0
    drawn = [pair for pair in ranked[:arcs] if abs(pairs[pair]) >= least]
    sizes = [max(min(text_columns(visible(part)), _WORD), 6) + 1.2 for part in parts]
    starts = np.concatenate([[0.0], np.cumsum(np.array(sizes) + 0.8)])[:-1]
    across = float(starts[-1] + sizes[-1])
    in_line = across * _CHAR + 24 <= width and max(text_columns(visible(part)) for part in parts) <= _WORD
    fills = blend(colours.signed, (anchored(numbers, full, knee) + 1) / 2)
    hover = [
        f"{token_label(part, i)}<br>{number(value, 4)} {as_text(unit)}" for i, (part, value) in enumerate(zip(parts, numbers, strict=True))
    ]
    labels = [as_text(part, _WORD if in_line else _part_columns(width)) for part in parts]
    written = [("+" if value > 0 else "") + number(value) for value in numbers]
    shape: dict[str, Any] = {"fixedrange": True, "visible": False, "automargin": False}
    if in_line:
        reach = max((_height(j - i) for i, j in drawn), default=0) + (_LABEL + 6 if drawn else 0)
        size = (int(across * _CHAR) + 24, int(reach) + _LINE + 22 + 44 + 44)
        plot = new_plot(theme, "Words and the pairs that interact", (max(size[0], 420), size[1]), (12, 44, 12, 44), showlegend=False)
        plot.update_layout(xaxis=shape | {"range": [0, (max(size[0], 420) - 24) / _CHAR]}, yaxis=shape | {"range": [-22, _LINE + reach]})
        boxes = [(start, start + wide, 0.0, float(_LINE - 6)) for start, wide in zip(starts, sizes, strict=True)]
        centres = [(start + wide / 2, float(_LINE - 6)) for start, wide in zip(starts, sizes, strict=True)]
    else:
        wide = max(min(text_columns(visible(part)), _part_columns(width)) for part in parts) + 1.2
        reach = (max((_height(j - i) for i, j in drawn), default=0) + 60) / _CHAR
        right = wide + 7
        size = (min(width, int((right + reach) * _CHAR) + 24), n * _LINE + 44 + 44)
        plot = new_plot(theme, "Parts and the pairs that interact", size, (12, 44, 12, 44), showlegend=False)
        plot.update_layout(xaxis=shape | {"range": [0, (size[0] - 24) / _CHAR]}, yaxis=shape | {"range": [n * _LINE, 0]})
        boxes = [(0.0, wide, i * _LINE + 3.0, (i + 1) * _LINE - 3.0) for i in range(n)]
        centres = [(right, (i + 0.5) * _LINE) for i in range(n)]
    # A fixed ratio of row to character: on a wider page, the picture keeps its shape and leaves room at the right.
    plot.update_xaxes(constrain="range", constraintoward="left")
    plot.update_yaxes(scaleanchor="x", scaleratio=1 / _CHAR, constrain="range", constraintoward="bottom" if in_line else "top")
    plot.layout.shapes = [
        {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "fillcolor": fill, "line": {"width": 0}, "layer": "below"}
        for (x0, x1, y0, y1), fill in zip(boxes, fills, strict=True)
    ]
    middles = [((x0 + x1) / 2, (y0 + y1) / 2) for x0, x1, y0, y1 in boxes]
    plot.add_scatter(
        x=[x for x, _ in middles],
        y=[y for _, y in middles],
        mode="text",
        text=labels,
        textfont={"family": MONOSPACE, "size": 13, "color": [ink_on(fill) for fill in fills]},
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
    )
    under = [(x, -11.0) for x, _ in middles] if in_line else [(x1 + 3.5, (y0 + y1) / 2) for _, x1, y0, y1 in boxes]
    plot.add_scatter(
        x=[x for x, _ in under],
        y=[y for _, y in under],
        mode="text",
        text=written,
        textfont={"size": 12, "color": colours.ink},
        hoverinfo="skip",
    )
    strongest = max((abs(pairs[pair]) for pair in drawn), default=1.0)
    for i, j in drawn:
        strength, high = pairs[i, j], _height(j - i)
        t = np.linspace(0, np.pi, 33)
        along, off = (1 - np.cos(t)) / 2, np.sin(t) * high
        (x0, y0), (x1, y1) = centres[i], centres[j]
        x, y = (x0 + (x1 - x0) * along, y0 + off) if in_line else (x0 + off / _CHAR, y0 + (y1 - y0) * along)
        colour = colours.plus if strength > 0 else colours.minus
        plot.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": colour, "width": 1.2 + 3.3 * abs(strength) / strongest},
            customdata=[f"“{as_text(parts[i])}” and “{as_text(parts[j])}”<br>{number(strength, 4)} {as_text(unit)} together"] * len(t),
            hovertemplate="%{customdata}<extra></extra>",
        )
    annotate(
        plot,
        [
            {
                "x": (centres[i][0] + centres[j][0]) / 2 if in_line else centres[i][0] + _height(j - i) / _CHAR,
                "y": centres[i][1] + _height(j - i) if in_line else (centres[i][1] + centres[j][1]) / 2,
                "text": ("+" if pairs[i, j] > 0 else "") + number(pairs[i, j]),
                "showarrow": False,
                "bgcolor": colours.paper,
                "borderpad": 1,
                "font": {"size": 12, "color": colours.plus if pairs[i, j] > 0 else colours.minus},
            }
            for i, j in drawn
        ]
        + [_legend(colours.minus, low_label, colours.plus, high_label, colours.muted)],
    )
    listed = [("value", part, "", i, -1, value, True) for i, (part, value) in enumerate(zip(parts, numbers, strict=True))]
    listed += [("interaction", parts[i], parts[j], i, j, float(pairs[i, j]), (i, j) in drawn) for i, j in combinations(range(n), 2)]
    frame = pd.DataFrame(listed, columns=["kind", "first", "second", "place", "second_place", "number", "drawn"])
    caption = sentence(
        [
            about,
            f"Boxes: Shapley values in {unit}; green {high_label}, purple {low_label}.",
            f"Arcs: {'the pair' if len(drawn) == 1 else f'the {len(drawn)} pairs'} with the strongest Shapley interaction index, the effect"
            " that a pair has beyond the effects of both parts."
            if drawn
            else "",
        ]
    )
    labels_and_arcs: dict[str, Any] = {"about": about, "low_label": low_label, "high_label": high_label, "unit": unit, "arcs": arcs}
    again = partial(interaction_arcs, parts, values, interactions, **labels_and_arcs, full=full, knee=knee, theme=theme)
    return Figure(file_safe("exact"), plot, frame, caption, at_width=again)


def _height(distance: int) -> float:
    """Return the height of an arc over parts at a distance, in pixels."""
    return _ARC * (0.5 + 0.5 * min(distance, 6))


def _part_columns(width: int) -> int:
    """Return the largest width of a part in a row, in columns; the rest is for its value and the arcs."""
    return max(10, min(_PART, int((width - 24) / _CHAR * 0.5)))


def _legend(low: str, low_label: str, high: str, high_label: str, ink: str) -> dict[str, Any]:
    swatch = '<span style="color:{}">■</span> {}'
    gap = "<br>" if max(len(low_label), len(high_label)) > _LONG else "&nbsp;" * 5
    text = gap.join([swatch.format(low, as_text(low_label, 60)), swatch.format(high, as_text(high_label, 60))])
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "xanchor": "left", "yanchor": "top", "yshift": -4}
    return {"text": text, "align": "left", "showarrow": False, "font": {"size": 12, "color": ink}, **place}
