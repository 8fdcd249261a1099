"""First screen of each page in Chromium at 1440 x 900: words, controls, and the seconds until the first picture or table is drawn.

`python -m tools.benchmarks.screens ADDRESS ... [PAGE ...]` prints a table with one row per page and one group of columns per running app,
for example of two checkouts. Words of pictures and of the navigation are not counted. A picture is at least 200 x 90 px; its top in px says
how far down the page it begins. Each page is opened twice in a new tab, and the second time is reported: the first one also loads code.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from sentviz.export.chromium import find_browser
from tests.browser.conftest import QUIET, SCREEN
from tools.benchmarks.pages import addresses

RUN = "sst2/ndt-unit-2"
PICTURE = "svg, canvas, img, table, iframe, [class*=stBidiComponent]"
COUNT = (
    """() => {
    const main = document.querySelector("[data-testid=stMain]"), pictures = "PICTURE";
    const inside = box => box.width && box.height && box.top < innerHeight && box.bottom > 0 && box.left < innerWidth;
    const seen = element => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    const boxes = [...main.querySelectorAll(pictures)]
        .filter(seen)
        .map(each => each.getBoundingClientRect())
        .filter(box => box.width >= 200 && box.height >= 90);
    let words = 0;
    const walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const parent = node.parentElement, range = document.createRange();
        if (!parent || parent.closest(`style, script, ${pictures}`) || !seen(parent)) continue;
        range.selectNodeContents(node);
        if (inside(range.getBoundingClientRect())) words += (node.data.match(/[\\p{L}\\p{N}]+/gu) || []).length;
    }
    const fields = "button, input:not([type=file]), textarea, select, a[href], [role=slider]";
    const controls = [...main.querySelectorAll(fields)].filter(each => seen(each) && inside(each.getBoundingClientRect()));
    return [words, controls.length, boxes.length ? Math.round(Math.min(...boxes.map(box => box.top))) : -1];
}"""
).replace("PICTURE", PICTURE)


def opened(browser: Any, address: str, page: str) -> tuple[int, int, int, float, float]:
    """Open a page in a new context; return words, controls, the top of the first picture, seconds to it (-1 for both without one), and
    seconds until nothing changed any more.
    """
    context = browser.new_context(viewport=SCREEN, reduced_motion="reduce")
    tab, begin, seconds, settled, last, calm = context.new_page(), time.perf_counter(), -1.0, 0.0, [0, 0, -1], 0
    tab.goto(f"{address}/{page}?run={RUN}")
    while time.perf_counter() - begin < 60 and calm < 8:
        time.sleep(0.1)
        if not tab.locator("[data-testid=stMain]").count():
            continue
        counts = tab.evaluate(COUNT)
        if counts[2] >= 0 > seconds:
            seconds = time.perf_counter() - begin
        is_done = tab.locator("[data-test-script-state=notRunning]").count() and not tab.locator("[data-testid=stSkeleton]").count()
        busy = not is_done or not counts[0]
        if busy or counts != last:
            calm, settled = 0, time.perf_counter() - begin
        else:
            calm += 1
        last = counts
    context.close()
    return *last, seconds, settled


def main() -> None:
    """Print the table."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=QUIET.split())
        apps = [argument for argument in sys.argv[1:] if argument.startswith("http")]
        wanted = [argument for argument in sys.argv[1:] if argument not in apps]
        print("page" + " | words | controls | picture at, px | seconds | settled, s" * len(apps), flush=True)  # noqa: T201
        for page in [page for page in addresses() if page in wanted or not wanted]:
            cells = []
            for app in apps:
                opened(browser, app, page)
                words, controls, top, seconds, settled = opened(browser, app, page)
                cells += [str(words), str(controls), str(top), f"{seconds:.1f}", f"{settled:.1f}"]
            print(f"{page or 'explore'} | {' | '.join(cells)}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
