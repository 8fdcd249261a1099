"""Shared parts of figures against numbers that are computed in the tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from sentviz.browser.packing import marked
from sentviz.charts.colours import ink_on, palette
from sentviz.charts.look import LOOKS
from sentviz.charts.panels import cell_texts, panel_axes, panel_grid, row_axis, stacked
from sentviz.charts.plane import View, decision_line


def test_a_grid_has_a_titled_panel_for_each_title() -> None:
    """Five titles in rows of three: two rows, places row by row, titles in their order and muted."""
    plot, places = panel_grid(list("abcde"), 3, LOOKS["dark"], apart=0.1, below=0.2, size=11)
    assert [(place["row"], place["col"]) for place in places] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]
    assert [note.text for note in plot.layout.annotations] == list("abcde")
    assert {(note.font.size, note.font.color) for note in plot.layout.annotations} == {(11, palette("dark").muted)}
    for panel, place in enumerate(places):
        plot.add_scatter(x=[0], y=[0], **place)
        axes = panel_axes(panel)
        assert (plot.data[-1].xaxis or "x", plot.data[-1].yaxis or "y") == (axes["xref"], axes["yref"])
    assert panel_grid(["a"], 3, LOOKS["light"], apart=0.1)[1] == [{"row": 1, "col": 1}]  # not wider than its titles


def test_rows_go_from_top_to_bottom() -> None:
    axis = row_axis(["a", "b", "c"], fixedrange=True)
    assert {"range": [2.5, -0.5], "tickvals": [0, 1, 2], "ticktext": ["a", "b", "c"], "fixedrange": True}.items() <= axis.items()
    frame = stacked({"a": pd.DataFrame({"x": [1, 2]}), "b": pd.DataFrame({"x": [3]})}, "run")
    assert list(frame) == ["run", "x"] and frame.to_numpy().tolist() == [["a", 1], ["a", 2], ["b", 3]]


def test_texts_of_cells_can_be_read_on_their_colours() -> None:
    """Each text is at its cell, with the ink of the cell's own colour; empty texts have no annotation."""
    fills = ["#000000", "#ffffff", "#ffffff", "#000000"]
    notes = list(cell_texts([["a", ""], ["c", "d"]], fills, 12, xref="x2"))
    assert [(note["x"], note["y"], note["text"]) for note in notes] == [(0, 0, "a"), (0, 1, "c"), (1, 1, "d")]
    assert [note["font"]["color"] for note in notes] == [ink_on(fills[i]) for i in (0, 2, 3)]
    assert {note["xref"] for note in notes} == {"x2"}


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
    """The order of keys does not matter; a value, a missing key and a new key do."""
    mark = marked({"a": 1, "b": 2})["mark"]
    assert mark == marked({"b": 2, "a": 1})["mark"] != marked(changed)["mark"]
