"""Figures of a lexicon: the polarity of a sentence's tokens, their similarity, one token's path from entries to attention, and coverage."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.maps.arithmetic import plain
from sentviz.analysis.maps.injection import Entries, Row, neutral
from sentviz.data.lexicon import SIDES, sigma
from sentviz.errors import InputError
from sentviz.figures.attention import heatmap
from sentviz.figures.bar_table import Column, bar_table, row_names
from sentviz.figures.colours import Palette, Theme, ink_on, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, number, sentence
from sentviz.figures.maps import Floats
from sentviz.figures.strip import token_strip
from sentviz.figures.text import as_text, token_label
from sentviz.io.lazy import pd
from sentviz.runs.trace import Trace

_SHOWN = 14  # keys that a row shows


def polarity_strip(trace: Trace, *, token: int | None = None, width: int = 664, theme: Theme = "light") -> Figure:
    """Draw the sentence as tokens coloured by positive minus negative share; below each token of an entry, a bar has the three shares.

    Args:
        trace: trace of a model with a lexicon.
        token: token to outline, counted from 0. width: as in `token_strip`.
    Frame:
        position, token, positive, neutral, negative, special, unknown.
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
    boxes.customdata = [f"{token_label(trace.tokens[i], i)}<br>{_shares(shares[i], flat[i])}" for i in range(count)]
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
            "Each token is coloured by its positive minus its negative share; the bar below it shows positive, neutral and negative.",
            f"{known} of {words} tokens occur in an entry of the lexicon. Grey tokens are neutral: 1/3 for each share.",
            f"The first {count} of {len(trace.tokens)} tokens are drawn." if count < len(trace.tokens) else "",
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


def polarity_bars(shares: npt.ArrayLike, token: str, entries: Entries | None = None, *, width: int = 460, theme: Theme = "light") -> Figure:
    """Draw lambda(x) of one token: each of its three shares, with the calculation that smooths it.

    Args:
        shares: (3,) as the model stores them.
        entries: the lexicon's entries of the token; None if the lexicon is not available.
    Frame:
        side, share, and with `entries` sum, smoothing, computed.
    """
    stored = np.asarray(shares, dtype=float)
    frame = pd.DataFrame({"side": SIDES, "share": stored})
    texts, heading, caption = (
        [number(value, 3) for value in stored.tolist()],
        "share",
        "The three shares λ of the token, as the model stores them.",
    )
    if entries is not None and entries.sums.any():
        total = number(float(entries.sums.sum() + 3 * entries.smoothing))
        texts = [
            f"({number(value)} + {entries.smoothing:g}) / {total} = {number(share, 3)}"
            for value, share in zip(entries.sums.tolist(), entries.polarity.tolist(), strict=True)
        ]
        heading = f"(sum + {entries.smoothing:g}) / (all sums + {3 * entries.smoothing:g})"
        apart = float(np.abs(stored - entries.polarity).max())
        caption = sentence(
            [
                f"The sums over {len(entries.frame):,} {'entry' if len(entries.frame) == 1 else 'entries'}, each smoothed by"
                f" {entries.smoothing:g} (Laplace) and divided by their total.",
                f"The model stores them rounded; the error here is {apart:.1g}." if apart >= 5e-4 else "",
            ]
        )
        frame = frame.assign(sum=entries.sums, smoothing=entries.smoothing, computed=entries.polarity)
    columns = [Column(heading, stored, texts, _sides(palette(theme)))]
    plot = bar_table(list(SIDES), columns, title=f"λ of “{as_text(token, 18)}”", left=84, width=width, theme=theme)
    return Figure(file_safe("lambda", token), plot, frame, caption, at_width=partial(polarity_bars, shares, token, entries, theme=theme))


def coverage_bars(frame: pd.DataFrame, *, reference: float = 0.5, theme: Theme = "light") -> Figure:
    """Draw a bar per data set and lexicon: the share of tokens that stay neutral; a dotted line marks the middle of the paper's rates.

    Args:
        frame: dataset, lexicon (titles), neutral (share), tokens; rows in the order of drawing.
        reference: position of the line, a share.
    """
    if frame.empty:
        raise InputError("No coverage has been measured.")
    colours = palette(theme)
    lexicons, height = list(dict.fromkeys(frame["lexicon"])), 92 + 24 * len(frame) + 10 * frame["dataset"].nunique()
    plot = new_plot(theme, "", (620, height), (220, 16, 24, 52), showlegend=False)
    at, y, ticks = 0.0, [], []
    for i, row in enumerate(frame.to_dict("records")):
        first = i == 0 or frame["dataset"].iloc[i - 1] != row["dataset"]
        at += (0.4 if first and i else 0) + 1
        y.append(at)
        name = f"<b>{as_text(row['dataset'], 24)}</b> · " if first else ""
        ticks.append(f"{name}{as_text(row['lexicon'], 20)}")
    fills = [colours.line(lexicons.index(name)) for name in frame["lexicon"]]
    plot.add_bar(
        x=frame["neutral"],
        y=y,
        orientation="h",
        width=0.72,
        marker={"color": fills},
        text=[f"{share:.1%}" for share in frame["neutral"]],
        textposition="inside",
        insidetextanchor="end",
        constraintext="none",
        textfont={"size": 12, "color": [ink_on(fill) for fill in fills]},
        customdata=frame[["tokens"]],
        hovertemplate="%{x:.2%} of %{customdata[0]:,} tokens stay neutral<extra></extra>",
    )
    plot.add_vline(x=reference, line={"color": colours.muted, "width": 1.2, "dash": "dot"}, layer="below")
    plot.update_yaxes(tickvals=y, ticktext=ticks, range=[at + 0.7, 0.3], showgrid=False, automargin=False, ticklabelstandoff=6)
    plot.update_xaxes(range=[0, 1], tickformat=".0%", title_text="tokens that stay neutral", title_standoff=4, automargin=False)
    tokens = f"{int(frame['tokens'].min()):,} to {int(frame['tokens'].max()):,}"
    caption = (
        "Share of a test split's tokens that no lexicon entry contains. These tokens are neutral: (1/3, 1/3, 1/3). Tokens are those of the"
        f" data set's tokenizer, without special and unknown ones; {tokens} tokens. Dotted: the centre of most shares in the paper."
    )
    return Figure(file_safe("neutral-tokens"), plot, frame.reset_index(drop=True), caption)


def sigma_map(trace: Trace, *, side: int = 400, theme: Theme = "light") -> Figure:
    """Draw sigma_ij = lambda(x_i) . lambda(x_j) for every pair of tokens; it is the same in every layer and head.

    Args:
        side: pixels of the map, as in `heatmap`.
    Frame:
        query, query_token, key, key_token, sigma.
    """
    similar = sigma(_polarity(trace))
    as_map = trace.replace(layer_ids=(0,), head_ids=(0,), query_ids=tuple(range(len(similar))), attention=similar[None, None], biases={})
    drawn = heatmap(as_map, 0, 0, side=side, theme=theme)
    drawn.plot.update_layout(title_text="σ · similarity of the polarities")
    frame = drawn.frame.drop(columns=["layer", "head", "component"]).rename(columns={"attention": "sigma"})
    count = frame["key"].nunique()
    caption = sentence(
        [
            "σᵢⱼ = λ(xᵢ) · λ(xⱼ), fixed during training and the same in every layer. A neutral token has 1/3 with every token.",
            f"{count} of {len(trace.tokens)} tokens are drawn." if count < len(trace.tokens) else "",
        ]
    )
    return Figure(file_safe("sigma", trace.run), drawn.plot, frame, caption)


def score_row(row: Row, *, theme: Theme = "light") -> Figure:
    """Draw sigma of one token with all keys, and its scores before softmax: Q K^T / sqrt(d_k), the part of the lexicon, and the result.

    Frame:
        `Row.frame`, all keys, and `shown` (True for drawn keys).
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
        caption=f"Scores before softmax: Q Kᵀ / √d {what} the lexicon's term σ, at strength {row.strength:g}. {figure.caption}",
    )


def attention_row(row: Row, *, theme: Theme = "light") -> Figure:
    """Draw the attention of one token without and with the lexicon, and the change.

    Frame:
        `Row.frame`, all keys, and `shown` (True for drawn keys).
    """
    parts = (("before", "without", 3), ("after", "with lexicon", 3), ("change", "change", 3))
    figure = _drawn(
        row, parts, "sum", f"Attention of “{as_text(row.tokens[row.token], 14)}” · layer {row.layer + 1}, head {row.head + 1}", theme
    )
    most = float(np.abs(row.after - row.before).max())
    moved = "no weight changes" if most < 5e-7 else f"the largest change of a weight is {most:.2g}"
    return replace(
        figure,
        name=file_safe("before-after", row.run, f"layer{row.layer + 1}", f"head{row.head + 1}", f"query{row.token + 1}"),
        caption=f"Softmax of the scores, without and with the lexicon in the same model: {moved}. {figure.caption}",
    )


def _drawn(row: Row, parts: tuple[tuple[str, str, int], ...], rest_by: str, title: str, theme: Theme, width: int = 640) -> Figure:
    """Draw the keys with the most attention, before or after, in text order; the last row combines all other keys."""
    frame, colours = row.frame, palette(theme)
    frame["change"] = frame["after"] - frame["before"]
    most = np.maximum(row.before, row.after)
    best = np.argsort(-most, kind="stable")[: _SHOWN if len(most) > _SHOWN + 1 else len(most)]
    frame["shown"] = np.isin(frame["key"], np.union1d(best, [row.token]))
    drawn, rest = frame[frame["shown"]], frame[~frame["shown"]]
    names, left = row_names(list(drawn["key_token"]), list(drawn["key"]), row.token, len(rest))
    columns = []
    for name, heading, digits in parts:
        values = drawn[name].to_numpy(float)
        if len(rest):
            values = np.append(values, rest[name].agg(rest_by))
        tint = [colours.minus if value < 0 else colours.plus for value in values]
        texts = [_value_text(name, value, digits) for value in values.tolist()]
        columns.append(Column(heading, values, texts, tint, least=0.01 if name == "change" else 0.0))
    plot = bar_table(names, columns, title=title, left=left, width=width, faint=len(rest) > 0, theme=theme)
    caption = ""
    if len(rest):
        caption = f"The {len(drawn)} keys with most attention are drawn; the last row is the {rest_by} of the {len(rest):,} others."
    return Figure("row", plot, frame, caption, at_width=partial(_drawn, row, parts, rest_by, title, theme))


def _value_text(name: str, value: float, digits: int) -> str:
    if name != "change":
        return number(value, digits)
    return "0" if abs(value) < 5e-7 else f"{'+' if value > 0 else ''}{plain(value)}"


def _polarity(trace: Trace) -> Floats:
    if trace.polarity is None:
        raise InputError(f"{trace.run} has no lexicon.")
    return trace.polarity.astype(float)


def _shares(shares: Floats, flat: Any) -> str:
    if flat:
        return "neutral: in no entry"
    return ", ".join(f"{side} {share:.2f}" for side, share in zip(SIDES, shares.tolist(), strict=True))


def _sides(colours: Palette) -> list[str]:
    """Return the colours of positive, neutral and negative: blue, grey, orange."""
    return [colours.classes[-2], colours.classes[2], colours.classes[1]]
