"""A person clicks a cell of the matrix, reads its rows, opens one of them in Explore."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.visitor import cell, settled


def rows(page: Any) -> str:
    """Return the heading of the row list."""
    return str(page.locator(".st-key-drawer-head h5").inner_text())


@pytest.mark.exhaustive
def test_from_a_cell_to_a_row_in_explore(page: Any, server: str) -> None:
    """The count of a cell equals that of the row list, a second click clears the choice, and a row opens with its text."""
    page.goto(f"{server}/confusion?run=sst2%2Fndt-unit-2&over=demo")
    page.wait_for_selector(".st-key-plot-matrix .main-svg", timeout=120_000)
    cell(page, 1, 0)
    page.wait_for_url(re.compile("slice=cell"))
    lines = page.locator(".st-key-plot-matrix .annotation-text").nth(2).locator("tspan").all_text_contents()
    page.wait_for_function("document.querySelector('.st-key-drawer-head h5')?.innerText.endsWith('positive predicted as negative')")
    assert re.search(r"([\d,]+) of", rows(page))[1] == lines[0].strip()  # type: ignore[index]

    cell(page, 1, 0)
    page.wait_for_function("!location.search.includes('slice')")
    cell(page, 0, 1)
    page.wait_for_url(re.compile("slice=cell"))
    settled(page)
    page.locator(".st-key-chip-slice button").first.click()
    page.wait_for_function("!location.search.includes('slice')")
    cell(page, 0, 1)  # what was let go by its chip can be picked again
    page.wait_for_url(re.compile("slice=cell"))

    settled(page)
    page.locator("[data-testid=stDataFrame]").first.scroll_into_view_if_needed()
    settled(page)
    table = page.locator("[data-testid=stDataFrame] canvas").first.bounding_box()
    page.mouse.click(table["x"] + 18, table["y"] + 36 + 17)  # the box that chooses the first row
    settled(page)
    page.locator(".st-key-drawer-open button").click()
    page.wait_for_selector(".st-key-canvas .word", timeout=60_000)
    assert "row=" in page.url
    assert page.locator("h3").first.inner_text().startswith("Positive")
    assert page.outside == []
