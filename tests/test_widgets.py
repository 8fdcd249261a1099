"""Living views of notebooks without a notebook: what they hold, what they take, and what they answer."""

import sys
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sentviz
from sentviz.browser.points import points_data
from sentviz.errors import InputError
from sentviz.models.model import Model
from tests.charts import clustered, decided
from tests.kit import refused

pytest.importorskip("anywidget")
widgets = import_module("sentviz.export.widgets")


def test_a_sentence_and_a_silenced_head_are_answered_and_odd_messages_change_nothing(tiny_model: Model) -> None:
    view: Any = sentviz.widget(tiny_model.trace("a warm song"), model=tiny_model)
    assert "application/vnd.jupyter.widget-view+json" in str(view._repr_mimebundle_())
    before = view.data
    view.text = "a cold film"
    assert view.data["tokens"] != before["tokens"] and view.answer == sentviz.analysis.explain.answer(tiny_model.trace("a cold film"))
    view.heard({"name": "silence", "value": {"at": [0, 1]}})
    silenced = tiny_model.trace("a cold film", change=tiny_model.intervention(heads_off=[(0, 1)]))
    assert view.off == [(0, 1)] and view.data["off"] == [[0, 1]] and view.data["pick"] == {"layer": 0, "head": 1, "part": 0}
    np.testing.assert_allclose(view.data["probabilities"], silenced.probabilities, rtol=1e-3)
    view.heard({"name": "silence", "value": {"at": [0, 1]}})
    assert view.off == [] and view.data["off"] == []
    drawn = view.data
    view.text = "  "
    assert view.data == drawn
    odd = [None, 3, {}, {"name": "silence"}, {"name": [], "value": {}}, {"name": "pick", "value": {"at": [0, 0, True]}}]
    for message in odd + [{"name": "silence", "value": {"at": at}} for at in ([0, 99], [-1, 0])]:
        view.heard(message)
        assert view.data == drawn and view.off == []


def test_what_is_selected_is_told_and_what_is_needed_is_said(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    animation: Any = sentviz.widget(decided(clustered(5)), theme="dark")
    animation.heard({"name": "token", "value": {"index": 3}})
    assert animation.token == 3 and animation.theme == "dark"
    animation.heard({"name": "token", "value": {"index": 9}})
    assert animation.token == 3
    animation.heard({"name": "token", "value": None})
    assert animation.token == -1
    columns = {"id": ["a", "b", "c"], "label": [0, 1, 0], "predicted": [0, 1, 1], "right": [True, True, False], "confidence": 0.9}
    frame = pd.DataFrame(columns)
    at = np.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    points: Any = sentviz.widget(points_data(frame, [at], classes=["x", "y"], layers=["last"], layer=0))
    points.heard({"name": "outline", "value": {"layer": 0, "corners": [[-1, -1], [2, -1], [2, 2], [-1, 2]]}})
    assert points.selected == [0, 1]
    points.heard({"name": "outline", "value": {"layer": 0, "corners": []}})
    assert points.selected == []
    film: Any = widgets.Through({"n": 3})
    for name, row, place in (
        ("row", 2, 2),
        ("row", 3, 2),
        ("token", 0, 2),
        ("row", -1, 2),
        ("row", "1", 2),
        ("row", True, 2),
        ("row", 0, 0),
    ):
        film.heard({"name": name, "value": {"row": row}})
        assert film.row == place
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "sentviz.export.widgets", raising=False)
    trace = tiny_model.trace("a warm song")
    refused(InputError, "needs anywidget", sentviz.widget, trace, model=tiny_model)
    assert "<iframe" in trace._repr_mimebundle_()["text/html"]
