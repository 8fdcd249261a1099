"""Measure how far each wanted thing is from the first screen, for a script that knows neither addresses nor the names of views.

`python -m tools.benchmarks ways`. Two ways are tried, each in a fresh visit: the finder, with the words that people use, and the labels of
the bars, from the one that resembles the words most to the least. A way ends when the thing is on the screen: its middle lies in a window
of 1440 x 900 without scrolling. Seconds include the search of the script, which opens wrong views, too.
"""

from __future__ import annotations

import re
import tempfile
import time
from difflib import SequenceMatcher
from typing import Any

from tests.browser.conftest import QUIET, find_browser, serving
from tests.browser.visitor import settled

WANTED = {  # the words of a person -> what is on the page then
    "attention heatmap": ".st-key-canvas, .st-key-plot-detail",
    "hardmax animation": ".st-key-hardmax-canvas, .st-key-play-canvas",
    "confusion matrix": ".st-key-plot-matrix",
    "CLS attention std per layer": ".st-key-plot-cls-lines",
    "lambda evolution": ".st-key-plot-lambda",
    "t-SNE": ".st-key-embedding-points, .st-key-plot-embedding",
    "UMAP": ".st-key-embedding-points, .st-key-plot-embedding",
    "silhouette": ".st-key-silhouettes, .st-key-plot-silhouette",
    "word clouds": ".st-key-plot-cloud",
}
SHOWN = """selectors => [...document.querySelectorAll(selectors)].some(each => {
    const box = each.getBoundingClientRect(), middle = (box.top + box.bottom) / 2
    return box.height > 15 && middle > 0 && middle < innerHeight && !each.closest('[data-stale=true]')
})"""
LABELS = """links => links.map(link => {
    const copy = link.cloneNode(true)
    copy.querySelectorAll("[data-testid=stIconMaterial]").forEach(icon => icon.remove())
    return copy.textContent.trim()
})"""
PATIENCE = 90.0  # seconds in which a picture may be computed


def ways() -> None:
    """Print a line for each wanted thing: seconds by the finder; clicks, views opened and seconds by the labels."""
    from playwright.sync_api import sync_playwright

    print(f"\n{'wanted':<30}{'finder, s':>10}{'clicks':>8}{'opened':>8}{'seconds':>9}  label", flush=True)  # noqa: T201
    with serving(SENTVIZ_HOME=tempfile.mkdtemp()) as address, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tempfile.mkdtemp(), executable_path=find_browser(), args=QUIET.split(), viewport={"width": 1440, "height": 900}
        )
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        for words, selectors in WANTED.items():
            search = by_finder(page, address, words, selectors)
            clicks, opened, seconds, label = by_labels(page, address, words, selectors)
            print(f"{words:<30}{search:>10}{clicks:>8}{opened:>8}{seconds:>9.1f}  {label}", flush=True)  # noqa: T201
        context.close()


def first_screen(page: Any, address: str) -> None:
    """Open the first screen, and wait until it is complete."""
    page.goto(address)
    page.wait_for_selector(".st-key-places a")
    settled(page)


def by_finder(page: Any, address: str, words: str, selectors: str) -> str:
    """Return the seconds from Ctrl K until the thing is on the screen, or why it is not."""
    first_screen(page, address)
    began = time.monotonic()
    page.keyboard.press("Control+k")
    page.keyboard.insert_text(words)
    page.wait_for_timeout(300)
    page.keyboard.press("Enter")
    return f"{time.monotonic() - began:.1f}" if is_shown(page, selectors) else "off screen"


def is_shown(page: Any, selectors: str) -> bool:
    """Return whether the thing is on the screen, at the latest when the page has settled."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if page.evaluate(SHOWN, selectors):
            return True
        if is_quiet(page):
            page.wait_for_timeout(1500)  # between two pages, it is quiet for a moment, too
            if is_quiet(page):
                return bool(page.evaluate(SHOWN, selectors))
        page.wait_for_timeout(100)
    return False


def is_quiet(page: Any) -> bool:
    """Return whether neither the page nor work in the background is running."""
    page.wait_for_timeout(700)
    busy = page.evaluate("document.querySelector('.stApp')?.dataset.testScriptState !== 'notRunning'")
    return not busy and not page.locator("[class*='st-key-stop-']").count()


def likeness(words: str, label: str) -> float:
    """Return how much a label resembles the words: shared words first, then shared letters."""
    mine, theirs = (set(re.findall(r"[\w-]+", text.lower())) for text in (words, label))
    return 10 * len(mine & theirs) + SequenceMatcher(None, words.lower(), label.lower()).ratio()


def by_labels(page: Any, address: str, words: str, selectors: str) -> tuple[int, int, float, str]:
    """Follow the labels of the bars, from the most to the least similar; return the clicks, the views opened, the seconds and the label.

    The views of a place are read when it is opened; a place without a similar view is left again.
    """
    first_screen(page, address)
    began, clicks, opened = time.monotonic(), 0, 0
    if is_shown(page, selectors):
        return clicks, opened, time.monotonic() - began, "first screen"
    places = labels(page, "places")
    tried = set[tuple[str, str]]()
    tabs: dict[str, list[str]] = {open_place(page): labels(page, "tabs")}
    while True:
        known = [(place, tab) for place, names in tabs.items() for tab in names if (place, tab) not in tried]
        best = max(known, key=lambda pair: likeness(words, pair[1]), default=None)
        unread = [place for place in places if place not in tabs]
        if unread and (best is None or likeness(words, best[1]) < 10):  # no label seen so far has one of the words
            place = max(unread, key=lambda name: likeness(words, name))
            click(page, "places", place)
            clicks += 1
            tabs[place] = labels(page, "tabs") or [place]
            tried.add((place, tabs[place][0]))
            opened += 1
            if is_shown(page, selectors):
                return clicks, opened, time.monotonic() - began, place
            continue
        if best is None:
            return clicks, opened, time.monotonic() - began, "nowhere"
        tried.add(best)
        if open_place(page) != best[0]:
            click(page, "places", best[0])
            clicks += 1
        click(page, "tabs", best[1])
        clicks, opened = clicks + 1, opened + 1
        if is_shown(page, selectors):
            return clicks, opened, time.monotonic() - began, " > ".join(best)


def labels(page: Any, bar: str) -> list[str]:
    """Return the labels of the links in a bar."""
    return [text for text in page.locator(f".st-key-{bar} a").evaluate_all(LABELS) if text]


def open_place(page: Any) -> str:
    """Return the label of the place that is open."""
    return str(page.locator("[class*='st-key-place-here'] a").evaluate_all(LABELS)[0])


def click(page: Any, bar: str, label: str) -> None:
    """Click a link of a bar, and wait for the page."""
    page.mouse.move(720, 880)
    page.locator(f".st-key-{bar}").get_by_role("link", name=label, exact=True).click()
    page.wait_for_timeout(300)
    settled(page)
