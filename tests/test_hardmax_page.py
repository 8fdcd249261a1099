"""The hardmax page: its playground's settings and points, what the browser says, and any text on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st

from app.components.browser import Picked, new_point, picked_token
from sentviz.errors import InputError
from sentviz.io.numbers import probability
from sentviz.models.clustering.playground import DEFAULTS, MATRICES, linked, matrix_of, pasted, settings, starts
from sentviz.models.hardmax import HardmaxModel
from sentviz.runs.store import Run
from sentviz.training import train
from tests import kit
from tests.kit import opened, page_text

SONG = "what a warm, clever song! but a dull, clumsy soup, and zebras"


@pytest.mark.exhaustive
def test_any_text_is_a_view_or_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is the model's own, also without a word and with a pinned one; no text stands in the URL, and none is markup."""
    with pytest.MonkeyPatch.context() as patch:
        kit.use_toy_data(patch)
        run = train(kit.hardmax_recipe(epochs=3, learning_rate=0.01), tmp_path, progress=False)
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    st.cache_resource.clear()
    app, model = opened("hardmax", run="toy/hardmax-d2", lab="review"), HardmaxModel.of(Run.open(run.folder))

    def show(text: str) -> str:
        app.session_state["focus"] = app.session_state["focus"].with_(text=text)
        app.run()
        assert not app.exception and not any("<script>" in str(m.value) for m in [*app.markdown, *app.caption]), text
        return page_text(app)

    def answer() -> str:
        return next(str(m.value) for m in app.markdown if str(m.value).startswith("### "))

    assert "zebras" in show(SONG) and "text" not in app.query_params
    before, base = answer(), model.follow(SONG)
    token = int(np.linalg.norm(base.positions[1] - base.positions[0], axis=1).argmax())
    for button, undo, change in (
        ("remove", f"undo-without-{base.words[token]}", {"without": (token,)}),
        ("pin", "undo", {"pinned": (token,)}),
    ):
        app.button(key=f"hardmax-{button}").click().run()
        assert probability(float(model.follow(SONG, **change).probabilities[-1].max())) in answer() != before
        app.button(key=f"hardmax-{undo}").click().run()
        assert answer() == before
    for text, expected in (("zebra xylophone", ""), ("\u200b\u200b", ""), ("warm", "There is only one word"),
    ("warm " * 100_000, "were not read"),
                           ("<script>alert(1)</script> warm **b** $x$ :red[r] song", "words read: 2."), ("warm مرحبا 😀 song",
                            "words read: 2.")):  # fmt: skip
        assert expected in show(text), text
    st.cache_resource.clear()


@pytest.mark.slow
def test_without_a_run_the_page_teaches_and_the_playground_works(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("review", "leaders"):
        monkeypatch.setattr(f"app.views.hardmax.{part}.runs", dict)
        assert "sentviz train imdb" in page_text(opened("hardmax", run="", lab=part))
    assert "holds" in page_text(opened("hardmax", run="", lab="playground"))


# ---- the playground


@pytest.mark.parametrize("link", ["", "n:51", "n", "start:odd~dimension:4", "seed:-1~layers:61~angle:7", "alpha:nan~e1:inf", "x:1", "~~:"])
def test_settings_that_cannot_be_are_the_default(link: str) -> None:
    assert settings(link) == DEFAULTS
    for changed in MATRICES.values():
        assert settings(linked(DEFAULTS | changed | {"alpha": 0.5})) == DEFAULTS | changed | {"alpha": 0.5}
    assert linked(settings("n:50~alpha:0.25")) == "n:50~alpha:0.25"


@pytest.mark.parametrize(
    ("text", "fault"), [("1 2\n3", "Line 2"), ("1, x", "not a number"), ("nan 1", "not finite"), ("1 1\n" * 2001, "2,000")]
)
def test_points_that_cannot_be_are_one_sentence(text: str, fault: str) -> None:
    assert pasted("[1, 2]\n(3;4)\n\n 5\t6 ", 2).tolist() == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(InputError, match=fault):
        pasted(text, 2)


def test_matrices_and_starts() -> None:
    axis = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    np.testing.assert_allclose(matrix_of([2.0, 2.0], 30.0, 90.0), [[0, -2], [2, 0]], atol=1e-12)
    np.testing.assert_allclose(matrix_of([3.0, 1.0], 30.0) @ axis, 3 * axis)
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix_of([3.0, 1.0], 30.0)), [1, 3])
    for kind in ("gauss", "disc", "sphere", "clusters", "grid"):
        z = starts(kind, 50, 3, 1)
        assert z.shape[1] == 3 and 0 < len(z) <= 50 and (z == starts(kind, 50, 3, 1)).all()
    np.testing.assert_allclose(np.linalg.norm(starts("sphere", 20, 3, 0), axis=1), 1)


# ---- what the browser says


def test_what_the_browser_says_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    data, state = {"id": "abc", "words": ["a", "b", "c"], "layers": 8}, dict[str, Any]()
    monkeypatch.setattr(st, "session_state", {"canvas": state})
    tokens: list[tuple[Any, Picked | None]] = [({"id": "abc", "index": 2, "layer": 8}, Picked(2, 8))]
    tokens += [({"id": "abc", "index": index, "layer": layer}, None)
               for index, layer in ((3, 0), (-1, 0), (0, 9), (True, 0), (1.0, 0), ("1", 0), (None, 0), (1, None))]  # fmt: skip
    for answer, wanted in (*tokens, ({"id": "another", "index": 0, "layer": 0}, None), (None, None), ([1, 2], None), ("token", None)):
        state["token"] = answer
        assert picked_token("canvas", data) == wanted, answer
    for at in ([1], ["1", 2], [float("nan"), 0], [True, 0], None, [1e9, 0]):
        state["point"] = at
        assert new_point("canvas") is None
    state["point"] = [1, 2.5]
    assert new_point("canvas") == (1.0, 2.5)
