"""Tokens that cluster around leaders: the scene of an animation, and one layer of it as a figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, colour_scale, palette
from sentviz.figures.figure import Figure, annotate, file_safe, new_plot, sentence
from sentviz.figures.panels import path
from sentviz.figures.text import as_text, text_columns, visible
from sentviz.io.lazy import go, pd

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NEAR = 1e-2
"""Largest distance within a cluster, as a share of the layer's largest norm; the same as in sentviz.analysis.testset.leaders."""
YAW, PITCH = -0.6, 0.42  # radians, the first view of a scene with three dimensions
_WIDTH, _HIGH = 760, 0.737  # pixels, and the height as a share of them
_PLOT = (52, 46, 20, 46)  # left, top, right, bottom


@dataclass(frozen=True, eq=False)
class Scene:
    """Tokens through K layers as they are drawn: in the plane, or in space if there are three dimensions and no decision."""

    title: str
    positions: Doubles  # (K + 1, n, 2 or 3)
    words: tuple[str, ...]  # n
    leaders: tuple[int, ...] = ()
    since: tuple[int, ...] = ()  # state (0 = start) from which each leader leads
    axes: tuple[str, ...] = ("z₁", "z₂")
    toward: Ints | None = None  # (K, n) a member of C_i, if possible another token
    corners: Doubles | None = None  # (v, p) limits of the leaders
    edges: tuple[tuple[int, int], ...] = ()  # edges of the polytope as pairs of corners
    means: Doubles | None = None  # (K + 1, 2) mean token
    probabilities: Doubles | None = None  # (K + 1,) probability of the second label at the mean
    decision: tuple[Doubles, float] | None = None  # (w (2,), b): sigmoid(w . z + b) is the second label's probability
    exact: bool = True  # the decision is exact at every token, not only at the last mean
    labels: tuple[str, str] = ("negative", "positive")
    pinned: tuple[int, ...] = ()
    note: str = ""  # sentence about the projection
    story: str = ""  # the animation restarts if this text changes

    @property
    def layers(self) -> int:
        """Number of layers K."""
        return len(self.positions) - 1

    @cached_property
    def _together(self) -> list[Ints]:
        return [together(state) for state in self.positions]

    @property
    def groups(self) -> Ints:
        """Cluster of each token after the last layer, (n,); 0 is the largest cluster."""
        return self._together[-1]

    @property
    def clusters(self) -> Ints:
        """Number of clusters after each layer, (K + 1,)."""
        return np.array([groups.max() + 1 for groups in self._together])


def together(points: npt.ArrayLike, near: float = NEAR) -> Ints:
    """Return the cluster of each point (n, p), (n,) int64, numbered from the largest cluster; a cluster is all points within `near` of its
    first point, relative to the largest norm.
    """
    z = np.asarray(points, dtype=float)
    room = near * max(float(np.linalg.norm(z, axis=1).max()), np.finfo(float).tiny)
    distinct, back = np.unique(z, axis=0, return_inverse=True)
    place = np.full(len(distinct), -1)
    count = 0
    for i in range(len(distinct)):
        if place[i] < 0:
            end = int(np.searchsorted(distinct[:, 0], distinct[i, 0] + room, side="right"))  # sorted by the first coordinate
            candidates = distinct[i:end]
            place[i:end][(np.linalg.norm(candidates - distinct[i], axis=1) <= room) & (place[i:end] < 0)] = count
            count += 1
    of = place[back.ravel()]
    rank = np.argsort(np.argsort(-np.bincount(of, minlength=count), kind="stable"), kind="stable")
    return np.asarray(rank[of], dtype=np.int64)


def hull(points: npt.ArrayLike) -> Ints:
    """Return the indices of the corners of the convex hull of points (n, 2), counter-clockwise (Andrew's monotone chain)."""
    z = np.asarray(points, dtype=float)
    order = np.lexsort((z[:, 1], z[:, 0]))

    def chain(along: Iterable[int]) -> list[int]:
        corners: list[int] = []
        for i in along:
            while len(corners) > 1:
                (ax, ay), (bx, by) = z[corners[-1]] - z[corners[-2]], z[i] - z[corners[-2]]
                if ax * by - ay * bx > 0:
                    break
                corners.pop()
            corners.append(int(i))
        return corners[:-1] if len(corners) > 1 else corners

    return np.array(list(dict.fromkeys([*chain(order), *chain(order[::-1])])), dtype=np.int64)


def seen(points: npt.ArrayLike, yaw: float = YAW, pitch: float = PITCH) -> Doubles:
    """Project points (..., 2 or 3) to the picture: right and up, (..., 2). Three dimensions are rotated and projected along the view."""
    z = np.asarray(points, dtype=float)
    if z.shape[-1] == 2:
        return z
    x, y, up = z[..., 0], z[..., 1], z[..., 2]
    away = x * np.sin(yaw) + y * np.cos(yaw)
    return np.stack([x * np.cos(yaw) - y * np.sin(yaw), up * np.cos(pitch) + away * np.sin(pitch)], axis=-1)


def label_places(
    points: npt.NDArray[np.float64],
    sizes: Sequence[tuple[float, float]],
    gaps: Sequence[float],
    frame: tuple[float, float],
    occupied: Iterable[tuple[float, float, float, float]] = (),
) -> dict[int, tuple[float, float]]:
    """Place labels so that no two overlap: label -> left top corner in pixels, y down. Labels without room are left out.

    Args:
        points: (n, 2) named points, the most important first. sizes: width and height of each label. gaps: distance from its point.
        frame: width and height of the picture. occupied: boxes (left, top, width, height) to keep free. All numbers are pixels.
    """
    boxes = list(occupied)
    places: dict[int, tuple[float, float]] = {}
    for i, ((x, y), (wide, high), gap) in enumerate(zip(points, sizes, gaps, strict=True)):
        for left, top in (
            (x + gap, y - high / 2),
            (x - gap - wide, y - high / 2),
            (x - wide / 2, y - gap - high),
            (x - wide / 2, y + gap),
            (x + gap, y - gap - high / 2),
            (x + gap, y + gap - high / 2),
        ):
            inside = left >= 0 and top >= 0 and left + wide <= frame[0] and top + high <= frame[1]
            if inside and not any(left < a + w and a < left + wide and top < b + h and b < top + high for a, b, w, h in boxes):
                boxes.append((left, top, wide, high))
                places[i] = (left, top)
                break
    return places


def particles(scene: Scene, layer: int | None = None, *, name: str = "hardmax", width: int = _WIDTH, theme: Theme = "light") -> Figure:
    """Draw the tokens after a layer: leaders as named diamonds, the convex hull, the limit polytope, the decision line, and the mean's
    path up to the layer.

    Args:
        scene: tokens to draw. layer: 0 = the start; by default the last layer.
        name: first word of the file name. width: pixels of the figure.
    Frame:
        layer, token, word, one column per axis, leader, place (number of its cluster), and with a decoder the probability at the token.
    """
    layer = scene.layers if layer is None else layer
    if not 0 <= layer <= scene.layers:
        raise InputError(f"The layer must be from 0 (the start) to {scene.layers}, not {layer}.")
    colours = palette(theme)
    state = scene.positions[layer]
    flat = seen(state)
    when = f"after layer {layer} of {scene.layers}" if layer else "at the start"
    title = f"{as_text(scene.title, 60)}, {when}"
    picture = (width, round(_HIGH * width))
    plot = new_plot(theme, title, (picture[0], picture[1]), _PLOT, showlegend=False)
    low, high = _window(scene, picture)
    if scene.decision:
        _shade(plot, scene.decision, low, high, theme)
    _lines(plot, scene, layer, flat, theme)
    probability = None
    if scene.decision:
        w, b = scene.decision
        probability = 1 / (1 + np.exp(-(flat @ w + b)))
        fills = blend(colours.probability, probability)
    else:
        fills = [colours.line(group) for group in scene.groups]
    leads = np.zeros(len(state), dtype=bool)
    leads[list(scene.leaders)] = True
    radius = 8 if len(state) <= 200 else 6 if len(state) <= 700 else 4
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
    _names(plot, scene, layer, flat, low, high, picture, theme)
    axes = scene.axes if len(scene.axes) == 2 else ("seen from the side", "up")
    plot.update_xaxes(range=[low[0], high[0]], title={"text": as_text(axes[0], None), "standoff": 6}, constrain="domain", automargin=False)
    plot.update_yaxes(
        range=[low[1], high[1]], title={"text": as_text(axes[1], None)}, scaleanchor="x", constrain="domain", automargin=False
    )
    frame = pd.DataFrame({"layer": layer, "token": np.arange(len(state)), "word": list(scene.words)})
    for c in range(state.shape[1]):
        frame[f"axis_{c + 1}"] = state[:, c]
    frame["leader"], frame["place"] = leads, together(state)
    if probability is not None:
        frame[f"probability_{file_safe(scene.labels[1])}"] = probability
    again = partial(particles, scene, layer, name=name, theme=theme)
    return Figure(file_safe(name, f"layer{layer}"), plot, frame, _caption(scene, layer), at_width=again, from_zero=("layer",))


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
        sentences.append(f"Cross: the mean of the tokens, {scene.labels[int(p >= 0.5)]} {max(p, 1 - p):.0%}.")
    return sentence([*sentences, scene.note])


def _window(scene: Scene, size: tuple[int, int]) -> tuple[Doubles, Doubles]:
    """Return the low and high ends of a view of every layer, the mean and the origin, in the proportions of the picture."""
    parts = [seen(scene.positions).reshape(-1, 2), np.zeros((1, 2))] + ([scene.means] if scene.means is not None else [])
    low, high, _ = view_window(np.concatenate(parts), size, _PLOT, (90, 60))
    return low, high


def view_window(
    points: Doubles, size: tuple[int, int], margin: tuple[int, int, int, int], around: tuple[int, int]
) -> tuple[Doubles, Doubles, float]:
    """Return the low and high ends of a view of points (n, 2) in the proportions of a picture, and the length of a pixel.

    Args:
        size, margin: pixels of the picture. around: pixels that stay free next to the points, across and down, both sides together.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    inner = inner_size(size, margin)
    unit = max(float(((high - low) / (inner - around)).max()), 1e-12)
    middle = (low + high) / 2
    return middle - inner * unit / 2, middle + inner * unit / 2, unit


def decision_line(plot: go.Figure, decision: tuple[npt.ArrayLike, float], low: Doubles, high: Doubles, colour: str) -> None:
    """Draw the line w . z + b = 0 across a view, dashed; nothing if w is 0."""
    w, b = np.asarray(decision[0], dtype=float), float(decision[1])
    norm = float(np.hypot(*w))
    if norm > 0:
        foot, along = -b * w / norm**2, np.array([-w[1], w[0]]) / norm
        reach = float(np.abs([low, high]).max() * 4 + np.hypot(*foot))
        path(plot, [foot - reach * along, foot + reach * along], colour, 1.8, "dash")


def inner_size(size: tuple[int, int], margin: tuple[int, int, int, int]) -> Doubles:
    """Return the pixels between the margins (left, top, right, bottom) of a picture, across and down."""
    left, top, right, bottom = margin
    return np.array([size[0] - left - right, size[1] - top - bottom], dtype=float)


def _shade(plot: go.Figure, decision: tuple[Doubles, float], low: Doubles, high: Doubles, theme: Theme) -> None:
    """Draw the decoder's probability as bands, and the line at one half."""
    w, b = decision
    x, y = np.linspace(low[0], high[0], 61), np.linspace(low[1], high[1], 61)
    z = 1 / (1 + np.exp(-(w[0] * x[None] + w[1] * y[:, None] + b)))
    stops = palette(theme).probability
    scale = colour_scale(stops)
    bands = {"start": 0.05, "end": 0.95, "size": 0.1}
    plot.add_contour(
        x=x, y=y, z=z, zmin=0, zmax=1, colorscale=scale, contours=bands, line_width=0, opacity=0.28, showscale=False, hoverinfo="skip"
    )
    decision_line(plot, decision, low, high, palette(theme).ink)


def _lines(plot: go.Figure, scene: Scene, layer: int, flat: Doubles, theme: Theme) -> None:
    """Draw the paths of the tokens, the hull, and the limit polytope."""
    colours = palette(theme)
    if layer:
        ways = seen(scene.positions[: layer + 1]).transpose(1, 0, 2)
        path(plot, np.concatenate([ways, np.full((len(ways), 1, 2), np.nan)], axis=1).reshape(-1, 2), colours.muted, 0.7, opacity=0.45)
    around = hull(flat)
    path(plot, flat[[*around, around[0]]], colours.lines[0], 1)
    if scene.corners is not None and scene.edges:
        corners = seen(scene.corners)
        path(plot, np.array([[*corners[list(edge)], (np.nan, np.nan)] for edge in scene.edges]).reshape(-1, 2), colours.lines[0], 2, "dot")


def _names(
    plot: go.Figure, scene: Scene, layer: int, flat: Doubles, low: Doubles, high: Doubles, size: tuple[int, int], theme: Theme
) -> None:
    """Write the labels of the mean and the leaders, and as many words as have room."""
    wide, tall = (float(side) for side in inner_size(size, _PLOT))
    unit = (high - low) / np.array([wide, tall])

    def pixels(points: Doubles) -> Doubles:
        return np.asarray(np.stack([(points[..., 0] - low[0]) / unit[0], (high[1] - points[..., 1]) / unit[1]], axis=-1))

    counted = leaders_by_size(scene, layer)
    leaders = [i for i, _ in counted]
    texts = [f"{scene.words[i]} ×{size}" if size > 1 else scene.words[i] for i, size in counted]
    at = [flat[i] for i in leaders]
    strong = [True] * len(leaders)
    if scene.means is not None and scene.probabilities is not None:
        p = float(scene.probabilities[layer])
        at.insert(0, scene.means[layer])
        texts.insert(0, f"mean: {scene.labels[int(p >= 0.5)]} {max(p, 1 - p):.0%}")
        strong.insert(0, True)
    if len(flat) <= 400:
        rest = [int(i) for i in np.argsort(-np.abs(scene.positions[0]).sum(axis=1), kind="stable") if i not in set(leaders)]
        at += [flat[i] for i in rest]
        texts += [scene.words[i] for i in rest]
        strong += [False] * len(rest)
    if not at:
        return
    labels = [visible(text)[:24] for text in texts]
    sizes = [(text_columns(text) * (7.4 if bold else 6.4) + 4, 17.0) for text, bold in zip(labels, strong, strict=True)]
    points = pixels(np.array(at))
    marks = [(x - 8, y - 8, 16, 16) for x, y in pixels(flat[leaders])] if leaders else []
    placed = label_places(points, sizes, [11 if bold else 7 for bold in strong], (wide, tall), marks)
    name_points(plot, {i: (low[0] + x * unit[0], high[1] - (y + 8.5) * unit[1]) for i, (x, y) in placed.items()}, texts, strong, theme)


def name_points(
    plot: go.Figure, placed: Mapping[int, tuple[float, float]], texts: Sequence[str], strong: Sequence[bool], theme: Theme
) -> None:
    """Write names into a plane, the strong ones larger; `placed` are the left middles of those that found room."""
    colours = palette(theme)
    annotate(
        plot,
        (
            {
                "x": x,
                "y": y,
                "xanchor": "left",
                "yanchor": "middle",
                "text": f"<b>{as_text(texts[i])}</b>" if strong[i] else as_text(texts[i]),
                "font": {"size": 13 if strong[i] else 11, "color": colours.ink if strong[i] else colours.muted},
            }
            for i, (x, y) in placed.items()
        ),
    )


def leaders_by_size(scene: Scene, layer: int) -> list[tuple[int, int]]:
    """Return the leaders with the number of tokens at each after a layer, the largest number first."""
    groups = together(scene.positions[layer])
    sizes = np.bincount(groups)
    return sorted(((i, int(sizes[groups[i]])) for i in scene.leaders), key=lambda leader: -leader[1])
