"""A lexicon in a sentence: the polarity of its tokens, their similarity, and one token's way from entries to attention."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sentviz.analysis.maps.arithmetic import plain
from sentviz.analysis.maps.injection import Entries, Row, neutral
from sentviz.data.lexicon import SIDES, sigma
from sentviz.errors import InputError
from sentviz.figures.attention import heatmap
from sentviz.figures.bartable import Column, bar_table, row_names
from sentviz.figures.colours import Palette, Theme, palette
from sentviz.figures.figure import Figure, file_safe, number, sentence
from sentviz.figures.maps import Floats
from sentviz.figures.strip import token_strip
from sentviz.figures.text import as_text
from sentviz.runs.trace import Trace

_SHOWN = 14  # keys of a row


def polarity_strip(trace: Trace, *, token: int | None = None, width: int = 664, theme: Theme = "light") -> Figure:
    """The sentence as tokens coloured by positive minus negative share, the three shares as a bar below each that an entry contains.

    Args:
        trace: of a model with a lexicon.
        token: one to outline, counted from 0. width: as in `token_strip`.
    Frame:
        position, token, positive, neutral, negative, special, unknown.
    Raises:
        InputError: the trace holds no polarities.
    """
    shares = _polarity(trace)
    colours, flat = palette(theme), neutral(shares)
    drawn = token_strip(
        trace.tokens,
        np.where(flat, np.nan, shares[:, 0] - shares[:, 2]),
        score_name="positive minus negative share",
        specials=trace.specials,
        unknown=trace.unknown,
        low_label="more negative",
        high_label="more positive",
        scale="class",
        full=1.0,
        width=width,
        theme=theme,
    )
    boxes = drawn.plot.data[0]
    starts, widths, count = np.array(boxes.base, dtype=float), np.array(boxes.x, dtype=float), len(boxes.base)
    boxes.customdata = [f"“{as_text(trace.tokens[i], 120)}” ({i + 1})<br>{_shares(shares[i], flat[i])}" for i in range(count)]
    boxes.unselected = {"marker": {"opacity": 1}}
    boxes.marker.line = {"color": colours.ink, "width": [2 if i == token else 0 for i in range(count)]}
    room, done = np.where(flat[:count], 0.0, widths - 0.6), np.zeros(count)
    for side, colour in enumerate(_sides(colours)):
        part = shares[:count, side] * room
        drawn.plot.add_bar(
            orientation="h",
            base=starts + 0.3 + done,
            x=part,
            y=np.array(boxes.y) + 0.44,
            width=0.1,
            marker={"color": colour, "line": {"width": 0}},
            unselected={"marker": {"opacity": 1}},
            hoverinfo="skip",
        )
        done = done + part
    frame = drawn.frame[["position", "token"]].assign(**{side: shares[:, i] for i, side in enumerate(SIDES)})
    words = int((~trace.specials).sum())
    known = int((~flat & ~trace.specials).sum())
    caption = sentence(
        [
            f"Each token is coloured by its positive minus its negative share; the bar below it has positive, neutral and negative."
            f" {known} of {words} tokens stand in an entry of the lexicon; the grey ones are neutral, a third each.",
            f"The first {count} of {len(trace.tokens)} tokens are shown." if count < len(trace.tokens) else "",
            "° marks tokens that are not in the vocabulary." if trace.unknown[:count].any() else "",
        ]
    )
    return Figure(
        file_safe("polarity", trace.run),
        drawn.plot,
        frame.assign(special=trace.specials, unknown=trace.unknown),
        caption,
        at_width=partial(polarity_strip, trace, token=token, theme=theme),
    )


def polarity_bars(shares: npt.ArrayLike, token: str, found: Entries | None = None, *, width: int = 460, theme: Theme = "light") -> Figure:
    """lambda(x) of one token, with the arithmetic of smoothing beside each of its three shares.

    Args:
        shares: (3,) as the model holds them.
        found: what the lexicon says of the token, where it is at hand.
    Frame:
        side, share, and with `found` sum, smoothing, computed.
    """
    held = np.asarray(shares, dtype=float)
    frame = pd.DataFrame({"side": SIDES, "share": held})
    said, heading, caption = [number(value, 3) for value in held.tolist()], "share", "λ as it is stored in the model."
    if found is not None and found.sums.any():
        total = number(float(found.sums.sum() + 3 * found.smoothing))
        said = [
            f"({number(value)} + {found.smoothing:g}) / {total} = {number(share, 3)}"
            for value, share in zip(found.sums.tolist(), found.polarity.tolist(), strict=True)
        ]
        heading = f"(sum + {found.smoothing:g}) / (all sums + {3 * found.smoothing:g})"
        apart = float(np.abs(held - found.polarity).max())
        caption = sentence(
            [
                f"The sums of {len(found.frame):,} {'entry' if len(found.frame) == 1 else 'entries'}, each smoothed by {found.smoothing:g}"
                " (Laplace), as shares of 1.",
                f"The model stores them rounded, off by {apart:.1g} here." if apart >= 5e-4 else "",
            ]
        )
        frame = frame.assign(sum=found.sums, smoothing=found.smoothing, computed=found.polarity)
    columns = [Column(heading, held, said, _sides(palette(theme)))]
    plot = bar_table(list(SIDES), columns, title=f"λ of “{as_text(token, 18)}”", left=84, width=width, theme=theme)
    return Figure(file_safe("lambda", token), plot, frame, caption, at_width=partial(polarity_bars, shares, token, found, theme=theme))


def sigma_map(trace: Trace, *, side: int = 400, theme: Theme = "light") -> Figure:
    """sigma_ij = lambda(x_i) . lambda(x_j) of every pair of tokens, the same in every layer and head.

    Args:
        side: as in `heatmap`.
    Frame:
        query, query_token, key, key_token, sigma.
    Raises:
        InputError: the trace holds no polarities.
    """
    similar = sigma(_polarity(trace))
    held = trace.replace(layer_ids=(0,), head_ids=(0,), query_ids=tuple(range(len(similar))), attention=similar[None, None], biases={})
    drawn = heatmap(held, 0, 0, side=side, theme=theme)
    drawn.plot.update_layout(title_text="σ · how alike the polarities are")
    frame = drawn.frame.drop(columns=["layer", "head", "component"]).rename(columns={"attention": "sigma"})
    shown = frame["key"].nunique()
    caption = sentence(
        [
            "σᵢⱼ = λ(xᵢ) · λ(xⱼ), constant in training and the same in every layer. A neutral token has 1/3 towards all.",
            f"{shown} of {len(trace.tokens)} tokens are shown." if shown < len(trace.tokens) else "",
        ]
    )
    return Figure(file_safe("sigma", trace.run), drawn.plot, frame, caption)


def score_row(row: Row, *, theme: Theme = "light") -> Figure:
    """sigma of one token towards the others, and its scores before softmax: Q K^T / sqrt(d_k), what is injected, the result.

    Frame:
        `Row.frame`, all keys, and `shown`.
    """
    times = "× factor" if row.multiplies else "+ lexicon"
    parts = (("sigma", "σ", 3), ("plain", "QKᵀ / √d", 2), ("injected", times, 3), ("scores", "= score", 2))
    figure = _drawn(
        row, parts, "mean", f"Scores of “{as_text(row.tokens[row.token], 14)}” · layer {row.layer + 1}, head {row.head + 1}", theme
    )
    what = "multiplied by" if row.multiplies else "plus"
    return replace(
        figure,
        name=file_safe("scores", row.run, f"layer{row.layer + 1}", f"head{row.head + 1}", f"query{row.token + 1}"),
        caption=f"Before softmax: Q Kᵀ / √d {what} what the lexicon gives, at strength {row.strength:g}. {figure.caption}",
    )


def attention_row(row: Row, *, theme: Theme = "light") -> Figure:
    """Attention of one token without and with the lexicon, and the change.

    Frame:
        `Row.frame`, all keys, and `shown`.
    """
    parts = (("before", "without", 3), ("after", "with lexicon", 3), ("change", "change", 3))
    figure = _drawn(
        row, parts, "sum", f"Attention of “{as_text(row.tokens[row.token], 14)}” · layer {row.layer + 1}, head {row.head + 1}", theme
    )
    most = float(np.abs(row.after - row.before).max())
    moved = "no weight moves" if most < 5e-7 else f"no weight moves by more than {most:.2g}"
    return replace(
        figure,
        name=file_safe("before-after", row.run, f"layer{row.layer + 1}", f"head{row.head + 1}", f"query{row.token + 1}"),
        caption=f"Softmax of the scores, beside the same model asked without its lexicon: {moved}. {figure.caption}",
    )


def _drawn(row: Row, parts: tuple[tuple[str, str, int], ...], rest_by: str, title: str, theme: Theme, width: int = 640) -> Figure:
    """The keys that get most attention, before or after, in text order; the others together in the last row."""
    frame, colours = row.frame, palette(theme)
    frame["change"] = frame["after"] - frame["before"]
    most = np.maximum(row.before, row.after)
    best = np.argsort(-most, kind="stable")[: _SHOWN if len(most) > _SHOWN + 1 else len(most)]
    frame["shown"] = np.isin(frame["key"], np.union1d(best, [row.token]))
    shown, rest = frame[frame["shown"]], frame[~frame["shown"]]
    names, left = row_names(list(shown["key_token"]), list(shown["key"]), row.token, len(rest))
    columns = []
    for name, heading, digits in parts:
        values = shown[name].to_numpy(float)
        if len(rest):
            values = np.append(values, rest[name].agg(rest_by))
        tint = [colours.minus if value < 0 else colours.plus for value in values]
        said = [_said(name, value, digits) for value in values.tolist()]
        columns.append(Column(heading, values, said, tint, least=0.01 if name == "change" else 0.0))
    plot = bar_table(names, columns, title=title, left=left, width=width, faint=len(rest) > 0, theme=theme)
    caption = ""
    if len(rest):
        caption = f"The {len(shown)} keys with most attention are shown; the last row has the {rest_by} of the {len(rest):,} others."
    return Figure("row", plot, frame, caption, at_width=partial(_drawn, row, parts, rest_by, title, theme))


def _said(name: str, value: float, digits: int) -> str:
    if name != "change":
        return number(value, digits)
    return "0" if abs(value) < 5e-7 else f"{'+' if value > 0 else ''}{plain(value)}"


def _polarity(trace: Trace) -> Floats:
    if trace.polarity is None:
        raise InputError(f"{trace.run} has no lexicon.")
    return trace.polarity.astype(float)


def _shares(shares: Floats, flat: Any) -> str:
    if flat:
        return "in no entry: neutral"
    return ", ".join(f"{side} {share:.2f}" for side, share in zip(SIDES, shares.tolist(), strict=True))


def _sides(colours: Palette) -> list[str]:
    """Positive blue, neutral grey, negative orange."""
    return [colours.classes[-2], colours.classes[2], colours.classes[1]]
