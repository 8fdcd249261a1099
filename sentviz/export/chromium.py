"""One quiet Chromium for the whole process, which turns Plotly figures into pictures, and SVGs into sheets of paper.

Starting it takes about two seconds and a picture 0.2, so it is kept for a while. It lives on the event loop of a thread
of its own and may be used from any thread. It has no network: its proxy is a port where nobody listens.
"""

from __future__ import annotations

import asyncio
import atexit
import base64
import contextlib
import os
import shutil
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

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
_PATIENCE = 90.0  # seconds for one picture, the start included
_NOWHERE = "http://127.0.0.1:9"


def find_browser() -> str | None:
    """Path of Chrome or a relative: the environment variable BROWSER_PATH, then PATH, then where installers put it."""
    chosen = os.environ.get("BROWSER_PATH")
    if chosen:
        return chosen if Path(chosen).is_file() else shutil.which(chosen)
    for name in _NAMES:
        if path := shutil.which(name):
            return path
    from choreographer.browsers.chromium import Chromium

    found = Chromium.find_browser(skip_local=False)
    return str(found) if found else None


class Browser:
    """Renders one figure at a time; starts on first use, again after a crash, and stops when idle or at exit."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()  # Kaleido's tab takes one figure at a time
        self._kaleido: Any = None
        self._sleep: asyncio.TimerHandle | None = None

    def render(self, figure: dict[str, Any], options: dict[str, Any]) -> bytes:
        """The picture of a Plotly figure as bytes. Options: format, png or svg, width, height (pixels), scale.

        Raises:
            SentvizError: there is no browser, or it cannot draw this figure.
        """
        return self._ask(lambda browser: browser.calc_fig(figure, opts=options), options["format"])

    def paint(self, svg: bytes, format: str, width: float, height: float, scale: float = 1) -> bytes:
        """An SVG with its fonts inside, of a size in CSS pixels (96 an inch), as one page of PDF or as PNG.

        Args:
            scale: pixels of the PNG per CSS pixel.
        Raises:
            SentvizError: there is no browser, or it cannot draw it.
        """
        return self._ask(lambda browser: _painted(browser, svg.decode(), format, width, height, scale), format)

    def _ask(self, work: Callable[[Any], Awaitable[Any]], format: str) -> bytes:
        path = find_browser()
        if path is None:
            raise SentvizError(
                "PNG, SVG and PDF need Chrome or Chromium on this machine (or its path in BROWSER_PATH); HTML and CSV work without."
            )
        return asyncio.run_coroutine_threadsafe(self._work(path, work, format), self._running_loop()).result()

    def close(self) -> None:
        """Stop the browser; the next picture starts another one."""
        if self._loop is not None and self._kaleido is not None:
            with contextlib.suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(self._retire(), self._loop).result(15)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="sentviz-browser", daemon=True).start()
            return self._loop

    async def _work(self, path: str, work: Callable[[Any], Awaitable[Any]], format: str) -> bytes:
        from kaleido.errors import KaleidoError

        async with self._turn:
            if self._sleep is not None:
                self._sleep.cancel()
            try:
                for last_try in (False, True):
                    try:
                        return await asyncio.wait_for(self._do(path, work), _PATIENCE)
                    except KaleidoError as error:  # the figure's fault: another browser would not help
                        raise SentvizError(f"This figure cannot be drawn as {format}: {error}") from error
                    except Exception as error:
                        await self._drop()
                        if last_try:
                            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                            raise SentvizError(f"The browser at {path} could not make the picture ({reason}).") from error
                raise AssertionError("unreachable")
            finally:
                self._sleep = asyncio.get_running_loop().call_later(_IDLE, lambda: asyncio.ensure_future(self._retire()))

    async def _do(self, path: str, work: Callable[[Any], Awaitable[Any]]) -> bytes:
        import kaleido

        if self._kaleido is None:
            browser = kaleido.Kaleido(path=path, n=1, mathjax=False, proxy_server=_NOWHERE, timeout=_PATIENCE)
            self._kaleido = browser
            await browser.open()
            atexit.unregister(self.close)
            atexit.register(self.close)  # after the browser's own temporary folders, so that it runs before their clean-up
        return bytes(await work(self._kaleido))

    async def _retire(self) -> None:
        async with self._turn:
            await self._drop()

    async def _drop(self) -> None:
        browser, self._kaleido = self._kaleido, None
        if browser is not None:
            with contextlib.suppress(Exception):  # it is gone already, which is all we want
                await asyncio.wait_for(browser.close(), 10)


async def _painted(browser: Any, svg: str, format: str, width: float, height: float, scale: float) -> bytes:
    """The SVG in a tab of its own, once its fonts are read."""
    tab = await browser.create_tab("about:blank")
    try:

        async def ask(method: str, **params: Any) -> dict[str, Any]:
            answer = await tab.send_command(method, params=params)
            if "error" in answer:
                raise RuntimeError(answer["error"].get("message", method))
            return dict(answer["result"])

        frame = (await ask("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        page = f"@page {{ size: {width}px {height}px; margin: 0 }} body {{ margin: 0 }} body > svg {{ display: block }}"
        await ask("Page.setDocumentContent", frameId=frame, html=f"<!DOCTYPE html><style>{page}</style>{svg}")
        await ask("Runtime.evaluate", expression="document.fonts.ready.then(() => 0)", awaitPromise=True)
        if format == "pdf":
            none = {f"margin{side}": 0 for side in ("Top", "Bottom", "Left", "Right")}
            made = await ask("Page.printToPDF", printBackground=True, preferCSSPageSize=True, pageRanges="1", **none)
        else:
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
            made = await ask("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(made["data"])
    finally:
        await browser.close_tab(tab.target_id)
