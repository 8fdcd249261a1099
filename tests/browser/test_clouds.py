"""The Words page in a real Chromium: a word clicked in a cloud, no two words drawn over another, the cloud as SVG and PDF."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from sentviz.charts.fonts import font_file
from tests.browser.visitor import download, settled
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


@pytest.mark.exhaustive
def test_the_cloud_as_vectors(page: Any, server: str) -> None:
    """The SVG holds every word as text and no pixels, the PDF holds fonts and no image, the CSV has one line per word."""
    opened(page, server)
    drawn_words = [box["text"] for box in page.evaluate(BOXES, CLOUD)]
    svg = ElementTree.fromstring(download(page, "cloud", "svg"))
    written = {"".join(node.itertext()) for node in svg.iter() if node.tag.endswith("text")}
    assert set(drawn_words) <= written
    assert not [node for node in svg.iter() if node.tag.endswith("image")]
    pdf = download(page, "cloud", "pdf")
    assert pdf.startswith(b"%PDF-")
    assert b"/Font" in pdf and not re.search(rb"/Subtype\s*/Image", pdf)
    csv = download(page, "cloud", "csv").decode("utf-8-sig").splitlines()
    words = {line.split(",")[3] for line in csv[1:]}
    assert words and words <= written | {f"'{word}" for word in written}
    assert page.outside == []


KOREAN = {
    "positive": ["정말 따뜻하고 좋은 이야기", "음악도 좋은 영화", "배우가 훌륭하고 이야기도 따뜻하고 즐겁다"],
    "negative": ["지루하고 시간이 아까운 영화", "이야기가 지루하고 길다", "음악이 시끄럽고 시간이 아까운 저녁"],
}


@pytest.mark.skipif(font_file("sans-serif", "영화") is None, reason="no font of this machine has Hangul (fonts-noto-cjk)")
@pytest.mark.exhaustive
def test_korean_words_of_a_file_are_drawn_and_leave_with_their_font(page: Any, server: str, tmp_path: Path) -> None:
    """A cloud of a visitor's Korean sentences shows Hangul without a warning about fonts, and its SVG contains the letters."""
    file = tmp_path / "mine.csv"
    lines = [f"{text},{label}" for label, texts in KOREAN.items() for text in texts * 3]
    file.write_text("\n".join(["text,label", *lines]), encoding="utf-8")
    page.goto(f"{server}/words?over=mine&words=count")
    page.wait_for_selector("[data-testid=stFileUploader]", timeout=120_000)
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(file))
    page.wait_for_selector(f"{CLOUD} .annotation-text", timeout=120_000)
    settled(page)
    drawn = {box["text"] for box in page.evaluate(BOXES, CLOUD)}
    assert {"지루하고", "영화", "좋은"} <= drawn
    assert page.get_by_text("No font of this machine").count() == 0
    svg = download(page, "cloud", "svg").decode()
    assert svg.count("@font-face") >= 2
    assert "지루하고" in svg
    assert download(page, "cloud", "png").startswith(b"\x89PNG")
