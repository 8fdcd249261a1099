"""The studio with AppTest: what the link says is what they show, and nothing of one visitor is another's."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from app.focus import Focus
from sentviz.charts.gallery import draw
from tests.kit import opened

pytestmark = pytest.mark.slow

CURVES = {"run": "sst2/ndt-unit-2", "versus": "sst2/vanilla"}


def saving(app: AppTest) -> str:
    """Return the notebook's lines of the studio."""
    return next(block.value for block in app.code if "save(figure" in block.value)


@pytest.mark.exhaustive
def test_the_studio_opens_with_what_the_link_says() -> None:
    """The link's looks are in the widgets and the notebook's lines; a chip removes them; the note is in neither link nor chip."""
    app = opened("curves", **CURVES, style="size=column~palette=grey~x=0..3")
    app.session_state["note"] = "Mine alone."
    app.button(key="open-studio-curves").click().run()
    assert not app.exception
    assert app.selectbox(key="studio-palette").value == "grey" and app.text_input(key="studio-x").value == "0..3"
    assert "style=Style(size='column', palette='grey', x=(0.0, 3.0), note='Mine alone.')" in saving(app)
    assert "draw('sst2/ndt-unit-2', 'curves', versus=('sst2/vanilla',))" in saving(app)
    assert "column, grey" in app.button(key="chip-style").label
    assert app.session_state["focus"].query()["style"] == "size=column~palette=grey~x=0..3"


def test_a_link_cannot_bring_looks_that_are_none() -> None:
    """Unknown names, impossible values and notes in a link give a message, and figures keep their usual looks."""
    for text in ("palette=neon", "nothing", "width=1e9", "note=Buy this"):
        focus, notes = Focus.parse({"style": text}, ["sst2/vanilla"], ["removal"])
        assert focus.style == "" and "the default style is used" in notes[0]


@pytest.mark.exhaustive
def test_a_range_is_of_one_figure() -> None:
    """Another figure's studio keeps the looks and drops the range."""
    app = opened("curves", **CURVES, style="palette=grey~x=0..3")
    app.session_state["studio-of"] = "lambda"
    app.button(key="open-studio-curves").click().run()
    assert app.session_state["focus"].style == "palette=grey"


@pytest.mark.exhaustive
def test_a_typed_sentence_goes_into_the_file_and_the_menu_says_so() -> None:
    """The menu says so only for figures of the sentence; the view's link contains it, because the figure needs it."""
    app = opened("explore", run="sst2/ndt-unit-2", text="A quiet zebra.")
    assert any("your sentence" in caption.value for caption in app.caption)
    assert not any("your sentence" in caption.value for caption in opened("curves", **CURVES).caption)


@pytest.mark.exhaustive
def test_the_numbers_of_a_figure_are_a_table_of_the_page() -> None:
    """The table holds the numbers of the figure's CSV, with places counted from 1; a typed sentence stays text."""
    app = opened("explore", run="sst2/ndt-unit-2", text="a <b>dull</b> $x$ evening")
    app.button_group(key="export-what").set_value("strip").run()
    app.button(key="numbers-strip").click().run()
    assert not app.exception
    (table,) = [element.value for element in app.table]
    frame = draw("sst2/ndt-unit-2", "strip", text="a <b>dull</b> $x$ evening").frame
    assert list(table.columns) == list(frame.columns) and len(table) == len(frame)
    assert "<b>" not in "".join(map(str, table.to_numpy().ravel().tolist()))
