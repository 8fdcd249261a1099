"""A person clicks a cell of the matrix, reads its rows, opens one of them in Explore."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest

from tests.browser.visitor import settled


def cell(page: Any, row: int, column: int, figure: str = "matrix") -> None:
    """Click a cell of a two by two figure, off its centre."""
    settled(page)
    page.locator(f".st-key-plot-{figure}").scroll_into_view_if_needed()
    box = page.locator(f".st-key-plot-{figure} .nsewdrag").first.bounding_box()
    page.mouse.click(box["x"] + (0.2 + 0.5 * column) * box["width"], box["y"] + (0.2 + 0.5 * row) * box["height"])
    settled(page)


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


@pytest.mark.exhaustive
def test_two_runs_and_a_threshold(page: Any, server: str) -> None:
    """A cell of the agreement is a slice of the rows, and the slider moves the matrix and the URL."""
    page.goto(f"{server}/confusion?run=sst2%2Fndt-unit-2&versus=sst2%2Fdiff")
    page.wait_for_selector(".st-key-plot-agreement .main-svg", timeout=120_000)
    cell(page, 0, 1, "agreement")
    page.wait_for_url(re.compile("slice=agree"))
    assert "only sst2/ndt-unit-2 is right" in rows(page)
    before = page.locator(".st-key-plot-matrix").text_content()
    slider = page.locator(".st-key-focus-threshold").get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    page.wait_for_url(re.compile("threshold=0.51"), timeout=30_000)
    settled(page)
    assert page.locator(".st-key-plot-matrix").text_content() != before
    assert page.outside == []


@pytest.mark.exhaustive
def test_from_one_mistake_to_the_next(page: Any, server: str) -> None:
    """A chosen row shows its reason; the button goes to the next mistake of the list; an own label and note are in the CSV of the list."""
    page.goto(f"{server}/confusion?run=sst2%2Fndt-unit-2&over=demo")
    page.wait_for_selector("[data-testid=stDataFrame] canvas", timeout=120_000)
    settled(page)
    page.locator("[data-testid=stDataFrame]").first.scroll_into_view_if_needed()
    settled(page)
    table = page.locator("[data-testid=stDataFrame] canvas").first.bounding_box()
    page.mouse.click(table["x"] + 18, table["y"] + 36 + 17)
    row = page.locator(".st-key-one-row")
    row.wait_for(timeout=60_000)
    settled(page)
    first = row.locator("[data-testid=stText]").first.inner_text()
    assert re.search(r"(Positive|Negative), \d+\u00a0%\..*\.", row.inner_text())
    assert row.get_by_role("button", name="Previous mistake").is_disabled()
    row.get_by_role("button", name="Next mistake").click()
    row.get_by_text(re.compile("^2 of")).wait_for(timeout=60_000)
    settled(page)
    second = row.locator("[data-testid=stText]").first.inner_text()
    assert second != first
    field = page.locator("[class*=st-key-own-label] input")
    field.scroll_into_view_if_needed()
    field.click()
    field.fill("positive")
    page.keyboard.press("Enter")
    settled(page)
    page.get_by_label("Your note").fill("a note, with a comma")
    page.keyboard.press("Enter")
    row.get_by_text("1 row with your label or note").wait_for(timeout=60_000)
    settled(page)
    with page.expect_download(timeout=60_000) as download:
        page.locator(".st-key-drawer-csv button").click()
    written = pd.read_csv(download.value.path(), comment="#", keep_default_na=False).set_index("text")
    assert written.loc[second, ["your label", "your note"]].tolist() == ["positive", "a note, with a comma"]
    assert set(written.loc[written.index != second, "your label"]) == {""}
