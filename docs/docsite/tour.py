"""The README's tour: half a minute in the app, pictured in a browser as an animated WebP."""

from __future__ import annotations

import io
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image

from sentviz.export.chromium import find_browser

TOUR = Path(__file__).parents[1] / "pages" / "assets" / "tour.webp"
RUN = "english/minilm"
SENTENCE = "The room was not bad at all, but I would not stay again."
SCREEN = 1280, 720
QUIET = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
POINTER = """([x, y]) => {
  let arrow = document.querySelector('#pointer')
  if (!arrow) {
    arrow = Object.assign(document.createElement('div'), {id: 'pointer'})
    arrow.style.cssText = 'position:fixed;z-index:9999999;pointer-events:none;width:22px;height:22px'
    arrow.innerHTML = '<svg viewBox="0 0 22 22"><path d="M3 1v17l5-5 3 7 3-1-3-7h7z" fill="#111" stroke="#fff" stroke-width="1.5"/></svg>'
    document.body.append(arrow)
  }
  arrow.style.left = x - 3 + 'px'; arrow.style.top = y - 1 + 'px'
}"""


class Recorder:
    """A page of the app, and the pictures that were taken of it with the time that each is shown."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address
        self.place = (640.0, 400.0)
        self.frames: list[Image.Image] = []
        self.times: list[int] = []  # milliseconds

    def open(self, path: str, wait_for: str) -> None:
        """Open a page of the app and wait until it is complete."""
        self.page.goto(f"{self.address}/{path}")
        self.page.wait_for_selector(wait_for, timeout=120_000)
        self.settle()
        self.page.evaluate(POINTER, self.place)

    def settle(self) -> None:
        """Wait until the server has been idle for a second."""
        idle = 0
        while idle < 5:
            time.sleep(0.2)
            idle = idle + 1 if self.page.locator("[data-test-script-state=notRunning]").count() else 0

    def take(self, milliseconds: int) -> None:
        """Take a picture that is shown for a time."""
        with Image.open(io.BytesIO(self.page.screenshot())) as picture:
            self.frames.append(picture.convert("RGB"))
        self.times.append(milliseconds)

    def point(self, target: Any, *, right: float = 0.5, down: float = 0.5) -> None:
        """Move the pointer to a place in an element, in three pictures."""
        target.scroll_into_view_if_needed()
        time.sleep(0.5)  # Plotly draws again after a change of size
        box = target.bounding_box()
        goal = box["x"] + right * box["width"], box["y"] + down * box["height"]
        start = self.place
        for share in (0.35, 0.75, 1.0):
            self.place = tuple(a + share * (b - a) for a, b in zip(start, goal, strict=True))  # type: ignore[assignment]
            self.page.mouse.move(*self.place)
            self.page.evaluate(POINTER, self.place)
            self.take(90)

    def click(self, target: Any, **place: float) -> None:
        """Move the pointer to an element, click, and wait until the page has answered."""
        self.point(target, **place)
        self.page.mouse.click(*self.place)
        self.settle()

    def webp(self) -> bytes:
        """Return the pictures as an animated WebP."""
        first, *rest = self.frames
        data = io.BytesIO()
        first.save(data, "WEBP", save_all=True, append_images=rest, duration=self.times, loop=0, quality=70, method=6, minimize_size=True)
        return data.getvalue()


def tour(address: str) -> bytes:
    """Return the tour of the app at an address: a sentence is typed, a head is switched off, a claim is opened, a review clusters."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        browser = playwright.chromium.launch_persistent_context(
            profile, executable_path=find_browser(), args=QUIET, viewport={"width": SCREEN[0], "height": SCREEN[1]}, color_scheme="light"
        )
        recorder = Recorder(browser.new_page(), address)
        _sentence(recorder)
        _claim(recorder)
        _clustering(recorder)
        browser.close()
        return recorder.webp()


def _sentence(recorder: Recorder) -> None:
    page = recorder.page
    recorder.open(f"?run={RUN}", ".st-key-canvas .lead:not(.names)")
    page.locator(".st-key-why-reason strong").first.wait_for(timeout=60_000)
    recorder.take(1200)
    box = page.get_by_placeholder("Type a sentence and press Enter")
    recorder.click(box, right=0.4)
    box.fill("")
    for end in range(4, len(SENTENCE) + 4, 4):
        page.keyboard.type(SENTENCE[end - 4 : end])
        recorder.take(90)
    page.keyboard.press("Enter")
    page.locator(".st-key-canvas .word", has_text="stay").wait_for(timeout=60_000)
    recorder.settle()
    recorder.take(3000)
    for word in ("stay", "bad"):
        recorder.point(page.locator(".st-key-canvas .word", has_text=word).first)
        recorder.take(900)
    strongest = page.locator(".st-key-canvas .lead:not(.names)").first
    recorder.point(strongest)
    recorder.take(1200)
    recorder.click(strongest.locator(".switch"))
    page.locator(".st-key-became", has_text="was").wait_for(timeout=60_000)
    recorder.take(2400)


def _claim(recorder: Recorder) -> None:
    page = recorder.page
    recorder.open("ndt", ".st-key-plot-board-ndt .main-svg")
    recorder.take(1800)
    recorder.click(page.locator(".st-key-plot-board-ndt .barlayer .point path").first)
    page.locator(".st-key-claim-beside").scroll_into_view_if_needed()
    recorder.take(3200)


def _clustering(recorder: Recorder) -> None:
    page = recorder.page
    recorder.open("hardmax?run=imdb/hardmax-d2", ".particles canvas")
    canvas = page.locator(".particles canvas")
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    page.keyboard.press("Home")
    recorder.take(1200)
    page.keyboard.press(" ")
    deadline = time.monotonic() + 12
    while page.locator(".particles.playing").count() and time.monotonic() < deadline:
        recorder.take(120)
    recorder.take(2500)
