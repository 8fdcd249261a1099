"""Figures of the words of right and wrong predictions."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.word_counts import Cell, Counts
from sentviz.errors import InputError
from sentviz.figures.cloud_layout import layout, unwritable
from sentviz.gallery.registry import figure
from sentviz.gallery.subjects import Answers
from sentviz.gallery.testset import SEED
from sentviz.io.lazy import pd

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure
    from sentviz.figures.word_clouds import By

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
    if stops not in lists:
        raise InputError(f"Stop words can be left out (drop, or wordcloud for that package's list) or kept (keep), not {stops!r}.")
    left_out = lists[stops]()
    try:
        scored = words.keyness(counts, cell, once=True)
    except InputError:  # the cell is empty, or no other cell has words
        return pd.DataFrame()
    return words.largest(scored, by, max(IN_CLOUD, IN_LIST), left_out)


@lru_cache(maxsize=64)
def _placed(words: tuple[str, ...], weights: tuple[float, ...]) -> pd.DataFrame:
    """Return the places of words in a cloud, computed once; a shared frame that must not be changed."""
    from sentviz.figures.word_clouds import PANEL

    return layout(dict(zip(words, weights, strict=True)), *PANEL, seed=SEED)


@figure("word-cloud", "The words of right and wrong predictions", Answers, "word_clouds:cloud")
def _cloud(
    of: Answers,
    *,
    between: str = "",
    by: By = "keyness",
    stops: str = "drop",
    selected: tuple[int, str] | None = None,
) -> Figure:

    from sentviz.figures.word_clouds import cloud

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


@figure("word-list", "The words of one cell of the matrix", Answers, "word_clouds:word_bars")
def _list(
    of: Answers,
    *,
    label: int = -1,
    predicted: int = -1,
    by: By = "keyness",
    stops: str = "drop",
    selected: str = "",
) -> Figure:
    from sentviz.figures.word_clouds import word_bars

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
