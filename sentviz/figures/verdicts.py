"""How a verdict looks wherever it is drawn: a colour, a sign, and its effect in words.

Dark is what is settled, pale what is open; a sign stands in every cell, so that verdicts are told apart in grey as well.
"""

from __future__ import annotations

from typing import Any

from sentviz.analysis.claim import VERDICT_WORDS, Effect, Verdict
from sentviz.figures.colours import Theme, ink_on, palette
from sentviz.figures.figure import number

VERDICTS: tuple[Verdict, ...] = tuple(VERDICT_WORDS)
SIGNS: dict[Verdict, tuple[tuple[tuple[float, float], ...], ...]] = {  # strokes in pixels, upwards; "open" has a letter
    "holds": (((-5, 0), (-1.6, -4), (5, 4.4)),),
    "fails": (((-4, -4), (4, 4)), ((-4, 4), (4, -4))),
    "unjudged": (((-4, 0), (4, 0)),),
}
SMALLEST = 8.25  # pixels of letters that a column of 84 mm shrinks to no less than five points


def verdict_colour(verdict: Verdict, theme: Theme) -> str:
    """Of its cell: what holds and what does not as right and wrong answers have, pale what is open."""
    colours = palette(theme)
    return dict(zip(VERDICTS, (colours.right, colours.wrong, colours.doubt, colours.grid), strict=True))[verdict]


def effect_in_words(effect: Effect) -> str:
    """ "+0.12 [−0.05, +0.29] points": the number with its sign where it is a difference, its interval where it has one."""
    sign = effect.null == 0
    digits = 2 if effect.unit in ("points", "") else 1

    def said(value: float) -> str:
        return f"{'+' if sign and value > 0 else ''}{number(value, digits)}"

    span = "" if effect.low is None or effect.high is None else f" [{said(effect.low)}, {said(effect.high)}]"
    unit = effect.unit if effect.unit in ("", "%") else f" {effect.unit}"
    return f"{said(effect.value)}{span}{unit}"


def draw_sign(
    shapes: list[dict[str, Any]],
    notes: list[dict[str, Any]],
    verdict: Verdict,
    place: dict[str, Any],
    scale: float,
    theme: Theme,
    shift: tuple[float, float] = (0.0, 0.0),
) -> None:
    """A tick, a cross, a dash or a question mark so many pixels from a place: xref, yref, xanchor, yanchor."""
    ink, (right, up) = ink_on(verdict_colour(verdict, theme)), shift
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
