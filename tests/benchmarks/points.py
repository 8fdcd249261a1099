"""Points of the page Embeddings in the browser: until they are there, while they are moved, until the rows of a box are there."""

from __future__ import annotations

import statistics
import time
from itertools import pairwise
from typing import Any

from tests.benchmarks.app import HEADING, served, to_rows
from tests.benchmarks.timing import say

PLOT = ".st-key-figure-embedding"
FILM = "() => { const at = (window.at = []); const on = t => { at.push(t); requestAnimationFrame(on) }; requestAnimationFrame(on) }"
PATIENCE = 1_200_000  # ms; vectors and t-SNE of 25,000 reviews, where the cache does not have them yet
WAITS = ("a fresh app to the picture", "a frame while points are moved", "95 % of such frames", "a box to its rows")
SETS = {"10,234 points": "sst2/ndt-unit-2", "25,000 points": "imdb/ndt-unit-2"}


def dragged(page: Any, box: Any, by: tuple[float, float], steps: int) -> None:
    """The pointer pressed, moved by shares of the picture, and let go."""
    x, y = box["x"] + 0.15 * box["width"], box["y"] + 0.2 * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0] * box["width"], y + by[1] * box["height"], steps=steps)
    page.mouse.up()


def one(run: str, method: str) -> dict[str, float]:
    """Seconds of each of WAITS, everything computed before; frames are those of a browser that draws on the CPU."""
    address = f"embeddings?sample=all&run={run}&method={method}"
    with served(address) as page:  # fills the cache
        page.set_default_timeout(PATIENCE)
        page.wait_for_selector(f"{PLOT} canvas")
        page.wait_for_function("() => !document.querySelector('[class*=st-key-stop-]')")
        time.sleep(5)
    begin = time.perf_counter()
    with served(address) as page:
        page.set_default_timeout(PATIENCE)
        page.wait_for_selector(f"{PLOT} canvas")
        first = time.perf_counter() - begin
        page.wait_for_selector(HEADING)
        page.wait_for_function("() => !document.querySelector('[data-testid=stStatusWidget]')")
        time.sleep(3)
        plot = page.locator(PLOT)
        box = plot.locator("canvas").bounding_box()
        plot.get_by_role("radio", name="move").check()
        page.evaluate(FILM)
        dragged(page, box, (0.3, 0.3), 120)
        frames = sorted((b - a) / 1000 for a, b in pairwise(page.evaluate("() => window.at")))
        plot.locator(".whole").click()
        plot.get_by_role("radio", name="box").check()
        boxes = [to_rows(page, lambda i=i: dragged(page, box, (0.3 + 0.08 * i, 0.5), 4)) for i in range(6)]
    waits = (first, statistics.median(frames), frames[int(0.95 * len(frames))], statistics.median(boxes[1:]))
    return dict(zip(WAITS, waits, strict=True))


def points() -> None:
    """PCA and t-SNE of 10,234 and of 25,000 points."""
    seen = {f"{name}, {method}": one(run, method) for name, run in SETS.items() for method in ("pca", "tsne")}
    for wait in WAITS:
        say(wait, {name: waits[wait] for name, waits in seen.items()}, next(iter(seen)))
