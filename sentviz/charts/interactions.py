"""Words coloured by their Shapley values, with arcs between the pairs that interact most."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.exact import Exact
from sentviz.charts.chart import Drawing
from sentviz.charts.figure import Figure, annotate, new_plot, sentence
from sentviz.charts.look import Look
from sentviz.charts.options import choice
from sentviz.charts.registry import figure
from sentviz.charts.requirements import CLASSES
from sentviz.charts.strip import anchored, score_boxes, score_legend
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import as_text, text_columns, token_label, visible
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import number

_CHAR, _LINE = 8.2, 34  # pixels of a character and of a line, as in the strip
_ARC, _LABEL = 46, 16  # pixels: height of an arc over neighbours in a line or row, and of its label
_WORD, _PART = 20, 46  # largest width of a word in a line, and of a part in a row, in columns
_LEAST, _FAINT = 0.1, 1e-6  # least interaction of an arc, as a share of the strongest one and in its unit


def _draw(
    look: Look,
    parts: Sequence[str],
    values: npt.NDArray[np.float64],
    at: npt.NDArray[np.float64],
    arcs: Sequence[tuple[int, int, float]],
    labels: tuple[str, str],
    unit: str,
) -> go.Figure:
    """Draw the parts in one line with arcs above, or one part per row with arcs at the right if the line is wider than the picture.

    Args:
        values, at: (n,) values of the parts, and their positions on the colour scale. arcs: both parts of each pair, and its interaction.
        labels: meaning of negative and positive numbers.
    """
    width, n, colours = look.room or 760, len(parts), look.colours
    columns = [text_columns(visible(part)) for part in parts]
    sizes = [max(min(count, _WORD), 6) + 1.2 for count in columns]
    starts: npt.NDArray[np.float64] = np.cumsum([0.0, *(size + 0.8 for size in sizes)])[:-1]
    across = float(starts[-1] + sizes[-1])
    in_line = across * _CHAR + 24 <= width and max(columns) <= _WORD
    reach, stretch = max((_height(j - i) for i, j, _ in arcs), default=0), 1.0
    if in_line:
        up = reach + (_LABEL + 6 if arcs else 0)
        wide, high, title = max(int(across * _CHAR) + 24, 420), up + _LINE + 22, "Words and the pairs that interact"
        y, cut, height, low, top = np.full(n, (_LINE - 6) / 2), _WORD, float(_LINE - 6), -22.0, _LINE + up
        centres = np.column_stack([starts + np.array(sizes) / 2, np.full(n, _LINE - 6)])
        under = np.column_stack([centres[:, 0], np.full(n, -11.0)])
    else:
        cut = max(10, min(_PART, int((width - 24) / _CHAR * 0.5)))  # the rest is for values and arcs
        sizes, starts = [max(min(count, cut) for count in columns) + 1.2] * n, np.zeros_like(starts)
        fixed = int((sizes[0] + 7) * _CHAR) + 84
        wide, high, title = int(fixed + reach), n * _LINE, "Parts and the pairs that interact"
        stretch = min(((look.room or min(width, wide)) - fixed) / reach, 1.5) if arcs else 1.0  # arcs are as wide as there is room
        y, height, low, top = (np.arange(n) + 0.5) * _LINE, float(_LINE - 6), float(n * _LINE), 0.0
        centres = np.column_stack([np.full(n, sizes[0] + 7), y])
        under = np.column_stack([np.full(n, sizes[0] + 3.5), y])
    wide = look.room or min(width, wide)
    boxes = score_boxes(look, starts, sizes, y, height, [as_text(part, cut) for part in parts], at)
    boxes.customdata = [
        f"{token_label(part, i)}<br>{number(value, 4)} {as_text(unit)}" for i, (part, value) in enumerate(zip(parts, values, strict=True))
    ]
    key = score_legend(look, "support", labels, wide - 24)
    bottom = 26 + 18 * key["text"].count("<br>")
    still: dict[str, Any] = {"fixedrange": True, "visible": False, "automargin": False, "constrain": "range"}
    plot = new_plot(
        look,
        title,
        (wide, round(high) + 44 + bottom),
        (12, 44, 12, bottom),
        boxes,
        showlegend=False,
        barmode="overlay",
        # A fixed ratio of row to character: on a wider page, the picture keeps its shape and leaves room at the right.
        xaxis=still | {"range": [0, (wide - 24) / _CHAR], "constraintoward": "left"},
        yaxis=still | {"range": [low, top], "scaleanchor": "x", "scaleratio": 1 / _CHAR, "constraintoward": "bottom" if in_line else "top"},
    )
    written = [("+" if value > 0 else "") + number(value) for value in values]
    below: dict[str, Any] = {"x": under[:, 0], "y": under[:, 1], "mode": "text", "text": written, "hoverinfo": "skip"}
    plot.add_scatter(textfont={"size": 12, "color": colours.ink}, **below)
    strongest, notes = max((abs(strength) for *_, strength in arcs), default=1.0), [key]
    for i, j, strength in arcs:
        t = np.linspace(0, np.pi, 33)
        along = centres[i] + (centres[j] - centres[i]) * ((1 - np.cos(t)) / 2)[:, None]
        off = np.sin(t)[:, None] * ([0, _height(j - i)] if in_line else [stretch * _height(j - i) / _CHAR, 0])
        colour, (x, y) = colours.plus if strength > 0 else colours.minus, (along + off).T
        plot.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": colour, "width": 1.2 + 3.3 * abs(strength) / strongest},
            customdata=[f"“{as_text(parts[i])}” and “{as_text(parts[j])}”<br>{number(strength, 4)} {as_text(unit)} together"] * len(t),
            hovertemplate="%{customdata}<extra></extra>",
        )
        text = {"text": ("+" if strength > 0 else "") + number(strength), "font": {"size": 12, "color": colour}}
        notes.append({"x": x[16], "y": y[16], "bgcolor": colours.paper, "borderpad": 1, **text})
    annotate(plot, notes)
    return plot


def _height(distance: int) -> float:
    """Return the height of an arc over parts at a distance, in pixels."""
    return _ARC * (0.5 + 0.5 * min(distance, 6))


ABSENT = {"deleted": "absent words deleted", "masked": "masked", "padded": "padded"}
Absent = Annotated[str, choice(ABSENT)]
Measure = Annotated[str, choice(dict.fromkeys(("log-odds", "probability"), ""))]


@figure("exact", "Exact values of the words, and the pairs that interact", Sentence, CLASSES)
def _exact(of: Sentence, *, absent: Absent = "deleted", measure: Measure = "log-odds", by: str = "", arcs: int = 3) -> Figure:
    """Draw the parts in one line with arcs above; one part per row with arcs at the right if the line is too narrow. The caption says what
    the values mean, what happens to absent words, and what the values sum to.

    Args:
        arcs: largest number of pairs that are drawn, those with the strongest interactions.
    Frame:
        kind ("value" or "interaction"), first, second ("" for a value), place, second_place (from 0; -1 for a value), number, drawn.
    """
    from sentviz.analysis.explain.exact import exact

    def compute() -> Exact:
        return exact(of.model, of.trace, by=by or None, absent=absent, measure=measure)  # type: ignore[arg-type]

    result: Exact = of.once(("exact", absent, measure, by), compute)
    gone = "deleted" if result.absent == "deleted" else f"replaced by {result.replaced_by}, which the model reads"
    about = (
        f"{result.summary} Absent {result.by} are {gone}. The values sum to f(text) − f(empty text) = {number(result.full)} −"
        f" ({number(result.empty)}) = {number(result.rise)}; f is the {result.measure} of {result.target.says()}."
    )
    parts, numbers, pairs = [player.text for player in result.players], result.values, result.interactions
    low_label, high_label = (f"{effect} {result.target.says()}" for effect in ("opposes", "supports"))
    full, knee = (16.0, 0.5) if result.measure == "log-odds" else (1.0, 0.05)
    n = len(parts)
    if arcs < 0:
        raise InputError("A picture of interactions has 0 arcs or more.")
    ranked = sorted(combinations(range(n), 2), key=lambda pair: -abs(pairs[pair]))
    least = max(_LEAST * abs(pairs[ranked[0]]), _FAINT) if ranked else 0.0
    drawn = [pair for pair in ranked[:arcs] if abs(pairs[pair]) >= least]
    listed = [("value", part, "", i, -1, value, True) for i, (part, value) in enumerate(zip(parts, numbers, strict=True))]
    listed += [("interaction", parts[i], parts[j], i, j, float(pairs[i, j]), (i, j) in drawn) for i, j in combinations(range(n), 2)]
    frame = pd.DataFrame(listed, columns=["kind", "first", "second", "place", "second_place", "number", "drawn"])
    caption = sentence(
        [
            about,
            f"Boxes: Shapley values in {result.measure}; green {high_label}, purple {low_label}.",
            f"Arcs: {'the pair' if len(drawn) == 1 else f'the {len(drawn)} pairs'} with the strongest Shapley interaction index, the effect"
            " that a pair has beyond the effects of both parts."
            if drawn
            else "",
        ]
    )
    data = {
        "parts": parts,
        "values": numbers,
        "at": anchored(numbers, full, knee),
        "arcs": [(i, j, float(pairs[i, j])) for i, j in drawn],
        "labels": (low_label, high_label),
        "unit": result.measure,
    }
    return Figure("exact", Drawing(_draw, data), frame, caption)
