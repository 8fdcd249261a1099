"""The hardmax page with Streamlit's AppTest: a review, the playground, the leaders; bad input is one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app.components.browser import Picked, new_point, picked_token
from sentviz.analysis.testset.leaders import FILE, survey
from sentviz.errors import InputError
from sentviz.io.numbers import probability
from sentviz.models.clustering.playground import DEFAULTS, MATRICES, linked, matrix_of, pasted, settings, starts
from sentviz.models.hardmax import HardmaxModel
from sentviz.runs.store import Run
from sentviz.runs.writing import attach
from sentviz.training import train
from tests import kit, test_app
from tests.kit import page_text

pytestmark = pytest.mark.slow

SONG = "what a warm, clever song! but a dull, clumsy soup, and zebras"


@pytest.fixture(scope="module")
def hardmax_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs toy/hardmax-d2 and toy/hardmax-d4, their leaders counted."""
    root = tmp_path_factory.mktemp("hardmax")
    with pytest.MonkeyPatch.context() as patch:
        splits = kit.use_toy_data(patch)
        for width in (2, 4):
            recipe = kit.hardmax_recipe(f"hardmax-d{width}", epochs=3, learning_rate=0.01, example="what a warm, clever song we saw!")
            run = train(recipe, root, progress=False)
            attach(run, FILE, survey(HardmaxModel.of(run), splits["test"]))
    return root


@pytest.fixture
def page(hardmax_runs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that opens a part of the page on a toy run."""
    monkeypatch.setenv("SENTVIZ_RUNS", str(hardmax_runs))
    st.cache_resource.clear()

    def opened(part: str = "review", text: str = SONG, width: int = 2) -> AppTest:
        app = test_app.opened("hardmax", run=f"toy/hardmax-d{width}", lab=part)
        if part == "review":
            app.session_state["focus"] = app.session_state["focus"].with_(text=text)
            app.run()
            assert not app.exception, app.exception
        return app

    yield opened
    st.cache_resource.clear()


def answer(app: AppTest) -> str:
    return next(str(m.value) for m in app.markdown if str(m.value).startswith("### "))


# ---- a review


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [2, 4])
def test_a_review_is_read_and_answered(page: Any, hardmax_runs: Path, width: int) -> None:
    """The answer is the model's own; unknown words are named; the text is in no URL."""
    app = page(width=width)
    run = Run.open(hardmax_runs / f"toy/hardmax-d{width}")
    review = HardmaxModel.of(run).follow(SONG)
    p = review.probabilities[-1]
    assert probability(float(p.max())) in answer(app)
    assert run.labels[int(p.argmax())].capitalize() in answer(app)
    text = page_text(app)
    assert f"words read: {len(review.words)}." in text
    assert "zebras" in text
    assert "text" not in app.query_params
    assert app.selectbox(key="hardmax-look").value == "spread" if width > 2 else True


@pytest.mark.exhaustive
def test_an_example_is_one_click(page: Any) -> None:
    app = page()
    app.text_area(key="hardmax-text").set_value("a warm, splendid garden").run()
    assert "4" not in answer(app) or "words read: 3." in page_text(app)
    assert "words read: 3." in page_text(app)
    assert app.session_state["focus"].text == "a warm, splendid garden"
    app.button(key="example-Amazing, torture").click().run()
    text = app.session_state["focus"].text
    assert not app.exception and "amazing" in text and "torture" in text


@pytest.mark.exhaustive
def test_removed_and_pinned_words_move_the_answer(page: Any, hardmax_runs: Path) -> None:
    """Removing is the model's own `without`; the undo button takes the answer back."""
    app = page()
    model = HardmaxModel.of(Run.open(hardmax_runs / "toy/hardmax-d2"))
    before = answer(app)
    base = model.follow(SONG)
    token = int(np.linalg.norm(base.positions[1] - base.positions[0], axis=1).argmax())
    app.button(key="hardmax-remove").click().run()
    assert not app.exception, app.exception
    p = model.follow(SONG, without=(token,)).probabilities[-1]
    assert probability(float(p.max())) in answer(app)
    assert "As trained" in answer(app)
    app.button(key=f"hardmax-undo-without-{base.words[token]}").click().run()
    assert answer(app) == before
    app.button(key="hardmax-pin").click().run()
    p = model.follow(SONG, pinned=(token,)).probabilities[-1]
    assert probability(float(p.max())) in answer(app)
    app.button(key="hardmax-undo").click().run()
    assert answer(app) == before


@pytest.mark.exhaustive
def test_all_words_can_be_removed_but_the_last(page: Any) -> None:
    app = page(text="a dull song")
    app.button(key="hardmax-remove").click().run()
    app.button(key="hardmax-remove").click().run()
    assert not app.exception, app.exception
    assert "No token is left" in page_text(app)
    app.button(key="hardmax-undo").click().run()
    assert "words read: 2." in page_text(app)


@pytest.mark.exhaustive
def test_the_temperature_turns_softmax_to_hardmax(page: Any, hardmax_runs: Path) -> None:
    app = page()
    model = HardmaxModel.of(Run.open(hardmax_runs / "toy/hardmax-d2"))
    app.select_slider(key="focus-heat").set_value("10").run()
    assert not app.exception, app.exception
    assert probability(float(model.follow(SONG, 10.0).probabilities[-1].max())) in answer(app)


@pytest.mark.exhaustive
def test_planes_of_more_dimensions(page: Any) -> None:
    app = page(width=4)
    for look in ("decision", "axes"):
        app.selectbox(key="hardmax-look").set_value(look).run()
        assert not app.exception, app.exception
    app.selectbox(key="hardmax-right").set_value(4).run()
    assert not app.exception, app.exception
    assert 4 not in app.selectbox(key="hardmax-up").options


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zebra xylophone", None),
        ("\u200b\u200b", None),
        ("warm", "There is only one word"),
        ("warm " * 100_000, "were not read"),
        ("dull dull dull", None),
        ("<script>alert(1)</script> warm **b** $x$ :red[r] song", "words read: 2."),
        ("warm مرحبا 😀 song", "words read: 2."),
    ],
)
def test_any_text_is_a_view_or_one_sentence(page: Any, text: str, expected: str | None) -> None:
    app = page(text=text)
    assert not app.exception, app.exception
    if expected:
        assert expected in page_text(app)
    if text.startswith("zebra"):
        assert len(app.warning) == 1
    assert not any("<script>" in str(m.value) for m in [*app.markdown, *app.caption])


def test_without_a_run_the_page_teaches_and_the_playground_works(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("review", "leaders"):
        monkeypatch.setattr(f"app.views.hardmax.{part}.runs", dict)
        assert "sentviz train imdb" in page_text(page(part))
    assert "holds" in page_text(page("playground"))


# ---- the playground


@pytest.mark.exhaustive
def test_the_playground_checks_the_theorem(page: Any) -> None:
    app = page("playground")
    text = page_text(app)
    assert text.count("**holds**") >= 4
    assert "**fails**" not in text
    app.select_slider(key="focus-heat").set_value("1").run()
    assert "does not apply" in page_text(app)


@pytest.mark.exhaustive
def test_every_start_stands_in_both_dimensions(page: Any) -> None:
    app = page("playground")
    for start in ("disc", "sphere", "clusters", "grid", "clicked"):
        app.button_group(key="focus-play-dimension").set_value("2").run()
        app.selectbox(key="focus-play-start").set_value(start).run()
        assert not app.exception and not app.warning, start
        app.button_group(key="focus-play-dimension").set_value("3").run()
        assert not app.exception and bool(app.warning) == (start == "clicked"), start


@pytest.mark.exhaustive
def test_impossible_numbers_are_one_sentence(page: Any) -> None:
    app = page("playground")
    for key, value, expected in (
        ("focus-play-alpha", 0.0, "alpha must be"),
        ("focus-play-alpha", -1.0, "alpha must be"),
    ):
        before = app.number_input(key=key).value
        app.number_input(key=key).set_value(value).run()
        assert not app.exception and len(app.warning) == 1, key
        assert expected in page_text(app).replace("−", "-")
        app.number_input(key=key).set_value(before).run()


@pytest.mark.exhaustive
def test_pasted_points(page: Any) -> None:
    app = page("playground")
    app.selectbox(key="focus-play-start").set_value("pasted").run()
    for text, expected in (
        ("1 2\n3", "Line 2"),
        ("1, x", "not a number"),
        ("nan 1", "not finite"),
        ("", "at least one point"),
        ("1 1", "only one token"),
        ("1 1\n" * 2, "the same place"),
    ):
        app.text_area(key="play-pasted-2").set_value(text).run()
        assert not app.exception and expected in page_text(app), text


@pytest.mark.exhaustive
def test_the_playground_travels_in_the_link(page: Any) -> None:
    """What is set stands in the URL, what is as at first does not; a link opens the same playground."""
    app = page("playground")
    app.number_input(key="focus-play-alpha").set_value(0.5).run()
    app.selectbox(key="focus-play-start").set_value("sphere").run()
    app.number_input(key="focus-play-eigen-2-1").set_value(3.0).run()
    assert not app.exception, app.exception
    assert app.query_params["play"] == "start:sphere~alpha:0.5~e2:3"
    app.number_input(key="focus-play-alpha").set_value(1.0).run()
    assert app.query_params["play"] == "start:sphere~e2:3"
    app.query_params["play"] = "dimension:3~n:20~seed:7~layers:4"
    app.run()
    assert not app.exception, app.exception
    assert (app.select_slider(key="focus-play-n").value, app.number_input(key="focus-play-layers").value) == (20, 4)
    assert "20 tokens" in page_text(app)
    app.button(key="play-reset").click().run()
    assert "play" not in app.query_params and "100 tokens" in page_text(app)


@pytest.mark.parametrize("link", ["", "n:51", "n", "start:odd~dimension:4", "seed:-1~layers:61~angle:7", "alpha:nan~e1:inf", "x:1", "~~:"])
def test_settings_that_cannot_be_are_the_default(link: str) -> None:
    assert settings(link) == DEFAULTS
    assert linked(settings("n:50~alpha:0.25")) == "n:50~alpha:0.25"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("typed", "expected"),
    [("2 1\n1 2", "is proved for this A"), ("1 1\n1 1", "low rank"), ("1 2\n2 1", "is negative"), ("2 1\n0 2", "is not symmetric")],
)
def test_any_matrix_is_simulated_and_what_is_proved_is_said(page: Any, typed: str, expected: str) -> None:
    app = page("playground")
    app.button_group(key="play-way").set_value("typed").run()
    app.text_area(key="play-matrix-2").set_value(typed).run()
    assert not app.exception and not app.warning, [app.exception, app.warning]
    assert expected in page_text(app)
    proved = expected == "is proved for this A"
    assert ("The theorem claims nothing here" in page_text(app)) == (not proved)
    assert ("it is not symmetric positive definite" in page_text(app)) == (not proved)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dimension", ["2", "3"])
def test_examples_of_matrices_set_the_link(page: Any, dimension: str) -> None:
    """Each example sets eigenvalues, angle and rotation, and nothing else; it is marked for as long as they stay."""
    app = page("playground")
    app.button_group(key="focus-play-dimension").set_value(dimension).run()
    app.number_input(key="focus-play-alpha").set_value(0.5).run()
    for title, changed in MATRICES.items():
        app.selectbox(key="play-example").set_value(title).run()
        assert not app.exception and not app.warning, title
        assert settings(app.query_params["play"]) == DEFAULTS | {"dimension": dimension, "alpha": 0.5} | changed
        assert app.selectbox(key="play-example").value == title
    app.slider(key="focus-play-turn").set_value(90).run()
    assert app.selectbox(key="play-example").value is None and "A is not symmetric" in page_text(app)


def test_numbers_in_many_spellings() -> None:
    assert pasted("[1, 2]\n(3;4)\n\n 5\t6 ", 2).tolist() == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(InputError, match="2,000"):
        pasted("1 1\n" * 2001, 2)
    A = matrix_of([3.0, 1.0], 30.0)
    assert np.allclose(matrix_of([2.0, 2.0], 30.0, 90.0), [[0, -2], [2, 0]])
    assert np.allclose(np.linalg.eigvalsh(A), [1, 3])
    axis = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    assert np.allclose(A @ axis, 3 * axis)
    for kind in ("gauss", "disc", "sphere", "clusters", "grid"):
        z = starts(kind, 50, 3, 1)
        assert z.shape[1] == 3 and 0 < len(z) <= 50 and (z == starts(kind, 50, 3, 1)).all()
    assert np.allclose(np.linalg.norm(starts("sphere", 20, 3, 0), axis=1), 1)


# ---- leaders


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [2, 4])
def test_leaders_over_the_test_set(page: Any, width: int) -> None:
    """Lists, layers and, of two dimensions, the map; sliders that leave nothing say so."""
    app = page("leaders", width=width)
    app.select_slider(key="leaders-confidence").set_value(0.5).run()
    slider = f"leaders-distance-toy/hardmax-d{width}"
    app.slider(key=slider).set_value(0.0).run()
    assert not app.exception and not app.warning, [w.value for w in app.warning]
    text = page_text(app)
    assert "places**" in text
    assert ("words lead at least one review" in text) == (width == 2)
    app.slider(key=slider).set_value(app.slider(key=slider).max).run()
    assert not app.exception, app.exception
    assert app.slider(key=slider).max < 2 or "Lower the distance" in page_text(app)


# ---- what the browser says


def test_what_the_browser_says_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"id": "abc", "words": ["a", "b", "c"], "layers": 8}
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", {"canvas": state})

    def token(**parameters: Any) -> Picked | None:
        state["token"] = parameters
        return picked_token("canvas", data)

    assert token(id="abc", index=2, layer=8) == Picked(2, 8)
    for index, layer in ((3, 0), (-1, 0), (0, 9), (True, 0), (1.0, 0), ("1", 0), (None, 0), (1, None)):
        assert token(id="abc", index=index, layer=layer) is None
    assert token(id="another", index=0, layer=0) is None
    for answer in (None, [1, 2], "token"):
        state["token"] = answer
        assert picked_token("canvas", data) is None
    for at, wanted in (
        ([1, 2.5], (1.0, 2.5)),
        ([1], None),
        (["1", 2], None),
        ([float("nan"), 0], None),
        ([True, 0], None),
        (None, None),
        ([1e9, 0], None),
    ):
        state["point"] = at
        assert new_point("canvas") == wanted
