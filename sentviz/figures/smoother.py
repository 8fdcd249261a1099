"""A row of a map as what it is for: weights over value vectors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from sentviz.arithmetic import CellArithmetic
from sentviz.errors import InputError
from sentviz.figures.figure import Figure, Palette, Theme, base_layout, file_safe, number, palette, sentence
from sentviz.figures.text import as_text, text_columns

__all__ = ["smoother"]

_ROW, _TOP = 24, 66  # pixels
_PANELS = (("weight", "weight", 0.30), ("value_norm", "× size of value", 0.30), ("along", "→ share of the output", 0.40))


def smoother(cell: CellArithmetic, *, top: int = 8, width: int = 640, theme: Theme = "light") -> Figure:
    """The keys that move the head's output most, in text order: weight, size of the value vector, share of the output.

    Attention as a kernel smoother (SentiFormer, Definition 1): the output at the query is the sum of weight x value over all keys.

    Args:
        cell: names the row; its key is always shown, and marked.
        top: so many keys with the largest |weight x value|; the others are summed in the last row.
        width: in pixels.
    Frame:
        `CellArithmetic.smoother`, all keys, and `shown`.
    Raises:
        InputError: nothing to show.
    """
    if top < 1:
        raise InputError("At least one key must be shown.")
    frame, colours = cell.smoother(), palette(theme)
    best = np.argsort(-frame["contribution"].to_numpy(), kind="stable")[:top]
    chosen = np.union1d(best, [cell.key])
    frame["shown"] = np.isin(frame["key"], chosen)
    shown, rest = frame[frame["shown"]], frame[~frame["shown"]]
    again = shown["key_token"].duplicated(keep=False)
    names = [
        as_text(token, 18) + (f" ({key + 1})" if twice else "")
        for token, key, twice in zip(shown["key_token"], shown["key"], again, strict=True)
    ]
    names = [f"<b>{name}</b>" if key == cell.key else name for name, key in zip(names, shown["key"], strict=True)]
    if len(rest):
        names.append(f"{len(rest):,} other keys" if len(rest) > 1 else "1 other key")
    left = (
        24
        + int(7.4 * max(*(min(text_columns(token), 18) for token in shown["key_token"]), 14 if len(rest) else 1))
        + 28 * bool(again.any())
    )

    plot = go.Figure(
        layout=base_layout(
            theme,
            width=width,
            height=_TOP + _ROW * len(names) + 14,
            margin=(left, _TOP, 24, 14),
            title=f"What layer {cell.layer + 1}, head {cell.head + 1} takes for “{as_text(cell.tokens[cell.query], 18)}”",
            showlegend=False,
            barmode="overlay",
            yaxis={
                "range": [len(names) - 0.5, -0.5],
                "tickvals": list(range(len(names))),
                "ticktext": names,
                "showgrid": False,
                "ticklabelstandoff": 6,
            },
        )
    )
    start = 0.0
    for i, (column, heading, part) in enumerate(_PANELS):
        values = shown[column].to_numpy()
        if len(rest):
            values = np.append(values, rest[column].mean() if column == "value_norm" else rest[column].sum())
        _panel(plot, i, column, heading, (start, start + part - 0.03), values, len(rest) > 0, colours)
        start += part
    return Figure(
        file_safe("smoother", cell.run, f"layer{cell.layer + 1}", f"head{cell.head + 1}", f"query{cell.query + 1}"),
        plot,
        frame,
        _caption(cell, frame, rest),
    )


def _panel(
    plot: go.Figure, i: int, column: str, heading: str, domain: tuple[float, float], values: np.ndarray, rest: bool, colours: Palette
) -> None:
    """One column of bars with their numbers, on an x-axis of its own."""
    letter = "" if i == 0 else str(i + 1)
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    room = (high - low or 1.0) * 0.5  # for the numbers
    tint = [colours.diverging[1] if value < 0 else colours.muted if column == "value_norm" else colours.lines[0] for value in values]
    opacity = [1.0] * len(values)
    if rest:
        opacity[-1] = 0.45
    place = list(range(len(values)))
    plot.add_bar(
        orientation="h",
        x=values,
        y=place,
        width=0.56,
        xaxis=f"x{letter}",
        marker={"color": tint, "opacity": opacity, "line": {"width": 0}},
        hoverinfo="skip",
    )
    plot.add_scatter(
        x=np.maximum(values, 0),
        y=place,
        xaxis=f"x{letter}",
        mode="text",
        text=[f" {_said(column, value)}" for value in values.tolist()],
        textposition="middle right",
        textfont={"size": 11.5, "color": colours.muted},
        hoverinfo="skip",
        cliponaxis=False,
    )
    axis = {"domain": domain, "range": [low, high + room], "showticklabels": False, "showgrid": False, "anchor": "y"}
    axis |= {"zeroline": True, "zerolinecolor": colours.muted, "zerolinewidth": 1}
    plot.update_layout({f"xaxis{letter}": axis})
    plot.add_annotation(
        x=domain[0],
        xref="paper",
        y=1,
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        text=heading,
        font={"size": 12, "color": colours.muted},
    )


def _said(column: str, value: float) -> str:
    if column == "along":
        return "0%" if abs(value) < 0.005 else f"{'−' if value < 0 else '+'}{abs(value):.0%}"
    return number(value, 3 if column == "weight" else 2)


def _caption(cell: CellArithmetic, frame: pd.DataFrame, rest: pd.DataFrame) -> str:
    shares = "Shares of the output are signed and sum to 100%: negative ones pull against it."
    return sentence(
        [
            f"Run {cell.run}: the row of “{cell.tokens[cell.query]}” in layer {cell.layer + 1}, head {cell.head + 1} as a kernel smoother.",
            f"The head's output is the sum of weight × value over {len(frame):,} keys; weights sum to {number(float(cell.row.sum()))}.",
            shares,
            f"The {len(rest):,} keys that move the output least are summed (size of value: their mean)." if len(rest) > 1 else "",
            "The norm behind the head comes after this sum and keeps its direction only up to its learned weights."
            if cell.head_norm is not None
            else "",
        ]
    )
