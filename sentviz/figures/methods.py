"""Methods of explanation: all explanations of one sentence side by side, and methods ranked by a measured number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, number, sentence
from sentviz.figures.matrix import matrix
from sentviz.figures.panels import dotted, note_above, row_axis, with_interval
from sentviz.figures.text import as_text, label_width, token_label
from sentviz.io.lazy import pd

_LEAST, _CELL, _ROW, _RIGHT = 19, 30, 24, 16  # pixels: smallest and usual width of a column, height of a row, right margin
_TOKEN = 14  # columns of a word


def method_matrix(
    tokens: Sequence[str],
    scores: Mapping[str, npt.ArrayLike],
    *,
    title: str = "Every explanation of this sentence",
    about: str = "",
    width: int = 900,
    theme: Theme = "light",
) -> Figure:
    """Draw all explanations of a sentence; each row is scaled by its largest absolute score.

    Args:
        tokens: m words, in text order. scores: title of a method -> (m,), NaN for words without a score.
        about: sentence for the caption.
        width: largest width in pixels; if it is too small for all words, those with the largest shares are drawn.
    Frame:
        method, position (counted from 0), token, score, share (of the row's largest, -1..1), drawn.
    """
    rows = {method: np.asarray(values, dtype=float) for method, values in scores.items()}
    if not rows or not len(tokens) or any(values.shape != (len(tokens),) for values in rows.values()):
        raise InputError("A matrix of explanations needs a word, a method, and one score for each word.")
    colours, left = palette(theme), 24 + round(max(label_width(method, 12) for method in rows))
    values = np.stack(list(rows.values()))
    largest = np.nanmax(np.abs(values), axis=1, initial=0.0, keepdims=True)
    shares = np.divide(values, largest, out=np.zeros_like(values), where=largest > 0)
    room = max(width - left - _RIGHT, 2 * _LEAST)
    most = room // _LEAST
    columns = np.sort(np.argsort(-np.nan_to_num(np.abs(shares)).mean(axis=0), kind="stable")[:most])
    names = [as_text(tokens[i], _TOKEN) for i in columns]
    top = 52 + round(max(label_width(name, 12) for name in names))
    words = [token_label(tokens[i], i, 60) for i in columns]
    hover = [
        [f"{word}, {as_text(method)}: {number(value, 4)}" for word, value in zip(words, row[columns], strict=True)]
        for method, row in rows.items()
    ]
    plot = matrix(
        theme,
        title,
        (left + _RIGHT + min(max(_CELL * len(columns), 240), room), top + 12 + _ROW * len(rows)),
        (left, top, _RIGHT, 12),
        shares[:, columns],
        [as_text(method) for method in rows],
        names,
        colours.signed,
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
    )
    frame = pd.DataFrame(
        {
            "method": np.repeat(list(rows), len(tokens)),
            "position": np.tile(np.arange(len(tokens)), len(rows)),
            "token": list(tokens) * len(rows),
            "score": values.ravel(),
            "share": shares.ravel(),
            "drawn": np.tile(np.isin(np.arange(len(tokens)), columns), len(rows)),
        }
    )
    caption = sentence(
        [
            f"{len(rows)} explanations of one prediction: green words support it, purple words oppose it or get less than an even share."
            " Each row has its own scale.",
            f"The figure shows the {len(columns)} of {len(tokens)} words with the largest scores." if len(columns) < len(tokens) else "",
            about,
        ]
    )
    return Figure(file_safe("methods"), plot, frame, caption, at_width=partial(_again, tokens, rows, title, about, theme))


def _again(tokens: Sequence[str], scores: Mapping[str, npt.ArrayLike], title: str, about: str, theme: Theme, *, width: int) -> Figure:
    return method_matrix(tokens, scores, title=title, about=about, width=width, theme=theme)


def ranking(
    frame: pd.DataFrame, *, title: str, better: str = "higher", reference: str = "random", percent: bool = False, theme: Theme = "light"
) -> Figure:
    """Draw methods as dots with intervals, the best at the top; the reference is a grey line with its interval.

    Args:
        frame: method, value, low, high, n; one row per method.
        title: name of the number.
        better: "higher" or "lower".
        reference: method to draw as a line.
        percent: write shares as percentages.
    """
    rows = frame[frame["method"] != reference].sort_values("value", ascending=better == "lower").reset_index(drop=True)
    if rows.empty:
        raise InputError("The table has no explanation method to rank.")
    colours = palette(theme)
    height = 96 + 30 * len(rows)
    plot = new_plot(theme, title, (560, height), (178, 44, 64, 44))
    base = frame[frame["method"] == reference]
    if not base.empty:
        chance = base.iloc[0]
        plot.add_vrect(x0=chance["low"], x1=chance["high"], fillcolor=colours.muted, opacity=0.18, line_width=0)
        plot.add_vline(x=chance["value"], line=dotted(colours))
        note_above(plot, chance["value"], reference, colours.muted)
    values = rows[["value", "low", "high"]].to_numpy(float)
    plot.add_scatter(
        **with_interval("x", values, colours.lines[0]),
        y=np.arange(len(rows)),
        mode="markers+text",
        marker={"size": 10, "color": colours.lines[0]},
        text=[f"{value:.0%}" if percent else number(value) for value in values[:, 0]],
        textposition="top center",
        textfont={"size": 11, "color": colours.muted},
        customdata=values,
        hovertemplate="%{x:.3f} [%{customdata[1]:.3f}, %{customdata[2]:.3f}]<extra></extra>",
    )
    names = [as_text(name, 40) for name in rows["method"]]
    plot.update_yaxes(row_axis(names, 0.7, 0.4))
    plot.update_xaxes(automargin=False, nticks=7, tickformat=".0%" if percent else "")
    caption = f"{title}: {better} is better. Bars are 95% bootstrap intervals over {int(rows['n'].max())} texts."
    return Figure(file_safe("ranking", title), plot, frame.reset_index(drop=True), caption)
