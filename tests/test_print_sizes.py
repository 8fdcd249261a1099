"""Figures in the sizes of print: millimetres, points, fonts inside, booktabs."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from sentviz.charts import Figure, fonts, heatmap, probability_bars
from sentviz.charts.look import SIZES, Look
from sentviz.charts.panels import pushed_apart
from sentviz.errors import InputError
from sentviz.export.chromium import find_browser
from sentviz.export.files import render
from tests.kit import fake_trace
from tests.shipped import often

pytestmark = pytest.mark.slow

pictures = pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")


def figure() -> Figure:
    return heatmap(fake_trace(tokens=["a", "<b>", "quiet", "delight"]), 0)


@pytest.mark.exhaustive
@pictures
@pytest.mark.parametrize("name", often(SIZES, "wide"))
def test_an_svg_is_as_wide_as_its_place(name: str) -> None:
    """The width in pixels at 96 per inch is the preset's millimetres, to half a millimetre; letters have the preset's points."""
    svg = render(figure(), "svg", size=name)
    root = ElementTree.fromstring(svg)
    assert float(root.attrib["width"]) / 96 * 25.4 == pytest.approx(SIZES[name].millimetres, abs=0.5)
    factor = float(root.attrib["width"]) / float(root.attrib["viewBox"].split()[2])
    assert 13 * factor * 72 / 96 == pytest.approx(SIZES[name].points, rel=1e-3)


def test_names_of_a_map_in_a_column_do_not_overlap() -> None:
    """A map of about 30 tokens keeps every name and sum at its own width, and every third one in a column; the frame keeps all."""
    whole = heatmap(fake_trace(tokens=[f"word{i}" for i in range(28)]), 0)
    plot, every_third = replace(whole, look=Look("light", 320)).plot, list(range(0, whole.frame["key"].nunique(), 3))
    assert list(plot.layout.xaxis.tickvals) == list(plot.layout.yaxis.tickvals) == every_third
    (sums,) = (trace.text for trace in plot.data if trace.type == "scatter" and trace.mode == "text")
    assert [i for i, text in enumerate(sums) if text] == every_third
    assert len(whole.plot.layout.xaxis.ticktext) == 29 == len(whole.plot.layout.yaxis.ticktext) and len(whole.frame) > 28**2


def test_a_missing_font_leaves_the_picture_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><text style="font-family: Nowhere Sans;">abc</text></svg>'
    monkeypatch.setattr(fonts, "font_file", lambda families, letters, bold=False: None)
    assert fonts.embed_fonts(svg) == svg


def test_a_tex_table_is_booktabs_and_escaped() -> None:
    figure = probability_bars(["50% & more", "a_b"], [0.25, 0.75])
    tex = render(Figure("x", figure.picture, figure.frame, "Costs $5 {now}."), "tex").decode()
    assert r"\toprule" in tex and r"\bottomrule" in tex
    assert r"50\% \& more" in tex and r"a\_b" in tex
    assert r"\$5 \{now\}" in tex and tex.startswith("% ")
    for wrong, message in (({"size": "poster"}, "column or wide or slide"), ({"size": "column", "points": 1}, "points")):
        with pytest.raises(InputError, match=message):
            render(figure, "png", **wrong)


def test_names_at_ends_move_as_little_as_they_can() -> None:
    """The heights equal those of slow projection onto each gap in turn (Dykstra), which finds the nearest allowed heights."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 9):
        heights, least = np.sort(rng.uniform(size=n)), 0.15
        slow, owed = heights.copy(), np.zeros((n, n))
        for _ in range(4000):
            for i in range(n - 1):
                back = slow + owed[i]
                short = max(least - (back[i + 1] - back[i]), 0) / 2
                slow = back.copy()
                slow[i], slow[i + 1] = back[i] - short, back[i + 1] + short
                owed[i] = back - slow
        np.testing.assert_allclose(pushed_apart(heights, least), slow, atol=1e-6)
    np.testing.assert_array_equal(pushed_apart([0.0, 1.0], 0.5), [0.0, 1.0])
