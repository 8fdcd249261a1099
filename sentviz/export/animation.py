"""Animations as GIF files: Chromium paints the pictures with the scripts of the view's own page, and Pillow encodes them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sentviz.browser.film import Film, through_html
from sentviz.browser.particles import animation_html
from sentviz.charts.colours import Theme
from sentviz.charts.scene import Scene
from sentviz.errors import InputError
from sentviz.export.chromium import NEEDS_BROWSER
from sentviz.export.files import BROWSER

if TYPE_CHECKING:
    from PIL import Image

MILLISECONDS = 60  # time that a picture is shown
TWEENS = 8  # pictures on the way from one state to the next
LAYER, EPOCH, END = 3, 6, 24  # pictures at a layer, at an epoch, at the end
MOST = 24  # states after the first one
SAMPLE = 9  # pictures that choose the colours

__all__ = ["NEEDS_BROWSER", "animation_gif", "film_gif", "moments"]

Size = tuple[int, int]
"""Width and height in pixels."""


def animation_gif(scene: Scene, *, width: int = 720, height: int = 500, theme: Theme = "light") -> bytes:
    """Record every layer and the way to the next one.

    Args:
        scene: what is shown; of more than 24 layers the first 24.
        width, height: in pixels.
    Raises:
        InputError: the size is too small or too large. SentvizError: there is no browser.
    """
    return _gif(animation_html(scene, theme=theme), scene.layers + 1, LAYER, (width, height), (200, 150))


def film_gif(film: Film, *, width: int = 960, height: int = 420, theme: Theme = "light") -> bytes:
    """Record map and answer, points, confusion matrix and losses, from epoch to epoch.

    Args:
        film: what is shown; of more than 25 epochs the first 25.
        width, height: in pixels.
    Raises:
        InputError: the size is too small or too large. SentvizError: there is no browser.
    """
    return _gif(through_html(film, theme=theme), len(film.seen.epochs), EPOCH, (width, height), (480, 240))


def moments(states: int, rest: int) -> list[float]:
    """Return the times of the pictures: each state is shown `rest` times and the last one `END` times more; the page eases the ways."""
    times = [0.0] * rest
    for state in range(min(states, MOST + 1) - 1):
        times += [*(state + np.arange(1, TWEENS + 1) / TWEENS).tolist(), *[state + 1.0] * rest]
    return times + [times[-1]] * END


def _gif(page: str, states: int, rest: int, size: Size, least: Size) -> bytes:
    """Record the page of a view as a GIF with at most 255 colours, the same for all pictures.

    Args:
        page: HTML whose script offers `pose`, a function that paints the state at a time.
        states: number of states; time 0 is the first one. At most `MOST` + 1 are shown.
        rest: pictures at a state. least: the smallest size; the largest one is 1,600 to 1,200 pixels.
    Raises:
        InputError: the size is too small or too large. SentvizError: no browser is installed, or it cannot draw the page.
    """
    from PIL import Image

    (width, height), (narrow, low) = size, least
    if not (narrow <= width <= 1600 and low <= height <= 1200):
        raise InputError(f"A GIF of this view can be {narrow} to 1,600 pixels wide and {low} to 1,200 high.")
    times = moments(states, rest)
    distinct = list(dict.fromkeys(times))
    shots = [Image.open(io.BytesIO(shot)).convert("RGB") for shot in BROWSER.record(page, distinct, width, height)]
    colours = _palette([shots[i] for i in sorted({round(i) for i in np.linspace(0, len(shots) - 1, SAMPLE)})])
    painted = dict(zip(distinct, (shot.quantize(palette=colours, dither=Image.Dither.NONE) for shot in shots), strict=True))
    first, *later = (painted[time] for time in times)
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=later, duration=MILLISECONDS, loop=0, optimize=True, disposal=1)
    return file.getvalue()


def _palette(pictures: Sequence[Image.Image]) -> Image.Image:
    """Return an image with 255 colours that fit pictures. A colour counts as the root of its pixels: small marks keep theirs."""
    from PIL import Image

    codes = np.concatenate([np.asarray(picture, dtype=np.int32).reshape(-1, 3) @ [65536, 256, 1] for picture in pictures])
    colours, pixels = np.unique(codes, return_counts=True)
    row = np.repeat(colours, np.ceil(np.sqrt(pixels)).astype(int))
    channels = np.stack([row >> 16, row >> 8 & 255, row & 255], axis=-1).astype(np.uint8)
    return Image.fromarray(channels[None]).quantize(255, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
