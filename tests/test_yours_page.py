"""The page Yours: a file as a data set, its rows on the test set pages, and the library of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.views.yours import file_part, library_part
from app.views.yours.file_part import with_choices
from sentviz.data import datasets
from sentviz.data.mine import add_data
from sentviz.data.understanding import Choices
from sentviz.data.upload import TextTable
from tests.makers import BAD, GOOD
from tests.test_app import RUN, SHIPPED, opened, page_text

pytestmark = [pytest.mark.slow, SHIPPED]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test an empty library."""
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    on_this_machine(monkeypatch, True)


def on_this_machine(monkeypatch: pytest.MonkeyPatch, is_local: bool) -> None:
    """Set whether the visitor is at the serving machine."""
    for part in (file_part, library_part):
        monkeypatch.setattr(part, "own_machine", lambda address, headers: is_local)


def with_file(**columns: Any) -> AppTest:
    """Return the page after a file of 40 rows was read."""
    texts = [f"the {word} soup number {i}" for i in range(4) for word in (*BAD, *GOOD)]
    labels = [int(any(word in text for word in GOOD)) for text in texts]
    frame = pd.DataFrame({"review": texts, "label": labels} | columns)
    app = opened("yours", run=RUN)
    app.session_state["yours-file"] = TextTable("soups.csv", frame, "", "", "digest"), ["A remark."]
    app.run()
    assert not app.exception
    return app


def test_a_file_is_shown_as_it_is_understood_and_can_be_changed() -> None:
    """Columns, classes by split and left-out rows are shown; another column or share changes them."""
    app = with_file(fold=["train"] * 20 + ["test"] * 20)
    assert [box.value for box in app.selectbox] == ["review", "label", "fold"]
    assert "**soups.csv**: 40 rows. A remark." in page_text(app) and "No row is left out." in page_text(app)
    assert app.dataframe[-1].value["test"].tolist() == [10, 10]
    app.selectbox(key="yours-Splits-digest").select("").run()
    assert app.dataframe[-1].value["test"].tolist() == [3, 3]
    app.text_input(key="yours-shares-digest").set_value("50, 25, 25").run()
    assert app.dataframe[-1].value["test"].tolist() == [5, 5]
    app.text_input(key="yours-shares-digest").set_value("half").run()
    assert "three whole percentages" in page_text(app) and app.button(key="yours-save").disabled
    app.selectbox(key="yours-Labels-digest").select("").run()
    assert "Without labels, a model can predict the rows" in page_text(app) and app.button(key="yours-save").disabled
    assert app.button(key="yours-look").label == "Show the predictions" and not app.dataframe


def test_a_file_is_saved_once_and_its_name_checked() -> None:
    app = with_file()
    assert app.text_input(key="yours-name-soups.csv").value == "soups"
    app.button(key="yours-save").click().run()
    assert app.success[0].value == "Saved as mine/soups." and datasets.info("mine/soups").labels == ("0", "1")
    assert "No run is trained on it yet: `sentviz train mine/soups` trains one." in page_text(app)
    app.button(key="yours-save").click().run()
    assert "mine/soups exists already" in page_text(app) and not app.success


def test_nothing_is_saved_or_listed_for_visitors_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    on_this_machine(monkeypatch, False)
    add_data(pd.DataFrame({"text": ["a", "b", "c", "d", "e", "f"], "label": [0, 1] * 3}), "secret")
    app = with_file()
    assert "on the machine that runs this server" in page_text(app) and "secret" not in page_text(app)
    assert not [button for button in app.button if button.key == "yours-save"]


def test_the_mistakes_are_one_click_away() -> None:
    """The test set page shows the rows with the chosen columns, and the chosen names of classes in place of the labels."""
    app = with_file()
    app.button(key="yours-look").click().run()
    assert app.session_state["focus"].over == "mine" and app.session_state["mine"].text == "review"

    table = TextTable("f", pd.DataFrame({"text": ["a", "b", "c"], "label": [1, 2, 3]}), "", "", "digest")
    named = with_choices(table, Choices("text", "label", classes={"1": "bad", "3": "good"}))
    assert named.frame["label"].tolist() == ["bad", "", "good"] and named.digest != table.digest
    assert with_choices(table, Choices("text", "label")).key == ("digest", "text", "label")
