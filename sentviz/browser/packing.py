"""Arrays as JSON for views in the browser: base64 of their bytes, or numbers with few digits."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
import numpy.typing as npt


def packed(values: npt.ArrayLike, kind: str) -> str:
    """Return the bytes of an array as base64, in row order; `kind` is the type of a number, as in "<f4"."""
    return b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def short(values: npt.ArrayLike, digits: int = 5) -> Any:
    """Return an array as nested lists of numbers with so many significant digits; NaN and infinity become None."""
    array = np.asarray(values)
    if array.ndim > 1:
        return [short(row, digits) for row in array]
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in array.tolist()]
