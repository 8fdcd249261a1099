"""Numbers of rows as colours: most confidences lie near 1 and few lengths far out, so on an even scale all rows would look alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sentviz.figures.colours import Palette

SCALES = ("confidence", "length")
SUREST = 0.9999  # confidences beyond it share a colour

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scale:
    """A number of every row as a place between two colours."""

    places: Floats  # (n,) 0 = the least value, 1 = the largest
    ticks: tuple[str, str, str]  # what stands at 0, 1/2 and 1
    stops: tuple[str, ...]  # colours from 0 to 1


def scaled(values: npt.ArrayLike, kind: str, look: Palette) -> Scale:
    """Places by the log-odds of a confidence, or the logarithm of a length in words.

    Args:
        values: (n,) at least one. kind: one of `SCALES`.
    """
    there, back, said = (_log_odds, _share, _percent) if kind == "confidence" else (_log, np.exp, _count)
    at = there(np.asarray(values, dtype=np.float64))
    low, high = float(at.min()), float(at.max())
    ticks = [said(float(back(place))) for place in (low, (low + high) / 2, high)]
    return Scale((at - low) / (high - low or 1.0), (ticks[0], ticks[1], ticks[2]), look.sequential[2:])


def _log_odds(p: Floats) -> Floats:
    p = np.clip(p, 1 - SUREST, SUREST)
    return np.asarray(np.log(p / (1 - p)))


def _share(odds: float) -> float:
    return float(1 / (1 + np.exp(-odds)))


def _log(n: Floats) -> Floats:
    return np.log(np.maximum(n, 1))


def _percent(value: float) -> str:
    """50%, 97%, 99.9%: decimals only where a whole number would say 100%."""
    return next(text for text in (f"{value:.{digits}%}" for digits in (0, 1, 2, 3)) if not text.startswith("100"))


def _count(value: float) -> str:
    return f"{round(value):,}"
