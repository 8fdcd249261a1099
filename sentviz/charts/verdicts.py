"""The look of a verdict: its colour, its sign, and its effect as text.

Settled verdicts are dark, open ones pale. Every cell has a sign, so that verdicts also differ in grey.
"""

from __future__ import annotations

from typing import Any

from sentviz.analysis.claim import VERDICT_WORDS, Effect, Verdict
from sentviz.charts.colours import Palette, ink_on
from sentviz.io.numbers import PERCENT, number, signed

VERDICTS: tuple[Verdict, ...] = tuple(VERDICT_WORDS)
SIGNS: dict[Verdict, tuple[tuple[tuple[float, float], ...], ...]] = {  # strokes in pixels, y up; "open" has a question mark
    "holds": (((-5, 0), (-1.6, -4), (5, 4.4)),),
    "fails": (((-4, -4), (4, 4)), ((-4, 4), (4, -4))),
    "unjudged": (((-4, 0), (4, 0)),),
}
SMALLEST = 8.25  # pixels of letters that are still five points in a column of 84 mm


def verdict_colour(verdict: Verdict, colours: Palette) -> str:
    """Return the colour of a verdict's cell: as for right and wrong predictions if it is settled, pale if it is open."""
    return dict(zip(VERDICTS, (colours.right, colours.wrong, colours.doubt, colours.grid), strict=True))[verdict]


def effect_in_words(effect: Effect) -> str:
    """Return an effect as text, for example "+0.12 points [−0.05, +0.29]": a difference has a sign, and the interval follows if there is
    one.
    """
    write = signed if effect.null == 0 else number
    ends = None if effect.low is None or effect.high is None else (effect.low, effect.high)
    return write(effect.value, 2 if effect.unit in ("points", "") else 1, ends, unit_in_words(effect))


def unit_in_words(effect: Effect) -> str:
    """Return the unit of an effect with the space before it."""
    return {"": "", "%": PERCENT}.get(effect.unit, f" {effect.unit}")


def draw_sign(
    shapes: list[dict[str, Any]],
    notes: list[dict[str, Any]],
    verdict: Verdict,
    place: dict[str, Any],
    scale: float,
    colours: Palette,
    shift: tuple[float, float] = (0.0, 0.0),
) -> None:
    """Add a tick, a cross, a dash or a question mark to `shapes` or `notes`, `shift` pixels right of and above a place with xref, yref,
    xanchor, yanchor.
    """
    ink, (right, up) = ink_on(verdict_colour(verdict, colours)), shift
    if verdict in SIGNS:
        strokes = (" L ".join(f"{right + scale * a:.4g} {up + scale * b:.4g}" for a, b in stroke) for stroke in SIGNS[verdict])
        path = " ".join(f"M {stroke}" for stroke in strokes)
        pixels = {"xsizemode": "pixel", "ysizemode": "pixel", "line": {"color": ink, "width": 2.2 * scale}}
        shapes.append({"type": "path", "path": path} | place | pixels)
        return
    font = {"size": max(14 * scale, SMALLEST), "color": ink}
    where = {"x": place["xanchor"], "y": place["yanchor"], "xshift": right, "yshift": up}
    middle = {"xanchor": "center", "yanchor": "middle", "xref": place["xref"], "yref": place["yref"]}
    notes.append({"text": "<b>?</b>", "font": font} | where | middle)
