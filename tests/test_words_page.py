"""The Words page with Streamlit's AppTest, on the runs that ship, on the demo set and on words stored with a run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st

from sentviz.analysis.testset.rows import stored
from sentviz.analysis.testset.slices import Slice
from sentviz.analysis.testset.word_counts import count_words, keyness, largest, stop_words, store
from sentviz.data import datasets
from sentviz.errors import DataMissingError
from sentviz.runs.store import Run
from tests.kit import ROOT, RUN, opened, words

FOLDER = ROOT / "checkpoints" / RUN
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not FOLDER.is_dir(), reason=f"{RUN} is not in checkpoints/")]
OURS = ("a dull garden", "a bright song and a warm soup", "the soup isn't bright", "nobody sang, it was dull", "warm, warm bread")


class Texts:
    """A data set whose texts are ours, or that is not here."""

    def __init__(self) -> None:
        frame = stored(Run.open(FOLDER)).frame
        cell = (2 * frame["label"] + frame["predicted"]).tolist()
        texts = [OURS[cell[i] if i % 3 else i % 5] for i in range(len(frame))]
        self.frame = pd.DataFrame({"id": frame["id"], "text": texts, "label": frame["label"]})
        self.here = True

    def load_split(self, name: str, split: str) -> Any:
        if not self.here:
            raise DataMissingError("not here")
        return type("Split", (), {"frame": self.frame})()


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Texts]:
    """Replace the texts of every data set by our own sentences, with empty caches."""
    texts_of = Texts()
    monkeypatch.setattr(datasets, "load_split", texts_of.load_split)
    st.cache_resource.clear()
    yield texts_of
    st.cache_resource.clear()


def captions(app: Any) -> str:
    return "\n".join(caption.value for caption in app.caption).replace("\\", "")


@pytest.mark.exhaustive
@pytest.mark.parametrize("by", ["keyness", "count"])
@pytest.mark.parametrize("stops", ["drop", "keep"])
def test_every_kind_of_cloud_stands(texts: Texts, by: str, stops: str) -> None:
    """The size and the stop words of a cloud are in the URL and in the caption."""
    app = opened("words", words=by, stops=stops)
    assert not app.error and not app.warning
    lines = captions(app)
    assert "Click a word" in lines
    assert ("Typical (keyness):" in lines) == (by == "keyness")
    assert ("Stop words are left out." in lines) == (stops == "drop")
    assert len(app.get("plotly_chart")) == 2
    assert app.query_params.get("words", ["keyness"]) in (by, [by])


@pytest.mark.exhaustive
def test_a_word_in_the_link_is_the_part_of_the_rows_and_its_cell_is_listed(texts: Texts) -> None:
    """The page lists as many rows as the word's count of rows in its cell."""
    rows = stored(Run.open(FOLDER)).with_text(texts.frame)
    counts = count_words(rows)
    row = largest(keyness(counts, (0, 1)), "count", 1, stop_words()).iloc[0]
    app = opened("words", slice=str(Slice("word", f"{row['word']}@0,1")), words="count")
    assert f"{row['rows']:,} of {len(rows):,} rows" in words(app)
    assert app.selectbox(key="words-cell").value == (0, 1)


@pytest.mark.exhaustive
def test_the_list_s_cell_is_the_part_of_the_rows(texts: Texts) -> None:
    app = opened("words")
    app.selectbox(key="words-cell").set_value((1, 1)).run()
    assert not app.exception, app.exception
    assert app.query_params["slice"] in ("cell=1,1", ["cell=1,1"])


@pytest.mark.exhaustive
def test_the_demo_set_has_its_words() -> None:
    app = opened("words", over="demo")
    assert not app.error
    assert "in at least 2 of" in captions(app)
    assert len(app.get("plotly_chart")) == 2


@pytest.mark.exhaustive
def test_a_pair_of_three_classes_is_chosen() -> None:
    """Four clouds show two classes; another pair is chosen manually or by the cell in the link."""
    run = "twitter_financial/ndt-unit-2"
    if not (ROOT / "checkpoints" / run).is_dir():
        pytest.skip(f"{run} is not in checkpoints/")
    app = opened("words", run=run, over="demo")
    box = app.selectbox(key="words-pair")
    second = next(pair for pair in ((0, 1), (0, 2), (1, 2)) if pair != box.value)
    box.set_value(second).run()
    assert not app.exception, app.exception
    assert app.selectbox(key="words-pair").value == second
    assert set(app.selectbox(key="words-cell").options) and len(app.selectbox(key="words-cell").options) == 4
    assert opened("words", run=run, over="demo", slice="cell=0,2").selectbox(key="words-pair").value == (0, 2)


@pytest.mark.exhaustive
def test_without_texts_the_page_says_what_is_missing(texts: Texts) -> None:
    texts.here = False
    app = opened("words", run="sst2/diff")
    assert "words cannot be counted" in words(app) and "Until then, these are the words of the demo set" in words(app)
    assert app.get("plotly_chart")


@pytest.mark.exhaustive
def test_without_texts_the_stored_words_are_drawn(texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with stored words draws them without data, says so, and refuses another threshold."""
    folder = tmp_path / "kept" / "words"
    shutil.copytree(FOLDER, folder)
    store(Run.open(folder))
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    texts.here = False
    app = opened("words", run="kept/words")
    assert not app.error
    assert "the words stored with the run" in captions(app)
    assert len(app.get("plotly_chart")) == 2
    assert "Words for another threshold need the texts" in words(opened("words", run="kept/words", threshold="0.3"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", ["word=<script>alert(1)</script>", "word=nowhere@0,1", "cell=7,7", "nonsense", "tag=negation"])
def test_odd_parts_in_the_link_are_no_trouble(texts: Texts, part: str) -> None:
    app = opened("words", slice=part)
    assert not app.exception, app.exception
    assert "<script>" not in words(app)
    assert app.get("plotly_chart")


@pytest.mark.exhaustive
@pytest.mark.parametrize("label", ["", "label"])
def test_the_words_of_a_visitor_s_file(label: str) -> None:
    """Without labels there are two clouds by prediction and no list of cells, with labels the four cells; both last for the visit only."""
    from sentviz.data.upload import TextTable

    app = opened("words", over="mine")
    frame = pd.DataFrame({"text": [OURS[i % 5] for i in range(40)]} | ({label: [str(i % 2) for i in range(40)]} if label else {}))
    app.session_state["mine"] = TextTable("mine.csv", frame, "text", label, "0" * 16)
    app.run()
    assert not app.exception, app.exception
    assert app.get("plotly_chart")
    assert [box.key for box in app.selectbox].count("words-cell") == (1 if label else 0)
    assert not opened("words", over="mine").get("plotly_chart")
