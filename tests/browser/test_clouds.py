"""The Words page in a real Chromium: a word clicked in a cloud, no two words drawn over another, the cloud as SVG and PDF."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.browser.test_first_light import settled, taken

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (ROOT / "checkpoints/sst2/ndt-unit-2").is_dir(), reason="sst2/ndt-unit-2 is not in checkpoints/"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Playwright's own sockets
]
CLOUD = ".st-key-figure-cloud"
BOXES = """selector => [...document.querySelectorAll(selector + ' .annotation-text')].map(node => {
  const box = node.getBoundingClientRect();
  return {text: node.textContent, size: parseFloat(getComputedStyle(node).fontSize), left: box.left, right: box.right,
    middle: (box.top + box.bottom) / 2};
})"""


def opened(page: Any, server: str, **query: str) -> None:
    """The page over the demo set, which is everywhere."""
    page.goto(f"{server}/words?" + "&".join(f"{name}={value}" for name, value in {"over": "demo", **query}.items()))
    page.wait_for_selector(f"{CLOUD} .annotation-text", timeout=120_000)
    settled(page)


def test_a_click_on_a_word_shows_its_rows_and_a_second_click_all(page: Any, server: str) -> None:
    """The part of the rows is in the URL and above the rows; the word is framed; clicked again, all rows are back."""
    opened(page, server, words="count")
    word = page.evaluate(BOXES, CLOUD)[1]  # the first is a heading
    for _ in range(2):
        spot = next(box for box in page.evaluate(BOXES, CLOUD) if box["text"] == word["text"])
        page.mouse.move((spot["left"] + spot["right"]) / 2, spot["middle"])
        page.wait_for_timeout(400)
        page.mouse.click((spot["left"] + spot["right"]) / 2, spot["middle"])
        settled(page)
        if "slice=word" in page.url:
            assert f"“{word['text']}”" in page.locator(".st-key-drawer-head").inner_text()
            assert page.locator(f"{CLOUD} .annotation rect.bg[style*='stroke-width: 2px']").count() == 1
    assert "slice" not in page.url
    assert page.outside == []


@pytest.mark.parametrize("width", [1440, 800])
def test_no_word_is_drawn_over_another(page: Any, server: str, width: int) -> None:
    """Boxes of the letters as the browser draws them: as wide as drawn, as high as letters are."""
    page.set_viewport_size({"width": width, "height": 900})
    opened(page, server, words="count", stops="keep")
    boxes = page.evaluate(BOXES, CLOUD)
    assert len(boxes) > 40
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            apart = one["left"] >= other["right"] - 1 or other["left"] >= one["right"] - 1
            assert apart or abs(one["middle"] - other["middle"]) >= 0.5 * (one["size"] + other["size"]) - 1, (one, other)
    page.set_viewport_size({"width": 1440, "height": 900})


def test_the_cloud_as_vectors(page: Any, server: str) -> None:
    """SVG: every word as text, nothing as pixels. PDF: fonts and no image. CSV: a line for each word."""
    opened(page, server)
    shown = [box["text"] for box in page.evaluate(BOXES, CLOUD)]
    svg = ElementTree.fromstring(taken(page, "cloud", "svg"))
    written = {"".join(node.itertext()) for node in svg.iter() if node.tag.endswith("text")}
    assert set(shown) <= written
    assert not [node for node in svg.iter() if node.tag.endswith("image")]
    pdf = taken(page, "cloud", "pdf")
    assert pdf.startswith(b"%PDF-")
    assert b"/Font" in pdf and not re.search(rb"/Subtype\s*/Image", pdf)
    csv = taken(page, "cloud", "csv").decode("utf-8-sig").splitlines()
    words = {line.split(",")[3] for line in csv[1:]}
    assert words and words <= written | {f"'{word}" for word in written}
    assert page.outside == []
