"""The page Through training in the browser: until it stands, from a key to the first picture that moves, a frame while it plays."""

from __future__ import annotations

import statistics
import time
from itertools import pairwise
from typing import Any

from tests.benchmarks.app import served
from tests.benchmarks.timing import say
from tests.browser.test_through import FILM, RUN, VIEW

STEPS = 9


def first_change(page: Any, key: str) -> float:
    """Seconds from a key on the slider to the first frame with another picture."""
    pressed = page.evaluate("() => [performance.now(), window.film.at(-1)[2]]")
    page.locator(f"{VIEW} .time").press(key)
    moved = page.wait_for_function(
        "([start, sum]) => window.film.find(([time, , seen]) => time > start && seen !== sum)", arg=pressed, polling=20
    ).json_value()
    time.sleep(1.5)
    return float(moved[0] - pressed[0]) / 1000


def through() -> None:
    """A first step against a frame; frames are those of a browser that draws on the CPU and reads every picture back."""
    begin = time.perf_counter()
    with served(f"through?run={RUN}") as page:
        page.locator(f"{VIEW} .time").wait_for()
        stands = time.perf_counter() - begin
        page.wait_for_function("() => !document.querySelector('[data-testid=stStatusWidget]')")
        page.evaluate(FILM)
        page.locator(f"{VIEW} .time").focus()
        time.sleep(1)
        steps = [first_change(page, ("ArrowLeft", "ArrowRight")[i % 2]) for i in range(STEPS)]
        start = page.evaluate("() => window.film.length")
        page.locator(f"{VIEW} .time").press(" ")
        time.sleep(4)
        film = page.evaluate("start => window.film.slice(start)", start)
    frames = sorted((b[0] - a[0]) / 1000 for a, b in pairwise(film))
    seconds = {"a frame": statistics.median(frames), "95 % of frames": frames[int(0.95 * len(frames))]}
    say("Through training", seconds | {"a step": statistics.median(steps), "a fresh app to the page": stands}, "a frame")
