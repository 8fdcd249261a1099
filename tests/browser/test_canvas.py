"""The linked picture in a real Chromium: hover, pin, and a head."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.visitor import settled

PLACE = ".st-key-canvas"


def opened(page: Any, address: str) -> Any:
    """Open a page and return its picture once the heads are measured."""
    page.goto(address)
    picture = page.locator(PLACE)
    picture.locator(".lead .number").first.wait_for(timeout=60_000)
    settled(page)
    return picture


def pixels(picture: Any) -> str:
    """Return the large map as a data URL, after two frames."""
    frame = "async c => { for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame); return c.toDataURL() }"
    return str(picture.locator("canvas.map").evaluate(frame))


def messages(page: Any) -> list[int]:
    """Return a list that grows with every message to the server."""
    sent: list[int] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: sent.append(len(data))))
    return sent


@pytest.mark.exhaustive
def test_pointing_lights_everything_at_once_and_clicks_pin(page: Any, server: str) -> None:
    """The pointer marks row, column, heads and probability without a message to the server; a click pins, or enlarges a head."""
    sent = messages(page)
    picture = opened(page, f"{server}/?run=sst2%2Fndt-unit-2&whatif=open")
    words, readout, answer = (picture.locator(f".{name}") for name in ("word", "readout", "answer"))
    word = words.filter(has_text="delight")
    dark, requests = pixels(picture), len(sent)
    word.hover()
    assert re.match("“delight” attends most to .* Without it: positive 39\u00a0%", readout.inner_text())
    assert "without it 39\u00a0%" in answer.inner_text() and answer.locator(".part:visible").count() == 1
    assert pixels(picture) != dark
    widths = words.locator(".takes").evaluate_all("nodes => nodes.map(node => parseFloat(node.style.width))")
    assert max(widths) == 100 and min(widths) < 50
    picture.locator(".map-title").hover()
    assert "without it" not in answer.inner_text() and pixels(picture) == dark
    assert len(sent) == requests, "pointing asked the server"
    word.click()
    page.wait_for_url(re.compile("token="))
    settled(page)
    requests = len(sent)
    picture.locator(".map-title").hover()
    assert word.get_attribute("aria-pressed") == "true" and "without it 39\u00a0%" in answer.inner_text()
    fold = picture.locator(".others")
    assert (
        re.match(r"\d others?: (none|\d) alone changes? the answer", fold.inner_text()) and not picture.locator(".tile").first.is_visible()
    )
    fold.click()
    tile = picture.locator(".tile").nth(6)
    assert tile.inner_text() == "H3"
    word.hover()
    assert picture.locator(".tile.most").count() == 1
    title = picture.locator(".map-title").inner_text()
    tile.hover()
    assert picture.locator(".map-title").inner_text() == "Effective attention, layer 2, head 3" != title
    assert readout.inner_text().startswith("Layer 2, head 3")
    box = picture.locator("canvas.map").bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.6 * box["height"])
    assert re.match("“.*” attends to “.*” with weight .* ≈ .*A₂", readout.inner_text()) and words.and_(page.locator(".lit")).count()
    assert len(sent) == requests, "pointing asked the server"

    tile.click()
    page.wait_for_url(re.compile("layer=2&head=3"))
    settled(page)
    assert tile.get_attribute("aria-pressed") == "true" and word.get_attribute("aria-pressed") == "true"

    word = opened(page, page.url).locator(".word").filter(has_text="delight")
    assert word.get_attribute("aria-pressed") == "true", "the link has the pinned word"
    word.click()
    page.wait_for_url(lambda url: "token=" not in url)
    settled(page)
    page.go_back()
    page.wait_for_url(re.compile("token="))
    page.locator(".word[aria-pressed=true]").filter(has_text="delight").wait_for()
    assert page.outside == []
