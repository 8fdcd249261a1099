"""Shared parts of figures: panels, sizes of print, and explanations side by side, against numbers that are computed in the tests."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest

from sentviz.browser.packing import marked
from sentviz.charts import Figure, fonts, heatmap, probability_bars
from sentviz.charts.look import SIZES
from sentviz.charts.methods import method_matrix
from sentviz.charts.panels import pushed_apart
from sentviz.charts.plane import View, decision_line
from sentviz.errors import InputError
from sentviz.export.chromium import find_browser
from sentviz.export.files import render
from tests.kit import fake_trace, refused
from tests.shipped import often


def test_a_view_shows_all_points_in_the_proportions_of_the_picture() -> None:
    points, inner = np.array([[0.0, 0.0], [10.0, 1.0]]), (350, 250)
    view = View.around(points, inner, (50, 60))
    np.testing.assert_allclose((view.high - view.low) / view.unit, inner)
    assert (np.ptp(points, axis=0) / view.unit + (50, 60) <= np.add(inner, 1e-9)).all()
    np.testing.assert_allclose((view.low + view.high) / 2, [5, 0.5])
    np.testing.assert_allclose(view.pixels([[5, 0.5]]), [[175, 125]])


def test_the_decision_line_has_log_odds_zero() -> None:
    """Both ends satisfy w . z + b = 0 and are outside the view; without a direction there is no line."""
    plot, w, b = go.Figure(), np.array([2.0, -1.0]), 0.5
    view = View(-np.ones(2), np.ones(2), 0.01, np.array([200.0, 200.0]))
    decision_line(plot, (w, b), view, "#000000")
    ends = np.stack([plot.data[0].x, plot.data[0].y], axis=1)
    np.testing.assert_allclose(ends @ w + b, 0, atol=1e-9)
    assert (np.abs(ends).max(axis=1) > 1).all()
    decision_line(plot, (np.zeros(2), b), view, "#000000")
    assert len(plot.data) == 1


@pytest.mark.parametrize("changed", [{"a": 1, "b": 3}, {"a": 1}, {"a": 1, "b": 2, "c": None}])
def test_the_mark_of_data_changes_with_them(changed: dict[str, object]) -> None:
    mark = marked({"a": 1, "b": 2})["mark"]
    assert mark == marked({"b": 2, "a": 1})["mark"] != marked(changed)["mark"]


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
        refused(InputError, message, render, figure, "png", **wrong)


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


HOSTILE = ["<b>bad</b>", "$x$", "a" * 90, "ok"]


def test_words_are_text_and_odd_input_is_refused() -> None:
    figure = method_matrix(HOSTILE, {"<i>m</i>": [1.0, 2.0, 3.0, 4.0]})
    texts = [*figure.plot.layout.xaxis.ticktext, *figure.plot.layout.yaxis.ticktext, *np.ravel(figure.plot.data[0].customdata)]
    assert not any("<" in text or "$" in text for text in texts) and max(map(len, texts)) < 120
    for tokens, scores in (([], {"m": []}), (["a"], {}), (["a"], {"m": [1.0, 2.0]})):
        refused(InputError, "needs a word, a method", method_matrix, tokens, scores)
