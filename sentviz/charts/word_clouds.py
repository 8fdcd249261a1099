"""Words of the cells of a confusion matrix: clouds, and a list with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.word_counts import Cell, Counts
from sentviz.charts.chart import Axis, Chart, Drawing, Role, points
from sentviz.charts.cloud_layout import SMALLEST, layout, unwritable
from sentviz.charts.figure import Figure, annotate, file_safe, lay_out, sentence
from sentviz.charts.look import Look
from sentviz.charts.options import choice
from sentviz.charts.panels import UNSEEN, panel_axes
from sentviz.charts.registry import figure
from sentviz.charts.requirements import SEED
from sentviz.charts.subjects import Answers
from sentviz.charts.text import as_text, broken
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd, subplots
from sentviz.io.numbers import number

IN_CLOUD, IN_LIST = 30, 24
COLUMNS = [
    "cell",
    "label",
    "predicted",
    "word",
    "count",
    "rows",
    "share",
    "rest",
    "value",
    "low",
    "high",
    "z",
    "sure",
    "x",
    "y",
    "size",
    "width",
]
SHORT = {(0, 0): "TN", (0, 1): "FP", (1, 0): "FN", (1, 1): "TP"}  # names for two classes, if the second is positive
ONCE = "A word counts once per row, so that one text with many repetitions has no more weight than another."

By = Annotated[str, choice({"keyness": "typical words", "count": "frequent words"})]
Stops = Annotated[str, choice({"drop": "left out", "wordcloud": "those of WordCloud left out", "keep": "kept"})]
PANEL = (330, 236)  # pixels of a cloud, as `sentviz.analysis.testset.word_counts.layout` is asked for
_TWO = 600  # pixels of two clouds side by side, at least
_HOLLOW = "circle-open"  # symbol of words that are not significant
_TITLES = {"keyness": "Words that belong to a cell", "count": "The most frequent words"}
_CUT = 20  # columns of a word, as `layout` measures it
_SAYS = {
    "keyness": "The larger a word, the more typical it is of its rows (height: z of the log-odds ratio against all other rows).",
    "count": "The larger a word, the more often it occurs in its rows (height: occurrences).",
}
_LETTERS = 12.0  # pixels of the smallest letters in a panel
_GREY, _FEW = 4, 5  # significant words for each grey one in a cloud; grey words of a cloud without significant ones


def cloud(
    words: pd.DataFrame,
    titles: Sequence[str],
    *,
    by: By = "keyness",
    right: Sequence[bool] = (),
    selected: tuple[int, str] | None = None,
    about: str = "",
) -> Figure:
    """Draw clouds, two per line where there is room; words of right predictions are teal, of mistakes magenta; a click picks the nearest
    word.

    Args:
        words: cell (index in `titles`), word, z, count, and further columns for the frame. Its columns x, y, size and width are places of
            all words, as earlier versions drew them; the picture places the words that it has.
        titles: one per cloud, plain text.
        by: meaning of the sizes.
        right: True for clouds of right predictions; by default all clouds have one colour.
        selected: cell and word to frame.
        about: sentence for the caption.
    Frame:
        The columns of `words`.
    """
    if not titles:
        raise InputError("There is no cloud to draw.")
    sure = words["sure"].astype(bool)
    pictured = _pictured(words, by, selected)
    count = f"{len(pictured)} of {len(words)}" if len(pictured) < len(words) else f"{len(words)}"
    few = ", of which few are drawn" if len(pictured) < len(words) else ""
    quiet = [name for cell, name in enumerate(titles) if (words["cell"] == cell).any() and not sure[words["cell"] == cell].any()]
    caption = sentence(
        [
            _SAYS[by],
            f"{count} words in {len(titles)} clouds; teal: right predictions, magenta: mistakes." if right else f"{count} words.",
            "" if sure.all() or by == "count" else f"Grey: not significant for this number of words (Bonferroni){few}.",
            f"No typical words in: {', '.join(quiet)}." if quiet else "",
            about,
        ]
    )
    frame = words.reset_index(drop=True)
    roles: list[Role] = ["right" if is_right else "wrong" for is_right in right]
    data = {"words": pictured, "titles": list(titles), "by": by, "roles": roles or [0] * len(titles), "selected": selected}
    return Figure(file_safe("words", by), Drawing(_draw_cloud, data), frame, caption)


def _pictured(words: pd.DataFrame, by: By, selected: tuple[int, str] | None) -> pd.DataFrame:
    """Return the words of the picture with their places: of typical words the significant ones, the selected one, and few others."""
    parts = []
    for cell, part in words.groupby("cell", sort=False):
        if by == "keyness":
            sure = part["sure"].astype(bool)
            most = int(sure.sum()) // _GREY or (0 if sure.any() else _FEW)
            part = part[
                sure
                | part.index.isin(part.index[~sure][:most])
                | (part["word"] == (selected[1] if selected and selected[0] == cell else None))
            ]
        weights = part["z" if by == "keyness" else "count"].astype(float)
        quiet = by == "keyness" and not part["sure"].any()
        places = _placed(tuple(part["word"]), tuple(weights), 1.0, _LETTERS, 1.5 * _LETTERS if quiet else math.inf)
        parts.append(part.drop(columns=["x", "y", "size", "width"]).merge(places.drop(columns="height"), on="word"))
    return pd.concat(parts, ignore_index=True) if parts else words


def _draw_cloud(
    look: Look, words: pd.DataFrame, titles: Sequence[str], by: By, roles: Sequence[Role], selected: tuple[int, str] | None
) -> go.Figure:
    """Draw a panel for each cloud; panels are enlarged to the width, and letters with them.

    Args:
        roles: colour of each cloud. The others are those of `cloud`.
    """
    colours, (wide, high), gap, side = look.colours, PANEL, 12, 10
    columns = min(len(titles), 1 if 0 < look.room < _TWO else 2)
    width = look.room or columns * wide + (columns - 1) * gap + 2 * side
    scale = (width - 2 * side - (columns - 1) * gap) / columns / wide
    rows = -(-len(titles) // columns)
    headings = [broken(as_text(name, 48), 1.1 * scale * wide, 13) for name in titles]
    deep = 18 * max(1 + heading.count("<br>") for heading in headings)
    line, above, below = deep + 16, deep + 46, 8
    height = round(rows * high * scale) + (rows - 1) * line + above + below
    spaces = {"horizontal_spacing": gap / (width - 2 * side), "vertical_spacing": line / (height - above - below)}
    plot = subplots.make_subplots(rows=rows, cols=columns, **spaces)
    lay_out(plot, look, _TITLES[by], (width, height), (side, above, side, below))
    written: list[dict[str, Any]] = []  # added together: Plotly checks all earlier annotations with each addition
    for cell, heading in enumerate(headings):
        part, axes = words[words["cell"] == cell], panel_axes(cell)
        edge: dict[str, Any] = {"x": 0, "y": high, "xanchor": "left", "yanchor": "bottom", "align": "left"}
        written.append({"text": heading, "font": {"size": 13}, **edge, **axes})
        frame = {"x0": 0, "x1": wide, "y0": 0, "y1": high, "line": {"color": colours.grid, "width": 1}, "layer": "below"}
        plot.add_shape(type="rect", **frame, **axes)
        for row in part.to_dict("records"):
            chosen = {"bordercolor": colours.ink, "bgcolor": colours.neutral, "borderwidth": 2, "borderpad": 1}
            font = {"size": scale * row["size"], "color": look.colour(roles[cell]) if row["sure"] or by == "count" else colours.muted}
            box = chosen if selected == (cell, row["word"]) else {}
            written.append({"text": as_text(row["word"], _CUT), "font": font, "x": row["x"], "y": row["y"], **box, **axes})
        if part.empty:
            empty = "No typical words." if by == "keyness" else "No words."
            written.append({"text": empty, "x": wide / 2, "y": high / 2, "font": {"size": 13, "color": colours.muted}, **axes})
        plot.add_trace(_spots(part), row=cell // columns + 1, col=cell % columns + 1)
    annotate(plot, written)
    bare = {"visible": False, "fixedrange": True}
    plot.update_xaxes(range=[0, wide], **bare)
    plot.update_yaxes(range=[0, high], **bare)
    plot.update_layout(hovermode="closest", hoverdistance=-1, dragmode=False, clickmode="event+select")
    return plot


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


def word_bars(words: pd.DataFrame, *, title: str, by: By = "keyness", right: bool = True, selected: str = "", about: str = "") -> Figure:
    """Draw the words of one cell as a list: log-odds ratios, or occurrences per thousand words, with their intervals.

    Args:
        words: a frame of `sentviz.analysis.testset.word_counts.largest`, in the order of drawing.
        title: name of the cell, plain text.
        right: True for words of right predictions (teal), False for mistakes (magenta).
        selected: word whose line is marked.
        about: sentence for the caption.
    Frame:
        The columns of `words`.
    """
    if words.empty:
        raise InputError("No word is typical of these rows.")
    frame = words.reset_index(drop=True)
    drawn = frame.assign(often=1e3 * frame["rest"])
    if by == "count":
        drawn[["value", "low", "high"]] = 1e3 * frame[["share", "share_low", "share_high"]].to_numpy(float)
    hover = (
        "{word}<br>{value:.2f} [{low:.2f}, {high:.2f}], z {z:+.1f}<br>{count:,.0f} times in {rows:,.0f} rows<br>"
        "{share:.3%} of the words of these rows, {rest:.3%} of the others"
    )
    shape: dict[str, Any] = {"low": "low", "high": "high", "role": "right" if right else "wrong", "hover": hover, "click": ["z", "word"]}
    sure = frame["sure"].astype(bool) | (by == "count")
    marks = [points(part, "value", "word", symbol=symbol, **shape) for part, symbol in ((drawn[sure], "circle"), (drawn[~sure], _HOLLOW))]
    if by == "count":
        marks.append(points(drawn, "often", "word", symbol="line-ns-open", role="muted"))
    heading = "Log-odds ratio against all other rows" if by == "keyness" else "Occurrences in a thousand words"
    chart = Chart(title, marks, Axis(heading, zero=True), Axis(rows={word: word for word in frame["word"]}, chosen=selected or None))
    return Figure(file_safe("word-list", by, title), chart, frame, sentence([_list_caption(words, by), about]))


def _list_caption(words: pd.DataFrame, by: By) -> str:
    n, s = f"{len(words):,}", "s" * (len(words) != 1)
    if by == "count":
        return f"The {n} most frequent word{s}, with 95 % intervals; a grey stroke is the rate in all other rows."
    unsure = int((~words["sure"]).sum())
    hollow = "Hollow: not significant for this number of words (Bonferroni)." if unsure else ""
    least, most = (number(words["z"].iloc[place], 1) for place in (-1, 0))
    return sentence([f"{n} word{s} by z ({least} to {most}) with 95 % intervals.", hollow])


def name_of(cell: Cell, classes: tuple[str, ...]) -> str:
    """Return the name of a cell; with two classes it includes the short name."""
    label, predicted = cell
    if label < 0:
        return f"predicted {classes[predicted]}"
    short = f" ({SHORT[cell]})" if len(classes) == 2 else ""
    return (f"{classes[label]}, right" if label == predicted else f"{classes[label]} predicted as {classes[predicted]}") + short


def _cells(counts: Counts, classes: int, between: str = "") -> list[Cell]:
    """Return the four cells of two classes, or a cell per class of rows without labels. With more classes, `between` names two, for example
    "0,2"; by default the pair with the most mistakes.
    """
    if not between and (classes == 2 or counts.cells[0][0] < 0):
        return list(counts.cells)
    if between:
        first, _, second = between.partition(",")
        if not (first.isdecimal() and second.isdecimal() and first != second and max(int(first), int(second)) < classes):
            raise InputError(f"Name two of the {classes} classes by their numbers from 0, for example 0,1, not {between!r}.")
        return [(a, b) for a in (int(first), int(second)) for b in (int(first), int(second))]
    sizes = dict(zip(counts.cells, counts.sizes.tolist(), strict=True))
    pair = max(combinations(range(classes), 2), key=lambda p: sizes[p] + sizes[p[::-1]])
    return [(a, b) for a in pair for b in pair]


def largest_words(counts: Counts, cell: Cell, by: str, stops: str) -> pd.DataFrame:
    """Return the words of a cell in their order; an empty frame if no word stands out.

    Args:
        by: "keyness" or "count". stops: "drop" leaves our stop words out, "wordcloud" those of the package WordCloud, "keep" none.
    """

    from sentviz.analysis.testset import word_counts as words

    lists = {"drop": words.stop_words, "wordcloud": words.wordcloud_stop_words, "keep": frozenset[str]}
    left_out = lists[stops]()
    try:
        scored = words.keyness(counts, cell, once=True)
    except InputError:  # the cell is empty, or no other cell has words
        return pd.DataFrame()
    return words.largest(scored, by, max(IN_CLOUD, IN_LIST), left_out)


@lru_cache(maxsize=64)
def _placed(
    words: tuple[str, ...], weights: tuple[float, ...], power: float = 0.5, smallest: float = SMALLEST, largest: float = math.inf
) -> pd.DataFrame:
    """Return the places of words in a cloud, computed once; a shared frame that must not be changed."""
    return layout(dict(zip(words, weights, strict=True)), *PANEL, seed=SEED, power=power, smallest=smallest, largest=largest)


@figure("word-cloud", "The words of right and wrong predictions", Answers)
def _cloud(
    of: Answers,
    *,
    between: str = "",
    by: By = "keyness",
    stops: Stops = "drop",
    selected: tuple[int, str] | None = None,
) -> Figure:

    counts, rows = of.counts, of.first
    cells = _cells(counts, len(rows.classes), between)
    sizes, drawn = dict(zip(counts.cells, counts.sizes.tolist(), strict=True)), []
    for place, cell in enumerate(cells):
        table = largest_words(counts, cell, by, stops).head(IN_CLOUD)
        if not table.empty:
            placed = _placed(tuple(table["word"]), tuple(table["z" if by == "keyness" else "count"].astype(float)))
            drawn.append(placed.merge(table, on="word").assign(cell=place, label=cell[0], predicted=cell[1]))
    words = pd.concat(drawn, ignore_index=True)[COLUMNS] if drawn else pd.DataFrame(columns=COLUMNS)
    left_out = {"drop": "Stop words are left out. ", "wordcloud": "WordCloud's stop words are left out. "}.get(stops, "")
    undrawn = f" {unwritable(words['word'])}".rstrip()
    about = f"{left_out}Words in at least {counts.least} of {counts.sizes.sum():,} rows; places drawn with seed {SEED}.{undrawn}"
    titles = [f"{name_of(cell, rows.classes)} · {sizes[cell]:,} rows" for cell in cells]
    right = [label == predicted for label, predicted in cells if label >= 0]
    return cloud(words, titles, by=by, right=right, selected=selected, about=about)


@figure("word-list", "The words of one cell of the matrix", Answers)
def _list(
    of: Answers,
    *,
    label: int = -1,
    predicted: int = -1,
    by: By = "keyness",
    stops: Stops = "drop",
    selected: str = "",
) -> Figure:
    counts, rows = of.counts, of.first
    named = predicted >= 0 and (label >= 0 or (label, predicted) in counts.cells)
    cell = (label, predicted) if named else _most_mistaken(counts, rows)
    table = largest_words(counts, cell, by, stops).head(IN_LIST)
    if table.empty:
        raise InputError("No word is typical of these rows.")
    once = ONCE if by == "keyness" else ""
    right = cell[0] in (-1, cell[1])
    return word_bars(table, title=name_of(cell, rows.classes), by=by, right=right, selected=selected, about=once)


def _most_mistaken(counts: Counts, rows: Rows) -> Cell:
    """Return the cell of the most frequent mistake."""
    sizes = dict(zip(counts.cells, counts.sizes.tolist(), strict=True))
    return max(_cells(counts, len(rows.classes)), key=lambda cell: (cell[0] != cell[1], sizes[cell]))
