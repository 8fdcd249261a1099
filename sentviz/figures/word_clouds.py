"""Words of the cells of a confusion matrix: clouds, and a list with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, lay_out, new_plot, number, sentence
from sentviz.figures.panels import UNFADED, UNSEEN, row_axis, with_interval
from sentviz.figures.text import as_text, text_columns
from sentviz.io.lazy import go, pd

By = Literal["keyness", "count"]
PANEL = (330, 236)  # pixels of a cloud, as `sentviz.analysis.testset.word_counts.layout` is asked for
NARROW = 0.7  # share of the clouds' natural width below which titles of 13 pixels are too small
_CUT = 20  # columns of a word, as `layout` measures it
_SAYS = {
    "keyness": "The larger a word, the more typical it is of its rows (area: z of the log-odds ratio against all other rows).",
    "count": "The larger a word, the more often it occurs in its rows (area: occurrences).",
}


def cloud(
    words: pd.DataFrame,
    titles: Sequence[str],
    *,
    by: By = "keyness",
    right: Sequence[bool] = (),
    selected: tuple[int, str] | None = None,
    about: str = "",
    width: int = 0,
    theme: Theme = "light",
) -> Figure:
    """Draw clouds side by side, two per line; words of right predictions are teal, of mistakes magenta; a click picks the nearest word.

    Args:
        words: cell (index in `titles`), word, x, y, size, width from `sentviz.figures.cloud_layout.layout` for PANEL, and further columns
            for the frame; z and count are needed.
        titles: one per cloud, plain text.
        by: meaning of the sizes.
        right: True for clouds of right predictions; by default all clouds have one colour.
        selected: cell and word to frame.
        about: sentence for the caption.
        width: pixels to which the picture is shrunk, 0 for none; a narrow picture has larger titles.
    Frame:
        The columns of `words`.
    """
    if not titles:
        raise InputError("There is no cloud to draw.")
    colours, (wide, high) = palette(theme), PANEL
    columns, rows = min(len(titles), 2), -(-len(titles) // 2)
    gap, side = 12, 10
    across = columns * wide + (columns - 1) * gap + 2 * side
    narrow = 0 < width < NARROW * across
    letters, lines = (15, 2) if narrow else (13, 1)
    line, above, below = lines * 20 + 14, lines * 20 + 44, 8
    height = rows * high + (rows - 1) * line + above + below
    spaces = {"horizontal_spacing": gap / (across - 2 * side), "vertical_spacing": line / (height - above - below)}
    plot = make_subplots(rows=rows, cols=columns, **spaces)
    title = "Words that belong to a cell" if by == "keyness" else "The most frequent words"
    lay_out(plot, theme, title, (across, height), (side, above, side, below))
    quiet: list[str] = []
    unsure = 0
    written: list[dict[str, Any]] = []  # added together: Plotly checks all earlier annotations with each addition
    for cell, name in enumerate(titles):
        part = words[words["cell"] == cell]
        colour = colours.lines[0] if not right else colours.right if right[cell] else colours.wrong
        axes = {"xref": f"x{cell + 1 if cell else ''}", "yref": f"y{cell + 1 if cell else ''}", "showarrow": False}
        heading = {"x": 0, "y": high, "xanchor": "left", "yanchor": "bottom", "font": {"size": letters, "color": colours.ink}}
        parts = name.split(" · ", lines - 1)
        written.append({"text": "<br>".join(as_text(part, 48) for part in parts), "align": "left", **heading, **axes})
        frame = {"x0": 0, "x1": wide, "y0": 0, "y1": high, "line": {"color": colours.grid, "width": 1}, "layer": "below"}
        plot.add_shape(type="rect", xref=axes["xref"], yref=axes["yref"], **frame)
        for row in part.to_dict("records"):
            chosen = selected == (cell, row["word"])
            box = {
                "bordercolor": colours.ink if chosen else "rgba(0,0,0,0)",
                "bgcolor": colours.neutral if chosen else "rgba(0,0,0,0)",
                "borderwidth": 2 if chosen else 0,
                "borderpad": 1 if chosen else 0,
            }
            text = {"text": as_text(row["word"], _CUT), "font": {"size": row["size"], "color": colour if row["sure"] else colours.muted}}
            written.append({**text, "x": row["x"], "y": row["y"], **box, **axes})
        unsure += int((~part["sure"].astype(bool)).sum())
        if not part["sure"].any() and len(part):
            quiet.append(name)
        if part.empty:
            empty = "No typical words." if by == "keyness" else "No words."
            written.append({"text": empty, "x": wide / 2, "y": high / 2, "font": {"size": letters, "color": colours.muted}, **axes})
        plot.add_trace(_spots(part), row=cell // 2 + 1, col=cell % 2 + 1)
    plot.update_layout(annotations=written)
    bare = {"visible": False, "fixedrange": True}
    plot.update_xaxes(range=[0, wide], **bare)
    plot.update_yaxes(range=[0, high], **bare)
    plot.update_layout(hovermode="closest", hoverdistance=-1, dragmode=False, clickmode="event+select", meta="whole")
    caption = sentence(
        [
            _SAYS[by],
            f"{len(words)} words in {len(titles)} clouds; teal: right predictions, magenta: mistakes." if right else f"{len(words)} words.",
            "Grey: not significant for this number of words (Bonferroni)." if unsure else "",
            f"No typical words in: {', '.join(quiet)}." if quiet else "",
            about,
        ]
    )
    again = partial(cloud, words, titles, by=by, right=right, selected=selected, about=about, theme=theme)
    return Figure(file_safe("words", by), plot, words.reset_index(drop=True), caption, at_width=again)


def _spots(part: pd.DataFrame) -> go.Scatter:
    """Return invisible markers along each word, so that a click finds the word under the pointer."""
    sizes = part[["width", "size"]].to_numpy(float)
    steps = np.maximum(np.round(sizes[:, 0] / sizes[:, 1]), 1).astype(int)
    word = np.repeat(np.arange(len(part)), steps)
    along = (np.concatenate([np.arange(n) + 0.5 for n in steps]) if len(steps) else np.zeros(0)) / steps[word]
    rows = part.iloc[word]
    labels = [as_text(text, 40) for text in rows["word"]]
    return go.Scatter(
        x=rows["x"] + (along - 0.5) * rows["width"],
        y=rows["y"],
        mode="markers",
        marker={"size": 8, "opacity": 0},
        **UNSEEN,
        customdata=np.array([labels, rows["z"], rows["count"], rows["rows"], rows["cell"], rows["word"]], dtype=object).T,
        hovertemplate="%{customdata[0]}<br>%{customdata[2]:,} times in %{customdata[3]:,} rows<br>z %{customdata[1]:+.1f}<extra></extra>",
        showlegend=False,
    )


def word_bars(
    words: pd.DataFrame, *, title: str, by: By = "keyness", right: bool = True, selected: str = "", about: str = "", theme: Theme = "light"
) -> Figure:
    """Draw the words of one cell as a list: log-odds ratios, or occurrences per thousand words, with their intervals.

    Args:
        words: a frame of `sentviz.analysis.testset.word_counts.largest`, in the order of drawing.
        title: name of the cell, plain text.
        right: True for words of right predictions (teal), False for mistakes (magenta).
        selected: word whose line is shaded.
        about: sentence for the caption.
    Frame:
        The columns of `words`.
    """
    if words.empty:
        raise InputError("No word is typical of these rows.")
    colours, at = palette(theme), np.arange(len(words))
    colour = colours.right if right else colours.wrong
    names = [as_text(word, _CUT) for word in words["word"]]
    left = 20 + round(7.4 * max(text_columns(name) for name in names))
    heading = "Log-odds ratio against all other rows" if by == "keyness" else "Occurrences in a thousand words"
    height = 92 + 20 * len(words)
    plot = new_plot(theme, as_text(title, 52), (430, height), (left, 44, 24, 48))
    line = words["word"].eq(selected).to_numpy() if selected else np.zeros(len(words), dtype=bool)
    for y in at[line]:
        plot.add_hrect(y0=y - 0.5, y1=y + 0.5, fillcolor=colours.neutral, line_width=0, layer="below")
    values = _values(words, by)
    sure = words["sure"].to_numpy(bool) | (by == "count")
    hover = np.column_stack([names, values[:, 1:], words[["count", "rows", "z", "share", "rest"]], words["word"]]).astype(object)
    plot.add_scatter(
        **with_interval("x", values, colour),
        y=at,
        mode="markers",
        marker={"size": 9, "color": [colour if s else colours.paper for s in sure], "line": {"color": colour, "width": 2}},
        customdata=hover,
        hovertemplate="%{customdata[0]}<br>%{x:.2f} [%{customdata[1]:.2f}, %{customdata[2]:.2f}], z %{customdata[5]:+.1f}<br>"
        "%{customdata[3]:,} times in %{customdata[4]:,} rows<br>"
        "%{customdata[6]:.3%} of the words of these rows, %{customdata[7]:.3%} of the others<extra></extra>",
        showlegend=False,
        **UNFADED,
    )
    if by == "count":
        grey = {"size": 8, "symbol": "line-ns", "line": {"color": colours.muted, "width": 2}}
        plot.add_scatter(x=1e3 * words["rest"], y=at, mode="markers", marker=grey, hoverinfo="skip", showlegend=False, **UNFADED)
    plot.update_xaxes(title_text=heading, title_standoff=6, rangemode="tozero", nticks=6, automargin=False, fixedrange=True)
    plot.update_yaxes(row_axis(names, 0.6, 0.4, fixedrange=True))
    plot.update_layout(hovermode="closest", hoverdistance=-1, dragmode=False, clickmode="event+select")
    return Figure(file_safe("word-list", by, title), plot, words.reset_index(drop=True), sentence([_list_caption(words, by), about]))


def _values(words: pd.DataFrame, by: By) -> npt.NDArray[np.float64]:
    """Return value, low and high, (n, 3)."""
    if by == "keyness":
        return words[["value", "low", "high"]].to_numpy(float)
    return 1e3 * words[["share", "share_low", "share_high"]].to_numpy(float)


def _list_caption(words: pd.DataFrame, by: By) -> str:
    if by == "count":
        return f"The {len(words)} most frequent words, with 95% intervals; a grey stroke is the rate in all other rows."
    unsure = int((~words["sure"]).sum())
    hollow = "Hollow: not significant for this number of words (Bonferroni)." if unsure else ""
    return sentence(
        [
            f"{len(words)} words by z ({number(words['z'].iloc[-1], 1)} to {number(words['z'].iloc[0], 1)}) with 95% intervals.",
            hollow,
        ]
    )
