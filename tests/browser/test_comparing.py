"""Compare in a real Chromium: a part of the agreement, a row that becomes the sentence, a dot that becomes the slice, a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sentviz.data import demo
from tests.browser.test_first_light import settled


def opened(page: Any, server: str, query: str = "run=sst2%2Fndt-unit-2&over=demo") -> None:
    page.goto(f"{server}/compare?{query}")
    page.get_by_text("rows: ").last.wait_for(timeout=90_000)
    settled(page)


@pytest.mark.exhaustive
def test_a_row_of_the_table_becomes_the_sentence(page: Any, server: str) -> None:
    opened(page, server)
    page.locator(".st-key-compare-agree button", has_text="only sst2/ndt-unit-2 right").click()
    page.wait_for_url("**slice=agree*", timeout=30_000)
    settled(page)
    table = page.locator("[data-testid=stDataFrame]").last
    table.scroll_into_view_if_needed()
    settled(page)
    table.click(position={"x": 16, "y": 52})
    page.wait_for_url("**row=demo-*", timeout=30_000)
    chosen = re.search(r"row=(demo-[a-z]+-\d+)", page.url)
    assert chosen is not None
    text = demo.load().set_index("id")["text"][chosen[1]]
    is_in_the_box = "text => document.querySelector('.st-key-compare-sentence input').value === text"
    page.wait_for_function(is_in_the_box, arg=text, timeout=60_000)
    assert page.outside == []


@pytest.mark.exhaustive
def test_a_dot_makes_its_phenomenon_the_slice(page: Any, server: str) -> None:
    opened(page, server)
    figure = page.locator(".st-key-figure-phenomena")
    figure.scroll_into_view_if_needed()
    settled(page)
    dot = figure.locator(".scatterlayer .trace").first.locator(".point").first.bounding_box()
    page.mouse.click(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    page.wait_for_url("**slice=tag*", timeout=30_000)
    page.get_by_text(re.compile(r"^30 rows: ")).wait_for(timeout=30_000)


@pytest.mark.exhaustive
def test_the_difference_leaves_as_a_file(page: Any, server: str) -> None:
    opened(page, server)
    page.locator(".st-key-figure-map-difference").get_by_role("button", name="Export").click()
    with page.expect_download(timeout=60_000) as download:
        page.locator(".st-key-export-map-difference-csv button").click()
    lines = Path(download.value.path()).read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].startswith("layer,head,component,query,")
    assert any(line.rsplit(",", 1)[-1].startswith("-") for line in lines[1:])
