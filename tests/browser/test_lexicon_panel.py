"""A person clicks a word, follows it from the lexicon to attention, and moves the lexicon's strength."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import pytest

from tests.browser.conftest import serving
from tests.browser.visitor import settled
from tests.injected import TEXT, train_runs

TOKENS = ["[CLS]", *re.findall(r"\w+|,", TEXT), "[SEP]"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the app on small runs with a lexicon."""
    root = tmp_path_factory.mktemp("panel")
    train_runs(root)
    with serving(SENTVIZ_RUNS=str(root / "runs"), SENTVIZ_DATA=str(root / "data")) as address:
        yield address


def opened(page: Any, server: str, **query: str) -> None:
    page.goto(f"{server}/attention?{urlencode({'run': 'toy/cls-all', 'look': 'lexicon', **query})}")
    page.wait_for_selector(".st-key-plot-lexicon-attention .main-svg", timeout=120_000)
    settled(page)


@pytest.mark.exhaustive
def test_a_click_on_a_word_starts_its_walk(page: Any, server: str) -> None:
    """A click on a word shows its entries, arithmetic and row; a second word replaces it, and the numbers can be exported as CSV."""
    opened(page, server)
    for word, entries in (("dull", "1 entry of VADER"), ("warm", "2 entries of VADER")):
        place = TOKENS.index(word)
        box = page.locator(".st-key-plot-polarity .bars .point path").nth(place).bounding_box()
        page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2)
        page.wait_for_url(re.compile(f"token={place + 1}"), timeout=30_000)
        page.get_by_text(f"1 · Entries with “{word}”").wait_for(timeout=30_000)
        settled(page)
        assert page.get_by_text(entries).count() == 1
        assert f"λ of “{word}”" in page.locator(".st-key-plot-lexicon-lambda").inner_text()
        assert f"Attention of “{word}”" in page.locator(".st-key-plot-lexicon-attention").inner_text()
    page.locator(".st-key-figure-lexicon-scores").get_by_role("button", name="Export").click()
    with page.expect_download(timeout=60_000) as download:
        page.locator(".st-key-export-lexicon-scores-csv button").click()
    numbers = pd.read_csv(Path(download.value.path()), encoding="utf-8-sig")
    assert list(numbers) == ["key", "key_token", "sigma", "plain", "injected", "scores", "before", "after", "change", "shown"]
    assert list(numbers["key_token"]) == TOKENS
    assert page.outside == []


@pytest.mark.exhaustive
def test_the_slider_of_the_lexicon_moves_what_it_should(page: Any, server: str) -> None:
    """The slider, moved by keyboard, changes answer and map, and the chip resets them; the row of [CLS] says why it cannot change."""
    opened(page, server, token="1")
    assert page.get_by_text("In layer 1 its row cannot change").count() == 1
    assert "no weight changes" in page.locator(".st-key-figure-lexicon-attention").inner_text()
    page.get_by_text("Both maps, without and with").click()
    page.get_by_text("With · strength 1", exact=True).wait_for(timeout=30_000)
    thumb = page.get_by_role("slider").first
    thumb.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"change=term(%3A|:)lexicon(%3D|=)1\.1"), timeout=30_000)
    page.get_by_text("With · strength 1.1").wait_for(timeout=30_000)
    settled(page)
    assert "no weight changes" in page.locator(".st-key-figure-lexicon-attention").inner_text()
    page.locator("[class*='st-key-chip-term'] button").first.click()
    page.get_by_text("With · strength 1", exact=True).wait_for(timeout=30_000)
    assert "change" not in page.url
