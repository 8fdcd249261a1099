"""Points that travel: what the browser gets of them, their page of its own, and what the browser may say."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import streamlit as st

from app.components.browser import outline, wanted_layer
from sentviz.browser.points import points_data, points_html
from sentviz.charts.colours import class_colours
from sentviz.charts.scatter import COLOURS, HOVER
from sentviz.errors import InputError

HOSTILE = "</script><script>window.hacked=true</script>"
LAYERS = ["embedding", "layer 1", "layer 2, the last"]


def frame(n: int = 30, unlabelled: bool = False) -> pd.DataFrame:
    """Return rows of three classes; the last one is never a label."""
    rng = np.random.default_rng(7)
    label = np.full(n, -1) if unlabelled else rng.integers(0, 2, n)
    predicted = rng.integers(0, 3, n)
    columns = {"label": label, "predicted": predicted, "right": label == predicted}
    columns |= {"confidence": rng.uniform(0.34, 1, n), "length": rng.integers(1, 40, n)}
    return pd.DataFrame({"id": [f"row {i}" for i in range(n)], **columns, "text": [f"{HOSTILE} number {i}" for i in range(n)]})


def places(n: int = 30, dims: int = 2, layers: int = 3) -> list[npt.NDArray[np.float64]]:
    return list(np.random.default_rng(8).normal(size=(layers, n, dims)))


def data_of(rows: pd.DataFrame, at: list[npt.NDArray[np.float64]], **more: Any) -> dict[str, Any]:
    return points_data(
        rows, at, classes=("no", "maybe", HOSTILE), layers=LAYERS, **{"layer": 2, "title": "PCA", "picture": "pca 2", **more}
    )


def numbers(data: dict[str, Any], name: str, kind: str) -> npt.NDArray[Any]:
    return np.frombuffer(b64decode(data[name]), dtype=kind)


@pytest.mark.parametrize("dims", [2, 3])
def test_every_place_of_every_layer_arrives(dims: int) -> None:
    at = places(dims=dims)
    sent = numbers(data_of(frame(), at), "places", "<f4").reshape(3, 30, dims)
    np.testing.assert_allclose(sent, np.array(at), rtol=1e-6)
    some = numbers(data_of(frame(), at[1:]), "places", "<f4")
    np.testing.assert_allclose(some.reshape(2, 30, dims), np.array(at[1:]), rtol=1e-6)


@pytest.mark.parametrize("colour", COLOURS)
def test_every_row_has_its_group_and_its_marks(colour: str) -> None:
    """Groups equal the frame row by row; a mark says wrong, unless the colour does, and left out of the choice."""
    rows, chosen = frame(), np.arange(30) < 12
    data = data_of(rows, places(), colour=colour, chosen=chosen)
    names = [group["name"] for group in data["groups"]]
    classes = ("no", "maybe", data["classes"][2])
    for i, row in enumerate(rows.to_dict("records")):
        of_class = {name: classes[row[name]] for name in ("label", "predicted")} | {"right": "right" if row["right"] else "wrong"}
        expected = of_class.get(colour, f"predicted {classes[row['predicted']]}")
        assert names[numbers(data, "of", "u1")[i]] == expected
        mark = numbers(data, "marks", "u1")[i]
        assert bool(mark & 1) == (not row["right"] and colour != "right")
        assert bool(mark & 2) == (i >= 12)
        assert numbers(data, "sure", "u1")[i] == round(100 * row["confidence"])
        assert data["words"][i] == [row["id"], row["text"]]
    if colour in ("confidence", "length"):
        values = numbers(data, "values", "<f4")
        assert (values.min(), values.max()) == (0, 1)
        assert list(np.argsort(values, kind="stable")) == list(np.argsort(rows[colour], kind="stable"))
    else:
        assert data["scale"] is None and data["values"] is None
        assert len({(group["colour"], group["symbol"]) for group in data["groups"]}) == len(names)


def test_rows_without_labels_are_never_wrong_and_many_leave_their_words_behind() -> None:
    data = data_of(frame(unlabelled=True), places())
    assert [group["name"] for group in data["groups"]] == ["unlabelled"]
    assert not data["rings"] and not numbers(data, "marks", "u1").any()
    rows = frame(HOVER + 1)
    assert data_of(rows, places(HOVER + 1))["words"] is None and data_of(rows[:-1], places(HOVER))["words"] is not None


def test_another_look_is_known_by_its_mark() -> None:
    """The same call gives the same mark; rows and picture stay if colour, choice or layer change."""
    rows, at = frame(), places()
    first = data_of(rows, at)
    assert first == data_of(rows, at)
    outlined = {"outline": (2, [(0, 0), (1, 0), (0, 1)])}
    for more in ({"colour": "right"}, {"chosen": np.arange(30) < 3}, {"layer": 0}, {"theme": "dark"}, outlined):
        changed = data_of(rows, at, **more)
        assert changed["mark"] != first["mark"]
        assert (changed["rows"], changed["picture"], changed["places"]) == (first["rows"], first["picture"], first["places"])
    assert data_of(rows[::-1], at)["rows"] != first["rows"]
    assert data_of(rows, at, theme="dark")["groups"][0]["colour"] == class_colours(["no", "maybe", HOSTILE], "dark")[0]


def test_what_cannot_be_drawn_is_one_sentence() -> None:
    with pytest.raises(InputError, match="no row"):
        data_of(frame(0), places(0))
    with pytest.raises(InputError, match="not by 'mood'"):
        data_of(frame(), places(), colour="mood")
    with pytest.raises(InputError, match="length in words"):
        data_of(frame().drop(columns="length"), places(), colour="length")


def test_the_page_is_one_file_without_requests_and_words_are_data() -> None:
    data = data_of(frame(), places(), star=(HOSTILE, {2: (0.5, 1.0)}), more=True)
    page = points_html(data, about=HOSTILE)
    assert page == points_html(data, about=HOSTILE)
    assert page.count("</script>") == 2  # the data and the code
    assert "default-src 'none'" in page and "export default" not in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|src=|@import|url\(", page)
    script = re.search(r'<script type="application/json" id="points">(.*?)</script>', page)
    assert script is not None
    stored = json.loads(script[1])
    assert stored["words"][0][1].startswith(HOSTILE)
    assert not stored["more"]  # nobody is there to be asked
    assert {**stored, "more": True} == json.loads(json.dumps(data))


# ---- what the browser says


def test_an_outline_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", {"plot": state})
    good = {"picture": "pca 2", "layer": 1, "corners": [[0, 0.5], [1, 0], [0, 1]]}
    state["outline"] = good
    drawn = outline("plot")
    assert drawn is not None
    assert drawn[:2] == ("pca 2", 1)
    np.testing.assert_array_equal(drawn[2], good["corners"])
    state["outline"] = {**good, "corners": []}
    drawn = outline("plot")
    assert drawn is not None and drawn[2].shape == (0, 2)
    corners = ([[0, float("nan")]], [[0, "1"]], [[0, 1, 2]], [[0, True]], [[0, 1]] * 5_001, "0,1")
    for bad in (*({"corners": each} for each in corners), *({"layer": each} for each in (-1, True, 1.0)), {"picture": 3}):
        state["outline"] = {**good, **bad}
        assert outline("plot") is None, bad
    for nothing in (None, [1], "pca"):
        state["outline"] = nothing
        assert outline("plot") is None
    assert outline("elsewhere") is None


def test_a_layer_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", {"plot": state})
    for value, wanted in ((0, 0), (2, 2), (3, None), (-1, None), (True, None), (1.0, None), ("1", None), (None, None)):
        state["layer"] = value
        assert wanted_layer("plot", 2) == wanted
    assert wanted_layer("elsewhere", 2) is None
