"""Figures of a model that is open in memory, without a run's folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sentviz
from sentviz.charts.gallery import draw
from sentviz.errors import InputError
from sentviz.export.record import Record
from sentviz.io.files import APP_CLASSES, APP_MODEL
from tests.kit import opened, page_text
from tests.test_blackbox import LABELS, WEIGHTS, counting


def test_a_figure_of_a_function_has_its_scores_and_no_call() -> None:
    """The scores are the weights of the function's words; nobody else can draw the figure by name, so its record names no run."""
    model = sentviz.load(counting, classes=LABELS)
    figure = draw(model, "strip", text="A warm but dull garden.", score="removal")
    scores = dict(zip(figure.frame["token"], figure.frame["word removal"], strict=True))
    sign = 1 if model.predict(["A warm but dull garden."])["label"][0] == "positive" else -1
    assert scores["warm"] == pytest.approx(sign * WEIGHTS["warm"], abs=1e-3)
    assert scores["dull"] == pytest.approx(sign * WEIGHTS["dull"], abs=1e-3)
    assert figure.source == "counting, a model open in memory (“A warm but dull garden.”)." and figure.call is None
    record = Record.of(figure)
    assert record.runs == () and Record.read(record.text()).source == figure.source


def test_a_figure_of_a_loaded_run_equals_that_of_its_name(tiny_run: Path) -> None:
    """A model of a run that was opened first has the same maps as the run by name."""
    text = "a quiet delight"
    by_model, by_name = (draw(source, "attention", text=text).frame for source in (sentviz.load(tiny_run), str(tiny_run)))
    numbers = by_name.select_dtypes("number").columns
    assert np.allclose(by_model[numbers], by_name[numbers], atol=1e-6)


def test_what_a_model_without_files_cannot_show_is_said() -> None:
    model = sentviz.load(counting, classes=LABELS)
    with pytest.raises(InputError, match="counting has no attention maps"):
        draw(model, "attention", text="A warm garden.")
    with pytest.raises(InputError, match="The figure confusion needs rows: name a file or a data set with data"):
        draw(model, "confusion")
    with pytest.raises(InputError, match="give a text"):
        draw(model, "strip")


@pytest.mark.exhaustive
def test_the_app_opens_with_a_model_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Explore shows the function first, for a link without a run, too; the demo set is predicted; Runs says that there are no files."""
    monkeypatch.setenv(APP_MODEL, "tests.test_blackbox:counting")
    monkeypatch.setenv(APP_CLASSES, ",".join(LABELS))
    app = opened(run="")
    assert app.session_state["focus"].run == "open/counting" and not app.warning
    assert any(
        each.startswith("Your model · open/counting") for each in app.selectbox(key="focus-run").options
    ) and "Word removal still explains" in page_text(app)
    app = opened("confusion", run="open/counting", over="demo")
    assert "open/counting is right on" in page_text(app)
    app = opened("confusion", run="open/counting", over="test")
    assert "open/counting has no predictions for the" in page_text(app)
    rows = app.selectbox(key="focus-over")
    assert not rows.value, "rows that are not shown must not look selected, since a click on them would change nothing"
    assert "open in memory and has no files" in page_text(opened("runs", run="open/counting"))
    monkeypatch.setenv(APP_MODEL, "tests.test_blackbox:missing")
    assert opened("glossary", run="").session_state["focus"].run != "open/counting"
