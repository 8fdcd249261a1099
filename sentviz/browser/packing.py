"""Data for views in the browser: arrays as base64 or as numbers with few digits, digests, and the colours of both themes."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.charts.colours import THEMES, Theme, class_colours, palette


def packed(values: npt.ArrayLike, kind: str) -> str:
    """Return the bytes of an array as base64, in row order; `kind` is the type of a number, as in "<f4"."""
    return b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def short(values: npt.ArrayLike, digits: int = 5) -> Any:
    """Return an array as nested lists of numbers with `digits` significant digits; NaN and infinity become None."""
    array = np.asarray(values)
    if array.ndim > 1:
        return [short(row, digits) for row in array]
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in array.tolist()]


def digest(text: str) -> str:
    """Return a digest of a text, 16 hexadecimal digits."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def marked(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a view with their digest as "mark", by which the view sees whether they are new."""
    return {**data, "mark": digest(repr(sorted(data.items())))}


def palettes(*names: str, classes: Sequence[str] = ()) -> dict[Theme, dict[str, Any]]:
    """Return colours of both themes by name, with a colour for each class if there are classes."""
    colours = {theme: {name: getattr(palette(theme), name) for name in names} for theme in THEMES}
    return {theme: named | ({"classes": class_colours(classes, theme)} if classes else {}) for theme, named in colours.items()}
