"""One language of colour: what a role looks like, that eyes of all kinds tell it apart, and that every view speaks it."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from sentviz.charts.colours import DEFICIENCIES, THEMES, Theme, blend, class_colours, palette, simulated, tone
from sentviz.charts.layers import verdict_lines
from sentviz.charts.look import Look
from sentviz.charts.scatter import groups, scatter
from sentviz.charts.strip import token_strip
from sentviz.charts.verdict import probability_bars
from sentviz.papers.ndt.tsne import _draw as draw_tsne
from sentviz.papers.sevenessxin.figures import CURVE_COLOURS
from sentviz.papers.sevenessxin.versions import DRAWN
from tests.charts import answers, figure_of, stub

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
    """Classes, for and against, wrong and right, and the first two series differ by at least 15 units of L*a*b* for any eye."""
    colours = palette(theme)
    roles = (
        class_colours(["negative", "neutral", "positive"], theme),
        [colours.minus, colours.plus],
        [colours.wrong, colours.right],
        colours.lines[:2],
    )
    for role in roles:
        seen = role if deficiency is None else [simulated(colour, deficiency) for colour in role]
        assert min(apart(*pair) for pair in combinations(seen, 2)) > 15, (role, seen)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])
def test_curves_of_versions_are_told_apart_by_all_eyes(theme: Theme, deficiency: str | None) -> None:
    """The four drawn versions of 7ess-Xin differ by at least 10 units of L*a*b* for any eye; V2 is not trained, since it equals V6."""
    drawn = [palette(theme).line(number) for version, number in zip(DRAWN, CURVE_COLOURS, strict=True) if version != "7ess-v2"]
    seen = drawn if deficiency is None else [simulated(colour, deficiency) for colour in drawn]
    assert len(drawn) == 4 and min(apart(*pair) for pair in combinations(seen, 2)) > 10


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_roles_share_a_colour(theme: Theme) -> None:
    colours = palette(theme)
    roles = [class_colours(TWO, theme), [colours.minus, colours.plus], [colours.wrong, colours.right], list(colours.lines)]
    for first, second in combinations(roles, 2):
        for a in first:
            for b in second:
                assert apart(a, b) > 10, (a, b)


@pytest.mark.parametrize("theme", THEMES)
def test_degrees_and_stars_are_in_order(theme: Theme) -> None:
    """Colours of ordered classes run from orange to blue, with more blue in each class; five stars have the colours of five degrees."""
    degrees = class_colours(["very negative", "negative", "neutral", "positive", "very positive"], theme)
    assert class_colours([f"{k} star{'s' * (k > 1)}" for k in range(1, 6)], theme) == degrees
    hues = [lab(colour)[2] for colour in degrees[1:4]]
    assert all(a > b for a, b in pairwise(hues))
    assert len(set(degrees)) == 5


def test_a_class_is_coloured_by_its_name() -> None:
    """A class has its colour by its name, not by its place; "neutral" of NLI counts as another class."""
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


def fills(plot: Any) -> list[str]:
    colours: list[str] = []
    for trace in plot.data:
        colour = trace.marker.color or trace.line.color
        colours += [colour] if isinstance(colour, str) else [entry for entry in colour or () if isinstance(entry, str)]
    return colours


def points() -> pd.DataFrame:
    frame = pd.DataFrame({"id": list("abcd"), "x": [0.0, 1, 2, 3], "y": [0.0, 1, 0, 1], "label": [0, 0, 1, 1], "predicted": [0, 1, 1, 1]})
    return frame.assign(right=frame["label"] == frame["predicted"], confidence=0.9)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.slow
@pytest.mark.exhaustive
def test_positive_is_the_same_everywhere(theme: Theme) -> None:
    """ "positive" has the same colour in probabilities, layers, epochs, embeddings (page and file), t-SNE panels and browser views."""
    from sentviz.browser.packing import palettes

    negative, positive = class_colours(TWO, theme)
    shares = [[0.5, 0.5], [0.1, 0.9]]
    panels = pd.DataFrame(
        {"panel": "p", "run": "r", "label": TWO, "x": 0.0, "y": 0.0, "silhouette": 0.1, "low": 0.0, "high": 0.2, "seed": 0}
    )
    panels = panels.assign(printed=0.3, drawn=0.1, drawn_low=0.0, drawn_high=0.2)
    vectors, right = np.zeros((2, 4, 2)) + np.arange(4)[None, :, None], np.ones((2, 4), dtype=bool)
    seen = stub(epochs=[1, 2], vectors=vectors, first=stub(labels=np.array([0, 0, 1, 1])), right=right)
    plots = [
        replace(probability_bars(TWO, shares[1]), look=Look(theme)).plot,
        replace(verdict_lines(TWO, shares), look=Look(theme)).plot,
        replace(figure_of("epoch-points", stub(series=seen, run=stub(labels=TWO))), look=Look(theme)).plot,
        replace(scatter(points(), classes=TWO), look=Look(theme)).plot,
        draw_tsne(Look(theme), panels),
    ]
    for plot in plots:
        assert {negative, positive} <= set(fills(plot))
    assert [part.colour for part in groups(points(), "predicted", TWO, palette(theme))] == [negative, positive]
    colours = palettes("probability", classes=TWO)[theme]
    assert colours["classes"] == [negative, positive]
    ramp = colours["probability"]
    assert apart(ramp[0], negative) < 12 and apart(ramp[-1], positive) < 25


def test_a_class_that_no_point_has_leaves_the_others_their_colours() -> None:
    frame = points().query("label == 1")
    assert [(part.name, part.colour) for part in groups(frame, "label", TWO, palette("light"))] == [
        ("positive", class_colours(TWO, "light")[1])
    ]
    look = palette("light")
    assert [(part.name, part.colour) for part in groups(points(), "right", TWO, look)] == [("right", look.right), ("wrong", look.wrong)]


def test_right_and_wrong_and_for_and_against_have_their_own() -> None:
    """The cells of a confusion matrix and the tokens of a strip do not use colours of classes."""
    look = palette("light")
    cells = figure_of("confusion", stub(first=answers([[9, 1], [2, 8]], TWO))).plot.data[0]
    diagonal, beside = blend([stop for _, stop in cells.colorscale], (cells.z[0] - cells.zmin) / (cells.zmax - cells.zmin))
    assert apart(diagonal, look.right) < apart(diagonal, look.plus) and apart(beside, look.wrong) < apart(beside, look.minus)
    tokens = fills(token_strip(["bad", "good"], [-1.0, 1.0]).plot)
    assert tokens[:2] == [look.signed[0], look.signed[-1]]


def test_no_module_has_colours_of_its_own() -> None:
    """No module of the library and the app defines colours, except for the listed ones: files for print and the BertViz view."""
    own = {
        "charts/colours.py",
        "charts/look.py",
        "export/files.py",
        "papers/studies/export_paper.py",
        "browser/bertviz.py",
    }
    literals = [
        path.relative_to(HERE).as_posix()
        for folder in ("sentviz", "app")
        for path in sorted((HERE / folder).rglob("*.py"))
        if re.search(r"[\"']#[0-9a-fA-F]{6}[\"']", path.read_text(encoding="utf-8"))
        and path.relative_to(HERE / folder).as_posix() not in own
    ]
    assert not literals


def test_the_legend_shows_every_role_to_every_eye() -> None:
    """The frame has the colours of light pages; the picture has those of its look, in both layouts."""
    figure = figure_of("colours", stub())
    frame = figure.frame
    assert set(frame["seen"]) == {"as it is", "greys", *DEFICIENCIES} and frame["role"].nunique() == 6
    colours = set(frame.loc[frame["seen"] == "as it is", "colour"])
    for theme, drawn in (("light", colours), *((theme, set(fills(replace(figure, look=Look(theme, 390)).plot))) for theme in THEMES)):
        look = palette(theme)
        assert {*look.classes, look.minus, look.plus, look.right, look.wrong, *look.lines, *look.sequential} <= drawn
