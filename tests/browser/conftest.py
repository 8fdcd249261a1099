"""The app in a real Chromium."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sentviz._browser import find_browser

ROOT = Path(__file__).parents[2]
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run"
    " --disable-background-networking --disable-component-update --disable-sync"
)


@contextmanager
def serving(**environment: str) -> Iterator[str]:
    """The address of the app, started as the README says; only with its own runs unless the environment names others."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "streamlit",
            "run",
            "app/main.py",
            "--server.headless=true",
            f"--server.port={port}",
            "--server.address=127.0.0.1",
        ],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if k != "SENTVIZ_RUNS"} | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
                break
            except urllib.error.HTTPError:  # it stands, and is known by another name
                break
            except OSError:
                assert process.poll() is None, "the app did not start"
                time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture(scope="package")
def server() -> Iterator[str]:
    """The address of the app, one for all files of this folder."""
    with serving() as address:
        yield address


@pytest.fixture(scope="package")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A fresh profile of the machine's Chromium; closed before other tests run, as Playwright keeps an event loop running.

    It asks for less motion, as a user may: a third of its work was to draw what waits. Tests of motion use `moving`.
    """
    path = find_browser()
    if path is None:
        pytest.skip("no Chrome or Chromium on this machine")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")),
            executable_path=path,
            args=QUIET.split(),
            viewport={"width": 1440, "height": 900},
            accept_downloads=True,
            reduced_motion="reduce",
        )
        yield context
        context.close()


@pytest.fixture
def offline(chromium: Any) -> Iterator[Any]:
    """The browser without a network."""
    chromium.set_offline(True)
    yield chromium
    chromium.set_offline(False)


@pytest.fixture
def page(chromium: Any, server: str) -> Iterator[Any]:
    """A new tab that counts requests to anywhere but the app."""
    tab = chromium.new_page()
    tab.outside = []
    tab.on(
        "request",
        lambda r: tab.outside.append(r.url) if not r.url.startswith((server, "data:", "blob:", server.replace("http", "ws"))) else None,
    )
    yield tab
    tab.close()


@pytest.fixture
def moving(page: Any) -> None:
    """The tab of a user who likes motion."""
    page.emulate_media(reduced_motion="no-preference")
