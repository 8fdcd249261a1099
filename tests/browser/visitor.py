"""A person at the first page, with a mouse or with a keyboard alone."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.browser.conftest import go

SENTENCE = "The waiter was kind, but the soup was cold and I would not come back."
KOREAN = "배우들은 훌륭했지만 이야기가 너무 지루했어요."
STEPS = 160  # presses of Tab from one element to another, at most
IN_FOCUS = """([pattern, role]) => {
  let node = document.activeElement
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement
  if (!node || node === document.body) return false
  const label = node.id && document.querySelector(`label[for="${CSS.escape(node.id)}"]`)
  const words = [  // not those of a region
    node.getAttribute("aria-label"), label?.innerText, node.innerText?.length < 300 && node.innerText, node.placeholder, node.title,
  ].filter(Boolean).join(" ")
  const own = node.getAttribute("role") || node.type || node.localName
  return new RegExp(pattern, "i").test(words) && (!role || own === role || node.localName === role)
}"""
SETTLED = """() => new Promise((done, late) => {
  const begin = performance.now()
  let busy = begin
  const look = () => {
    const now = performance.now()
    if (!document.querySelector('[data-test-script-state=notRunning]')) busy = now
    if (now - busy > 300) done()
    else if (now - begin > 60_000) late(Error('the script runs on and on'))
    else setTimeout(look, 20)
  }
  look()
})"""
FILES = {"verdict": "Answer", "strip": "Words", "map": "Map"}  # figures of one menu
HEADING = ".st-key-drawer-head h5"
FILM = """name => {
  const root = [...document.querySelectorAll('*')].map(node => node.shadowRoot).find(root => root?.querySelector(`.${name}`)) ?? document
  const slider = root.querySelector('.time'), canvas = root.querySelector('canvas.points') ?? root.querySelector('canvas')
  const pen = new OffscreenCanvas(200, 150).getContext('2d', { willReadFrequently: true }), film = (window.film = [])
  const frame = () => {
    pen.clearRect(0, 0, 200, 150)
    pen.drawImage(canvas, 0, 0, 200, 150)
    const { data } = pen.getImageData(0, 0, 200, 150)
    film.push([Number(slider.value), data.reduce((sum, part) => (sum * 31 + part) % 1000003, 0)])
    window.filming = requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
}"""


def answer(page: Any) -> str:
    return str(page.locator("h3").first.inner_text())


def ask(page: Any, sentence: str) -> str:
    """Type a sentence, press Enter, and wait for another answer: the first one loads the model."""
    before = answer(page)
    box = page.get_by_placeholder("Type a sentence and press Enter")
    box.fill(sentence)
    box.press("Enter")
    page.wait_for_function("before => !['', before].includes(document.querySelector('h3')?.innerText ?? '')", arg=before, timeout=120_000)
    settled(page)
    return answer(page)


def settled(page: Any) -> None:
    """Wait until the server has finished drawing: no script has run for 0.3 s."""
    page.evaluate(SETTLED)


def download(page: Any, figure: str, format: str) -> bytes:
    """Return the bytes of a file from the export menu of a figure."""
    settled(page)
    if figure in FILES:
        page.locator(".st-key-exports button").click()
        page.locator(".st-key-export-what").get_by_text(FILES[figure], exact=True).click()
        settled(page)
    else:
        page.locator(f".st-key-figure-{figure}").get_by_role("button").click()
    with page.expect_download(timeout=60_000) as download:
        page.locator(f".st-key-export-{figure}-{format} button").click()
    page.keyboard.press("Escape")
    return Path(download.value.path()).read_bytes()


def surround(page: Any, area: Any, corners: list[tuple[float, float]]) -> None:
    """Draw a line through places given as shares of the picture."""
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*at[0])
    page.mouse.down()
    for place in [*at[1:], at[0]]:
        page.mouse.move(*place, steps=30)
    page.mouse.up()


def chosen(page: Any) -> int:
    """Return the number of rows in the list, once a slice applies."""
    page.wait_for_function(f"document.querySelector('{HEADING}')?.innerText.includes('outline')", timeout=60_000)
    return int(re.search(r"([\d,]+) of", page.locator(HEADING).inner_text())[1].replace(",", ""))


def cell(page: Any, row: int, column: int, figure: str = "matrix") -> None:
    """Click a cell of a two by two figure, off its centre."""
    settled(page)
    page.locator(f".st-key-plot-{figure}").scroll_into_view_if_needed()
    box = page.locator(f".st-key-plot-{figure} .nsewdrag").first.bounding_box()
    page.mouse.click(box["x"] + (0.2 + 0.5 * column) * box["width"], box["y"] + (0.2 + 0.5 * row) * box["height"])
    settled(page)


def page_yours(page: Any, address: str, bring: str) -> None:
    """Open the first page and go to Bring yours by one click in the bar; with a wish or "Lines", choose it."""
    page.goto(address)
    page.wait_for_selector(".st-key-places a", timeout=120_000)
    go(page, "Bring yours")
    page.wait_for_selector("[data-testid=stFileUploader]", timeout=120_000)
    if bring != "A file":  # the page opens with a file
        page.get_by_text(bring, exact=True).click()
    settled(page)


def film(page: Any) -> Any:
    """Stop what `FILM` began to record; return the slider's value and a number of the picture for each frame, (frames, 2)."""
    return np.array(page.evaluate("() => { cancelAnimationFrame(window.filming); return window.film }"))


@dataclass
class Visitor:
    """A person at the first page, with a count of clicks; a sentence that is typed counts as one.

    Attributes:
        has_mouse: whether a sentence is typed into its box at once; otherwise Tab leads there.
    """

    page: Any
    has_mouse: bool = True
    clicks: int = 0

    def arrive(self, server: str) -> None:
        self.page.set_default_timeout(120_000 if self.has_mouse else 60_000)
        self.page.goto(server)
        self.page.wait_for_selector(".st-key-canvas .word")
        settled(self.page)

    def click(self, place: Any) -> None:
        place.click()
        self.clicks += 1

    def open(self, place: str, view: str = "") -> None:
        """Open a place by the bar, and one of its views: one click each."""
        self.clicks += go(self.page, place, view)
        self.page.wait_for_timeout(500)
        settled(self.page)

    def ask(self, sentence: str) -> str:
        """Type a sentence and return its answer."""
        self.clicks += 1
        if self.has_mouse:
            return ask(self.page, sentence)
        before = answer(self.page)
        self.reach("Type a sentence")
        self.press("Control+a")
        self.type(sentence)
        self.press("Enter")
        self.page.wait_for_function("before => !['', before].includes(document.querySelector('h3')?.innerText ?? '')", arg=before)
        settled(self.page)
        return answer(self.page)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, words: str) -> None:
        self.page.keyboard.type(words)

    def reach(self, pattern: str, role: str = "", *, back: bool = False) -> None:
        """Press Tab until an element has the focus whose words match a pattern."""
        for _ in range(STEPS):
            if self.page.evaluate(IN_FOCUS, [pattern, role]):
                return
            self.press("Shift+Tab" if back else "Tab")
            self.page.wait_for_timeout(15)
        raise AssertionError(f"no element {pattern!r} {role} within {STEPS} presses of Tab")

    def find(self, words: str, address: str) -> None:
        self.press("Control+k")
        self.page.keyboard.insert_text(words)
        self.page.wait_for_timeout(600)
        self.press("Enter")
        self.page.wait_for_url(re.compile(address))
        self.page.wait_for_timeout(500)
        settled(self.page)

    def choose(self, name: str, option: str) -> None:
        """Choose an option of a box by typing it."""
        self.reach(name, "combobox")
        self.press("Control+a")
        self.type(option)
        self.page.wait_for_timeout(500)
        self.press("Enter")

    def download(self, button: str) -> bytes:
        """Return the bytes of the file that a button gives, which Tab reaches."""
        self.reach(button)
        with self.page.expect_download() as download:
            self.press("Enter")
        return Path(download.value.path()).read_bytes()
