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
def test_a_word_in_the_link_is_the_part_of_the_rows_and_its_cell_is_listed(texts: Texts) -> None:
    """The page lists as many rows as the word's count of rows in its cell."""
    rows = stored(Run.open(FOLDER)).with_text(texts.frame)
    counts = count_words(rows)
    row = largest(keyness(counts, (0, 1)), "count", 1, stop_words()).iloc[0]
    app = opened("words", slice=str(Slice("word", f"{row['word']}@0,1")), words="count")
    assert f"{row['rows']:,} of {len(rows):,} rows" in words(app)
    assert app.selectbox(key="words-cell").value == (0, 1)


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
