"""The page Yours: a file as a data set, its rows on the test set pages, and the library of this machine."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.views.yours import file_part, library_part, model_part
from app.views.yours.file_part import with_choices
from sentviz.data import datasets
from sentviz.data.understanding import Choices
from sentviz.data.upload import TextTable
from sentviz.errors import SentvizError, Stopped
from sentviz.serving.jobs import Job
from tests.kit import BAD, GOOD, RUN, SHIPPED, model_folder, opened, page_text, refused

pytestmark = SHIPPED


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    on_this_machine(monkeypatch, True)
    return tmp_path


def on_this_machine(monkeypatch: pytest.MonkeyPatch, is_local: bool) -> None:
    """Set whether the visitor is at the serving machine."""
    for part in (file_part, library_part, model_part):
        monkeypatch.setattr(part, "own_machine", lambda address, headers: is_local)


def with_file(wish: str = "train", **columns: Any) -> AppTest:
    """Return the page after a file of 40 rows was read."""
    texts = [f"the {word} soup number {i}" for i in range(4) for word in (*BAD, *GOOD)]
    labels = [int(any(word in text for word in GOOD)) for text in texts]
    frame = pd.DataFrame({"review": texts, "label": labels} | columns)
    app = opened("yours", run=RUN, wish=wish)
    app.session_state["yours-file"] = TextTable("soups.csv", frame, "", "", "digest"), ["A remark."]
    app.run()
    assert not app.exception
    return app


def test_a_file_is_shown_changed_and_saved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    app = with_file(fold=["train"] * 20 + ["test"] * 20)
    assert [box.value for box in app.selectbox][1:] == ["review", "label", "fold"]
    assert "**soups.csv**: 40 rows. A remark." in page_text(app) and "No row is left out." in page_text(app)
    assert app.dataframe[-1].value["test"].tolist() == [10, 10]
    app.selectbox(key="yours-Splits-digest").select("").run()
    assert app.dataframe[-1].value["test"].tolist() == [3, 3]
    app.text_input(key="yours-shares-digest").set_value("50, 25, 25").run()
    assert app.dataframe[-1].value["test"].tolist() == [5, 5]
    app.text_input(key="yours-shares-digest").set_value("half").run()
    assert "three whole percentages" in page_text(app) and app.button(key="yours-save").disabled
    app.selectbox(key="yours-Labels-digest").select("").run()
    assert "Without labels, a model can predict the rows" in page_text(app)
    assert [box.label for box in app.selectbox] == ["Find", "Texts", "Labels"] and "yours-save" not in [b.key for b in app.button]
    looks = with_file("judge", fold=["train"] * 20 + ["test"] * 20)
    assert [box.label for box in looks.selectbox] == ["Find", "Texts", "Labels"] and looks.dataframe[-1].value["rows"].tolist() == [20, 20]
    looks.selectbox(key="yours-Labels-digest").select("").run()
    assert looks.button(key="yours-look").label == "Show the predictions" and not looks.dataframe
    app = with_file()
    assert app.text_input(key="yours-name-soups.csv").value == "soups"
    app.button(key="yours-save").click().run()
    assert app.success[0].value == "Saved as mine/soups." and datasets.info("mine/soups").labels == ("0", "1")
    assert [button.label for button in app.button if button.key == "again-mine/soups"] == ["Train soups/minilm"]
    app.button(key="yours-save").click().run()
    assert "mine/soups exists already" in page_text(app) and not app.success
    on_this_machine(monkeypatch, False)
    app = with_file()
    assert "on the machine that runs this server" in page_text(app) and "mine/soups" not in page_text(app)
    assert not [button for button in app.button if button.key == "yours-save"]


def test_chosen_names_stand_in_place_of_labels_and_training_tells_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TextTable("f", pd.DataFrame({"text": ["a", "b", "c"], "label": [1, 2, 3]}), "", "", "digest")
    named = with_choices(table, Choices("text", "label", classes={"1": "bad", "3": "good"}))
    assert named.frame["label"].tolist() == ["bad", "", "good"] and named.digest != table.digest
    assert with_choices(table, Choices("text", "label")).key == ("digest", "text", "label")
    job, ticks = Job("Training"), list[tuple[float, str]]()
    job.waiting.add("")

    def apart(arguments: list[str], hear: Any, check: Any) -> None:
        assert arguments == ["train", "mine/soups", "--base", "tiny"]
        for done in (10, 20, 40):
            hear({"done": done, "total": 40})
            ticks.append((job.share, job.doing))
        hear({"compared": [{"name": "this run"}]})

    monkeypatch.setattr(library_part, "run_apart", apart)
    assert library_part._train("mine/soups", "tiny", job) == [{"name": "this run"}]
    assert [share for share, _ in ticks] == [0.25, 0.5, 1.0]
    assert ticks[0][1] == "step 10 of 40" and ticks[1][1] == "step 20 of 40, about 5 s left" and ticks[2][1] == "measuring the result"
    job.stop.set()
    refused(Stopped, "can be continued", library_part._train, "mine/soups", "tiny", job)


def test_a_model_folder_is_shown_and_its_classes_can_be_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def apart(arguments: list[str], hear: Any, check: Any) -> None:
        commands.append(arguments)
        raise SentvizError("It has no weights.")

    monkeypatch.setattr(model_part, "run_apart", apart)
    folder = model_folder(home / "my <b>model")
    app = opened("yours", run=RUN, bring="A model")
    app.text_input(key="yours-folder").set_value(str(home / "nowhere")).run()
    assert "There is no folder" in app.warning[0].value
    app.text_input(key="yours-folder").set_value(str(folder)).run()
    assert "bert, 3 layers" in page_text(app) and "does not say what its classes mean" in page_text(app)
    assert not [button for button in app.button if button.label == "Open the model"]
    for place, name in enumerate(("bad", "good")):
        app.text_input(key=f"yours-class-{folder}-{place}").set_value(name).run()
    next(button for button in app.button if button.label == "Open the model").click().run()
    for _ in range(50):
        if app.run().warning:
            break
    assert app.warning[0].value == "It has no weights\\."
    assert commands == [["adopt", str(folder), "--classes", "bad,good", "--own-name", "-o", str(home / "runs")]]


def test_others_open_only_models_that_the_operator_names(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SENTVIZ_MODELS", raising=False)
    on_this_machine(monkeypatch, False)
    app = opened("yours", run=RUN, bring="A model")
    assert "models come from a folder that its operator names" in page_text(app) and not app.text_input
    model_folder(home / "models" / "critic", id2label={"0": "bad", "1": "good"})
    monkeypatch.setenv("SENTVIZ_MODELS", str(home / "models"))
    app = opened("yours", run=RUN, bring="A model")
    box = app.selectbox(key="yours-offered")
    assert box.options == ["critic"] and not app.text_input
    box.select("critic").run()
    assert [field.value for field in app.text_input] == ["bad", "good"]
