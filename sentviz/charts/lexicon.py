"""Figures of a lexicon: the polarity of a sentence's tokens, their similarity, and one token's path from entries to attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.maps.arithmetic import plain
from sentviz.analysis.maps.compare import difference
from sentviz.analysis.maps.injection import Entries, Row, entries_of, neutral, reached, row
from sentviz.charts.attention import difference_map, heatmap
from sentviz.charts.bar_panels import REST, bar_panels, names_of
from sentviz.charts.chart import Drawing
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.look import Look
from sentviz.charts.maps import Floats
from sentviz.charts.options import Component, Components, Head, Heads, Layer, Token
from sentviz.charts.registry import capability, figure
from sentviz.charts.requirements import MAPS
from sentviz.charts.strip import draw_strip, token_strip
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import shortened, token_label
from sentviz.data.lexicon import SIDES, Lexicon, sigma
from sentviz.errors import InputError, SentvizError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import number
from sentviz.runs.intervention import Edit
from sentviz.runs.trace import Trace

LEXICON = capability("lexicon", "a lexicon", "{run} has no lexicon. Runs of the preset cls-last-scaled have a lexicon.")

_SHOWN = 14  # keys that a row shows
_ROLES = ("positive", "muted", "negative")  # colours of the sides


def _draw_polarity(look: Look, strip: Mapping[str, Any], shares: Floats, flat: npt.NDArray[np.bool_], chosen: int | None) -> go.Figure:
    """Draw a strip with a bar of three shares below each token that is not neutral.

    Args:
        strip: arguments of `draw_strip`. shares, flat: (n, 3) and (n,), of all tokens. chosen: token with an outline.
    """
    plot = draw_strip(look, **strip)
    boxes, still = plot.data[0], {"unselected": {"marker": {"opacity": 1}}}
    starts, widths, count = np.array(boxes.base, dtype=float), np.array(boxes.x, dtype=float), len(boxes.base)
    boxes.customdata = [f"{token_label(token, i)}<br>{_shares(shares[i], flat[i])}" for i, token in enumerate(strip["tokens"])]
    boxes.update(marker_line={"color": look.colours.ink, "width": [2 * (i == chosen) for i in range(count)]}, **still)
    room, done = np.where(flat[:count], 0.0, widths - 0.6), np.zeros(count)
    for side, role in enumerate(_ROLES):
        part = shares[:count, side] * room
        shape: dict[str, Any] = {"orientation": "h", "base": starts + 0.3 + done, "x": part, "y": np.array(boxes.y) + 0.44, "width": 0.1}
        plot.add_bar(marker={"color": look.colour(role), "line": {"width": 0}}, hoverinfo="skip", **shape, **still)
        done = done + part
    return plot


def _drawn(row: Row, parts: tuple[tuple[str, str, int], ...], rest_by: str, name: str, what: str, about: str) -> Figure:
    """Draw the keys with the most attention, before or after, in text order; the last row combines all other keys."""
    frame = row.frame
    frame["change"] = frame["after"] - frame["before"]
    most = np.maximum(row.before, row.after)
    best = np.argsort(-most, kind="stable")[: _SHOWN if len(most) > _SHOWN + 1 else len(most)]
    frame["shown"] = np.isin(frame["key"], np.union1d(best, [row.token]))
    drawn, rest = frame[frame["shown"]], frame[~frame["shown"]]
    names = names_of(list(drawn["key_token"]), list(drawn["key"]), len(rest))
    values = [(part, key, value) for part in parts for key, value in zip(drawn["key"].tolist(), drawn[part[0]].tolist(), strict=True)]
    values += [(part, REST, rest[part[0]].agg(rest_by)) for part in parts if len(rest)]
    bars = [
        (name, key, value, _value_text(name, value, digits), "minus" if value < 0 else "plus") for (name, _, digits), key, value in values
    ]
    title = f"{what} of “{shortened(row.tokens[row.token], 14)}” · layer {row.layer + 1}, head {row.head + 1}"
    chart = bar_panels(title, bars, {name: heading for name, heading, _ in parts}, names, row.token)
    caption = ""
    if len(rest):
        caption = f"The {len(drawn)} keys with most attention are drawn; the last row is the {rest_by} of the {len(rest):,} others."
    safe = file_safe(name, row.run, f"layer{row.layer + 1}", f"head{row.head + 1}", f"query{row.token + 1}")
    return Figure(safe, chart, frame, f"{about} {caption}")


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


def _polar(of: Sentence) -> Trace:
    """Return the trace with its polarities; stored examples of old runs lack them, so the model is run."""
    return of.trace if of.trace.polarity is not None else of.fresh


def _token(trace: Trace, token: int | None) -> int:
    """Return the given token, by default the token with the strongest polarity."""
    if token is not None:
        return range(len(trace.tokens))[token]
    assert trace.polarity is not None
    return int(np.abs(trace.polarity[:, 0] - trace.polarity[:, 2]).argmax())


@figure("polarity", "The sentence coloured by polarity", Sentence, LEXICON)
def _polarity_figure(of: Sentence, *, token: Token | None = None) -> Figure:
    """Draw the sentence as tokens coloured by positive minus negative share; below each token of an entry, a bar has the three shares.

    Args:
        token: token to outline.
    Frame:
        position, token, positive, neutral, negative, special, unknown.
    """
    trace = _polar(of)
    shares = _polarity(trace)
    flat = neutral(shares)
    strip = token_strip(
        trace.tokens,
        np.where(flat, np.nan, shares[:, 0] - shares[:, 2]),
        score_name="positive minus negative share",
        specials=trace.specials,
        unknown=trace.unknown,
        low_label="more negative",
        high_label="more positive",
        scale="class",
        full=1.0,
    )
    assert isinstance(strip.picture, Drawing)
    data = {"strip": strip.picture.data, "shares": shares, "flat": flat, "chosen": token}
    frame = strip.frame[["position", "token"]].assign(**{side: shares[:, i] for i, side in enumerate(SIDES)})
    words, count = int((~trace.specials).sum()), len(strip.picture.data["tokens"])
    known = int((~flat & ~trace.specials).sum())
    caption = sentence(
        [
            "Each token is coloured by its positive minus its negative share; the bar below it shows positive, neutral and negative.",
            f"{known} of {words} tokens occur in an entry of the lexicon. Grey tokens are neutral: 1/3 for each share.",
            f"The first {count} of {len(trace.tokens)} tokens are drawn." if count < len(trace.tokens) else "",
            "° marks tokens that are not in the vocabulary." if trace.unknown[:count].any() else "",
        ]
    )
    frame = frame.assign(special=trace.specials, unknown=trace.unknown)
    return Figure(file_safe("polarity", trace.run), Drawing(_draw_polarity, data), frame, caption)


@figure("polarity-of-token", "The three shares of one token", Sentence, LEXICON)
def _polarity_of_token(of: Sentence, *, token: Token | None = None) -> Figure:
    """Draw lambda(x) of one token: each of its three shares, with the calculation that smooths it if the lexicon is available.

    Frame:
        side, share, and with the lexicon sum, smoothing, computed.
    """
    trace = _polar(of)
    place = _token(trace, token)
    stored, word = _polarity(trace)[place], trace.tokens[place]
    entries: Entries | None = of.once(("entries", place), lambda: _entries(of, place, bool(trace.specials[place])))
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
    bars = [("", i, float(value), text, role) for i, (value, text, role) in enumerate(zip(stored, texts, _ROLES, strict=True))]
    chart = bar_panels(f"λ of “{shortened(word, 18)}”", bars, {"": heading}, dict(enumerate(SIDES)))
    return Figure(file_safe("lambda", word), chart, frame, caption)


def _entries(of: Sentence, token: int, special: bool) -> Entries | None:
    """Return the lexicon's entries of a token; None for special tokens, and if the lexicon is not available."""
    if special:
        return None
    try:
        lexicon = Lexicon.load(of.run.config["recipe"]["lexicon"])
        return entries_of(lexicon, of.model.tokenizer, int(of.model.encode(*of.texts).ids[token]))
    except SentvizError:
        return None


@figure("sigma", "What the lexicon adds for every pair of tokens", Sentence, LEXICON)
def _sigma(of: Sentence, *, side: int = 400) -> Figure:
    """Draw sigma_ij = lambda(x_i) . lambda(x_j) for every pair of tokens; it is the same in every layer and head.

    Args:
        side: pixels of the map, as in `heatmap`.
    Frame:
        query, query_token, key, key_token, sigma.
    """
    trace = _polar(of)
    similar = sigma(_polarity(trace))
    as_map = trace.replace(layer_ids=(0,), head_ids=(0,), query_ids=tuple(range(len(similar))), attention=similar[None, None], biases={})
    drawn = heatmap(as_map, 0, 0, side=side, title="σ · similarity of the polarities")
    frame = drawn.frame.drop(columns=["layer", "head", "component"]).rename(columns={"attention": "sigma"})
    count = frame["key"].nunique()
    caption = sentence(
        [
            "σᵢⱼ = λ(xᵢ) · λ(xⱼ), fixed during training and the same in every layer. A neutral token has 1/3 with every token.",
            f"{count} of {len(trace.tokens)} tokens are drawn." if count < len(trace.tokens) else "",
        ]
    )
    return Figure(file_safe("sigma", trace.run), drawn.picture, frame, caption)


@figure("lexicon-scores", "One token's scores without and with the lexicon's term", Sentence, LEXICON)
def _scores(of: Sentence, *, layer: Layer = 0, head: Head = -1, component: Component = 0, token: Token | None = None) -> Figure:
    """Draw sigma of one token with all keys, and its scores before softmax: Q K^T / sqrt(d_k), the part of the lexicon, and the result.

    Frame:
        `Row.frame`, all keys, and `shown` (True for drawn keys).
    """
    row = row_of(of, layer, head, component, token)
    times = "× factor" if row.multiplies else "+ lexicon"
    parts = (("sigma", "σ", 3), ("plain", "QKᵀ / √d", 2), ("injected", times, 3), ("scores", "= score", 2))
    what = "multiplied by" if row.multiplies else "plus"
    about = f"Scores before softmax: Q Kᵀ / √d {what} the lexicon's term σ, at strength {row.strength:g}."
    return _drawn(row, parts, "mean", "scores", "Scores", about)


@figure("lexicon-attention", "One token's attention without and with the lexicon", Sentence, LEXICON)
def _attention(of: Sentence, *, layer: Layer = 0, head: Head = -1, component: Component = 0, token: Token | None = None) -> Figure:
    """Draw the attention of one token without and with the lexicon, and the change.

    Frame:
        `Row.frame`, all keys, and `shown` (True for drawn keys).
    """
    row = row_of(of, layer, head, component, token)
    parts = (("before", "without", 3), ("after", "with lexicon", 3), ("change", "change", 3))
    most = float(np.abs(row.after - row.before).max())
    moved = "no weight changes" if most < 5e-7 else f"the largest change of a weight is {most:.2g}"
    about = f"Softmax of the scores, without and with the lexicon in the same model: {moved}."
    return _drawn(row, parts, "sum", "before-after", "Attention", about)


def row_of(of: Sentence, layer: int, head: int, component: int, token: int | None) -> Row:
    """Return one query's row, by default that of the last head that the lexicon reaches."""
    trace = _polar(of)
    head = reached(of.run.shape)[-1] if head < 0 else head
    place = _token(trace, token)
    row_data: Row = of.once(("row", layer, head, component, place), lambda: row(of.model, trace, layer, head, place, component))
    return row_data


@figure("lexicon-difference", "What the lexicon changes in a map", Sentence, LEXICON, MAPS)
def _difference(
    of: Sentence,
    *,
    layer: Layer = 0,
    head: Heads = "mean",
    component: Components = "effective",
    side: int = 400,
) -> Figure:
    changed = difference(of.once("without the lexicon", lambda: of.new_trace(Edit("term", name="lexicon", to=0.0))), of.trace)
    return difference_map(changed, "itself without its lexicon", layer, head, component, side=side)
