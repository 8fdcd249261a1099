"""Compare in a real Chromium: a row of Compare models becomes the sentence, and the difference of two maps a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sentviz.data import demo
from tests.browser.visitor import settled


@pytest.mark.exhaustive
def test_a_row_of_compare_models_becomes_the_sentence_of_two(page: Any, server: str) -> None:
    """A row of the table opens, and its button shows two models side by side on this row."""
    page.goto(f"{server}/comparison?run=sst2%2Fndt-unit-2&versus=sst2%2Fvanilla-matched&over=demo")
    table = page.locator("[data-testid=stDataFrame]").last
    table.wait_for(timeout=90_000)
    settled(page)
    table.scroll_into_view_if_needed()
    settled(page)
    table.click(position={"x": 16, "y": 52})
    page.locator(".st-key-comparison-beside button").click(timeout=60_000)
    page.wait_for_url("**/compare?*row=demo-*", timeout=30_000)
    chosen = re.search(r"row=(demo-[a-z]+-\d+)", page.url)
    assert chosen is not None
    text = demo.load().set_index("id")["text"][chosen[1]]
    is_in_the_box = "text => document.querySelector('.st-key-compare-sentence input')?.value === text"
    page.wait_for_function(is_in_the_box, arg=text, timeout=60_000)
    assert page.outside == []


@pytest.mark.exhaustive
def test_the_difference_leaves_as_a_file(page: Any, server: str) -> None:
    page.goto(f"{server}/compare?run=sst2%2Fndt-unit-2")
    page.locator(".st-key-figure-map-difference").get_by_role("button", name="Export").click()
    with page.expect_download(timeout=60_000) as download:
        page.locator(".st-key-export-map-difference-csv button").click()
    lines = Path(download.value.path()).read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].startswith("layer,head,component,query,")
    assert any(line.rsplit(",", 1)[-1].startswith("-") for line in lines[1:])
