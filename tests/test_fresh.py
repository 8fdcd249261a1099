"""A newcomer's machine: every page shows its view or a sentence that helps, without data sets, network or a cache."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from sentviz.data.datasets import info
from sentviz.runs.store import runs
from tests.kit import DEFAULT, PAGES, ROOT, opened, sane

pytestmark = pytest.mark.skipif(not (ROOT / "checkpoints" / "english").is_dir(), reason="checkpoints/ is not here")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.exhaustive
def test_every_page_opens_with_nothing_at_hand(newcomer: Path, page: str) -> None:
    sane(opened(page, run=DEFAULT))


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", ["confusion", "words", "embeddings"])
def test_a_page_of_rows_says_which_files_are_missing(newcomer: Path, page: str) -> None:
    """The page names the test files of the mixture that the default run was trained on, and where to get each."""
    assert DEFAULT in runs()
    app = opened(page, run=DEFAULT)
    text, (offered,) = sane(app), [words for words in app.caption if "rows are not on this machine" in words.value]
    assert offered.help.replace("\\", "").startswith("sst2/test (1,821 rows), imdb/test (25,000 rows), yelp_full/test")
    assert "sentiment140: it is a subset of Sentiment140" in text and "imdb/train" not in text


@pytest.mark.exhaustive
def test_what_a_page_cannot_fetch_it_says(newcomer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If neither the cache nor the hub can be used, the button is replaced by a sentence and stays available."""
    monkeypatch.setenv("SENTVIZ_ALLOW_DOWNLOAD", "1")
    app = opened("confusion", run="sst2/ndt-unit-2")
    assert "rows are not on this machine." in sane(app)
    app.button(key="again-sst2").click().run()
    for thread in [thread for thread in threading.enumerate() if thread.name == info("sst2").title]:
        thread.join(30)
    app.run()
    assert "cannot be written" in sane(app) and app.button(key="again-sst2")
