"""Tokens that cluster around leaders: the scene of an animation, and one layer of it as a figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.charts.chart import Drawing
from sentviz.charts.colours import blend, colour_scale
from sentviz.charts.figure import Figure, file_safe, new_plot, sentence
from sentviz.charts.look import Look
from sentviz.charts.options import Depth
from sentviz.charts.panels import path
from sentviz.charts.plane import View, decision_line, hull
from sentviz.charts.registry import figure
from sentviz.charts.requirements import MOVING
from sentviz.charts.scene import Scene, leaders_by_size, scene_of_review, seen, together
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import as_text
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import percent

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_WIDTH, _HIGH = 760, 0.737  # pixels, and the height as a share of them
_PLOT = (52, 46, 20, 46)  # left, top, right, bottom


def particles(scene: Scene, layer: int | None = None, *, name: str = "hardmax") -> Figure:
    """Draw the tokens after a layer: leaders as named diamonds, the convex hull, the limit polytope, the decision line, and the mean's
    path up to the layer.

    Args:
        scene: tokens to draw. layer: 0 = the start; by default the last layer.
        name: first word of the file name.
    Frame:
        layer, token, word, one column per axis, leader, place (number of its cluster), and with a decoder the probability at the token.
    """
    layer = scene.layers if layer is None else layer
    if not 0 <= layer <= scene.layers:
        raise InputError(f"The layer must be from 0 (the start) to {scene.layers}, not {layer}.")
    state, leads = scene.positions[layer], np.isin(np.arange(len(scene.words)), scene.leaders)
    frame = pd.DataFrame({"layer": layer, "token": np.arange(len(state)), "word": list(scene.words)})
    for c in range(state.shape[1]):
        frame[f"axis_{c + 1}"] = state[:, c]
    frame["leader"], frame["place"] = leads, together(state)
    if scene.decision:
        frame[f"probability_{file_safe(scene.labels[1])}"] = decoder_probability(scene.decision, state)
    picture = Drawing(_draw, {"scene": scene, "layer": layer})
    return Figure(file_safe(name, f"layer{layer}"), picture, frame, _caption(scene, layer), from_zero=("layer",))


def _draw(look: Look, scene: Scene, layer: int) -> go.Figure:
    colours, width = look.colours, look.room or _WIDTH
    flat = seen(scene.positions[layer])
    when = f"after layer {layer} of {scene.layers}" if layer else "at the start"
    title = f"{as_text(scene.title, 60)}, {when}"
    left, top, right, bottom = _PLOT
    height = round(_HIGH * width)
    plot = new_plot(look, title, (width, height), _PLOT, showlegend=False)
    every = [seen(scene.positions).reshape(-1, 2), np.zeros((1, 2))] + ([scene.means] if scene.means is not None else [])
    view = View.around(np.concatenate(every), (width - left - right, height - top - bottom), (90, 60))
    if scene.decision:
        _shade(plot, scene.decision, view, look)
        fills = blend(colours.probability, decoder_probability(scene.decision, flat))
    else:
        fills = [colours.line(group) for group in scene.groups]
    _lines(plot, scene, layer, flat, look)
    leads = np.isin(np.arange(len(flat)), scene.leaders)
    radius = 8 if len(flat) <= 200 else 6 if len(flat) <= 700 else 4
    for rows, symbol, size, edge in ((~leads, "circle", radius, 0.8), (leads, "diamond", 13, 1.6)):
        at = np.flatnonzero(rows)
        plot.add_scatter(
            x=flat[at, 0],
            y=flat[at, 1],
            mode="markers",
            marker={"size": size, "symbol": symbol, "color": [fills[i] for i in at], "line": {"width": edge, "color": colours.ink}},
            opacity=0.9,
            text=[as_text(scene.words[i]) for i in at],
            hovertemplate="%{text} (%{x:.3f}, %{y:.3f})<extra></extra>",
        )
    if scene.means is not None:
        way = scene.means[: layer + 1]
        plot.add_scatter(x=way[:, 0], y=way[:, 1], mode="lines+markers", line={"color": colours.ink, "width": 1.6}, marker={"size": 4})
        marker = {"symbol": "circle-cross-open", "size": 15, "color": colours.ink, "line": {"width": 2}}
        plot.add_scatter(x=way[-1:, 0], y=way[-1:, 1], mode="markers", marker=marker)
    _names(plot, scene, layer, flat, view, look)
    axes = scene.axes if len(scene.axes) == 2 else ("seen from the side", "up")
    plot.update_xaxes(
        range=[view.low[0], view.high[0]], title={"text": as_text(axes[0], None), "standoff": 6}, constrain="domain", automargin=False
    )
    plot.update_yaxes(
        range=[view.low[1], view.high[1]], title={"text": as_text(axes[1], None)}, scaleanchor="x", constrain="domain", automargin=False
    )
    return plot


def _caption(scene: Scene, layer: int) -> str:
    sentences = [
        f"{scene.positions.shape[1]:,} tokens at {scene.clusters[layer]:,} places. Diamonds: {len(scene.leaders)} leaders; ×n is the"
        " number of tokens at a leader.",
        "Thin line: convex hull.",
        "Dotted: the polytope of the leaders' limits." if scene.edges else "",
    ]
    if scene.decision:
        sentences.append(
            f"Dashed: the decoder's decision line; colours: its probability, orange for {scene.labels[0]}, blue for {scene.labels[1]}."
        )
    if scene.probabilities is not None:
        p = float(scene.probabilities[layer])
        sentences.append(f"Cross: the mean of the tokens, {scene.labels[int(p >= 0.5)]} {percent(max(p, 1 - p), 0)}.")
    return sentence([*sentences, scene.note])


def decoder_probability(decision: tuple[Doubles, float], points: Doubles) -> Doubles:
    """Return the decoder's probability of the second label at points (n, 2)."""
    return np.asarray(1 / (1 + np.exp(-(points @ decision[0] + decision[1]))))


def _shade(plot: go.Figure, decision: tuple[Doubles, float], view: View, look: Look) -> None:
    """Draw the decoder's probability as bands, and the line at one half."""
    x, y = (np.linspace(view.low[k], view.high[k], 61) for k in (0, 1))
    z = decoder_probability(decision, np.stack(np.meshgrid(x, y), axis=-1))
    scale = colour_scale(look.colours.probability)
    bands = {"start": 0.05, "end": 0.95, "size": 0.1}
    plot.add_contour(
        x=x, y=y, z=z, zmin=0, zmax=1, colorscale=scale, contours=bands, line_width=0, opacity=0.28, showscale=False, hoverinfo="skip"
    )
    decision_line(plot, decision, view, look.colours.ink)


def _lines(plot: go.Figure, scene: Scene, layer: int, flat: Doubles, look: Look) -> None:
    """Draw the paths of the tokens, the hull, and the limit polytope."""
    colours = look.colours
    if layer:
        ways = seen(scene.positions[: layer + 1]).transpose(1, 0, 2)
        path(plot, np.concatenate([ways, np.full((len(ways), 1, 2), np.nan)], axis=1).reshape(-1, 2), colours.muted, 0.7, opacity=0.45)
    around = hull(flat)
    path(plot, flat[[*around, around[0]]], colours.lines[0], 1)
    if scene.corners is not None and scene.edges:
        corners = seen(scene.corners)
        path(plot, np.array([[*corners[list(edge)], (np.nan, np.nan)] for edge in scene.edges]).reshape(-1, 2), colours.lines[0], 2, "dot")


def _names(plot: go.Figure, scene: Scene, layer: int, flat: Doubles, view: View, look: Look) -> None:
    """Write the labels of the mean and the leaders, and as many words as have room."""
    counted = leaders_by_size(scene, layer)
    leaders = [i for i, _ in counted]
    texts = [f"{scene.words[i]} ×{size}" if size > 1 else scene.words[i] for i, size in counted]
    at = [flat[i] for i in leaders]
    strong = [True] * len(leaders)
    if scene.means is not None and scene.probabilities is not None:
        p = float(scene.probabilities[layer])
        at.insert(0, scene.means[layer])
        texts.insert(0, f"mean: {scene.labels[int(p >= 0.5)]} {percent(max(p, 1 - p), 0)}")
        strong.insert(0, True)
    if len(flat) <= 400:
        rest = [int(i) for i in np.argsort(-np.abs(scene.positions[0]).sum(axis=1), kind="stable") if i not in set(leaders)]
        at += [flat[i] for i in rest]
        texts += [scene.words[i] for i in rest]
        strong += [False] * len(rest)
    marks = [(x - 8, y - 8, 16.0, 16.0) for x, y in view.pixels(flat[leaders])] if leaders else []
    view.write(plot, look, at, texts, strong, occupied=marks)


def followed(of: Sentence) -> Any:
    """Return the hardmax model and the sentence's path through its layers."""
    return of.model, of.model.follow(of.texts[0])


@figure("particles", "The tokens as points after a layer", Sentence, MOVING)
def _particles(of: Sentence, *, layer: Depth | None = None) -> Figure:

    model, review = followed(of)
    scene = scene_of_review(of.run, model, review)
    return particles(scene, layer, name=f"hardmax-{of.run.name}")
