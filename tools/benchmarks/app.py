"""Time that a visitor waits: until the first words are on the screen, and from Enter to the answer."""

from __future__ import annotations

import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sentviz.export.chromium import find_browser
from sentviz.runs.store import Run, runs
from tests.browser.conftest import QUIET, ROOT
from tools.benchmarks.timing import say


def first_text(playwright: Any, script: str, folder: Path) -> float:
    """Seconds from starting `streamlit run` to the first words of the page in a fresh browser."""
    from playwright.sync_api import Error

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    browser = playwright.chromium.launch(executable_path=find_browser(), args=QUIET.split())
    page = browser.new_page()
    start = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", script, "--server.headless=true", f"--server.port={port}"],
        cwd=folder,
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            try:
                page.goto(f"http://127.0.0.1:{port}")
                break
            except Error:  # the server does not listen yet
                assert time.perf_counter() - start < 60, "the app did not start"
                time.sleep(0.05)
        page.wait_for_selector("[data-testid=stMarkdown], [data-testid=stHeading]", timeout=60_000)
        return time.perf_counter() - start
    finally:
        server.terminate()
        server.wait()
        browser.close()


MODULES = """
import json, sys
from streamlit.testing.v1 import AppTest
AppTest.from_file("app/main.py", default_timeout=600).run()
ours = {"app", "sentviz", "__main__"}
print(json.dumps([name for name, module in list(sys.modules.items())
                  if name.partition(".")[0] not in ours and "testing" not in name and getattr(module, "__file__", None)]))
"""


def start() -> None:
    """Measure the cold start to the first text, against an app of one line, and against one that imports what our first page imports."""
    from playwright.sync_api import sync_playwright

    listed = subprocess.run([sys.executable, "-c", MODULES], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = json.loads(listed.stdout.splitlines()[-1])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        hello = "import streamlit as st\nst.markdown('hello')\n"
        Path(folder, "line.py").write_text(hello)
        Path(folder, "imports.py").write_text(
            f"import importlib\nfor name in {modules!r}:\n    try:\n        importlib.import_module(name)\n"
            f"    except ImportError:\n        pass\n{hello}"
        )
        seconds: dict[str, list[float]] = {"one line": [], "the same imports": [], "sentviz": []}
        for _ in range(5):
            seconds["one line"].append(first_text(playwright, "line.py", Path(folder)))
            seconds["the same imports"].append(first_text(playwright, "imports.py", Path(folder)))
            seconds["sentviz"].append(first_text(playwright, "app/main.py", ROOT))
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    say(f"cold start to first text, {len(modules)} modules of others", middle, "the same imports", "one line")


@contextmanager
def served(path: str = "") -> Iterator[Any]:
    """A page of the app in a fresh browser; the app's own process goes with it."""
    from playwright.sync_api import sync_playwright

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.headless=true", f"--server.port={port}"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with sync_playwright() as playwright:
            page = playwright.chromium.launch(executable_path=find_browser(), args=QUIET.split()).new_page()
            page.set_default_timeout(120_000)
            time.sleep(4)
            page.goto(f"http://127.0.0.1:{port}/{path}")
            yield page
    finally:
        server.terminate()
        server.wait()


def enter() -> None:
    """Measure the time from Enter to the new answer and to its complete picture in the browser, with torch loaded, and the library's share
    of it: for a small run, and for the runs on bases that are installed.
    """
    for name in ("sst2/ndt-unit-2", "english/minilm", "english/mpnet"):
        if isinstance(runs().get(name), Run):
            _enter(name)


def _enter(name: str) -> None:
    from sentviz import load
    from sentviz.analysis.explain import explained

    model = load(name)
    seconds: dict[str, list[float]] = {"trace alone": [], "trace and word removal": [], "Enter to answer": [], "Enter to picture": []}
    texts: list[str] = []
    with served(f"?run={name}") as page:
        page.wait_for_selector(".st-key-canvas .word")
        for i in range(12):
            text = f"Take {i}: {'the jokes are fine, and I loved it' if i % 2 else 'the jokes are dull, and the ending is a let-down'}."
            box = page.get_by_placeholder("Type a sentence and press Enter")
            box.fill(text)
            before = page.locator("h3").first.inner_text()
            begin = time.perf_counter()
            box.press("Enter")
            page.wait_for_function("before => !['', before].includes(document.querySelector('h3')?.innerText ?? '')", arg=before)
            seconds["Enter to answer"].append(time.perf_counter() - begin)
            page.locator(".st-key-canvas .word").get_by_text(f"{i}", exact=True).first.wait_for()
            seconds["Enter to picture"].append(time.perf_counter() - begin)
            texts.append(text)
            time.sleep(0.7)
    for text in texts:
        begin = time.perf_counter()
        trace = model.trace(text)
        seconds["trace alone"].append(time.perf_counter() - begin)
        explained(model, trace)
        seconds["trace and word removal"].append(time.perf_counter() - begin)
    say(f"a new sentence, {name}", {key: statistics.median(values[2:]) for key, values in seconds.items()}, "trace alone")


CLAUSES = (
    "The soup was warm and the bread was fresh",
    "the waiter smiled, but he forgot our drinks",
    "nobody at the table was disappointed by the fish",
    "I would not call the dessert a success",
    "the room is small, loud and a little dark",
    "we paid less than we had expected",
)


def reason() -> None:
    """Measure the time from Enter to the answer and to its reason for long texts on english/mpnet, beside the library's own shares."""
    from sentviz import load
    from sentviz.analysis.explain import quickly_supported
    from sentviz.analysis.explain.headline import chance_of
    from sentviz.runs.store import find

    run = find("english/mpnet")
    model = load(run)
    chance = chance_of(model, run)
    with served(f"?run={run.name}") as page:
        page.wait_for_selector(".st-key-canvas .word")
        time.sleep(8)
        for clauses in (10, 40):
            seconds: dict[str, list[float]] = {"trace alone": [], "trace and reason": [], "Enter to answer": [], "Enter to reason": []}
            for i in range(3):
                text = f"Visit {i}: " + ", ".join(CLAUSES[(i + k) % len(CLAUSES)] for k in range(clauses)) + "."
                begin = time.perf_counter()
                trace = model.trace(text)
                seconds["trace alone"].append(time.perf_counter() - begin)
                quickly_supported(model, trace, chance)
                seconds["trace and reason"].append(time.perf_counter() - begin)
                begin = time.perf_counter()
                box = page.locator(".st-key-sentence :is(input, textarea)").first
                box.fill(text)
                box.press("Control+Enter" if box.evaluate("box => box.tagName") == "TEXTAREA" else "Enter")
                page.locator(".st-key-canvas .word").get_by_text(str(i), exact=True).first.wait_for()
                seconds["Enter to answer"].append(time.perf_counter() - begin)
                page.locator(".st-key-why-reason").get_by_text(re.compile("Without|No single")).first.wait_for()
                seconds["Enter to reason"].append(time.perf_counter() - begin)
            medians = {key: statistics.median(values) for key, values in seconds.items()}
            say(f"the reason for a text of {len(trace.tokens)} tokens, {run.name}", medians, "trace alone")


HEADING = ".st-key-drawer-head h5"


def to_rows(page: Any, act: Callable[[], object]) -> float:
    """Seconds from an act of the pointer until the drawer says other rows."""
    before = page.locator(HEADING).inner_text()
    begin = time.perf_counter()
    act()
    page.wait_for_function(f"before => document.querySelector('{HEADING}')?.innerText !== before", arg=before)
    took = time.perf_counter() - begin
    time.sleep(1.5)
    return took


def select() -> None:
    """Measure the time from a click on a cell of 10,234 rows until its rows are shown, compared with the library's mask alone."""
    from sentviz.analysis.testset.rows import stored
    from sentviz.analysis.testset.slices import Slice
    from sentviz.runs.store import find

    rows, part = stored(find("sst2/ndt-unit-2")), Slice.parse("cell=1,0")
    assert part is not None
    seconds: dict[str, list[float]] = {"library alone": [], "a cell": []}
    for _ in range(9):
        begin = time.perf_counter()
        part.mask(rows)
        seconds["library alone"].append(time.perf_counter() - begin)
    with served("confusion") as page:
        page.wait_for_selector(".st-key-plot-matrix .main-svg")
        page.wait_for_selector(HEADING)
        time.sleep(3)
        for i in range(10):
            box = page.locator(".st-key-plot-matrix .nsewdrag").first.bounding_box()
            x, y = box["x"] + (0.2 + 0.5 * (i % 2)) * box["width"], box["y"] + (0.7 - 0.5 * (i % 2)) * box["height"]
            seconds["a cell"].append(to_rows(page, lambda x=x, y=y: page.mouse.click(x, y)))
    say("from a selection to its rows", {name: statistics.median(values[1:]) for name, values in seconds.items()}, "library alone")
