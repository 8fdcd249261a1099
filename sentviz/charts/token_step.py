"""The step of one token in a layer: its direction, the projections of the other tokens on it, the supporting line, the tokens that it
follows, and its new position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.charts.chart import Drawing
from sentviz.charts.figure import Figure, file_safe, new_plot
from sentviz.charts.look import Look
from sentviz.charts.options import Layer, Token
from sentviz.charts.panels import path
from sentviz.charts.particles import followed
from sentviz.charts.plane import View, hull
from sentviz.charts.registry import figure
from sentviz.charts.requirements import MOVING
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import as_text
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import number, percent
from sentviz.models.clustering import weights

Doubles = npt.NDArray[np.float64]
_WIDTH, _HIGH, _PLOT = 560, 0.786, (46, 46, 16, 46)  # width in pixels, height as a share of it, margins in pixels


def token_step(
    tokens: npt.ArrayLike,
    token: int,
    weights: npt.ArrayLike,
    alpha: float,
    words: Sequence[str],
    *,
    A: npt.ArrayLike | None = None,
    pinned: bool = False,
) -> Figure:
    """Draw the step of one token in one layer, as in the poster of Alcalde, Fantuzzi and Zuazua 2024.

    In more than two dimensions the plane is spanned by the direction A z_i and the step: projections, supporting line and step are exact.

    Args:
        tokens: (n, d) before the layer. token: index i.
        weights: (n,) attention of token i, which sums to 1; for hardmax, even shares over C_i.
        alpha: step size. words: n names. A: (d, d), by default the identity.
        pinned: True if the token stays in place.
    Frame:
        token, word, projection (on A z_i / |A z_i|), weight, follows (at least a tenth of the largest weight).
    """
    z, share = np.asarray(tokens, dtype=float), np.asarray(weights, dtype=float)
    if not 0 <= token < len(z):
        raise InputError(f"The token must be from 0 to {len(z) - 1}, not {token}.")
    d = z.shape[1]
    direction = (np.eye(d) if A is None else np.asarray(A, dtype=float)) @ z[token]
    length = float(np.linalg.norm(direction))
    if length == 0:
        raise InputError(f"“{words[token]}” is at the origin, so it has no direction and all tokens attract it equally.")
    along = direction / length
    target = share @ z
    goal = z[token] if pinned else z[token] + alpha / (1 + alpha) * (target - z[token])
    basis = np.eye(2) if d == 2 else _plane(z, along, target - z[token])
    flat, ray = z @ basis.T, basis @ along
    aim, end = basis @ target, basis @ goal
    projection = z @ along
    follows = share >= 0.1 * share.max()
    frame = pd.DataFrame({"token": np.arange(len(z)), "word": list(words), "projection": projection, "weight": share, "follows": follows})
    geometry = {"flat": flat, "ray": ray, "aim": aim, "end": end, "projection": projection, "share": share, "follows": follows}
    picture = Drawing(_draw, {"words": list(words), "token": token, "across": "" if d == 2 else "along A zᵢ", **geometry})
    return Figure(file_safe("token-step", token), picture, frame, _caption(words, token, share, follows, projection, alpha, pinned))


def _draw(
    look: Look,
    words: Sequence[str],
    token: int,
    across: str,
    flat: Doubles,
    ray: Doubles,
    aim: Doubles,
    end: Doubles,
    projection: Doubles,
    share: Doubles,
    follows: npt.NDArray[np.bool_],
) -> go.Figure:
    """Draw the step in the plane; `aim` is the mean of the tokens that the token follows, `end` its new position, `ray` the direction."""
    colours, width, start = look.colours, look.room or _WIDTH, flat[token]
    name = as_text(words[token], 20)
    (left, top, right, bottom), height = _PLOT, round(_HIGH * width)
    plot = new_plot(look, f"The step of “{name}”", (width, height), _PLOT, showlegend=False)
    view = View.around(np.concatenate([flat, [end, np.zeros(2)]]), (width - left - right, height - top - bottom), (90, 90))
    reach = float(np.abs(view.high - view.low).sum()) * 2
    normal = np.array([-ray[1], ray[0]])
    path(plot, [-ray * reach, ray * reach], colours.muted, 1, "solid", 0.6)
    feet = np.outer(projection, ray)
    chosen = np.flatnonzero(~follows)[:400]
    ladder = np.stack([flat[chosen], feet[chosen], np.full((len(chosen), 2), np.nan)], axis=1).reshape(-1, 2)
    path(plot, ladder, colours.muted, 0.7, "dot", 0.55)
    most = float(projection.max()) * ray
    path(plot, [most - normal * reach, most + normal * reach], colours.lines[1], 2, "dash", 1)
    around = hull(flat)
    path(plot, flat[[*around, around[0]]], colours.lines[0], 1, "solid", 0.7)
    _dots(plot, feet, [""] * len(feet), 4, colours.muted, "circle-open", 0.8)
    rest = np.flatnonzero(np.arange(len(words)) != token)
    sizes = 7 + 9 * np.sqrt(share / max(float(share.max()), 1e-12))
    labels = [as_text(word) for word in words]
    for mask, colour, symbol in ((~follows, colours.muted, "circle"), (follows, colours.lines[1], "diamond")):
        rows = rest[mask[rest]]
        _dots(plot, flat[rows], [labels[i] for i in rows], sizes[rows], colour, symbol, 0.95)
    _dots(plot, start[None], [labels[token]], 13, colours.lines[0], "diamond" if follows[token] else "circle", 1)
    path(plot, [start, aim], colours.lines[0], 1.2, "dot", 0.9)
    if np.hypot(*(end - start)) > 4 * view.unit:
        _arrow(plot, start, end, colours.lines[0])
    _arrow(plot, start, start + ray * 64 * view.unit, colours.ink)
    _write(plot, look, view, flat, words, token, share, follows, start + ray * 74 * view.unit)
    plot.update_xaxes(range=[view.low[0], view.high[0]], constrain="domain", automargin=False, title=across or None)
    plot.update_yaxes(range=[view.low[1], view.high[1]], scaleanchor="x", constrain="range", automargin=False)
    return plot


def _plane(z: Doubles, along: Doubles, step: Doubles) -> Doubles:
    """Return the direction and an orthogonal one, (2, d), that span the plane of the step; if the step goes along the direction, the
    second is that of the largest variance of the tokens.
    """
    across = step - (step @ along) * along
    if np.linalg.norm(across) <= 1e-9 * max(float(np.linalg.norm(step)), 1e-300):
        rest = z - z.mean(axis=0)
        rest = rest - np.outer(rest @ along, along)
        across = np.linalg.svd(rest.T @ rest)[2][0]
        across = across - (across @ along) * along
        if np.linalg.norm(across) < 1e-9:
            across = np.eye(len(along))[int(np.abs(along).argmin())]
            across = across - (across @ along) * along
    across = across / np.linalg.norm(across)
    return np.stack([along, across])


def _dots(plot: go.Figure, at: Doubles, names: Sequence[str], size: npt.ArrayLike, colour: str, symbol: str, opacity: float) -> None:
    marker = {"size": size, "color": colour, "symbol": symbol, "line": {"width": 1, "color": colour}}
    hover = {"text": list(names), "hovertemplate": "%{text}<extra></extra>"} if any(names) else {"hoverinfo": "skip"}
    plot.add_scatter(x=at[:, 0], y=at[:, 1], mode="markers", marker=marker, opacity=opacity, **hover)


def _arrow(plot: go.Figure, start: Doubles, end: Doubles, colour: str) -> None:
    plot.add_annotation(
        x=end[0],
        y=end[1],
        ax=start[0],
        ay=start[1],
        xref="x",
        yref="y",
        axref="x",
        ayref="y",
        showarrow=True,
        arrowhead=2,
        arrowwidth=2.6,
        arrowsize=1,
        arrowcolor=colour,
        text="",
    )


def _write(
    plot: go.Figure,
    look: Look,
    view: View,
    flat: Doubles,
    words: Sequence[str],
    token: int,
    share: Doubles,
    follows: npt.NDArray[np.bool_],
    tip: Doubles,
) -> None:
    """Write the names of the token, its direction, the tokens that it follows, and as many others as have room."""
    first = [token, *(int(i) for i in np.argsort(-share, kind="stable") if follows[i] and i != token)][:12]
    rest = [int(i) for i in np.argsort(-np.abs(flat).sum(axis=1), kind="stable") if i not in set(first)][:200]
    spots = [(words[i], *np.round(flat[i] / (12 * view.unit)).astype(int)) for i in range(len(words))]
    together: dict[Any, float] = {}  # repeated words at one place get one label with their total weight
    for spot, part in zip(spots, share, strict=True):
        together[spot] = together.get(spot, 0.0) + float(part)
    once = {spots[i]: i for i in reversed([*first, *rest])}
    first, rest = ([i for i in part if once[spots[i]] == i] for part in (first, rest))
    order, texts = [*first, *rest], [words[i] for i in (*first, *rest)]
    if share.max() < 0.99:
        texts[: len(first)] = [f"{words[i]} {percent(together[spots[i]], 0)}" if follows[i] else words[i] for i in first]
    points, strong = np.array([flat[token], tip, *(flat[i] for i in order[1:])]), [True, *(i < len(first) for i in range(len(order)))]
    pixels = view.pixels(points)
    shaft = pixels[0] + np.linspace(0.15, 0.9, 6)[:, None] * (pixels[1] - pixels[0])
    occupied = [(x - 7, y - 7, 14.0, 14.0) for x, y in view.pixels(flat[first])] + [(x - 4, y - 4, 8.0, 8.0) for x, y in shaft]
    view.write(plot, look, points, [texts[0], "A zᵢ", *texts[1:]], strong, occupied=occupied)


def _caption(
    words: Sequence[str],
    token: int,
    share: Doubles,
    follows: npt.NDArray[np.bool_],
    projection: Doubles,
    alpha: float,
    pinned: bool,
) -> str:
    some = [f"“{words[i]}”" for i in np.argsort(-share, kind="stable") if follows[i]]
    named = ", ".join(list(dict.fromkeys(some))[:6]) + (f" and {len(some) - 6} more" if len(set(some)) > 6 else "")
    sentences = [
        f"Of {len(words):,} tokens, {named} {'lies' if len(set(some)) == 1 else 'lie'} furthest along A zᵢ,"
        f" at {number(float(projection.max()), 3)}. The dashed line is this supporting line."
        if share.max() > 0.99 or np.ptp(share[follows]) < 1e-9
        else f"The weights spread over the tokens; {named} get most."
        f" The dashed line is the supporting line at {number(float(projection.max()), 3)}.",
        "The dotted lines are the projections of the other tokens.",
    ]
    if pinned:
        sentences.append(f"“{words[token]}” is pinned, so it does not move.")
    elif share[token] > 0.999:
        sentences.append(f"“{words[token]}” attends only to itself: it is a leader and does not move.")
    else:
        sentences.append(
            f"The arrow is the step: α/(1+α) = {percent(alpha / (1 + alpha), 0)} of the way to {'their mean' if len(some) > 1 else 'it'}."
        )
    return " ".join(sentences)


@figure("token-step", "The step of one token in a layer", Sentence, MOVING)
def _token_step(of: Sentence, *, layer: Layer = 0, token: Token | None = None) -> Figure:
    _, review = followed(of)
    z = review.positions
    if not 0 <= layer < len(z) - 1:
        raise InputError(f"{of.run.name} has {len(z) - 1} layers.")
    if token is None:  # the default is the token with the longest first step
        token = int(np.linalg.norm(z[1] - z[0], axis=1).argmax())
    if not 0 <= token < len(review.words):
        raise InputError(f"{of.run.name} reads {len(review.words)} words of this text.")
    share = weights(z[layer], None, 0.0, review.clustering.tolerance)[token]
    return token_step(z[layer], token, share, review.clustering.alpha, review.words)
