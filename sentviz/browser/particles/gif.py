"""The animation as a GIF, drawn with Pillow alone: the same bytes for the same scene."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.browser.gif import SCALE, font, gif, moments, rgb
from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, palette
from sentviz.figures.particles import Scene, leaders_by_size, seen
from sentviz.figures.plane import hull, label_places
from sentviz.figures.text import visible

Doubles = npt.NDArray[np.float64]

REST, END = 3, 24  # pictures at a layer, at the end
MOST_LAYERS = 24
MOST_WAYS = 400  # tokens whose ways are drawn


def animation_gif(scene: Scene, *, width: int = 720, height: int = 500, theme: Theme = "light") -> bytes:
    """Draw every layer and the path to the next one; leaders have names, other words do not.

    Args:
        scene: what is shown; of more than 24 layers the first 24.
        width, height: in pixels.
    """
    if not (200 <= width <= 1600 and 150 <= height <= 1200):
        raise InputError("A GIF can be 200 to 1,600 pixels wide and 150 to 1,200 high.")
    layers = min(scene.layers, MOST_LAYERS)
    camera = _Camera(scene, width, height)
    base = _backdrop(scene, camera, theme)
    return gif(moments(layers + 1, REST, END), lambda time: _picture(scene, time, camera, base, theme), (0.0, float(layers)))


class _Camera:
    """The mapping from the plane to pixels of the large picture."""

    def __init__(self, scene: Scene, width: int, height: int) -> None:
        self.width, self.height = width * SCALE, height * SCALE
        flat = seen(scene.positions).reshape(-1, 2)
        points = np.concatenate([flat, np.zeros((1, 2)), *([scene.means] if scene.means is not None else [])])
        low, high = points.min(axis=0), points.max(axis=0)
        room = np.array([self.width - 130 * SCALE, self.height - 110 * SCALE])
        self.scale = float((room / np.maximum(high - low, 1e-9)).min())
        self.middle = (low + high) / 2

    def __call__(self, points: Doubles) -> Doubles:
        offset = (points - self.middle) * self.scale
        return np.asarray(np.stack([self.width / 2 + offset[..., 0], self.height / 2 + 10 * SCALE - offset[..., 1]], axis=-1))

    def plane(self) -> Doubles:
        """Return the point of the plane under each pixel of the large picture, (height, width, 2)."""
        x, y = np.meshgrid(np.arange(self.width) + 0.5, np.arange(self.height) + 0.5)
        return np.stack(
            [(x - self.width / 2) / self.scale + self.middle[0], (self.height / 2 + 10 * SCALE - y) / self.scale + self.middle[1]], axis=-1
        )


def _backdrop(scene: Scene, camera: _Camera, theme: Theme) -> Any:
    """Draw paper, shade, decision line and limit polytope."""
    from PIL import Image, ImageDraw

    colours = palette(theme)
    paper = np.array(rgb(colours.paper), dtype=float)
    pixels = np.broadcast_to(paper, (camera.height, camera.width, 3)).copy()
    if scene.decision:
        w, b = scene.decision
        p = np.round(12 / (1 + np.exp(-(camera.plane() @ w + b)))).astype(int)  # bands: few colours
        table = np.array([rgb(colour) for colour in blend(colours.probability, np.arange(13) / 12)], dtype=float)
        pixels = paper * 0.74 + table[p] * 0.26
    picture = Image.fromarray(np.round(pixels).astype(np.uint8))
    pen = ImageDraw.Draw(picture)
    if scene.corners is not None:
        corners = camera(seen(scene.corners))
        for a, c in scene.edges:
            _dashes(pen, corners[a], corners[c], rgb(colours.lines[0]), 3, 2.5 * SCALE, 3.5 * SCALE)
    if scene.decision and (size := float(np.hypot(*scene.decision[0]))) > 0:
        w, b = scene.decision
        foot, along = camera(-b * w / size**2), np.array([w[1], w[0]]) / size
        reach = camera.width + camera.height + float(np.abs(foot).max())
        middle = foot + along * float((np.array([camera.width, camera.height]) / 2 - foot) @ along)
        reach = min(reach, float(camera.width + camera.height))
        _dashes(pen, middle - along * reach, middle + along * reach, rgb(colours.ink), 3, 9 * SCALE, 6 * SCALE)
    return picture


def _picture(scene: Scene, moment: float, camera: _Camera, base: Any, theme: Theme) -> Any:
    from PIL import ImageDraw

    colours = palette(theme)
    ink, paper = rgb(colours.ink), rgb(colours.paper)
    layer = min(int(moment), max(scene.layers - 1, 0))
    part, after = moment - layer, min(layer + 1, scene.layers)
    state = seen(scene.positions[layer] + (scene.positions[after] - scene.positions[layer]) * part)
    at = camera(state)
    picture = base.copy()
    pen = ImageDraw.Draw(picture)
    around = hull(at)
    pen.line([tuple(at[i]) for i in [*around, around[0]]], fill=rgb(colours.lines[0]), width=2)
    ways = [camera(seen(scene.positions[k])) for k in range(layer + 1)] + [at]
    faint = tuple(round(0.68 * p + 0.32 * i) for p, i in zip(paper, ink, strict=True))
    for i in range(0, len(at), -(-len(at) // MOST_WAYS)):
        pen.line([tuple(way[i]) for way in ways], fill=faint, width=1)
    if scene.decision:
        w, b = scene.decision
        fills = blend(colours.probability, np.round(16 / (1 + np.exp(-(state @ w + b)))) / 16)
    else:
        fills = [colours.lines[group % len(colours.lines)] for group in scene.groups]
    radius = (4.5 if len(at) <= 200 else 3.2 if len(at) <= 700 else 2.2) * SCALE
    leaders = set(scene.leaders)
    for i, (x, y) in enumerate(at):
        if i not in leaders:
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fills[i], outline=ink, width=SCALE)
    for i in scene.leaders:
        (x, y), size = at[i], 8 * SCALE
        pen.polygon([(x, y - size), (x + size, y), (x, y + size), (x - size, y)], fill=fills[i], outline=ink, width=2 * SCALE)
    counted = leaders_by_size(scene, round(moment))
    texts = [visible(scene.words[i])[:24] + (f" ×{size}" if size > 1 else "") for i, size in counted]
    points = [at[i] for i, _ in counted]
    if scene.means is not None and scene.probabilities is not None:
        way = camera(np.concatenate([scene.means[: layer + 1], [scene.means[layer] + (scene.means[after] - scene.means[layer]) * part]]))
        pen.line([tuple(point) for point in way], fill=ink, width=2 * SCALE)
        (x, y), size = way[-1], 8 * SCALE
        pen.ellipse((x - size, y - size, x + size, y + size), fill=paper, outline=ink, width=2 * SCALE)
        pen.line((x - size, y, x + size, y), fill=ink, width=2 * SCALE)
        pen.line((x, y - size, x, y + size), fill=ink, width=2 * SCALE)
        p = float(scene.probabilities[min(int(moment + 1e-9), scene.layers)])
        texts.insert(0, f"mean: {visible(scene.labels[int(p >= 0.5)])} {max(p, 1 - p):.0%}")
        points.insert(0, way[-1])
    _write(pen, texts, points, camera, ink, paper)
    passed = int(moment + 1e-9)
    pen.text((12 * SCALE, 8 * SCALE), f"layer {passed} of {scene.layers}" if passed else "start", fill=ink, font=font(15 * SCALE))
    return picture.reduce(SCALE)


def _write(pen: Any, texts: list[str], points: list[Doubles], camera: _Camera, ink: tuple[int, ...], paper: tuple[int, ...]) -> None:
    if not texts:
        return
    letters = font(14 * SCALE)
    sizes = [(float(pen.textlength(text, font=letters)) + 4, 18.0 * SCALE) for text in texts]
    occupied = [(x - 8 * SCALE, y - 8 * SCALE, 16 * SCALE, 16 * SCALE) for x, y in points]
    frame = (float(camera.width), float(camera.height))
    for i, (left, top) in label_places(np.array(points), sizes, [11.0 * SCALE] * len(texts), frame, occupied).items():
        pen.text((left, top), texts[i], fill=ink, font=letters, stroke_width=2 * SCALE, stroke_fill=paper)


def _dashes(pen: Any, start: Doubles, end: Doubles, colour: tuple[int, ...], width: int, on: float, off: float) -> None:
    long = float(np.hypot(*(end - start)))
    if long == 0:
        return
    step = (end - start) / long
    for at in np.arange(0, long, on + off):
        pen.line([tuple(start + step * at), tuple(start + step * min(at + on, long))], fill=colour, width=width)
