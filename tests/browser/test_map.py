"""The long map in a real Chromium: zoom, search, a click and its arithmetic; token text stays text."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

SONG = "A song begins, and the garden stays dull. "
PLACE = ".st-key-halves-map"


def opened(page: Any, server: str, text: str, **query: str) -> Any:
    """Open the long map of a text and return its canvas."""
    page.goto(f"{server}/attention?{urlencode({'run': 'sst2/ndt-unit-2', 'look': 'long', 'text': text, **query})}")
    canvas = page.locator(f"{PLACE} canvas")
    canvas.wait_for(timeout=60_000)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=30_000)
    return canvas


def point(page: Any, canvas: Any, x: float, y: float) -> None:
    """Move the pointer to a place on the canvas, in shares 0..1 of width and height."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.wait_for_timeout(300)  # a page that scrolls past does not zoom
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])


def pixels(canvas: Any) -> str:
    """Return the canvas as a data URL, after the next frame."""
    return str(canvas.evaluate("async c => { await new Promise(requestAnimationFrame); return c.toDataURL() }"))


def readout(page: Any) -> str:
    """Return the line below the map."""
    return str(page.locator(f"{PLACE} .readout").inner_text())


def settled(page: Any, heading: str) -> str:
    """Return the text of the arithmetic once its heading begins with `heading`."""
    page.wait_for_function(f"wanted => document.querySelector('{PLACE} h5')?.innerText.startsWith(wanted)", arg=heading, timeout=30_000)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=30_000)
    return str(page.locator(PLACE).inner_text())


@pytest.mark.exhaustive
def test_point_zoom_search_and_click(page: Any, server: str) -> None:
    """A map of 180 tokens names words under the pointer, zooms by wheel and buttons, counts matches of a search, and shows a cell's
    numbers.
    """
    canvas = opened(page, server, SONG * 18, run="sst2/ndt-unit-2", head="2")
    whole = pixels(canvas)
    point(page, canvas, 0.5, 0.5)
    assert "→" in readout(page) and "≈" in readout(page)

    page.mouse.wheel(0, -500)
    page.wait_for_timeout(200)
    zoomed = pixels(canvas)
    assert zoomed != whole
    page.get_by_role("button", name="Whole map").click()
    assert page.get_by_role("button", name="Zoom out").is_disabled()

    box = page.get_by_placeholder("Find in the text")
    box.fill("GARDEN")
    assert page.locator(f"{PLACE} .found").inner_text() == "1 of 18"
    box.press("Enter")
    box.press("Enter")
    box.press("Shift+Enter")
    assert page.locator(f"{PLACE} .found").inner_text() == "2 of 18"
    assert page.get_by_role("button", name="Zoom out").is_enabled()
    box.fill("zebra")
    assert page.locator(f"{PLACE} .found").inner_text() == "not found"

    point(page, canvas, 0.4, 0.4)
    query, _, rest = readout(page).partition(" → ")
    page.mouse.down()
    page.mouse.up()
    status = settled(page, query.partition(" (")[0])
    assert rest.partition(" (")[0] in status
    for part in ("q₁·k₁ = ", "/ √16", "softmax over", "A₁ + "):
        assert part in status
    assert page.locator(".st-key-figure-smoother .main-svg").count()
    assert page.outside == []


@pytest.mark.exhaustive
def test_token_text_is_only_ever_text(page: Any, server: str) -> None:
    """Markup, entities and right-to-left words as tokens run nothing when they are pointed at, searched or clicked."""
    hostile = "<img src=x onerror='window.hacked=true'> <script>window.hacked=true</script> &lt; </script> $x$ **b** שלום"
    canvas = opened(page, server, hostile)
    page.get_by_placeholder("Find in the text").fill("<")
    assert "of" in page.locator(f"{PLACE} .found").inner_text()
    canvas.focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    settled(page, "“<”")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src='x']").count() == 0
    assert page.outside == []
