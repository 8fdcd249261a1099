"""The section Test set: which rows it is about and the drawer below, on the runs that ship, with no data set on the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from app.blocks.rows import WIDE, _three_lines
from sentviz.data import demo
from sentviz.runs.store import Run
from tests.kit import RUN, SHIPPED, opened, page_text, words

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, SHIPPED]


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Provide a clone without any data set."""
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    st.cache_resource.clear()  # rows that another test has read


def table_type(app: Any) -> str:
    return str(app.dataframe[-1].type)


def heading(app: Any) -> str:
    return next(item.value for item in app.markdown if "table_rows" in item.value)


@pytest.mark.exhaustive
def test_without_texts_rows_are_ids_and_the_way_to_the_texts_is_said() -> None:
    """The rows of a cell are listed by id, below one line that says how to get their texts."""
    app = opened("confusion", run=RUN, slice="cell=1,0")
    assert not app.exception, app.exception
    table = app.dataframe[-1].value
    assert "text" not in table
    assert table["id"].str.match(r"[a-z]+-\d+").all()
    order = [
        node.type for node in app.main if node.type == table_type(app) or "rows are not on this machine" in str(getattr(node, "value", ""))
    ]
    assert order[0] != table_type(app) == order[-1]


@pytest.mark.exhaustive
def test_without_texts_the_drawer_opens_on_the_demo_set() -> None:
    """The drawer lists the sentences of the demo set if no cell is chosen, and they open in Explore."""
    app = opened("confusion", run=RUN)
    assert not app.exception, app.exception
    assert f"{len(demo.load()):,} of {len(demo.load()):,} rows" in heading(app) and "demo set" in heading(app)
    table = app.dataframe[-1].value
    assert {"id", "loss"}.isdisjoint(table) and set(table["text"]) <= {_three_lines(text, WIDE) for text in demo.load()["text"]}
    assert "rows are not on this machine" in words(app)


@pytest.mark.exhaustive
@pytest.mark.parametrize("slice_", ["cell=1,0", "p=1:0.4-0.6"])
def test_the_slice_in_the_link_is_what_the_drawer_counts(slice_: str) -> None:
    """The number of rows equals a count of the stored predictions at the run's temperature."""
    run = Run.open(ROOT / "checkpoints" / RUN)
    frame = run.frame("test.parquet").query("split == 'test'")
    predicted = frame["positive"] > frame["negative"]
    odds = (np.log(frame["positive"].clip(5e-6)) - np.log(frame["negative"].clip(5e-6))) / run.calibration
    wanted = {
        "cell=1,0": int((frame["label"].eq(1) & ~predicted).sum()),
        "p=1:0.4-0.6": int((1 / (1 + np.exp(-odds))).between(0.4, 0.6).sum()),
    }[slice_]
    app = opened("confusion", run=RUN, slice=slice_)
    assert f"{wanted:,} of {len(frame):,} rows" in heading(app)
    app.button(key="chip-slice").click().run()
    assert f"{wanted:,} of" not in heading(app)
    assert "slice" not in app.query_params


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", ["confusion", "words", "embeddings"])
def test_every_page_works_on_the_demo_set(page: str) -> None:
    app = opened(page, run=RUN, over="demo")
    assert not app.exception, app.exception
    assert f"of {len(demo.load())} rows" in heading(app)
    assert "text" in app.dataframe[-1].value


@pytest.mark.exhaustive
def test_every_row_can_be_reached_page_by_page() -> None:
    """The pages of the demo set hold 200 rows and the rest, together every row once; another slice opens on its first page."""
    app = opened("confusion", run=RUN, over="demo")
    first = list(app.dataframe[-1].value["text"])
    assert len(first) == 200 and list(app.dataframe[-1].value)[:2] == ["", "text"]
    button = next(each for each in app.button if each.key.startswith("after-drawer"))
    button.click().run()
    rest = list(app.dataframe[-1].value["text"])
    assert sorted(first + rest) == sorted(
        _three_lines(text, WIDE) for text in demo.load()["text"]
    ) and f"Rows 201 to {len(demo.load())} of" in page_text(app)
    assert next(each for each in app.button if each.key.startswith("after-drawer")).disabled
    app.selectbox(key="focus-order").set_value("doubtful").run()
    assert len(app.dataframe[-1].value) == 200 and not app.exception


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", ["demo-negation-01", "demo-plain-02"])
def test_explore_names_the_label_of_a_row(row: str) -> None:
    """The notice under the prediction compares it with the label of the demo set."""
    label = demo.load().set_index("id")["label"][row]
    app = opened("explore", run=RUN, row=row)
    predicted = next(each.value for each in app.markdown if each.value.startswith("### "))
    kind = "Right" if predicted.casefold().startswith(f"### {label}") else "Wrong"
    assert f"{kind}: labelled {label}." in page_text(app)
    assert "labelled" not in page_text(opened("explore", run=RUN))


@pytest.mark.exhaustive
def test_search_length_and_order() -> None:
    """Search, length and order show the rows that the demo set's own sentences give."""
    texts = demo.load()["text"]
    app = opened("confusion", run=RUN, over="demo")
    app.text_input(key="focus-find").set_value("never|nobody").run()
    listed = app.dataframe[-1].value["text"]
    assert sorted(listed) == sorted(texts[texts.str.contains("never|nobody", case=False)])
    app.text_input(key="focus-find").set_value("").run()
    app.number_input(key="focus-least").set_value(18).run()
    listed = app.dataframe[-1].value["text"]
    assert sorted(listed) == sorted(texts[texts.str.split().str.len() >= 18])
    app.number_input(key="focus-least").set_value(0).run()
    app.selectbox(key="focus-order").set_value("doubtful").run()
    assert app.dataframe[-1].value["confidence"].is_monotonic_increasing


@pytest.mark.exhaustive
@pytest.mark.parametrize("pattern", ["(", "(?<=a)b", "(a+)+$", "<script>alert(1)</script>", "*" * 50])
def test_an_odd_search_is_one_sentence_or_no_row(pattern: str) -> None:
    app = opened("confusion", run=RUN, over="demo", find=pattern)
    assert not app.exception, app.exception
    assert "is not a regular expression" in page_text(app) or "No rows match" in words(app) or app.dataframe


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("slice_", "message"),
    [
        ("nonsense", "“nonsense”, which is not available; all rows are shown"),
        ("cell=7,0", "there is no cell"),
        ("word=dull", "not installed"),
        ("agree=first", "second run"),
    ],
)
def test_a_slice_that_means_nothing_here_says_so_and_shows_all_rows(slice_: str, message: str) -> None:
    app = opened("confusion", run=RUN, slice=slice_)
    assert not app.exception, app.exception
    assert message in page_text(app)


@pytest.mark.exhaustive
def test_a_forgotten_file_asks_for_itself_again() -> None:
    """A link to a visitor's own file shows the uploader only."""
    app = opened("confusion", run=RUN, over="mine")
    assert not app.exception, app.exception
    assert not app.dataframe


@pytest.mark.exhaustive
def test_my_file_is_asked_and_kept_for_the_visit() -> None:
    """An uploaded table is predicted: labels are compared, unlabelled rows are left out, and another column can be chosen."""
    from sentviz.data.upload import TextTable

    frame = pd.DataFrame(
        {
            "review": ["A fine, warm film.", "Dull and far too long.", "A film."],
            "stars": ["positive", "negative", ""],
            "note": ["x", "y", "z"],
        }
    )
    app = opened("confusion", run=RUN)
    app.session_state["mine"] = TextTable("mine.csv", frame, "review", "stars", "digest")
    app.selectbox(key="focus-over").set_value("mine").run()
    assert not app.exception and "Only 2 of the 3 rows" in app.warning[0].value
    app.checkbox(key="mine-partial-digest").check().run()
    assert not app.exception, app.exception
    assert "3 of 3 rows" in heading(app)
    table = app.dataframe[-1].value
    assert sorted(table["text"]) == sorted(frame["review"])
    app.selectbox(key=f"mine-label-{app.session_state['mine'].digest}").set_value("").run()
    assert not app.exception, app.exception
    assert "None of these rows has a label" in words(app)


def test_a_text_has_the_room_of_three_lines() -> None:
    """The cut text ends with a word, a wide letter takes the room of two, and a word that is longer than the lines is cut."""
    assert _three_lines("a short one", 62) == "a short one"
    cut = _three_lines("word " * 80, 62)
    assert cut.endswith("word …") and 50 < len(cut) <= 62
    assert len(_three_lines("이 영화는 정말 재미있었다 " * 20, 62)) <= 31
    assert _three_lines("x" * 500, 62) == "x" * 61 + "…"
