"""Render Plotly figures as pictures, SVG as PDF or PNG, and moving views as films, with one Chromium that all threads of the process share.

Chromium takes about 2 s to start and 0.2 s for a picture, so it keeps running for a while. It runs on the event loop of a separate thread.
It has no network: its proxy is a port on which nothing listens.
"""

from __future__ import annotations

import asyncio
import atexit
import base64
import contextlib
import json
import os
import re
import shutil
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sentviz.errors import SentvizError

_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
    "brave-browser",
)
_IDLE = 180.0  # seconds until an unused browser is closed
_TIMEOUT = 90.0  # seconds for a picture, with the start of the browser
_NOWHERE = "http://127.0.0.1:9"
_DATE = re.compile(rb"(/(?:Creation|Mod)Date \(D:)\d{14}")
_NODE = re.compile(rb"\bnode\d{8}\b")  # names of the elements of a PDF, which Chromium numbers differently each time
NEEDS_BROWSER = "GIF needs Chrome or Chromium on the machine that runs sentviz; HTML does not."
_T = TypeVar("_T")
_Ask = Callable[..., Awaitable[dict[str, Any]]]
SHEET_MARGIN = 12  # millimetres


def find_browser() -> str | None:
    """Return the path of Chrome or a related browser; None if there is none.

    The environment variable BROWSER_PATH comes first, then the folders of PATH, then the usual installation folders.
    """
    chosen = os.environ.get("BROWSER_PATH")
    if chosen:
        return chosen if Path(chosen).is_file() else shutil.which(chosen)
    for name in _NAMES:
        if path := shutil.which(name):
            return path
    from choreographer.browsers.chromium import Chromium

    path = Chromium.find_browser(skip_local=False)
    return str(path) if path else None


class Browser:
    """Chromium that renders one figure at a time. It starts on first use and after a crash, and stops when idle or at exit. Thread-safe."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()  # Kaleido's tab takes one figure at a time
        self._kaleido: Any = None
        self._idle_timer: asyncio.TimerHandle | None = None

    def render(self, figure: dict[str, Any], options: dict[str, Any]) -> bytes:
        """Return the picture of a Plotly figure as bytes. Options: format (png or svg), width and height (pixels), scale.

        Raises:
            SentvizError: no browser is installed, or the browser cannot draw this figure.
        """

        async def draw(browser: Any) -> bytes:
            return bytes(await browser.calc_fig(figure, opts=options))

        return self._submit(draw, options["format"])

    def paint(self, svg: bytes, format: str, width: float, height: float, scale: float = 1) -> bytes:
        """Return an SVG, with embedded fonts and a size in CSS pixels (96 per inch), as a PDF page or as PNG.

        Args:
            scale: pixels of the PNG per CSS pixel.
        Raises:
            SentvizError: no browser is installed, or the browser cannot draw the SVG.
        """
        return self._submit(lambda browser: _draw_svg(browser, svg.decode(), format, width, height, scale), format)

    def print_sheet(self, document: str) -> bytes:
        """Return an HTML document without scripts as a PDF of one A4 page, with equal bytes for equal documents.

        The document has one element `main` and margins of `SHEET_MARGIN` in its style sheet; it is made smaller if it is too high.

        Raises:
            SentvizError: no browser is installed, or the browser cannot print.
        """
        return self._submit(lambda browser: _print_sheet(browser, document), "pdf")

    def record(self, document: str, times: Sequence[float], width: int, height: int) -> list[bytes]:
        """Return an HTML page as PNG pictures of a size in pixels, one for each time that its function `pose` paints.

        Raises:
            SentvizError: no browser is installed, or the browser cannot draw the page.
        """
        return self._submit(lambda browser: _record(browser, document, times, width, height), "GIF")

    def _submit(self, work: Callable[[Any], Awaitable[_T]], format: str) -> _T:
        path = find_browser()
        if path is None:
            words = "PNG, SVG and PDF need Chrome or Chromium. Install one or set BROWSER_PATH to its path, or export HTML or CSV."
            raise SentvizError(NEEDS_BROWSER if format == "GIF" else words)
        return asyncio.run_coroutine_threadsafe(self._work(path, work, format), self._running_loop()).result()

    def close(self) -> None:
        """Stop the browser. The next picture starts a new one."""
        if self._loop is not None and self._kaleido is not None:
            with contextlib.suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(15)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="sentviz-browser", daemon=True).start()
            return self._loop

    async def _work(self, path: str, work: Callable[[Any], Awaitable[_T]], format: str) -> _T:
        from kaleido.errors import KaleidoError

        async with self._lock:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            try:
                for last_try in (False, True):
                    try:
                        return await asyncio.wait_for(self._run(path, work), _TIMEOUT)
                    except KaleidoError as error:  # An error of the figure: a new browser would not help.
                        raise SentvizError(f"This figure cannot be drawn as {format}: {error}") from error
                    except Exception as error:
                        await self._drop()
                        if last_try:
                            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                            raise SentvizError(f"The browser at {path} could not make the picture ({reason}).") from error
                raise AssertionError("unreachable")
            finally:
                self._idle_timer = asyncio.get_running_loop().call_later(_IDLE, lambda: asyncio.ensure_future(self._close()))

    async def _run(self, path: str, work: Callable[[Any], Awaitable[_T]]) -> _T:
        import kaleido

        if self._kaleido is None:
            browser = kaleido.Kaleido(path=path, n=1, mathjax=False, proxy_server=_NOWHERE, timeout=_TIMEOUT)
            self._kaleido = browser
            await browser.open()
            atexit.unregister(self.close)
            atexit.register(self.close)  # Registered last, so that it runs before the clean-up of the browser's temporary folders.
        return await work(self._kaleido)

    async def _close(self) -> None:
        async with self._lock:
            await self._drop()

    async def _drop(self) -> None:
        browser, self._kaleido = self._kaleido, None
        if browser is not None:
            with contextlib.suppress(Exception):  # The browser may have ended already.
                await asyncio.wait_for(browser.close(), 10)


async def _draw_svg(browser: Any, svg: str, format: str, width: float, height: float, scale: float) -> bytes:
    """Return an SVG as a PDF page of its size, or as PNG."""
    page = f"@page {{ size: {width}px {height}px; margin: 0 }} body {{ margin: 0 }} body > svg {{ display: block }}"

    async def draw(ask: _Ask) -> bytes:
        if format == "pdf":
            return await _pdf(ask, pageRanges="1")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
        return _decoded(await ask("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True))

    return await _in_tab(browser, f"<!DOCTYPE html><style>{page}</style>{svg}", draw)


async def _print_sheet(browser: Any, document: str) -> bytes:
    """Return an HTML document without scripts as one page of A4, smaller if its element `main` is too high."""

    async def draw(ask: _Ask) -> bytes:
        await ask("Emulation.setEmulatedMedia", media="print")
        height = await ask("Runtime.evaluate", expression="document.querySelector('main').getBoundingClientRect().height")
        room = 0.98 * (297 - 2 * SHEET_MARGIN) * 96 / 25.4  # a little less than the page, because Chromium rounds lines
        return await _pdf(ask, scale=min(1.0, max(0.1, room / height["result"]["value"])))

    return await _in_tab(browser, document, draw)


async def _record(browser: Any, document: str, times: Sequence[float], width: int, height: int) -> list[bytes]:
    """Return a page as PNG pictures, one for each time."""

    async def draw(ask: _Ask) -> list[bytes]:
        await ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        await ask("Runtime.evaluate", expression="document.body.classList.add('recorded')")
        pictures = []
        for time in times:
            posed = await ask("Runtime.evaluate", expression=f"pose({json.dumps(time)})")
            if "exceptionDetails" in posed:
                raise RuntimeError(posed["result"].get("description", "the page cannot be drawn"))
            pictures.append(_decoded(await ask("Page.captureScreenshot", format="png", optimizeForSpeed=True)))
        return pictures

    return await _in_tab(browser, document, draw)


async def _pdf(ask: _Ask, **options: Any) -> bytes:
    """Print a tab in the size that its style sheet names. Date and names of elements are fixed, so that equal pages are equal files."""
    none = {f"margin{side}": 0 for side in ("Top", "Bottom", "Left", "Right")}
    printed = _decoded(await ask("Page.printToPDF", printBackground=True, preferCSSPageSize=True, **none, **options))
    numbers = {name: b"node%08d" % place for place, name in enumerate(sorted(set(_NODE.findall(printed))))}
    return _NODE.sub(lambda name: numbers[name[0]], _DATE.sub(rb"\g<1>19700101000000", printed))


async def _in_tab(browser: Any, document: str, draw: Callable[[_Ask], Awaitable[_T]]) -> _T:
    """Open a document in a new tab, wait for its fonts, and return what `draw` makes of it with the tab's commands."""
    tab = await browser.create_tab("about:blank")
    try:

        async def ask(method: str, **params: Any) -> dict[str, Any]:
            answer = await tab.send_command(method, params=params)
            if "error" in answer:
                raise RuntimeError(answer["error"].get("message", method))
            return dict(answer["result"])

        frame = (await ask("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        await ask("Page.setDocumentContent", frameId=frame, html=document)
        await ask("Runtime.evaluate", expression="document.fonts.ready.then(() => 0)", awaitPromise=True)
        return await draw(ask)
    finally:
        await browser.close_tab(tab.target_id)


def _decoded(answer: dict[str, Any]) -> bytes:
    return base64.b64decode(answer["data"])
