"""The page Compare models with Streamlit's AppTest, on the runs that ship."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from sentviz.analysis.testset.compare import compare
from sentviz.data.upload import TextTable
from sentviz.io.files import APP_CLASSES, APP_MODEL
from tests.kit import RUN, SHIPPED, opened, words

pytestmark = [pytest.mark.slow, SHIPPED]
CONTROL = "sst2/vanilla-matched"
BERT = "bert (answers.csv)"


@pytest.mark.exhaustive
def test_the_verdict_comes_first_and_takes_the_stored_seeds_together() -> None:
    """The first heading is the verdict of the library over three seeds each; alone, it is that of the two trainings."""
    app = opened("comparison", versus=CONTROL)
    assert not app.error and not app.exception
    headings = [each.value for each in app.markdown if each.value.startswith("#### ")]
    assert headings[0].replace("\\", "") == f"#### {compare(RUN, CONTROL).headline}"
    single = opened("comparison", versus=CONTROL, trainings="single")
    assert compare(RUN, CONTROL, seeds=False).headline.split(":")[0] in words(single)
    assert not single.exception


@pytest.mark.exhaustive
def test_rows_are_those_of_the_chosen_part() -> None:
    app = opened("comparison", versus=CONTROL, over="demo", who="right.1")
    assert not app.exception
    table = app.dataframe[-1].value
    assert len(table) and table[RUN].str.startswith("✓").all() and table[CONTROL].str.startswith("✗").all()


@pytest.mark.exhaustive
def test_a_slice_of_the_link_is_what_is_compared() -> None:
    """The verdict is on the rows of the slice, which the sentence below it names."""
    app = opened("comparison", versus=CONTROL, over="demo", among="has=negation")
    assert not app.exception and "rows (demo set, " in words(app).replace("\\", "")
    every = opened("comparison", versus=CONTROL, over="demo")
    assert "All predict the same 270 rows" in words(every) and "All predict the same 270 rows" not in words(app)


@pytest.mark.exhaustive
def test_one_model_and_other_data_sets_are_a_sentence() -> None:
    assert "have no common row" in words(opened("comparison", versus="imdb/ndt-unit-2"))
    assert "File" in words(opened("comparison", over="mine")) or not opened("comparison", over="mine").exception


def with_file(frame: pd.DataFrame) -> AppTest:
    """Open the page, choose "your file", and give it a table."""
    app = opened("comparison")
    app.session_state["mine"] = TextTable("answers.csv", frame, "text", "label", f"{len(frame)}")
    return app.selectbox(key="focus-over").set_value("mine").run()


def own_box(texts: list[str]) -> np.ndarray:  # type: ignore[type-arg]
    """Stand in for a model of the operator's own code."""
    positive = np.array([0.9 if "good" in text else 0.2 for text in texts])
    return np.stack([1 - positive, positive], axis=1)


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> str:
    """Start the app as `sentviz app --model` does; return the name of the model."""
    monkeypatch.setenv(APP_MODEL, "tests.test_comparison_page:own_box")
    monkeypatch.setenv(APP_CLASSES, "negative,positive")
    return "open/own_box"


@pytest.mark.exhaustive
def test_columns_of_a_file_a_black_box_and_a_run_are_compared(box: str) -> None:
    """All models of the file are compared at first; runs and a black box that are added by a click read its texts."""
    n = 60
    frame = pd.DataFrame(
        {"text": [f"a {'good' if i % 2 else 'bad'} song, number {i}" for i in range(n)], "label": ["negative", "positive"] * 30}
    )
    frame["bert_predicted"] = frame["label"].where(np.arange(n) > 3, "positive")
    frame["box_p_positive"] = np.where(np.arange(n) % 2 == 0, 0.3, 0.6)
    app = with_file(frame)
    assert not app.exception and "box" in words(app).split("####")[1], words(app)
    picked = next(each for each in app.multiselect if each.key.startswith("comparison-sources"))
    assert picked.value == ["bert", "box"] and "comparison-speed" not in {each.key for each in app.button}
    picked.set_value(["bert", box, RUN]).run()
    assert not app.exception and set(app.dataframe[0].value["source"]) == {BERT, box, RUN}
    app.button(key="comparison-speed").click().run()
    speed = app.dataframe[0].value.set_index("source")["speed"]
    assert not app.exception and speed[RUN] > 0 and speed[box] > 0 and np.isnan(speed[BERT])


@pytest.mark.exhaustive
def test_columns_without_a_common_row_are_one_sentence() -> None:
    """One model of the file answers the first rows and the other the rest."""
    frame = pd.DataFrame({"text": [f"a song {i}" for i in range(6)], "label": ["negative", "positive"] * 3})
    frame["a_predicted"] = frame["label"].where(frame.index < 3)
    frame["b_predicted"] = frame["label"].where(frame.index >= 3)
    app = with_file(frame)
    assert not app.exception and [str(each.value).count("no common row") for each in app.warning] == [1]
