"""The app in a real Chromium."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sentviz.export.chromium import find_browser

ROOT = Path(__file__).parents[2]
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run"
    " --disable-background-networking --disable-component-update --disable-sync"
)
SCREEN: Any = {"width": 1440, "height": 900}


@contextmanager
def serving(**environment: str) -> Iterator[str]:
    """Start the app as the README says, and yield its address. It has only its own runs unless the environment names others."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    options = ["--server.headless=true", f"--server.port={port}", "--server.address=127.0.0.1"]
    variables = {k: v for k, v in os.environ.items() if k != "SENTVIZ_RUNS"} | environment
    command = [sys.executable, "-m", "streamlit", "run", "app/main.py", *options]
    process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def go(page: Any, place: str, view: str = "") -> int:
    """Go to a place by the bar, and to one of its views; return the number of clicks."""
    page.mouse.move(720, 880)  # away from a view, whose help covers the bar
    page.locator(".st-key-places").get_by_role("link", name=place, exact=True).click()
    if view:
        page.locator(".st-key-tabs").get_by_role("link", name=view, exact=True).click()
    return 1 + bool(view)


@pytest.fixture(scope="package")
def server() -> Iterator[str]:
    """Start the app once for all files of this folder; yield its address."""
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
            viewport=SCREEN,
            accept_downloads=True,
            reduced_motion="reduce",
        )
        yield context
        context.close()


@pytest.fixture(scope="package")
def tab(chromium: Any) -> Iterator[Any]:
    """Yield one tab for all visits, because loading the app again takes a third of the time that a new tab takes."""
    tab = chromium.new_page()
    yield tab
    tab.close()


@pytest.fixture(scope="package")
def disk(chromium: Any) -> Iterator[Any]:
    """Yield another tab for pages opened from disk, within `offline`."""
    tab = chromium.new_page()
    yield tab
    tab.close()


@contextmanager
def listening(tab: Any, **handlers: Callable[[Any], None]) -> Iterator[None]:
    """The tab in front, as a new one would be, and heard for a while. What it shows stays: an empty page would end what it has compiled."""
    tab.bring_to_front()
    tab.set_viewport_size(SCREEN)
    tab.emulate_media(media="null", reduced_motion="reduce")
    for event, handler in handlers.items():
        tab.on(event, handler)
    try:
        yield
    finally:
        for event, handler in handlers.items():
            tab.remove_listener(event, handler)


@contextmanager
def offline(tab: Any) -> Iterator[tuple[list[str], list[str]]]:
    """Take the network from a tab; yield the requested addresses, and errors and warnings of the page."""
    requests: list[str] = []
    wrong: list[str] = []
    with listening(
        tab,
        request=lambda request: requests.append(request.url),
        pageerror=lambda error: wrong.append(str(error)),
        console=lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None,
    ):
        tab.context.set_offline(True)
        try:
            yield requests, wrong
        finally:
            tab.context.set_offline(False)


@pytest.fixture
def page(tab: Any, server: str) -> Iterator[Any]:
    """Yield the tab of a visit, which counts requests to other servers."""
    tab.outside = []
    inside = (server, "data:", "blob:", server.replace("http", "ws"))

    def heard(request: Any) -> None:
        """Record a request to another server by a page of this visit; the page before may still look for its own server."""
        if request.frame.url.startswith(server) and not request.url.startswith(inside):
            tab.outside.append(request.url)

    with listening(tab, request=heard):
        yield tab


@pytest.fixture
def moving(page: Any) -> None:
    """Emulate a user without a preference for reduced motion."""
    page.emulate_media(reduced_motion="no-preference")
