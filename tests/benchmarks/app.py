"""What a visitor waits for: the first words on the screen, and the answer after Enter."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sentviz._browser import find_browser
from tests.benchmarks.timing import say
from tests.browser.conftest import QUIET, ROOT


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


def start() -> None:
    """Cold start to first text, against a one-line Streamlit app."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        Path(folder, "line.py").write_text("import streamlit as st\nst.markdown('hello')\n")
        seconds: dict[str, list[float]] = {"one line": [], "sentviz": []}
        for _ in range(5):
            seconds["one line"].append(first_text(playwright, "line.py", Path(folder)))
            seconds["sentviz"].append(first_text(playwright, "app/main.py", ROOT))
    say("cold start to first text", {name: statistics.median(values) for name, values in seconds.items()}, "one line")


def enter() -> None:
    """From Enter to the new answer in the browser, torch loaded, against the library's part of it."""
    from playwright.sync_api import sync_playwright

    from sentviz import load
    from sentviz.explain import explained

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.headless=true", f"--server.port={port}"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    model = load("sst2/ndt-unit-2")
    seconds: dict[str, list[float]] = {"library alone": [], "Enter to answer": []}
    texts: list[str] = []
    try:
        with sync_playwright() as playwright:
            page = playwright.chromium.launch(executable_path=find_browser(), args=QUIET.split()).new_page()
            time.sleep(4)
            page.goto(f"http://127.0.0.1:{port}")
            page.wait_for_selector(".st-key-figure-map .main-svg", timeout=60_000)
            for i in range(12):
                text = f"Take {i}: the jokes are fine, but {'the ending is a let-down' if i % 2 else 'I loved the ending'}."
                box = page.get_by_placeholder("Type a sentence and press Enter")
                box.fill(text)
                before = page.locator("h3").first.inner_text()
                begin = time.perf_counter()
                box.press("Enter")
                page.wait_for_function("before => document.querySelector('h3')?.innerText !== before", arg=before)
                seconds["Enter to answer"].append(time.perf_counter() - begin)
                texts.append(text)
                time.sleep(0.7)
    finally:
        server.terminate()
        server.wait()
    for text in texts:
        begin = time.perf_counter()
        explained(model, model.trace(text))
        seconds["library alone"].append(time.perf_counter() - begin)
    say("a new sentence", {name: statistics.median(values[2:]) for name, values in seconds.items()}, "library alone")
