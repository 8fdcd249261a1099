"""The animation as a GIF, drawn with Pillow alone: the same bytes for the same scene."""

from __future__ import annotations

import io
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, palette
from sentviz.figures.particles import Scene, hull, label_places, seen, together
from sentviz.figures.text import visible

if TYPE_CHECKING:
    from PIL import ImageFont

__all__ = ["MILLISECONDS", "animation_gif", "font", "rgb"]

Doubles = npt.NDArray[np.float64]

TWEENS, REST, END = 8, 3, 24  # pictures from layer to layer, at a layer, at the end
MILLISECONDS = 60
MOST_LAYERS = 24
MOST_WAYS = 400  # tokens whose ways are drawn
_SCALE = 2  # drawn larger, then averaged: smooth edges


def animation_gif(scene: Scene, *, width: int = 720, height: int = 500, theme: Theme = "light") -> bytes:
    """Every layer with the way to the next one; leaders are named, other words are not.

    Args:
        scene: what is shown; of more than 24 layers the first 24.
        width, height: in pixels.
    Raises:
        InputError: an impossible size.
    """
    from PIL import Image

    if not (200 <= width <= 1600 and 150 <= height <= 1200):
        raise InputError("A GIF can be 200 to 1,600 pixels wide and 150 to 1,200 high.")
    layers = min(scene.layers, MOST_LAYERS)
    camera = _Camera(scene, width, height)
    base = _backdrop(scene, camera, theme)
    moments = [0.0] * REST
    for layer in range(layers):
        part = np.arange(1, TWEENS + 1) / TWEENS
        moments += [*(layer + part**2 * (3 - 2 * part)), *[layer + 1.0] * REST]
    moments += [float(layers)] * END
    pictures: list[Any] = []
    colours = None
    last, kept = -1.0, None
    for moment in moments:
        if moment != last or kept is None:
            kept = _picture(scene, moment, camera, base, theme)
            if colours is None:
                colours = _table(kept, _picture(scene, float(layers), camera, base, theme))
            kept = kept.quantize(palette=colours, dither=Image.Dither.NONE)
        last = moment
        pictures.append(kept)
    file = io.BytesIO()
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=MILLISECONDS, loop=0, optimize=False, disposal=1)
    return file.getvalue()


def _table(*pictures: Any) -> Any:
    """255 colours for all pictures, found in the first and the last."""
    from PIL import Image

    both = Image.new("RGB", (pictures[0].width, sum(p.height for p in pictures)))
    top = 0
    for picture in pictures:
        both.paste(picture, (0, top))
        top += picture.height
    return both.quantize(255, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


class _Camera:
    """From the plane to pixels of the large picture."""

    def __init__(self, scene: Scene, width: int, height: int) -> None:
        self.width, self.height = width * _SCALE, height * _SCALE
        flat = seen(scene.positions).reshape(-1, 2)
        points = np.concatenate([flat, np.zeros((1, 2)), *([scene.means] if scene.means is not None else [])])
        low, high = points.min(axis=0), points.max(axis=0)
        room = np.array([self.width - 130 * _SCALE, self.height - 110 * _SCALE])
        self.scale = float((room / np.maximum(high - low, 1e-9)).min())
        self.middle = (low + high) / 2

    def __call__(self, points: Doubles) -> Doubles:
        offset = (points - self.middle) * self.scale
        return np.asarray(np.stack([self.width / 2 + offset[..., 0], self.height / 2 + 10 * _SCALE - offset[..., 1]], axis=-1))

    def plane(self) -> Doubles:
        """(height, width, 2) the point of the plane under each pixel of the large picture."""
        x, y = np.meshgrid(np.arange(self.width) + 0.5, np.arange(self.height) + 0.5)
        return np.stack(
            [(x - self.width / 2) / self.scale + self.middle[0], (self.height / 2 + 10 * _SCALE - y) / self.scale + self.middle[1]], axis=-1
        )


def _backdrop(scene: Scene, camera: _Camera, theme: Theme) -> Any:
    """Paper, shade, decision line and limit polytope."""
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
            _dashes(pen, corners[a], corners[c], rgb(colours.lines[0]), 3, 2.5 * _SCALE, 3.5 * _SCALE)
    if scene.decision and (size := float(np.hypot(*scene.decision[0]))) > 0:
        w, b = scene.decision
        foot, along = camera(-b * w / size**2), np.array([w[1], w[0]]) / size
        reach = camera.width + camera.height + float(np.abs(foot).max())
        middle = foot + along * float((np.array([camera.width, camera.height]) / 2 - foot) @ along)
        reach = min(reach, float(camera.width + camera.height))
        _dashes(pen, middle - along * reach, middle + along * reach, rgb(colours.ink), 3, 9 * _SCALE, 6 * _SCALE)
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
    radius = (4.5 if len(at) <= 200 else 3.2 if len(at) <= 700 else 2.2) * _SCALE
    leaders = set(scene.leaders)
    for i, (x, y) in enumerate(at):
        if i not in leaders:
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fills[i], outline=ink, width=_SCALE)
    for i in scene.leaders:
        (x, y), size = at[i], 8 * _SCALE
        pen.polygon([(x, y - size), (x + size, y), (x, y + size), (x - size, y)], fill=fills[i], outline=ink, width=2 * _SCALE)
    texts, points = _leader_labels(scene, round(moment), at)
    if scene.means is not None and scene.probabilities is not None:
        way = camera(np.concatenate([scene.means[: layer + 1], [scene.means[layer] + (scene.means[after] - scene.means[layer]) * part]]))
        pen.line([tuple(point) for point in way], fill=ink, width=2 * _SCALE)
        (x, y), size = way[-1], 8 * _SCALE
        pen.ellipse((x - size, y - size, x + size, y + size), fill=paper, outline=ink, width=2 * _SCALE)
        pen.line((x - size, y, x + size, y), fill=ink, width=2 * _SCALE)
        pen.line((x, y - size, x, y + size), fill=ink, width=2 * _SCALE)
        p = float(scene.probabilities[min(int(moment + 1e-9), scene.layers)])
        texts.insert(0, f"mean: {visible(scene.labels[int(p >= 0.5)])} {max(p, 1 - p):.0%}")
        points.insert(0, way[-1])
    _write(pen, texts, points, camera, ink, paper)
    shown = int(moment + 1e-9)
    pen.text((12 * _SCALE, 8 * _SCALE), f"layer {shown} of {scene.layers}" if shown else "start", fill=ink, font=font(15 * _SCALE))
    return picture.reduce(_SCALE)


def _leader_labels(scene: Scene, layer: int, at: Doubles) -> tuple[list[str], list[Doubles]]:
    groups = together(scene.positions[layer])
    sizes = np.bincount(groups)
    order = sorted(scene.leaders, key=lambda i: -int(sizes[groups[i]]))
    texts = [visible(scene.words[i])[:24] + (f" ×{sizes[groups[i]]}" if sizes[groups[i]] > 1 else "") for i in order]
    return texts, [at[i] for i in order]


def _write(pen: Any, texts: list[str], points: list[Doubles], camera: _Camera, ink: tuple[int, ...], paper: tuple[int, ...]) -> None:
    if not texts:
        return
    letters = font(14 * _SCALE)
    sizes = [(float(pen.textlength(text, font=letters)) + 4, 18.0 * _SCALE) for text in texts]
    taken = [(x - 8 * _SCALE, y - 8 * _SCALE, 16 * _SCALE, 16 * _SCALE) for x, y in points]
    frame = (float(camera.width), float(camera.height))
    for i, (left, top) in label_places(np.array(points), sizes, [11.0 * _SCALE] * len(texts), frame, taken).items():
        pen.text((left, top), texts[i], fill=ink, font=letters, stroke_width=2 * _SCALE, stroke_fill=paper)


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """DejaVu Sans, which comes with matplotlib and knows most alphabets; Pillow's own letters otherwise."""
    from PIL import ImageFont

    try:
        path = Path(str(distribution("matplotlib").locate_file("matplotlib/mpl-data/fonts/ttf/DejaVuSans.ttf")))
        return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
    except (PackageNotFoundError, OSError):
        return ImageFont.load_default(size)


def _dashes(pen: Any, start: Doubles, end: Doubles, colour: tuple[int, ...], width: int, on: float, off: float) -> None:
    long = float(np.hypot(*(end - start)))
    if long == 0:
        return
    step = (end - start) / long
    for at in np.arange(0, long, on + off):
        pen.line([tuple(start + step * at), tuple(start + step * min(at + on, long))], fill=colour, width=width)


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green, blue of #rrggbb."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue
