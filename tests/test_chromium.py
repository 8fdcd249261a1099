"""A stub answers in place of Chromium: it records what a picture, a page, a sheet and a film ask of the browser."""

import asyncio
import io
import json
import math
import sys
import threading
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sentviz.browser.particles import animation_html
from sentviz.charts.scene import Scene
from sentviz.errors import InputError, SentvizError
from sentviz.export import animation, chromium
from sentviz.export.animation import animation_gif, film_gif, moments
from sentviz.export.chromium import Browser, find_browser
from tests.charts import clustered, decided, stub
from tests.kit import refused

PRINTED = b"/CreationDate (D:20260101120000+00) node00000041 /ModDate (D:20260101120001) node00000007 node00000041"
FIXED = b"/CreationDate (D:19700101000000+00) node00000001 /ModDate (D:19700101000000) node00000000 node00000001"
ROOM = 0.98 * 273 * 96 / 25.4
OPENED = [
    ("tab", "about:blank"),
    ("Page.getFrameTree", {}),
    ("Page.setDocumentContent", {"frameId": "frame 1", "html": "DOCUMENT"}),
    ("Runtime.evaluate", {"expression": "document.fonts.ready.then(() => 0)", "awaitPromise": True}),
]
CLOSED = ("close tab", "tab 1")
PAPER = {"printBackground": True, "preferCSSPageSize": True, "marginTop": 0, "marginBottom": 0, "marginLeft": 0, "marginRight": 0}
SVG = "<!DOCTYPE html><style>@page { size: 30px 20.5px; margin: 0 } body { margin: 0 } body > svg { display: block }</style><svg>영</svg>"


class KaleidoError(Exception):
    """An error of a figure."""


class Chromium:
    """A browser with tabs that notes what it is asked, and gives the answers of a table; an answer that is an error is raised."""

    def __init__(self, **answers: Any) -> None:
        self.commands: list[Any] = []
        self.answers = {"Page.getFrameTree": {"frameTree": {"frame": {"id": "frame 1"}}}, "Page.printToPDF": self.data(PRINTED)} | answers

    @staticmethod
    def data(content: bytes) -> dict[str, str]:
        return {"data": b64encode(content).decode()}

    async def answer(self, name: str, *commands: Any) -> Any:
        self.commands.append((name, *commands))
        answer = self.answers.get(name, {})
        answer = answer.pop(0) if isinstance(answer, list) else answer
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def create_tab(self, address: str) -> Any:
        await self.answer("tab", address)
        return SimpleNamespace(target_id="tab 1", send_command=self.command)

    async def command(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        answer = await self.answer(method, params)
        return answer if "error" in answer else {"result": answer}

    async def close_tab(self, name: str) -> None:
        self.commands.append(("close tab", name))

    async def calc_fig(self, figure: Any, opts: Any) -> bytes:
        return bytes(await self.answer("figure", figure, opts))

    async def open(self) -> None:
        await self.answer("open")

    async def close(self) -> None:
        await self.answer("close")


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Browser, Chromium]]]:
    """Return a function that starts a browser, with a Chromium of certain answers."""
    monkeypatch.setenv("BROWSER_PATH", sys.executable)
    browsers = []

    def start(**answers: Any) -> tuple[Browser, Chromium]:
        chrome = Chromium(**answers)
        kaleido = SimpleNamespace(Kaleido=lambda **options: chrome.commands.append(("start", options)) or chrome)
        monkeypatch.setitem(sys.modules, "kaleido", kaleido)
        monkeypatch.setitem(sys.modules, "kaleido.errors", SimpleNamespace(KaleidoError=KaleidoError))
        browsers.append(browser := Browser())
        return browser, chrome

    yield start
    for browser in browsers:
        browser.close()
        if browser._loop:
            browser._loop.call_soon_threadsafe(browser._loop.stop)


START = ("start", {"path": sys.executable, "n": 1, "mathjax": False, "proxy_server": "http://127.0.0.1:9", "timeout": 90.0})
POSED = ("Runtime.evaluate", {"expression": "pose(0.0)"}), ("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
RECORDED = [
    ("Emulation.setDeviceMetricsOverride", {"width": 30, "height": 20, "deviceScaleFactor": 1, "mobile": False}),
    ("Runtime.evaluate", {"expression": "document.body.classList.add('recorded')"}),
    *POSED,
    ("Runtime.evaluate", {"expression": "pose(0.5)"}),
    POSED[1],
]
CLIP = {"x": 0, "y": 0, "width": 30, "height": 20.5, "scale": 3}
SHOT = ("Page.captureScreenshot", {"format": "png", "clip": CLIP, "captureBeyondViewport": True})
HEIGHT = "document.querySelector('main').getBoundingClientRect().height"
SHEET = [("Emulation.setEmulatedMedia", {"media": "print"}), ("Runtime.evaluate", {"expression": HEIGHT})]


def high(pixels: float) -> list[Any]:
    return [{}, {"result": {"value": pixels}}]


WORKS: dict[str, tuple[str, dict[str, Any], Callable[[Browser], Any], list[Any], Any]] = {
    "PDF": (SVG, {}, lambda of: of.paint("<svg>영</svg>".encode(), "pdf", 30, 20.5),
            [("Page.printToPDF", PAPER | {"pageRanges": "1"})], FIXED),
    "PNG": (SVG, {"Page.captureScreenshot": Chromium.data(b"a")}, lambda of: of.paint("<svg>영</svg>".encode(), "png", 30, 20.5, 3),
            [SHOT], b"a"),
    "high sheet": ("<main>", {"Runtime.evaluate": high(2 * ROOM)}, lambda of: of.print_sheet("<main>"),
                   [*SHEET, ("Page.printToPDF", PAPER | {"scale": pytest.approx(0.5)})], FIXED),
    "very high sheet": ("<main>", {"Runtime.evaluate": high(20 * ROOM)}, lambda of: of.print_sheet("<main>"),
                        [*SHEET, ("Page.printToPDF", PAPER | {"scale": 0.1})], FIXED),
    "low sheet": ("<main>", {"Runtime.evaluate": high(ROOM / 2)}, lambda of: of.print_sheet("<main>"),
                  [*SHEET, ("Page.printToPDF", PAPER | {"scale": 1.0})], FIXED),
    "film": ("<p>", {"Page.captureScreenshot": [Chromium.data(b"a"), Chromium.data(b"b")]},
             lambda of: of.record("<p>", [0.0, 0.5], 30, 20), RECORDED, [b"a", b"b"]),
}  # fmt: skip


@pytest.mark.parametrize("work", WORKS)
def test_a_tab_is_opened_asked_and_closed(work: str, asking: Callable[..., tuple[Browser, Chromium]]) -> None:
    document, answers, ask, commands, result = WORKS[work]
    browser, chrome = asking(**answers)
    assert ask(browser) == result
    opened = json.loads(json.dumps(OPENED).replace("DOCUMENT", document.replace('"', '\\"')))
    assert chrome.commands == [START, ("open",), *map(tuple, opened), *commands, CLOSED]


def test_errors_of_pages_and_figures_are_told_and_a_lost_browser_is_started_again(
    asking: Callable[..., tuple[Browser, Chromium]], monkeypatch: pytest.MonkeyPatch
) -> None:
    picture: Any = ({"data": []}, {"format": "svg", "width": 9})
    browser, chrome = asking(figure=[b"<svg/>", OSError("gone"), b"<svg/>"])
    assert [browser.render(*picture) for _ in "ab"] == [b"<svg/>"] * 2
    drawn = ("figure", *picture)
    assert chrome.commands == [START, ("open",), drawn, drawn, ("close",), START, ("open",), drawn]
    assert browser._loop is not None and browser._idle_timer is not None
    assert browser._idle_timer.when() - browser._loop.time() == pytest.approx(180, abs=5)
    assert [each.name for each in threading.enumerate() if each.daemon].count("sentviz-browser") >= 1
    browser.close()
    assert chrome.commands[-1] == ("close",) and browser._kaleido is None
    browser, chrome = asking(figure=[KaleidoError("no such trace")])
    refused(SentvizError, "^This figure cannot be drawn as svg: no such trace$", browser.render, *picture)
    assert chrome.commands == [START, ("open",), drawn]
    for error, reason in ((OSError("gone\nnow"), "gone"), (TimeoutError(), "TimeoutError")):
        browser, chrome = asking(figure=[error, error])
        refused(SentvizError, f"^The browser at {sys.executable} could not make the picture \\({reason}\\).$", browser.render, *picture)
        assert chrome.commands == [START, ("open",), drawn, ("close",)] * 2
    thrown = {"exceptionDetails": {}, "result": {"description": "pose is wrong"}}
    for answers, reason in (
        ({"Runtime.evaluate": [{}, {}, thrown] * 2}, "pose is wrong"),
        ({"Runtime.evaluate": [{}, {}, thrown | {"result": {}}] * 2}, "the page cannot be drawn"),
        ({"Page.setDocumentContent": {"error": {"message": "no frame"}}}, "no frame"),
        ({"Page.setDocumentContent": {"error": {}}}, "Page.setDocumentContent"),
    ):
        browser, chrome = asking(**answers)
        refused(SentvizError, f"could not make the picture \\({reason}\\)", browser.record, "<p>", [0.0], 3, 2)
        assert chrome.commands.count(CLOSED) == 2 and chrome.commands[-1] == ("close",)
    monkeypatch.setenv("BROWSER_PATH", "/no/such/browser")
    refused(SentvizError, "^PNG, SVG and PDF need Chrome or Chromium. Install one or set BROWSER_PATH", Browser().render, *picture)
    refused(SentvizError, "^GIF needs Chrome or Chromium on the machine", Browser().record, "<p>", [0.0], 3, 2)


def test_a_slow_picture_ends_and_the_browser_is_found_by_its_name(
    asking: Callable[..., tuple[Browser, Chromium]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chromium, "_TIMEOUT", 0.01)
    browser, chrome = asking()
    monkeypatch.setattr(chrome, "calc_fig", lambda figure, opts: asyncio.sleep(9))
    refused(SentvizError, "could not make the picture \\(TimeoutError\\)", browser.render, {}, {"format": "png"})
    monkeypatch.delenv("BROWSER_PATH")
    names: list[str] = []
    there = {"msedge": "/usr/bin/msedge"}
    monkeypatch.setattr("shutil.which", lambda name: names.append(name) or there.get(name))
    assert find_browser() == "/usr/bin/msedge"
    chromes = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
    assert names == [*chromes, "microsoft-edge", "msedge"]
    there.clear()
    names.clear()
    monkeypatch.setattr("choreographer.browsers.chromium.Chromium.find_browser", lambda skip_local: None if skip_local else names[-1:])
    assert find_browser() == "['brave-browser']" and len(names) == 8
    monkeypatch.setattr("choreographer.browsers.chromium.Chromium.find_browser", lambda skip_local: None)
    assert find_browser() is None


# ---- films


def scene(layers: int) -> Scene:
    return decided(clustered(4, layers=layers))


def test_a_film_shows_each_state_with_its_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[Any] = []

    def record(page: str, times: list[float], width: int, height: int) -> list[bytes]:
        commands.append((page, times, width, height))
        files = [io.BytesIO() for _ in times]
        for place, file in enumerate(files):
            picture = Image.new("RGB", (width // 10, height // 10), (10, 200, 30))
            picture.paste((250, 8 * place, 0), (0, 0, 9, 9))
            picture.save(file, "PNG")
        return [file.getvalue() for file in files]

    monkeypatch.setattr(animation, "BROWSER", stub(record=record))
    drawn_scene = scene(3)
    every = [0.0] * 3
    for layer in range(3):
        every += [layer + tween / 8 for tween in range(1, 9)] + [layer + 1.0] * 3
    every += [3.0] * 24
    assert moments(drawn_scene.layers + 1, 3) == every and moments(40, 1) == moments(25, 1) and moments(25, 1)[-1] == 24
    distinct = sorted(set(every))
    with Image.open(io.BytesIO(animation_gif(drawn_scene, width=200, height=150, theme="dark"))) as film:
        assert commands == [(animation_html(drawn_scene, theme="dark"), distinct, 200, 150)]
        assert film.size == (20, 15) and film.info["loop"] == 0
        at, drawn = 0, []
        for frame in range(film.n_frames):  # equal pictures in a row are one longer picture
            film.seek(frame)
            drawn += [film.convert("RGB").getpixel((4, 4))] * round(film.info["duration"] / 60)
        for time in every:
            assert np.abs(np.subtract(drawn[at], (250, 8 * distinct.index(time), 0))).max() <= 8
            at += 1
        assert at == len(drawn) and film.convert("RGB").getpixel((15, 12)) == (10, 200, 30)
    film = stub(seen=stub(epochs=[1, 2, 3]))
    monkeypatch.setattr(animation, "through_html", lambda of, theme: f"{theme} {of is film}")
    film_gif(film, width=480, height=240)
    assert commands[-1] == ("light True", sorted(set(moments(3, 6))), 480, 240)
    for make, of, wide, high in ((animation_gif, drawn_scene, 200, 150), (film_gif, film, 480, 240)):
        words = f"A GIF of this view can be {wide} to 1,600 pixels wide and {high} to 1,200 high."
        for size in ((wide - 1, high), (wide, high - 1), (1601, high), (wide, 1201)):
            refused(InputError, words, make, of, width=size[0], height=size[1])
    animation_gif(scene(1), width=1600, height=1200)


def test_colours_count_as_the_root_of_their_pixels() -> None:
    pictures = [Image.fromarray(np.random.default_rng(k).integers(0, 8, (30, 40, 3)).astype(np.uint8) * 30) for k in range(2)]
    counts = Counter(tuple(colour) for picture in pictures for colour in np.asarray(picture).reshape(-1, 3).tolist())
    row = [colour for colour in sorted(counts) for _ in range(math.ceil(math.sqrt(counts[colour])))]
    slow = Image.fromarray(np.array([row], dtype=np.uint8))
    palette = animation._palette(pictures)
    wanted = slow.quantize(255, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    assert palette.getpalette() == wanted.getpalette() and palette.tobytes() == wanted.tobytes()
