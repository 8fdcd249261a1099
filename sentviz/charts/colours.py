"""The colours of all figures and views, by role, for light and for dark pages.

==================  ========================================  ======================================
role                what it says                              colours
==================  ========================================  ======================================
classes             which class, by what its name says        orange negative, grey neutral, blue positive; stars and degrees in between
signed              support and opposition, more and less     purple below 0, green above
judged              mistakes and right predictions; claims    magenta wrong and refuted, teal right and held, with a mark; sand open
lines               runs, layers, heads, components           indigo, ochre, pink, ...: with a symbol or a dash each
sequential          an amount from 0                          light to dark blue
==================  ========================================  ======================================

Colour is never the only difference: a symbol, a sign, a word or a length differs as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.io.numbers import number, percent

Floats = npt.NDArray[np.float64]
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")


LINE_NAMES = ("indigo", "ochre", "pink", "slate", "green", "cyan", "brown")  # names of `Palette.lines` in both themes


@dataclass(frozen=True)
class Palette:
    """The colours of one theme, by role."""

    paper: str
    ink: str
    muted: str
    grid: str
    neutral: str  # cells without effect
    accent: str  # chosen things, things under the pointer, buttons
    star: str  # the visitor's text
    doubt: str  # claims whose tests are inconclusive
    sequential: tuple[str, ...]  # 0 to the largest value
    signed: tuple[str, ...]  # smallest to largest, 0 in the middle
    judged: tuple[str, ...]  # wrong to right, neither in the middle
    classes: tuple[str, ...]  # very negative to very positive: marks, contrast to paper about 3:1 or better
    probability: tuple[str, ...]  # areas, by the probability of the positive class; near paper at one half
    lines: tuple[str, ...]  # contrast to paper 3:1 or better

    def line(self, series: int) -> str:
        """Return the colour of a series, counted from 0; colours repeat."""
        return self.lines[series % len(self.lines)]

    @property
    def negative(self) -> str:
        """The negative class."""
        return self.classes[1]

    @property
    def positive(self) -> str:
        """The positive class."""
        return self.classes[-2]

    @property
    def wrong(self) -> str:
        """Mistakes."""
        return self.judged[1]

    @property
    def right(self) -> str:
        """Right predictions."""
        return self.judged[-2]

    @property
    def minus(self) -> str:
        """Opposition, and less."""
        return self.signed[1]

    @property
    def plus(self) -> str:
        """Support, and more."""
        return self.signed[-2]


_LIGHT = Palette(
    paper="#ffffff",
    ink="#31333f",
    muted="#6b7080",
    grid="#e6e9ef",
    neutral="#eef1f6",
    accent="#1b62a5",
    star="#f0c94a",
    doubt="#f3e0a6",
    sequential=("#f1f4f9", "#c9dcef", "#8fbbdd", "#4a90c4", "#1b62a5", "#08306b"),
    signed=("#40004b", "#762a83", "#c2a5cf", "#f1f4f9", "#9fd6a0", "#1b7837", "#00441b"),
    judged=("#7d0a4c", "#c2307f", "#e3a3c6", "#f1f4f9", "#93cfc6", "#00524b", "#002e2a"),
    classes=("#8f4108", "#c75f10", "#7d8290", "#2673b2", "#0f3f75"),
    probability=("#c75f10", "#f2a661", "#f1f4f9", "#82b6dc", "#2673b2"),
    lines=("#4f46a5", "#a37b00", "#b5478f", "#4b5563", "#5d7a1f", "#2f9bb3", "#7a4b2a"),
)
_DARK = Palette(
    paper="#0e1117",
    ink="#fafafa",
    muted="#a3a8b8",
    grid="#2b303b",
    neutral="#222834",
    accent="#56b4e9",
    star="#f0c94a",
    doubt="#6f6233",
    sequential=("#1b202b", "#173a63", "#1f66a8", "#3d9be0", "#93cff5", "#eef8ff"),
    signed=("#f0daf8", "#c58be0", "#59376f", "#1b202b", "#1f5c37", "#57c47f", "#d3f5dd"),
    judged=("#ff9fd0", "#e0509c", "#702a54", "#1b202b", "#14544d", "#7adccd", "#9df2e4"),
    classes=("#ffcfa5", "#ff9d5c", "#9aa0ae", "#56b4e9", "#bfe3ff"),
    probability=("#ee8a3c", "#7d4417", "#1b202b", "#1b4f86", "#3d9be0"),
    lines=("#a9a2ff", "#e8c04a", "#f08cc8", "#c3c9d4", "#b5cf5a", "#5ccfe0", "#d9a27a"),
)


def palette(theme: Theme) -> Palette:
    """Return the colours of "light" or "dark"; any other name raises ValueError."""
    if theme == "light":
        return _LIGHT
    if theme == "dark":
        return _DARK
    raise ValueError(f"theme must be 'light' or 'dark', not {theme!r}")


_POLES = {"negative": 0.25, "bearish": 0.25, "neutral": 0.5, "between": 0.5, "mixed": 0.5, "positive": 0.75, "bullish": 0.75}


def tone(label: str, stars: int = 5) -> float | None:
    """Return the sentiment of a class from its name, from 0, very negative, to 1, very positive; None if the name names no sentiment.

    Args:
        label: for example "negative", "very positive", "4 stars".
        stars: largest number of stars.
    """
    words = label.lower().split()
    counted = re.fullmatch(r"(\d+) stars?", label.lower())
    if counted:
        return min(max((int(counted[1]) - 1) / max(stars - 1, 1), 0.0), 1.0)
    if not words or words[-1] not in _POLES:
        return None
    place = _POLES[words[-1]]
    return 2 * place - 0.5 if words[:-1] == ["very"] else place if len(words) == 1 else None


def class_colours(labels: Sequence[str], theme: Theme | Palette) -> list[str]:
    """Return a colour for each class of a model: by sentiment if the names tell it, else as for other series.

    Args:
        labels: names of all K classes, so that stars know how many there are.
    """
    colours = theme if isinstance(theme, Palette) else palette(theme)
    tones = [tone(label, stars=len(labels)) for label in labels]
    if None in tones or all(place == 0.5 for place in tones):
        return [colours.lines[k % len(colours.lines)] for k in range(len(labels))]
    return blend(colours.classes, np.array(tones, dtype=float))


def blend(stops: Sequence[str], at: npt.ArrayLike) -> list[str]:
    """Return colours ``#rrggbb`` of a scale with evenly spaced ``stops``, at positions (n,) from 0 to 1."""
    channels = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops], dtype=float)
    positions = np.clip(np.asarray(at, dtype=float), 0, 1) * (len(stops) - 1)
    mixed = np.stack([np.interp(positions, np.arange(len(stops)), channels[:, i]) for i in range(3)], axis=-1)
    return ["#" + "".join(f"{round(value):02x}" for value in rgb) for rgb in mixed]


def colour_scale(stops: Sequence[str]) -> list[list[Any]]:
    """Return a Plotly colour scale with evenly spaced ``stops``."""
    return [[i / (len(stops) - 1), stop] for i, stop in enumerate(stops)]


def _linear(colour: str) -> Floats:
    """Return ``#rrggbb`` as linear light, (3,) from 0 to 1."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def ink_on(background: str) -> str:
    """Return black or white, whichever reads better on ``#rrggbb`` (WCAG contrast)."""
    return "#000000" if float(_linear(background) @ (0.2126, 0.7152, 0.0722)) > 0.179 else "#ffffff"


def halo(paper: str) -> dict[str, str]:
    """Return font settings for letters on top of points: a rim in the colour of the paper."""
    return {"shadow": ", ".join([f"0 0 3px {paper}"] * 3)}


def see_through(colour: str, opacity: float) -> str:
    """Return a colour ``#rrggbb`` with an opacity, for the ground of letters that stand on points."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


DEFICIENCIES: dict[str, tuple[tuple[float, float, float], ...]] = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def simulated(colour: str, deficiency: str) -> str:
    """Return ``#rrggbb`` as eyes without one kind of cones see it (Machado, Oliveira and Fernandes 2009, severity 1, on linear light).

    Args:
        deficiency: a key of `DEFICIENCIES`, or "greys" for print without colour.
    """
    light = _linear(colour)
    if deficiency == "greys":
        seen = np.full(3, float(light @ (0.2126, 0.7152, 0.0722)))
    else:
        seen = np.clip(np.array(DEFICIENCIES[deficiency]) @ light, 0, 1)
    parts = np.where(seen <= 0.0031308, seen * 12.92, 1.055 * seen ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(float(255 * part)):02x}" for part in parts)


# ---- numbers as colours. On an even scale most rows would look alike: most confidences are near 1, and few texts are long.

SCALES = ("confidence", "length")
SUREST = 0.9999  # higher confidences share a colour


@dataclass(frozen=True, eq=False)
class Scale:
    """A number of every row as a position between two colours."""

    places: Floats  # (n,) 0 = the least value, 1 = the largest
    ticks: tuple[str, str, str]  # labels at 0, 1/2 and 1
    stops: tuple[str, ...]  # colours from 0 to 1


def scaled(values: npt.ArrayLike, kind: str, look: Palette) -> Scale:
    """Scale confidences by their log-odds, or lengths in words by their logarithm.

    Args:
        values: (n,) at least one. kind: one of `SCALES`.
    """
    transform, invert, write = (_log_odds, _share, _percent) if kind == "confidence" else (_log, np.exp, partial(number, digits=0))
    at = transform(np.asarray(values, dtype=np.float64))
    low, high = float(at.min()), float(at.max())
    ticks = [write(float(invert(place))) for place in (low, (low + high) / 2, high)]
    return Scale((at - low) / (high - low or 1.0), (ticks[0], ticks[1], ticks[2]), look.sequential[2:])


def _log_odds(p: Floats) -> Floats:
    p = np.clip(p, 1 - SUREST, SUREST)
    return np.asarray(np.log(p / (1 - p)))


def _share(odds: float) -> float:
    return float(1 / (1 + np.exp(-odds)))


def _log(n: Floats) -> Floats:
    return np.log(np.maximum(n, 1))


def _percent(value: float) -> str:
    """Write a share with as few decimals as possible, but never 100 % for less: 50 %, 97 %, 99.9 %."""
    return next(text for text in (percent(value, digits) for digits in (0, 1, 2, 3)) if not text.startswith("100"))
