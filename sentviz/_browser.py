"""One quiet Chromium for the whole process, which turns Plotly figures into pictures.

Starting it takes about two seconds and a picture 0.2, so it is kept for a while. It lives on the event loop of a thread
of its own and may be used from any thread. It has no network: its proxy is a port where nobody listens.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import shutil
import threading
from pathlib import Path
from typing import Any

from sentviz.errors import SentvizError

__all__ = ["Browser", "find_browser"]

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
        """The picture as bytes. Options: format, width, height (pixels), scale.

        Raises:
            SentvizError: there is no browser, or it cannot draw this figure.
        """
        path = find_browser()
        if path is None:
            raise SentvizError(
                "PNG, SVG and PDF need Chrome or Chromium on this machine (or its path in BROWSER_PATH); HTML and CSV work without."
            )
        future = asyncio.run_coroutine_threadsafe(self._render(path, figure, options), self._running_loop())
        return future.result()

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

    async def _render(self, path: str, figure: dict[str, Any], options: dict[str, Any]) -> bytes:
        from kaleido.errors import KaleidoError

        async with self._turn:
            if self._sleep is not None:
                self._sleep.cancel()
            try:
                for last_try in (False, True):
                    try:
                        return await asyncio.wait_for(self._draw(path, figure, options), _PATIENCE)
                    except KaleidoError as error:  # the figure's fault: another browser would not help
                        raise SentvizError(f"This figure cannot be drawn as {options['format']}: {error}") from error
                    except Exception as error:
                        await self._drop()
                        if last_try:
                            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                            raise SentvizError(f"The browser at {path} could not make the picture ({reason}).") from error
                raise AssertionError("unreachable")
            finally:
                self._sleep = asyncio.get_running_loop().call_later(_IDLE, lambda: asyncio.ensure_future(self._retire()))

    async def _draw(self, path: str, figure: dict[str, Any], options: dict[str, Any]) -> bytes:
        import kaleido

        if self._kaleido is None:
            browser = kaleido.Kaleido(path=path, n=1, mathjax=False, proxy_server=_NOWHERE, timeout=_PATIENCE)
            self._kaleido = browser
            await browser.open()
            atexit.unregister(self.close)
            atexit.register(self.close)  # after the browser's own temporary folders, so that it runs before their clean-up
        return bytes(await self._kaleido.calc_fig(figure, opts=options))

    async def _retire(self) -> None:
        async with self._turn:
            await self._drop()

    async def _drop(self) -> None:
        browser, self._kaleido = self._kaleido, None
        if browser is not None:
            with contextlib.suppress(Exception):  # it is gone already, which is all we want
                await asyncio.wait_for(browser.close(), 10)
