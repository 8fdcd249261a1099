"""A sentence as running text, each token coloured by its score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Palette, Theme, blend, ink_on, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, sentence
from sentviz.figures.look import MONOSPACE
from sentviz.figures.text import as_text, is_right_to_left, text_columns, token_label, visible, visual_order
from sentviz.io.lazy import go, pd

Scale = Literal["support", "class"]

_CHAR, _LINE = 8.2, 34  # pixels: 13 px monospace advances 7.8
_WIDEST = 24  # largest width of a token, in columns


def token_strip(
    tokens: Sequence[str],
    scores: npt.ArrayLike,
    *,
    title: str = "",
    score_name: str = "score",
    specials: npt.ArrayLike | None = None,
    unknown: npt.ArrayLike | None = None,
    removed: Sequence[tuple[int, str]] = (),
    low_label: str = "lowers the score",
    high_label: str = "raises the score",
    full: float = 0.0,
    knee: float = 0.0,
    unit: str = "",
    scale: Scale = "support",
    width: int = 664,
    limit: int = 400,
    theme: Theme = "light",
) -> Figure:
    """Draw tokens as coloured boxes in lines of monospace text: one colour for high scores, another for low ones, grey for no effect.

    A text in Arabic or Hebrew is drawn from right to left.

    Args:
        tokens: n tokens, in text order.
        scores: (n,) in any unit; NaN stays grey.
        title, score_name, low_label, high_label: plain text for heading, hover and legend.
        specials, unknown: (n,) masks; special tokens are drawn faint, unknown ones marked °.
        removed: parts of the text that are in no token, each with the index of the token after it; drawn struck through.
        full: score of the strongest colour, the same for every sentence; 0 = the largest of `scores`.
        knee: colours grow with the score up to about this value, then with its logarithm, log(1 + |score| / knee); 0 = no logarithm.
        unit: of the scores, plain text.
        scale: meaning of the colours: support and opposition, or the classes negative and positive.
        width: largest width in pixels; a character takes 8.2.
        limit: largest number of drawn tokens; the frame has all.
    Frame:
        position, token, <score_name>, special, unknown.
    """
    values = np.asarray(scores, dtype=float)
    special, rare = (
        np.zeros(len(tokens), dtype=np.bool_) if mask is None else np.asarray(mask, dtype=np.bool_) for mask in (specials, unknown)
    )
    if not len(tokens) or any(array.shape != (len(tokens),) for array in (values, special, rare)):
        raise InputError("A strip needs at least one token, and a score and a mark for each token.")
    columns = int((width - 24) / _CHAR)
    if columns < _WIDEST + 3:
        raise InputError(f"A strip needs at least {round((_WIDEST + 3) * _CHAR) + 24} pixels.")
    colours = palette(theme)
    count = min(len(tokens), limit)
    gone = [(place, text) for place, text in removed if place <= count]
    order = np.argsort(
        [*range(count), *(place - 0.5 for place, _ in gone)], kind="stable"
    )  # tokens and removed parts, in the order of the text
    labels = [as_text(token, _WIDEST) + "°" * bool(mark) for token, mark in zip(tokens[:count], rare[:count], strict=True)]
    labels += [f"<s>{as_text(text, _WIDEST)}</s>" for _, text in gone]
    widths = [_shown_columns(token, bool(mark)) + 1.2 for token, mark in zip(tokens[:count], rare[:count], strict=True)]
    widths += [_shown_columns(text, False) + 1.2 for _, text in gone]
    starts, lines = np.zeros(len(order)), np.zeros(len(order), dtype=int)
    starts[order], lines[order] = _wrap([widths[i] for i in order], columns)
    drawn = ["" if mark else token for token, mark in zip(tokens[:count], special[:count], strict=True)] + [text for _, text in gone]
    mirrored = is_right_to_left("".join(drawn))
    for line in range(int(lines.max()) + 1):
        own = [i for i in order.tolist() if lines[i] == line]
        visible_order = [own[k] for k in visual_order([drawn[i] for i in own], mirrored)]
        starts[visible_order] = _wrap([widths[i] for i in visible_order], np.inf)[0]
        starts[own] += (columns - float((starts[own] + np.take(widths, own)).max())) * mirrored

    largest = full or float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    stops, (low, high), (low_word, high_word) = _scale(scale, colours)
    neutral = stops[len(stops) // 2]

    def colour(scores: npt.ArrayLike) -> list[str]:
        return blend(stops, (anchored(np.nan_to_num(np.asarray(scores, dtype=float)), largest, knee) + 1) / 2)

    fills = colour(values[:count])
    fills = [neutral if np.isnan(value) else fill for value, fill in zip(values[:count], fills, strict=True)]
    inks = [colours.muted if faint and fill == neutral else ink_on(fill) for faint, fill in zip(special[:count], fills, strict=True)]
    fills, inks = [*fills, *["rgba(0,0,0,0)"] * len(gone)], [*inks, *[colours.muted] * len(gone)]
    last = int(lines.max())

    height = (last + 1) * _LINE
    anchors = _anchors(full) if full and knee else []
    top, bottom = (44 if title else 10), 56 if anchors else 36
    plot = new_plot(
        theme,
        as_text(title, None) if title else "",
        (int(columns * _CHAR) + 24, height + top + bottom),
        (12, top, 12, bottom),
        go.Bar(
            orientation="h",
            base=starts,
            x=widths,
            y=lines,
            width=0.78,
            marker={"color": fills, "cornerradius": 4, "line": {"width": 0}},
            text=labels,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            insidetextfont={"family": MONOSPACE, "size": 13, "color": inks},
            customdata=[
                f"{token_label(token, i)}<br>{as_text(score_name)} {_signed(value)}"
                for i, (token, value) in enumerate(zip(tokens[:count], values[:count], strict=True))
            ]
            + [f"“{as_text(text, 120)}”<br>removed before the model reads" for _, text in gone],
            hovertemplate="%{customdata}<extra></extra>",
        ),
        showlegend=False,
        barmode="overlay",
        # A fixed ratio of line to character: on a wider page, the text keeps its shape and leaves room at the right.
        xaxis={
            "range": [0, columns],
            "visible": False,
            "fixedrange": True,
            "constrain": "range",
            "constraintoward": "right" if mirrored else "left",
        },
        yaxis={
            "range": [last + 0.5, -0.5],
            "visible": False,
            "fixedrange": True,
            "scaleanchor": "x",
            "scaleratio": _LINE / _CHAR,
            "constrain": "range",
            "constraintoward": "top",
        },
    )
    swatch, gap = '<span style="color:{}">■</span> {}', "&nbsp;" * 5
    words = [swatch.format(fill, as_text(label, 60)) for fill, label in ((low, low_label), (high, high_label))]
    marks = [swatch.format(*each) for each in zip(colour(anchors), map(_tick, anchors), strict=True)]
    plot.add_annotation(
        text=gap.join(words) + ("<br>" + "&nbsp; ".join([*marks, as_text(unit, 40)]) if marks else ""),
        align="left",
        xref="paper",
        yref="paper",
        x=0,
        y=0,
        xanchor="left",
        yanchor="top",
        yshift=-6,
        font={"size": 12, "color": colours.muted},
    )
    frame = pd.DataFrame(
        {
            "position": np.arange(len(tokens)),
            "token": list(tokens),
            score_name: values,
            "special": special,
            "unknown": rare,
        }
    )
    more = f"{f' {unit}' if unit else ''}{' or more, in every sentence' if full else ''}"
    caption = sentence(
        [
            f"Each token is coloured by its {score_name}: {high_word} {high_label}, {low_word} {low_label}.",
            f"The strongest colour is {largest:.3g}{more}.",
            f"The first {count} of {len(tokens)} tokens are shown." if count < len(tokens) else "",
            "° marks tokens that are not in the vocabulary." if rare[:count].any() else "",
            "Struck through: text that is removed before the model reads." if gone else "",
        ]
    )
    again = partial(
        token_strip,
        tokens,
        scores,
        title=title,
        score_name=score_name,
        specials=specials,
        unknown=unknown,
        low_label=low_label,
        high_label=high_label,
        full=full,
        knee=knee,
        unit=unit,
        scale=scale,
        limit=limit,
        theme=theme,
    )
    return Figure(file_safe("tokens", score_name), plot, frame, caption, at_width=again)


def _scale(scale: Scale, colours: Palette) -> tuple[tuple[str, ...], tuple[str, str], tuple[str, str]]:
    """Return the colours from low to high, the colours of both ends in the legend, and the names of these colours."""
    if scale == "class":
        return colours.probability, (colours.probability[0], colours.probability[-1]), ("orange", "blue")
    return colours.signed, (colours.minus, colours.plus), ("purple", "green")


def anchored(values: npt.NDArray[np.float64], full: float, knee: float) -> npt.NDArray[np.float64]:
    """Return positions from -1 to 1 on the colour scale; a score of `full` or more is at the end."""
    shares = np.log1p(np.abs(values) / knee) / np.log1p(full / knee) if knee else np.abs(values) / full
    return np.asarray(np.sign(values) * np.minimum(shares, 1))


def _anchors(full: float) -> list[float]:
    """Return the scores whose colours the legend shows."""
    return [sign * full / part for sign, parts in ((-1, (1, 4, 16)), (0, (1,)), (1, (16, 4, 1))) for part in parts]


def _tick(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−") if value else "0"


def _wrap(widths: Sequence[float], limit: float, gap: float = 0.4) -> tuple[list[float], list[int]]:
    """Start column and line of each box; a box that no longer fits opens a line."""
    starts, lines = [], []
    at, line = 0.0, 0
    for width in widths:
        if at and at + width > limit:
            at, line = 0.0, line + 1
        starts.append(at)
        lines.append(line)
        at += width + gap
    return starts, lines


def _shown_columns(token: str, marked: bool) -> int:
    return min(text_columns(visible(token)), _WIDEST) + marked


def _signed(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:+.4f}"
