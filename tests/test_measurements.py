"""Measurements by command and from a page: one mechanism, which stores a table with the run."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from sentviz.analysis.measurements import MEASUREMENTS, measure
from sentviz.runs.store import Run
from sentviz.runs.writing import write_config
from tests import makers

pytestmark = pytest.mark.slow


@pytest.fixture
def own(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy toy/ndt-unit-2 into a writable folder of runs, for a visitor at this machine."""
    makers.use_toy_data(monkeypatch)
    shutil.copytree(tiny_run, tmp_path / "toy" / "ndt-unit-2")
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    monkeypatch.setattr("app.blocks.get_data.own_machine", lambda address, headers: True)
    monkeypatch.setattr("app.blocks.measure.own_machine", lambda address, headers: True)
    monkeypatch.setattr("app.blocks.measure.offer", lambda name, split, place: True)  # the toy set is in no list
    st.cache_resource.clear()
    return tmp_path


def page() -> None:
    import streamlit as st

    from app import cache
    from app.blocks.measure import lacking

    run = cache.run("toy/ndt-unit-2")
    if "heads.parquet" in run.config["files"]:
        st.write(f"{len(run.frame('heads.parquet'))} numbers")
    else:
        lacking(run, "heads")


def test_a_button_measures_and_the_page_follows(own: Path) -> None:
    """The button stores the table that the command stores."""
    app = AppTest.from_function(page, default_timeout=30).run()
    assert "`sentviz heads toy/ndt-unit-2` measures them" in app.info[0].value and not app.exception
    (button,) = app.button
    assert button.label == "Measure them here"
    button.click().run()
    for thread in [thread for thread in threading.enumerate() if thread.name == "The heads of toy/ndt-unit-2"]:
        thread.join(60)
    app.run()
    assert not app.exception and not app.button and app.markdown[-1].value.endswith("numbers")
    run = Run.open(own / "toy" / "ndt-unit-2")
    first = run.frame("heads.parquet")
    assert measure("heads", run).frame("heads.parquet").equals(first)


def test_a_measurement_that_fails_says_why_and_can_be_tried_again(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own / "toy" / "ndt-unit-2" / "notes.txt").write_text("mine", encoding="utf-8")
    app = AppTest.from_function(page, default_timeout=30).run()
    app.button[0].click().run()
    for thread in [thread for thread in threading.enumerate() if thread.name == "The heads of toy/ndt-unit-2"]:
        thread.join(60)
    app.run()
    assert "notes.txt, which is not part of the run" in app.warning[0].value.replace("\\", "")
    assert app.button[0].label == "Measure them here" and not app.exception


def test_who_sits_elsewhere_is_told_the_command_alone(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.blocks.measure.own_machine", lambda address, headers: False)
    app = AppTest.from_function(page, default_timeout=30).run()
    assert "`sentviz heads toy/ndt-unit-2`" in app.info[0].value and not app.button


def test_every_measurement_is_a_command() -> None:
    from sentviz.cli import main

    assert set(MEASUREMENTS) <= set(main.commands)


def test_a_run_is_measured_on_the_rows_that_its_recipe_draws(own: Path) -> None:
    """Test splits have the drawn rows, in commands as in the run's evaluation; other splits are complete."""
    run = Run.open(own / "toy" / "ndt-unit-2", "toy/ndt-unit-2")
    complete = {split: int(measure("heads", run, split).frame("heads.parquet")["n"].max()) for split in ("test", "validation")}
    run = Run.open(own / "toy" / "ndt-unit-2", "toy/ndt-unit-2")
    recipe = run.config["recipe"] | {"test_rows": 5}
    write_config(run.folder, {name: value for name, value in run.config.items() if name != "files"} | {"recipe": recipe})
    run = Run.open(own / "toy" / "ndt-unit-2", "toy/ndt-unit-2")
    drawn = {split: int(measure("heads", run, split).frame("heads.parquet")["n"].max()) for split in complete}
    assert drawn == {"test": 5, "validation": complete["validation"]} and complete["test"] > 5
