"""The hardmax page in a real Chromium: play to the last layer, step by step, and a token by keyboard."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.visitor import settled

pytestmark = pytest.mark.usefixtures("moving")


def reads(page: Any, layer: str) -> None:
    """Wait until the line below the picture names the layer."""
    page.locator(".readout .where", has_text=layer).wait_for(timeout=60_000)


def pixels(canvas: Any) -> str:
    """Return the canvas as a data URL, after the next frame."""
    return str(canvas.evaluate("async c => { await new Promise(requestAnimationFrame); return c.toDataURL() }"))


@pytest.mark.exhaustive
def test_the_playground_plays_steps_and_hears_clicks(page: Any, server: str) -> None:
    """The playground plays to the last layer and steps by the arrow keys; a token chosen by keyboard has its step drawn below."""
    page.goto(f"{server}/hardmax")
    page.locator(".st-key-focus-lab button", has_text="Playground").click(timeout=60_000)
    settled(page)  # until then the canvas of the part before stands too
    canvas = page.locator(".particles canvas")
    canvas.wait_for(timeout=60_000)
    page.locator(".speed").select_option("4")
    canvas.focus()
    page.keyboard.press("Home")
    reads(page, "At the start")
    before = pixels(canvas)
    page.keyboard.press(" ")
    assert page.locator(".particles.playing").count() == 1
    reads(page, "After layer 10 of 10")
    page.locator(".particles.playing").wait_for(state="detached", timeout=10_000)
    assert pixels(canvas) != before
    for key in ("ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    reads(page, "After layer 8 of 10")
    page.keyboard.press("Home")
    reads(page, "At the start")
    page.keyboard.press("ArrowDown")
    page.locator(".readout .what", has_text="#").wait_for(timeout=60_000)
    page.keyboard.press("Enter")
    page.get_by_text("in layer 1").wait_for(timeout=60_000)
    page.locator(".st-key-figure-play-step .main-svg").first.wait_for(timeout=60_000)
    page.keyboard.press("Escape")
    assert page.outside == []
