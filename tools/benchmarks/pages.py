"""Server time of each page and sub-view: cold in a fresh process, and warm for the next visitor.

`python -m tools.benchmarks pages`; further words keep the views that have one of them in their names, as in `pages ndt`. Cold is the first
time that anyone asks for the view, the app being up: another page was shown, and what the app loads beside the first page is there; warm is
a new visitor to the same view, the median of three. Beside the seconds on the clock stand those of the processor, which a busy machine
changes less. Drawing in the browser is not in it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from itertools import product
from urllib.parse import parse_qsl, urlencode

from tests.browser.conftest import ROOT
from tests.browser.visitor import SETTLED
from tools.benchmarks.app import served
from tools.benchmarks.timing import say

FIRST = "glossary"
WARM = 3
SUBVIEWS = {  # page -> the fields whose every choice is a view of its own
    "attention": ("look",),
    "confusion": ("view",),
    "embeddings": ("method",),
    "hardmax": ("lab",),
    "heads": (),
    "lambdas": ("scale",),
}
CHOICES = {  # settings that belong to one page
    "view": ("matrix", "curves", "calibration"),
    "method": ("pca", "tsne", "umap"),
    "lab": ("review", "playground", "leaders"),
}
RUNS = {"attention": {"look=lexicon": "sst2/cls-last-scaled", "look=gates": "sst5_trees/sentiformer"}}


def views() -> list[str]:
    """Every page and sub-view as the end of its address."""
    from app.focus import choices
    from sentviz.runs.registry import papers

    parts = {paper.page.url: paper.page.parts for paper in papers().values()}
    result = []
    for url in addresses():
        if url in parts:
            result += [url, *(f"{url}?part={part}" for part in parts[url])]
            continue
        fields = SUBVIEWS.get(url, ())
        for values in product(*(CHOICES.get(field) or choices(field) for field in fields)):
            query = urlencode(dict(zip(fields, values, strict=True)))
            run = RUNS.get(url, {}).get(query, "")
            result.append("?".join(filter(None, (url, query + (f"&run={run}" if run else "")))))
    return result


def addresses() -> list[str]:
    """The last part of every page's address, in the order of the navigation."""
    return [info["url_pathname"] for info in _app()._registered_pages.values()]


def _app() -> object:
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_file(str(ROOT / "app" / "navigation.py"), default_timeout=600)
    app.query_params["run"] = "sst2/ndt-unit-2"
    return _at(app.run(), FIRST)


def _at(app: object, view: str) -> object:
    """The app at a view, run."""
    url, _, query = view.partition("?")
    pages = app._registered_pages
    app._page_hash = next(key for key, info in pages.items() if info["url_pathname"] == url)
    for name, value in parse_qsl(query):
        app.query_params[name] = value
    return app.run()


def timed(view: str) -> None:
    """Print the seconds of a view in this process, cold and warm."""
    from streamlit.testing.v1 import AppTest

    from app.server.queue import preload

    known = _app()._registered_pages
    preload().join()
    seconds, busy = list[float](), list[float]()
    for _ in range(1 + WARM):
        app = AppTest.from_file(str(ROOT / "app" / "navigation.py"), default_timeout=600)
        app._registered_pages = known
        app.query_params["run"] = "sst2/ndt-unit-2"
        begin, worked = time.perf_counter(), time.process_time()
        _at(app, view)
        seconds.append(time.perf_counter() - begin)
        busy.append(time.process_time() - worked)
    times = [both for all_ in (seconds, busy) for both in (all_[0], statistics.median(all_[1:]))]
    print(json.dumps([*times, "; ".join(str(error.value) for error in app.exception)]))  # noqa: T201


def pages() -> None:
    """A line for each view: cold and warm seconds, on the clock and of the processor."""
    words = [word for word in sys.argv[1:] if word != "pages"]
    print(f"\n{'page':<44}{'cold, s':>9}{'warm, s':>9}{'cold, cpu':>11}{'warm, cpu':>11}", flush=True)  # noqa: T201
    for view in views():
        if words and not any(word in view for word in words):
            continue
        command = [sys.executable, "-c", f"from tools.benchmarks.pages import timed; timed({view!r})"]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{view:<44}  {done.stderr.strip().splitlines()[-1]}")  # noqa: T201
            continue
        cold, warm, cold_cpu, warm_cpu, failed = json.loads(done.stdout.splitlines()[-1])
        print(f"{view or 'explore':<44}{cold:>9.2f}{warm:>9.2f}{cold_cpu:>11.2f}{warm_cpu:>11.2f}  {failed}", flush=True)  # noqa: T201


def settled() -> None:
    """Measure the seconds until a fresh tab of a page is settled in the browser, the median of three after one visit, beside Glossary's."""
    seconds: dict[str, list[float]] = {}
    with served(FIRST) as page:
        context = page.context.browser.new_context()
        page.evaluate(SETTLED)
        for url in [FIRST, *(url for url in (sys.argv[2:] or addresses()) if url != FIRST)]:
            for _ in range(1 + WARM):
                tab = context.new_page()
                begin = time.perf_counter()
                tab.goto(page.url.replace(f"/{FIRST}", f"/{url}").partition("?")[0] + "?run=sst2/ndt-unit-2")
                tab.locator("[data-testid=stMain] [data-testid=stElementContainer]").first.wait_for()
                tab.evaluate(SETTLED)
                seconds.setdefault(url or "explore", []).append(time.perf_counter() - begin - 0.3)  # It waits 0.3 s for a further run.
                tab.close()
    say("a fresh tab is settled", {url: statistics.median(times[1:]) for url, times in seconds.items()}, FIRST)
