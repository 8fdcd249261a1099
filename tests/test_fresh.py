"""A newcomer's machine: every page shows its view or a sentence that helps, without data sets, network or a cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from sentviz.runs import runs
from tests.fresh import nothing_at_hand
from tests.test_app import PAGES, ROOT, opened, words

__all__ = ["nothing_at_hand"]

pytestmark = pytest.mark.skipif(not (ROOT / "checkpoints" / "english").is_dir(), reason="checkpoints/ is not here")
DEFAULT = "english/ndt-unit-2"


@pytest.fixture
def newcomer(nothing_at_hand: Path) -> Iterator[Path]:
    """Nothing at hand, and nothing kept of other tests."""
    st.cache_resource.clear()
    st.cache_data.clear()
    yield nothing_at_hand
    st.cache_resource.clear()
    st.cache_data.clear()


def sane(app: AppTest) -> str:
    """The text of a page that has no fault: neither an exception nor a sentence that owns up to one."""
    said = words(app).replace("\\", "")
    assert not app.exception, app.exception
    assert not app.error, [one.value for one in app.error]
    for fault in ("fault of sentviz", "does not work as it should", "Traceback", "Errno"):
        assert fault not in said, said
    return said


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_with_nothing_at_hand(newcomer: Path, page: str) -> None:
    sane(opened(page, run=DEFAULT))


@pytest.mark.slow
@pytest.mark.parametrize("page", ["confusion", "words", "embeddings"])
def test_a_page_of_rows_says_which_files_are_missing(newcomer: Path, page: str) -> None:
    """Of the mixture that the first run was trained on: the files of its test split alone, and where each can be had."""
    assert DEFAULT in runs()
    said = sane(opened(page, run=DEFAULT))
    assert "is not on this machine: sst2/test (1,821 rows), imdb/test (25,000 rows), yelp_full/test" in said
    assert "sentiment140: it is a subset of Sentiment140" in said and "imdb/train" not in said
