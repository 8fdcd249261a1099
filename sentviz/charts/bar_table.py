"""A table whose numbers are drawn as bars, each with its value as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sentviz.charts.figure import new_plot
from sentviz.charts.look import PATTERNS, Look
from sentviz.charts.maps import Floats
from sentviz.charts.panels import row_axis
from sentviz.charts.text import as_text, broken, label_width, text_columns
from sentviz.io.lazy import go

_ROW, _TOP = 24, 66  # pixels
_GAP = 0.03  # space between two columns, as a share of the width


@dataclass(frozen=True)
class Column:
    """A number for each row of the table."""

    heading: str  # a Plotly label
    values: Floats  # (rows,)
    texts: Sequence[str]  # text next to each bar
    roles: Sequence[str]  # colours, as `Look.colour` names them
    least: float = 0.0  # smallest value of a bar of full length


def bar_table(look: Look, names: Sequence[str], columns: Sequence[Column], title: str, left: int, faint: bool = False) -> go.Figure:
    """Draw named rows from top to bottom with a column of bars for each number; each column has an axis that contains 0.

    Args:
        names: Plotly labels (escape the user's strings with ``as_text``).
        title: a Plotly label.
        left: pixels for the names.
        faint: draw the last row in pale colours, because it combines the remaining rows.
    """
    width = look.room or 640
    part = 1 / len(columns) - _GAP
    room = part * (width - left - 24)
    headings = [broken(column.heading, room, 12) for column in columns]
    title = broken(title, 1.1 * (width - 24), 15)
    top = _TOP + 16 * max(heading.count("<br>") for heading in headings) + 20 * title.count("<br>")
    plot = new_plot(
        look,
        title,
        (width, top + _ROW * len(names) + 14),
        (left, top, 24, 14),
        showlegend=False,
        barmode="overlay",
        yaxis=row_axis(names, automargin=True, ticklabelstandoff=6),
    )
    for i, (column, heading) in enumerate(zip(columns, headings, strict=True)):
        start = i * (part + _GAP)
        _column(plot, i, column, heading, (start, start + part), room, faint, look)
    return plot


def row_names(tokens: Sequence[str], places: Sequence[int], marked: int, further: int = 0) -> tuple[list[str], int]:
    """Return the labels of rows that are tokens, and the pixels that the labels need. The marked token is bold; repeated tokens show their
    position.

    Args:
        tokens, places: tokens to draw, and their positions in the text, counted from 0. marked: position of the marked token.
        further: number of further tokens, which a last row combines; 0 for no such row.
    """
    again = {token for token in tokens if tokens.count(token) > 1}
    names = [as_text(token, 18) + (f" ({place + 1})" if token in again else "") for token, place in zip(tokens, places, strict=True)]
    names = [f"<b>{name}</b>" if place == marked else name for name, place in zip(names, places, strict=True)]
    if further:
        names.append(f"{further:,} other keys" if further > 1 else "1 other key")
    longest = max(*(min(text_columns(token), 18) for token in tokens), 14 if further else 1)
    return names, 24 + int(7.4 * longest) + 28 * bool(again)


def _column(
    plot: go.Figure, i: int, column: Column, heading: str, domain: tuple[float, float], room: float, faint: bool, look: Look
) -> None:
    letter, values = "" if i == 0 else str(i + 1), column.values
    low, high = min(float(values.min()), 0.0), max(float(values.max()), column.least)
    opacity = [1.0] * len(values)
    if faint:
        opacity[-1] = 0.45
    place, muted = list(range(len(values))), look.colours.muted
    marker: dict[str, Any] = {"color": [look.colour(role) for role in column.roles], "opacity": opacity, "line": {"width": 0}}
    if look.is_grey:
        against = [PATTERNS[role in ("minus", "negative")] for role in column.roles]
        marker["pattern"] = {"shape": against, "size": 6, "solidity": 0.2, "fillmode": "overlay"}
    plot.add_bar(
        orientation="h",
        x=values,
        y=place,
        width=0.56,
        xaxis=f"x{letter}",
        marker=marker,
        hoverinfo="skip",
    )
    plot.add_scatter(
        x=np.maximum(values, 0),
        y=place,
        xaxis=f"x{letter}",
        mode="text",
        text=[f" {text}" for text in column.texts],
        textposition="middle right",
        textfont={"size": 11.5, "color": muted},
        hoverinfo="skip",
        cliponaxis=False,
    )
    ends = np.maximum(values, 0) - low
    words = np.array([label_width(f" {text}", 11.5) for text in column.texts])
    scale = float(np.min((room - words)[ends > 0] / ends[ends > 0], initial=np.inf))  # pixels of 1, with room for the words behind each bar
    scale = min(max(scale, room / 4 / (high - low or 1.0)), room / (high - low or 1.0))
    axis = {"domain": domain, "range": [low, low + room / scale], "showticklabels": False, "showgrid": False, "anchor": "y"}
    axis |= {"zeroline": True, "zerolinecolor": muted, "zerolinewidth": 1}
    plot.update_layout({f"xaxis{letter}": axis})
    plot.add_annotation(
        x=domain[0],
        xref="paper",
        y=1,
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        text=heading,
        font={"size": 12, "color": muted},
    )
