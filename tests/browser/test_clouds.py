"""The Words page in a real Chromium: a word clicked in a cloud, no two words drawn over another."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.visitor import settled
from tests.shipped import often

CLOUD = ".st-key-figure-cloud"
BOXES = """selector => [...document.querySelectorAll(selector + ' .annotation-text')].map(node => {
  const box = node.getBoundingClientRect();
  return {text: node.textContent, size: parseFloat(getComputedStyle(node).fontSize), left: box.left, right: box.right,
    middle: (box.top + box.bottom) / 2};
})"""


def opened(page: Any, server: str, **query: str) -> None:
    """Open the page of words over the demo set."""
    page.goto(
        f"{server}/words?" + "&".join(f"{name}={value}" for name, value in {"run": "sst2/ndt-unit-2", "over": "demo", **query}.items())
    )
    page.wait_for_selector(f"{CLOUD} .annotation-text", timeout=120_000)
    settled(page)


@pytest.mark.exhaustive
def test_a_click_on_a_word_shows_its_rows_and_a_second_click_all(page: Any, server: str) -> None:
    """A click puts the word's slice into the URL, frames the word and lists its rows; a second click lists all rows."""
    opened(page, server, words="count")
    word = page.evaluate(BOXES, CLOUD)[1]  # the first is a heading
    for chosen in (True, False):
        spot = next(box for box in page.evaluate(BOXES, CLOUD) if box["text"] == word["text"])
        page.mouse.move((spot["left"] + spot["right"]) / 2, spot["middle"])
        page.wait_for_timeout(400)
        page.mouse.click((spot["left"] + spot["right"]) / 2, spot["middle"])
        page.wait_for_url(lambda url, chosen=chosen: ("slice=word" in url) == chosen, timeout=60_000)
        settled(page)
        if chosen:
            assert f"“{word['text']}”" in page.locator(".st-key-drawer-head").inner_text()
            page.locator(f"{CLOUD} .annotation rect.bg[style*='stroke-width: 2px']").wait_for(timeout=60_000)
    assert page.outside == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", often([1440, 800], 800))
def test_no_word_is_drawn_over_another(page: Any, server: str, width: int) -> None:
    """The boxes of the drawn letters do not overlap."""
    page.set_viewport_size({"width": width, "height": 900})
    opened(page, server, words="count", stops="keep")
    boxes = page.evaluate(BOXES, CLOUD)
    assert len(boxes) > 40
    for i, box in enumerate(boxes):
        for earlier in boxes[:i]:
            apart = box["left"] >= earlier["right"] - 1 or earlier["left"] >= box["right"] - 1
            assert apart or abs(box["middle"] - earlier["middle"]) >= 0.5 * (box["size"] + earlier["size"]) - 1, (box, earlier)
    page.set_viewport_size({"width": 1440, "height": 900})
