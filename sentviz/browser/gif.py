"""Animations as GIF files, drawn with Pillow alone: the same bytes for the same pictures."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from PIL import ImageFont

MILLISECONDS = 60  # time that a picture is shown
SCALE = 2  # factor by which pictures are drawn larger; averaging then gives smooth edges
TWEENS = 8  # pictures on the way from one state to the next


def moments(states: int, rest: int, end: int) -> list[float]:
    """Return the times of the pictures: each state is shown `rest` times, the last one `end` times more, with smooth ways between."""
    part = np.arange(1, TWEENS + 1) / TWEENS
    times = [0.0] * rest
    for state in range(states - 1):
        times += [*(state + part**2 * (3 - 2 * part)), *[state + 1.0] * rest]
    return times + [float(states - 1)] * end


def gif(times: Sequence[float], picture: Callable[[float], Any], colours_of: Sequence[float] = (0.0,)) -> bytes:
    """Draw a picture for each time and join them to a GIF of at most 255 colours.

    Args:
        picture: draws the picture of a time at its final size; equal times in a row are drawn once.
        colours_of: times whose pictures choose the colours.
    """
    from PIL import Image

    colours = _colours([picture(time) for time in colours_of])
    pictures: list[Any] = []
    for time, before in zip(times, [None, *times], strict=False):
        if time != before:
            drawn = picture(time).quantize(palette=colours, dither=Image.Dither.NONE)
        pictures.append(drawn)
    file = io.BytesIO()
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=MILLISECONDS, loop=0, optimize=False, disposal=1)
    return file.getvalue()


def _colours(pictures: Sequence[Any]) -> Any:
    """Return an image whose palette fits some pictures."""
    from PIL import Image

    together = Image.new("RGB", (pictures[0].width, sum(picture.height for picture in pictures)))
    top = 0
    for picture in pictures:
        together.paste(picture, (0, top))
        top += picture.height
    return together.quantize(255, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return DejaVu Sans, which comes with matplotlib and has the letters of most alphabets, or else Pillow's own letters."""
    from PIL import ImageFont

    try:
        path = Path(str(distribution("matplotlib").locate_file("matplotlib/mpl-data/fonts/ttf/DejaVuSans.ttf")))
        return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
    except (PackageNotFoundError, OSError):
        return ImageFont.load_default(size)


def write(pen: Any, at: tuple[float, float], text: str, colour: str, size: int = 11, anchor: str = "la") -> None:
    """Write a text with letters of a size in final pixels; `at` is in pixels of the large picture, `anchor` as Pillow takes it."""
    pen.text(at, text, fill=colour, font=font(size * SCALE), anchor=anchor)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue (0 to 255) of a colour #rrggbb."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue
