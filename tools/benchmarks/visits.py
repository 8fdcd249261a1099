"""Measure what a visitor waits for on the first page, and what a visit costs, beside another checkout.

`python -m tools.benchmarks visits FOLDER [MODEL ...]`. Each checkout serves its own app, in a fresh process each time, the two in turn.
Cold is the first tab of a fresh server, warm a new visitor of the same server. Words: the sentence's words are drawn. Reason: its sentence
stands there. Settled: nothing is computed any longer, the heads are known. JavaScript and the server's memory are counted at the end of a
visit to the pages of the journeys with all three models.
"""

from __future__ import annotations

import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.browser.conftest import QUIET, SCREEN, find_browser
from tests.browser.visitor import SETTLED

MODELS = ("sst2/ndt-unit-2", "english/minilm", "english/mpnet")
JOURNEYS = ("", "attention", "confusion", "embeddings", "heads", "lambdas", "hardmax", "findings", "compare")  # both checkouts know them
PAGES = "pages"
UNTIL_SETTLED = SETTLED.replace("60_000", "300_000")  # a busy machine measures the heads of a large model for minutes
TURNS = 3
SENTENCES = 3
WORD, REASON = ".st-key-canvas .word", ".st-key-why-reason"


def visits() -> None:
    """Print the median of each number here and in the checkout that the next argument names, and their ratio.

    Further arguments are the models to visit, or "pages"; by default all.
    """
    roots = [Path.cwd(), *(Path(each).resolve() for each in sys.argv[2:3])]
    for name in sys.argv[3:] or (*MODELS, PAGES):
        _print(name, *([_journeys(root) for root in roots] if name == PAGES else _interleaved([(root, f"?run={name}") for root in roots])))


def _interleaved(visits: list[tuple[Path, str]]) -> list[dict[str, float]]:
    seconds: list[dict[str, list[float]]] = [{} for _ in visits]
    for _ in range(TURNS):
        for times, (root, address) in zip(seconds, visits, strict=True):
            for key, values in _seconds(root, address).items():
                times.setdefault(key, []).extend(values)
    return [{key: statistics.median(values) for key, values in times.items()} for times in seconds]


def _print(title: str, own: dict[str, float], *rivals: dict[str, float]) -> None:
    print(f"\n{title}")  # noqa: T201
    for key, value in own.items():
        beside = "".join(f"{before[key]:10.2f}{value / before[key]:8.2f} x" for before in rivals)
        print(f"  {key:<28}{value:10.2f}{beside}", flush=True)  # noqa: T201


@contextmanager
def _served(root: Path) -> Iterator[tuple[str, subprocess.Popen[bytes], Any]]:
    """A fresh server of a checkout, and a browser."""
    from playwright.sync_api import sync_playwright

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.headless=true", f"--server.port={port}"]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, stdout=quiet, stderr=quiet)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=QUIET.split())
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/", server, browser
    finally:
        server.terminate()
        server.wait()


def _seconds(root: Path, address: str) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}

    def await_page(when: str, page: Any, begin: float) -> None:
        for what, wait in (
            ("words", lambda: page.wait_for_selector(WORD)),
            ("reason", lambda: page.locator(REASON).get_by_text(re.compile("Without|With|No single|No edit")).first.wait_for()),
            ("settled", lambda: page.evaluate(UNTIL_SETTLED)),
        ):
            wait()
            times.setdefault(f"{when}: {what}, s", []).append(time.perf_counter() - begin)

    with _served(root) as (url, _, browser):
        for when in ("cold", "warm"):
            page = browser.new_context(viewport=SCREEN).new_page()
            page.set_default_timeout(300_000)
            begin = time.perf_counter()
            page.goto(url + address)
            await_page(when, page, begin)
        for i in range(SENTENCES):
            text = f"Take {i}: {'the jokes are fine, and I loved it' if i % 2 else 'the jokes are dull, and the ending is a let-down'}."
            box = page.locator(".st-key-sentence :is(input, textarea)").first
            box.fill(text)
            begin = time.perf_counter()
            box.press("Control+Enter" if box.evaluate("box => box.tagName") == "TEXTAREA" else "Enter")
            page.locator(WORD).get_by_text(str(i), exact=True).first.wait_for()
            await_page("Enter", page, begin)
    return times


def _journeys(root: Path) -> dict[str, float]:
    scripts: list[float] = []
    with _served(root) as (url, server, browser):
        page = browser.new_context(viewport=SCREEN).new_page()
        page.set_default_timeout(300_000)
        watch = page.context.new_cdp_session(page)
        watch.send("Network.enable")
        kinds: dict[str, str] = {}
        watch.on("Network.responseReceived", lambda event: kinds.update({event["requestId"]: event["type"]}))
        watch.on(
            "Network.loadingFinished",
            lambda event: scripts.append(event["encodedDataLength"]) if kinds.get(event["requestId"]) == "Script" else None,
        )
        for name in MODELS:
            for place in JOURNEYS:
                page.goto(f"{url}{place}?run={name}")
                page.locator("[data-testid=stMain] [data-testid=stElementContainer]").first.wait_for()
                page.evaluate(UNTIL_SETTLED)
                if not place and name == MODELS[0]:
                    first = sum(scripts)
        status = Path(f"/proc/{server.pid}/status").read_text()
        pages = {key: int(re.findall(rf"{key}:\s+(\d+)", status)[0]) / 1024 for key in ("VmRSS", "VmHWM")}
    return {
        "JavaScript, first page, MB": first / 2**20,
        "JavaScript, all pages, MB": sum(scripts) / 2**20,
        "memory after, MB": pages["VmRSS"],
        "memory at most, MB": pages["VmHWM"],
    }
