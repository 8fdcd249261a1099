"""One language of colour: what a role looks like, that eyes of all kinds tell it apart, and the colours of numbers."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from sentviz.charts.colours import DEFICIENCIES, THEMES, Theme, class_colours, palette, scaled, simulated, tone
from sentviz.papers.sevenessxin.figures import CURVE_COLOURS
from sentviz.papers.sevenessxin.versions import DRAWN

HERE = Path(__file__).parents[1]
TWO = ["negative", "positive"]


def lab(colour: str) -> npt.NDArray[np.float64]:
    """Return CIE L*a*b* of ``#rrggbb`` for white D65."""
    light = []
    for i in (1, 3, 5):
        part = int(colour[i : i + 2], 16) / 255
        light.append(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
    r, g, b = light
    x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047
    y = 0.2126729 * r + 0.7151522 * g + 0.0721750 * b
    z = (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def apart(first: str, second: str) -> float:
    return float(np.linalg.norm(lab(first) - lab(second)))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])
def test_sides_are_told_apart_by_all_eyes(theme: Theme, deficiency: str | None) -> None:
    """Classes, for and against, wrong and right, and the first two series differ by at least 15 units of L*a*b*; roles share no colour."""
    colours = palette(theme)
    three = class_colours(["negative", "neutral", "positive"], theme)
    for role in (three, [colours.minus, colours.plus], [colours.wrong, colours.right], colours.lines[:2]):
        seen = role if deficiency is None else [simulated(colour, deficiency) for colour in role]
        assert min(apart(*pair) for pair in combinations(seen, 2)) > 15, (role, seen)
    roles = [class_colours(TWO, theme), [colours.minus, colours.plus], [colours.wrong, colours.right], list(colours.lines)]
    assert min(apart(a, b) for first, second in combinations(roles, 2) for a in first for b in second) > 10


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])
def test_curves_of_versions_are_told_apart_by_all_eyes(theme: Theme, deficiency: str | None) -> None:
    """The four drawn versions of 7ess-Xin differ by at least 10 units of L*a*b* for any eye; V2 is not trained, since it equals V6."""
    drawn = [palette(theme).line(number) for version, number in zip(DRAWN, CURVE_COLOURS, strict=True) if version != "7ess-v2"]
    seen = drawn if deficiency is None else [simulated(colour, deficiency) for colour in drawn]
    assert len(drawn) == 4 and min(apart(*pair) for pair in combinations(seen, 2)) > 10


@pytest.mark.parametrize("theme", THEMES)
def test_degrees_and_stars_are_in_order(theme: Theme) -> None:
    degrees = class_colours(["very negative", "negative", "neutral", "positive", "very positive"], theme)
    assert class_colours([f"{k} star{'s' * (k > 1)}" for k in range(1, 6)], theme) == degrees
    hues = [lab(colour)[2] for colour in degrees[1:4]]
    assert all(a > b for a, b in pairwise(hues))
    assert len(set(degrees)) == 5


def test_a_class_is_coloured_by_its_name() -> None:
    places = {"Negative": 0.25, "positive": 0.75, "neutral": 0.5, "bullish": 0.75, "very negative": 0.0, "9 stars": 1.0}
    assert {name: tone(name) for name in places} == places
    assert [tone(name) for name in ("spam", "not negative", "")] == [None] * 3
    assert class_colours(["positive", "negative"], "light") == class_colours(TWO, "light")[::-1]
    lines = list(palette("light").lines)
    assert class_colours(["entailment", "neutral", "contradiction"], "light") == lines[:3]
    assert class_colours([f"c{i}" for i in range(9)], "light") == [*lines, *lines[:2]]


def test_the_greys_of_a_print_keep_their_lightness() -> None:
    for colour in ("#000000", "#ffffff", "#c75f10", "#2673b2"):
        grey = simulated(colour, "greys")
        assert grey[1:3] == grey[3:5] == grey[5:7] and abs(lab(grey)[0] - lab(colour)[0]) < 0.5
    assert simulated("#ffffff", "protanopia") == "#ffffff"


def test_no_module_has_colours_of_its_own() -> None:
    """The exceptions are files for print and the BertViz view."""
    own = {"charts/colours.py", "charts/look.py", "export/files.py", "browser/bertviz.py"}
    modules = [path for folder in ("sentviz", "app") for path in (HERE / folder).rglob("*.py")]
    coloured = {path for path in modules if re.search(r"[\"']#[0-9a-fA-F]{6}[\"']", path.read_text(encoding="utf-8"))}
    assert coloured == {HERE / "sentviz" / name for name in own}


LOOK = palette("dark")


def test_equal_steps_are_equal_odds_and_equal_factors() -> None:
    sure = scaled([1 / 2, 10 / 11, 100 / 101], "confidence", LOOK)
    np.testing.assert_allclose(sure.places, [0, 0.5, 1], atol=1e-9)
    assert sure.ticks == ("50\u00a0%", "91\u00a0%", "99\u00a0%")
    long = scaled([2, 20, 200, 20], "length", LOOK)
    np.testing.assert_allclose(long.places, [0, 0.5, 1, 0.5], atol=1e-9)
    assert long.ticks == ("2", "20", "200")

    for kind in ("confidence", "length"):
        equal = scaled([1.0, 1.0], kind, LOOK)
        assert equal.places.tolist() == [0, 0] and len(set(equal.ticks)) == 1


def test_what_is_surer_than_four_nines_shares_a_colour() -> None:
    scale = scaled([0.5, 0.99995, 1.0], "confidence", LOOK)
    assert scale.places[1] == scale.places[2] == 1 and scale.ticks[2] == "99.99\u00a0%"
