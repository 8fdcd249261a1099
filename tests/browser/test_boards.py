"""A person clicks a cell of a board, reads what its verdict rests on, and opens the section that shows it; by keyboard; on a phone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.visitor import settled


def point(page: Any, mark: Any) -> None:
    """Click inside a mark, which Plotly covers by a layer of its own. The lines that open the page may be above it."""
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    page.mouse.click(box["x"] + 6, box["y"] + box["height"] / 2)


def width_of_board(page: Any) -> float:
    """Return the width of the drawn board in pixels."""
    return float(page.locator(".st-key-plot-board-ndt .main-svg").first.bounding_box()["width"])


@pytest.mark.exhaustive
def test_from_a_cell_to_the_section_that_shows_it(page: Any, server: str) -> None:
    """The NDT board takes the page's width. Its first cell opens details on the right, by link; a second click closes them; the list opens
    a claim without a mouse.
    """
    page.goto(f"{server}/ndt")
    page.wait_for_selector(".st-key-plot-board-ndt .main-svg", timeout=120_000)
    settled(page)
    bar = page.locator(".st-key-plot-board-ndt .barlayer .point path").first
    full = page.locator("[class*='st-key-halves-board']").bounding_box()["width"]
    assert width_of_board(page) == pytest.approx(full, abs=2)
    point(page, bar)
    page.wait_for_url(re.compile("claim=ndt-"))
    details = page.locator(".st-key-claim-beside")
    details.get_by_text("Test: ").first.wait_for()
    settled(page)
    assert width_of_board(page) + details.bounding_box()["width"] < full
    point(page, bar)
    page.wait_for_url(re.compile(r"/ndt$|/ndt\?(?!.*claim=)"))
    details.wait_for(state="detached")
    settled(page)
    assert width_of_board(page) == pytest.approx(full, abs=2)
    box = page.get_by_role("combobox", name="Claim")
    box.click()
    page.keyboard.type("DT beats vanilla on SST-2")
    page.keyboard.press("Enter")
    details.get_by_role("heading", name=re.compile("DT beats vanilla on SST-2")).wait_for()
    page.get_by_role("button", name="Open Two configurations").click()
    page.wait_for_url(re.compile("part=compare"))
    page.get_by_text("against vanilla-matched").first.wait_for()


@pytest.mark.exhaustive
def test_a_claim_without_a_figure_is_below_the_board(page: Any, server: str) -> None:
    """The board keeps the page's width, and the words of the claim have the width of the page too."""
    page.goto(f"{server}/sentiformer?claim=sentiformer-bec68d")
    page.wait_for_selector(".st-key-plot-board-sentiformer .main-svg", timeout=120_000)
    settled(page)
    full = page.locator("[class*='st-key-halves-board']").bounding_box()["width"]
    assert page.locator(".st-key-plot-board-sentiformer .main-svg").first.bounding_box()["width"] == pytest.approx(full, abs=2)
    assert page.locator(".st-key-claim-sheet").bounding_box()["width"] > 0.95 * full
    assert not page.locator(".st-key-claim-beside").count()


@pytest.mark.exhaustive
def test_on_a_phone_the_claims_are_a_list(page: Any, server: str) -> None:
    """A phone shows words with verdicts in place of the board, no wider than the screen; a verdict opens its claim and closes it."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/ndt")
    listed = page.locator(".st-key-claim-list")
    listed.get_by_role("button", name=re.compile("SST-2 cannot be told")).first.wait_for(timeout=120_000)
    settled(page)
    assert not page.locator(".st-key-plot-board-ndt").is_visible()
    assert all(box["x"] + box["width"] <= 390 for box in (node.bounding_box() for node in listed.get_by_role("button").all()))
    first = listed.get_by_role("button").first
    first.click()
    page.wait_for_url(re.compile("claim=ndt-"))
    page.locator(".st-key-claim-beside").get_by_text("Test: ").first.wait_for()
    assert first.get_attribute("aria-pressed") == "true"
    first.click()
    page.wait_for_url(re.compile(r"/ndt$|/ndt\?(?!.*claim=)"))
    page.set_viewport_size({"width": 800, "height": 900})
    page.locator(".st-key-plot-board-ndt .main-svg").first.wait_for()
    assert not listed.is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_boards_of_all_papers_have_the_colours_of_the_page(theme: str, page: Any, server: str) -> None:
    page.emulate_media(color_scheme=theme)
    page.goto(f"{server}/claims")
    boards = page.locator("[class*=st-key-plot-poster] .main-svg:first-child")
    boards.nth(4).wait_for(timeout=120_000)
    settled(page)
    light = boards.evaluate_all("boards => boards.map(board => getComputedStyle(board).backgroundColor.match(/\\d+/g).map(Number))")
    page.emulate_media(color_scheme="light")
    assert len(light) == 5 and all((min(colour[:3]) > 200) if theme == "light" else (max(colour[:3]) < 60) for colour in light), light
