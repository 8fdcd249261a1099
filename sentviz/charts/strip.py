"""A sentence as running text, each token coloured by its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain import SCORES, available, deviation, explained
from sentviz.analysis.explain.scores import find_score
from sentviz.charts.chart import Drawing
from sentviz.charts.colours import blend, ink_on
from sentviz.charts.figure import Figure, file_safe, new_plot, sentence
from sentviz.charts.look import MONOSPACE, PATTERNS, Look
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import as_text, broken, is_right_to_left, label_width, text_columns, token_label, visible, visual_order
from sentviz.data.cleaning import uncovered
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import signed, written
from sentviz.runs.trace import Trace

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
    limit: int = 400,
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
    count = min(len(tokens), limit)
    gone = [(place, text) for place, text in removed if place <= count]
    largest = full or float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    frame = pd.DataFrame(
        {"position": np.arange(len(tokens)), "token": list(tokens), score_name: values, "special": special, "unknown": rare}
    )
    low_word, high_word = ("orange", "blue") if scale == "class" else ("purple", "green")
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
    data = {
        "title": title,
        "tokens": list(tokens[:count]),
        "values": values[:count],
        "special": special[:count],
        "rare": rare[:count],
        "removed": gone,
        "score_name": score_name,
        "labels": (low_label, high_label),
        "largest": largest,
        "knee": knee,
        "ticks": _anchors(full) if full and knee else [],
        "unit": unit,
        "scale": scale,
    }
    return Figure(file_safe("tokens", score_name), Drawing(draw_strip, data), frame, caption)


def draw_strip(
    look: Look,
    title: str,
    tokens: Sequence[str],
    values: npt.NDArray[np.float64],
    special: npt.NDArray[np.bool_],
    rare: npt.NDArray[np.bool_],
    removed: Sequence[tuple[int, str]],
    score_name: str,
    labels: tuple[str, str],
    largest: float,
    knee: float,
    ticks: Sequence[float],
    unit: str,
    scale: Scale,
) -> go.Figure:
    """Draw the boxes of a strip as one trace of bars, first those of the tokens, then the removed parts; a character takes 8.2 pixels.

    Args:
        labels: meaning of low and of high scores. largest: score of the strongest colour. ticks: scores whose colours the legend shows.
        The others are those of `token_strip`, cut to the drawn tokens.
    """
    width = look.room or 664
    columns = max(int((width - 24) / _CHAR), 6)
    widest = min(_WIDEST, columns - 3)
    count, gone = len(tokens), [text for _, text in removed]
    order = np.argsort(
        [*range(count), *(place - 0.5 for place, _ in removed)], kind="stable"
    )  # tokens and removed parts, in the order of the text
    texts = [as_text(token, widest) + "°" * bool(mark) for token, mark in zip(tokens, rare, strict=True)]
    texts += [f"<s>{as_text(text, widest)}</s>" for text in gone]
    widths = [
        min(text_columns(visible(text)), widest) + bool(mark) + 1.2
        for text, mark in zip([*tokens, *gone], [*rare, *[False] * len(gone)], strict=True)
    ]
    starts, lines = np.zeros(len(order)), np.zeros(len(order), dtype=int)
    starts[order], lines[order] = _wrap([widths[i] for i in order], columns)
    drawn = ["" if mark else token for token, mark in zip(tokens, special, strict=True)] + gone
    mirrored = is_right_to_left("".join(drawn))
    for line in range(int(lines.max()) + 1):
        own = [i for i in order.tolist() if lines[i] == line]
        visible_order = [own[k] for k in visual_order([drawn[i] for i in own], mirrored)]
        starts[visible_order] = _wrap([widths[i] for i in visible_order], np.inf)[0]
        starts[own] += (columns - float((starts[own] + np.take(widths, own)).max())) * mirrored

    at = np.append(anchored(np.nan_to_num(values), largest, knee), [np.nan] * len(gone))
    faint = np.array([*special, *(True for _ in gone)]) & ~(np.abs(at) > 0.01)
    boxes = score_boxes(look, starts, widths, lines, 0.78, texts, at, scale, faint)
    hover = [f"{token_label(token, i)}<br>{as_text(score_name)} {_signed(values[i])}" for i, token in enumerate(tokens)]
    boxes.customdata = [*hover, *(f"“{as_text(text, 120)}”<br>removed before the model reads" for text in gone)]
    heading = broken(as_text(title, None), 1.1 * (width - 24), 15) if title else ""
    key = score_legend(look, scale, labels, width - 24, ticks, anchored(np.array(ticks), largest, knee), unit)
    last, top = int(lines.max()), 44 + 20 * heading.count("<br>") if title else 10
    bottom = 20 + 18 * (1 + key["text"].count("<br>"))
    side = "right" if mirrored else "left"
    # A fixed ratio of line to character: on a wider page, the text keeps its shape and leaves room at the right.
    still: dict[str, Any] = {"visible": False, "fixedrange": True, "constrain": "range"}
    return new_plot(
        look,
        heading,
        (width, (last + 1) * _LINE + top + bottom),
        (12, top, 12, bottom),
        boxes,
        showlegend=False,
        barmode="overlay",
        annotations=[key],
        xaxis=still | {"range": [0, columns], "constraintoward": side},
        yaxis=still | {"range": [last + 0.5, -0.5], "scaleanchor": "x", "scaleratio": _LINE / _CHAR, "constraintoward": "top"},
    )


def score_boxes(
    look: Look,
    starts: npt.ArrayLike,
    widths: npt.ArrayLike,
    y: npt.ArrayLike,
    height: float,
    texts: Sequence[str],
    at: npt.NDArray[np.float64],
    scale: Scale = "support",
    faint: npt.ArrayLike = (),
) -> go.Bar:
    """Return texts in monospace letters on coloured boxes; in greys, boxes of low scores are hatched.

    Args:
        starts, widths, y: (n,) left ends, widths in characters, and middles. height: of each box, in units of `y`.
        texts: n Plotly labels. at: (n,) positions on the colour scale, -1 to 1; NaN for no box.
        faint: (n,) mask of texts in pale letters; () for none.
    """
    fills = blend(_stops(look, scale), (np.nan_to_num(at) + 1) / 2)
    inks = [look.colours.muted if is_faint else ink_on(fill) for fill, is_faint in zip_longest(fills, np.asarray(faint))]
    fills = ["rgba(0,0,0,0)" if np.isnan(place) else fill for fill, place in zip(fills, at, strict=True)]
    marker: dict[str, Any] = {"color": fills, "cornerradius": 4, "line": {"width": 0}}
    if look.is_grey:
        marker["pattern"] = {"shape": [PATTERNS[int(place < -0.06)] for place in at], "size": 6, "solidity": 0.2, "fillmode": "overlay"}
    return go.Bar(
        orientation="h",
        base=starts,
        x=widths,
        y=y,
        width=height,
        marker=marker,
        text=texts,
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        constraintext="none",
        insidetextfont={"family": MONOSPACE, "size": 13, "color": inks},
        hovertemplate="%{customdata}<extra></extra>",
    )


def score_legend(
    look: Look,
    scale: Scale,
    labels: tuple[str, str],
    room: float,
    ticks: Sequence[float] = (),
    at: npt.ArrayLike = (),
    unit: str = "",
) -> dict[str, Any]:
    """Return the legend below boxes: what low and high scores mean, below each other if they are wider than `room` pixels, and a line of
    scores with their colours.

    Args:
        ticks, at: scores, and their positions on the colour scale from -1 to 1. unit: of the scores, plain text.
    """
    stops = _stops(look, scale)
    ends = (stops[0], stops[-1]) if scale == "class" else (look.colours.minus, look.colours.plus)

    def swatch(fill: str, text: str, is_low: bool) -> str:
        return f'<span style="color:{fill}">{"▨" if is_low and look.is_grey else "■"}</span> {text}'

    words = [swatch(fill, as_text(label, 60), fill == ends[0]) for fill, label in zip(ends, labels, strict=True)]
    fits = sum(label_width(word, 12) + 12 for word in words) <= room
    fills = blend(stops, (np.asarray(at, dtype=float) + 1) / 2)
    marks = [swatch(fill, written(tick, "+.3g") if tick else "0", tick < 0) for fill, tick in zip(fills, ticks, strict=True)]
    text = ("&nbsp;" * 5 if fits else "<br>").join(words) + ("<br>" + "&nbsp; ".join([*marks, as_text(unit, 40)]) if marks else "")
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "xanchor": "left", "yanchor": "top", "yshift": -6}
    return {"text": text, "align": "left", "font": {"size": 12, "color": look.colours.muted}, **place}


def _stops(look: Look, scale: Scale) -> tuple[str, ...]:
    """Return the colours from low to high."""
    return look.colours.probability if scale == "class" else look.colours.signed


def anchored(values: npt.NDArray[np.float64], full: float, knee: float) -> npt.NDArray[np.float64]:
    """Return positions from -1 to 1 on the colour scale; a score of `full` or more is at the end."""
    shares = np.log1p(np.abs(values) / knee) / np.log1p(full / knee) if knee else np.abs(values) / full
    return np.asarray(np.sign(values) * np.minimum(shares, 1))


def _anchors(full: float) -> list[float]:
    """Return the scores whose colours the legend shows."""
    return [sign * full / part for sign, parts in ((-1, (1, 4, 16)), (0, (1,)), (1, (16, 4, 1))) for part in parts]


def _wrap(widths: Sequence[float], limit: float) -> tuple[list[float], list[int]]:
    """Start column and line of each box; a box that no longer fits opens a line."""
    starts, lines = [], []
    at, line = 0.0, 0
    for width in widths:
        if at and at + width > limit:
            at, line = 0.0, line + 1
        starts.append(at)
        lines.append(line)
        at += width + 0.4
    return starts, lines


def _signed(value: float) -> str:
    return "none" if np.isnan(value) else signed(value, 4)


@figure("strip", "The sentence coloured by an explanation", Sentence)
def _strip(of: Sentence, *, score: str = "removal") -> Figure:
    find_score(score)
    trace = of.trace
    if not of.has_fixed_trace and not {"removal", score} <= set(available(trace)):
        trace = explained(of.model, of.fresh.for_target(of.aim), ["removal", score])
    return strip(trace, score)


def strip(trace: Trace, name: str) -> Figure:
    """Draw the sentence as tokens coloured by a score; the caption has the score's rank correlation with word removal.

    Colours of attention scores show the difference from an even share, the mean over the tokens.
    """
    from sentviz.analysis.explain import agreement, completeness, ends, score, uncertainty

    low, high = ends(trace, name)
    how, values, without_padding = SCORES[name], score(trace, name), slice(len(trace.tokens) - trace.padding)
    units = trace.units.get(name, np.arange(len(trace.tokens)))[without_padding]
    first = np.unique(units, return_index=True)[1]  # first token of each unit
    drawn = token_strip(
        [_written(trace, np.flatnonzero(units == units[start])) for start in first]
        if name in trace.units
        else trace.tokens[without_padding],
        deviation(trace, name)[first],
        score_name=how.title.lower(),
        specials=trace.specials[first],
        unknown=np.maximum.reduceat(trace.unknown[without_padding], first),
        removed=[(int(first.searchsorted(place)), text) for place, text in _removed(trace)],
        low_label=low,
        high_label=high,
        full=how.full,
        knee=how.knee,
        unit=how.unit,
    )
    words = [drawn.caption, f"{trace.padding:,} tokens of padding follow; the model reads them, too." if trace.padding else "", how.about]
    if int((~trace.specials).sum()) == 1:
        words.append("The text has only one word, so its words cannot be compared.")
    elif int((~trace.specials[first]).sum()) == 1:
        words.append("The text has only one part of this kind, so there is nothing to compare.")
    if name != "removal" and (rho := agreement(trace, values, signed=how.signed)) is not None:
        n, what = int((~trace.specials).sum()), "word removal's effect" if how.signed else "the size of word removal's effect"
        words.append(f"Rank correlation with {what}: {signed(rho)} over {n} tokens.")
    words += [completeness(trace, name), uncertainty(trace, name)]
    return replace(drawn, caption=" ".join(filter(None, words)))


def _written(trace: Trace, places: npt.NDArray[np.int64]) -> str:
    """Return neighbouring tokens as they are written in the text."""
    if trace.specials[places[0]]:
        return trace.tokens[int(places[0])]
    text = trace.text if trace.segments[places[0]] == 0 else trace.text_pair or ""
    return text[int(trace.offsets[places[0], 0]) : int(trace.offsets[places[-1], 1])]


def _removed(trace: Trace) -> list[tuple[int, str]]:
    """Return the parts of a single text that no token covers because cleaning removed them; parts after a truncation are unknown and
    left out.
    """
    if trace.text_pair is not None:
        return []
    parts = uncovered(trace.text, trace.offsets)
    return [each for each in parts if not trace.dropped or each[0] < len(trace.tokens)]
