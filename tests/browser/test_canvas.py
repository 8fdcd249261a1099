"""Pictures that hear the pointer in a real Chromium: the linked picture, the long map, gates, clouds of words, and a million points."""

import re
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from sentviz.runs.store import Run
from sentviz.serving.corpus.engines import score
from sentviz.serving.corpus.plane import MAX_SAMPLE, POINT, server
from tests.browser.conftest import listening
from tests.browser.visitor import settled

pytestmark = pytest.mark.exhaustive
PLACE = ".st-key-canvas"
SONG = "A song begins, and the garden stays dull. "
LONG_MAP = ".st-key-halves-map"
CLOUD = ".st-key-figure-cloud"
BOXES = """selector => [...document.querySelectorAll(selector + ' .annotation-text')].map(node => {
  const box = node.getBoundingClientRect();
  return {text: node.textContent, size: parseFloat(getComputedStyle(node).fontSize), left: box.left, right: box.right,
    middle: (box.top + box.bottom) / 2};
})"""
WAIT = 30_000  # milliseconds


def opened(page: Any, address: str) -> Any:
    """Open a page and return its picture once the heads are measured."""
    page.goto(address)
    picture = page.locator(PLACE)
    picture.locator(".lead .number").first.wait_for(timeout=60_000)
    settled(page)
    return picture


def large_map(picture: Any) -> str:
    frame = "async c => { for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame); return c.toDataURL() }"
    return str(picture.locator("canvas.map").evaluate(frame))


def messages(page: Any) -> list[int]:
    """Return a list that grows with every message to the server."""
    sent: list[int] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: sent.append(len(data))))
    return sent


def test_pointing_lights_everything_at_once_and_clicks_pin(page: Any, server: str) -> None:
    sent = messages(page)
    picture = opened(page, f"{server}/?run=sst2%2Fndt-unit-2&whatif=open")
    words, readout, answer = (picture.locator(f".{name}") for name in ("word", "readout", "answer"))
    word = words.filter(has_text="delight")
    dark, requests = large_map(picture), len(sent)
    word.hover()
    assert re.match("“delight” attends most to .* Without it: positive 39\u00a0%", readout.inner_text())
    assert "without it 39\u00a0%" in answer.inner_text() and answer.locator(".part:visible").count() == 1
    assert large_map(picture) != dark
    widths = words.locator(".takes").evaluate_all("nodes => nodes.map(node => parseFloat(node.style.width))")
    assert max(widths) == 100 and min(widths) < 50
    picture.locator(".map-title").hover()
    assert "without it" not in answer.inner_text() and large_map(picture) == dark
    assert len(sent) == requests, "pointing asked the server"
    word.click()
    page.wait_for_url(re.compile("token="))
    settled(page)
    requests = len(sent)
    picture.locator(".map-title").hover()
    assert word.get_attribute("aria-pressed") == "true" and "without it 39\u00a0%" in answer.inner_text()
    fold = picture.locator(".others")
    assert re.match(r"\d others?: (none|\d) alone changes? the answer", fold.inner_text())
    assert not picture.locator(".tile").first.is_visible()
    fold.click()
    tile = picture.locator(".tile").nth(6)
    assert tile.inner_text() == "H3"
    word.hover()
    assert picture.locator(".tile.most").count() == 1
    title = picture.locator(".map-title").inner_text()
    tile.hover()
    assert picture.locator(".map-title").inner_text() == "Effective attention, layer 2, head 3" != title
    assert readout.inner_text().startswith("Layer 2, head 3")
    box = picture.locator("canvas.map").bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.6 * box["height"])
    assert re.match("“.*” attends to “.*” with weight .* ≈ .*A₂", readout.inner_text()) and words.and_(page.locator(".lit")).count()
    assert len(sent) == requests, "pointing asked the server"
    tile.click()
    page.wait_for_url(re.compile("layer=2&head=3"))
    settled(page)
    assert tile.get_attribute("aria-pressed") == "true" and word.get_attribute("aria-pressed") == "true"
    word = opened(page, page.url).locator(".word").filter(has_text="delight")
    assert word.get_attribute("aria-pressed") == "true", "the link has the pinned word"
    word.click()
    page.wait_for_url(lambda url: "token=" not in url)
    settled(page)
    page.go_back()
    page.wait_for_url(re.compile("token="))
    page.locator(".word[aria-pressed=true]").filter(has_text="delight").wait_for()
    assert page.outside == []


def opened_map(page: Any, server: str, text: str, **query: str) -> Any:
    """Open the long map of a text and return its canvas."""
    page.goto(f"{server}/attention?{urlencode({'run': 'sst2/ndt-unit-2', 'look': 'long', 'text': text, **query})}")
    canvas = page.locator(f"{LONG_MAP} canvas")
    canvas.wait_for(timeout=60_000)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=30_000)
    return canvas


def point(page: Any, canvas: Any, x: float, y: float) -> None:
    """Move the pointer to a place on the canvas, in shares 0..1 of width and height."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.wait_for_timeout(300)  # a page that scrolls past does not zoom
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])


def pixels(canvas: Any) -> str:
    return str(canvas.evaluate("async c => { await new Promise(requestAnimationFrame); return c.toDataURL() }"))


def readout(page: Any) -> str:
    return str(page.locator(f"{LONG_MAP} .readout").inner_text())


def arithmetic(page: Any, heading: str) -> str:
    """Return the text of the arithmetic once its heading begins with `heading`."""
    page.wait_for_function(f"wanted => document.querySelector('{LONG_MAP} h5')?.innerText.startsWith(wanted)", arg=heading, timeout=30_000)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=30_000)
    return str(page.locator(LONG_MAP).inner_text())


def test_point_zoom_search_and_click(page: Any, server: str) -> None:
    canvas = opened_map(page, server, SONG * 18, run="sst2/ndt-unit-2", head="2")
    whole = pixels(canvas)
    point(page, canvas, 0.5, 0.5)
    assert "→" in readout(page) and "≈" in readout(page)
    page.mouse.wheel(0, -500)
    page.wait_for_timeout(200)
    zoomed = pixels(canvas)
    assert zoomed != whole
    page.get_by_role("button", name="Whole map").click()
    assert page.get_by_role("button", name="Zoom out").is_disabled()
    box = page.get_by_placeholder("Find in the text")
    box.fill("GARDEN")
    assert page.locator(f"{LONG_MAP} .found").inner_text() == "1 of 18"
    box.press("Enter")
    box.press("Enter")
    box.press("Shift+Enter")
    assert page.locator(f"{LONG_MAP} .found").inner_text() == "2 of 18"
    assert page.get_by_role("button", name="Zoom out").is_enabled()
    box.fill("zebra")
    assert page.locator(f"{LONG_MAP} .found").inner_text() == "not found"
    point(page, canvas, 0.4, 0.4)
    query, _, rest = readout(page).partition(" → ")
    page.mouse.down()
    page.mouse.up()
    status = arithmetic(page, query.partition(" (")[0])
    assert rest.partition(" (")[0] in status
    for part in ("q₁·k₁ = ", "/ √16", "softmax over", "A₁ + "):
        assert part in status
    assert page.locator(".st-key-figure-smoother .main-svg").count() and page.outside == []


def test_token_text_is_only_ever_text(page: Any, server: str) -> None:
    hostile = "<img src=x onerror='window.hacked=true'> <script>window.hacked=true</script> &lt; </script> $x$ **b** שלום"
    canvas = opened_map(page, server, hostile)
    page.get_by_placeholder("Find in the text").fill("<")
    assert "of" in page.locator(f"{LONG_MAP} .found").inner_text()
    canvas.focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    arithmetic(page, "“<”")
    assert page.evaluate("window.hacked") is None and page.locator("img[src='x']").count() == 0 and page.outside == []


def test_clicks_shut_and_open_a_gate(page: Any, server: str) -> None:
    query = urlencode({"run": "sst5_trees/sentiformer", "text": "a warm garden, and not a dull song", "look": "gates"})
    page.goto(f"{server}/attention?{query}")
    page.wait_for_selector(".main-svg, .st-key-canvas .word", timeout=120_000)
    settled(page)
    assert page.get_by_text("as changed").count() == 0
    shares = []
    for state in ("shut", "open"):
        cell = page.locator(".st-key-plot-gates .bars .point path").nth(2 * 6)
        box = cell.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_url(re.compile(rf"change=gate(%3A|:)3(%3D|=){int(state == 'open')}"), timeout=30_000)
        settled(page)
        assert page.locator(f".st-key-gates-{state}").inner_text().count("3 · warm") == 1
        shares.append(page.get_by_text("as changed").inner_text())
    assert len(set(shares)) == 2
    box = page.locator(".st-key-plot-gates .bars .point path").nth(2 * 6).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("!location.search.includes('change=')", timeout=30_000)
    settled(page)
    assert page.get_by_text("as changed").count() == 0 and page.outside == []


def opened_words(page: Any, server: str, **query: str) -> None:
    page.goto(
        f"{server}/words?" + "&".join(f"{name}={value}" for name, value in {"run": "sst2/ndt-unit-2", "over": "demo", **query}.items())
    )
    page.wait_for_selector(f"{CLOUD} .annotation-text", timeout=120_000)
    settled(page)


def test_a_click_on_a_word_shows_its_rows_and_a_second_click_all(page: Any, server: str) -> None:
    opened_words(page, server, words="count")
    word = page.evaluate(BOXES, CLOUD)[1]  # the first is a heading
    for chosen in (True, False):
        spot = next(box for box in page.evaluate(BOXES, CLOUD) if box["text"] == word["text"])
        page.mouse.move((spot["left"] + spot["right"]) / 2, spot["middle"])
        page.wait_for_timeout(400)
        page.mouse.click((spot["left"] + spot["right"]) / 2, spot["middle"])
        page.wait_for_url(lambda url, chosen=chosen: ("slice=word" in url) == chosen, timeout=60_000)
        settled(page)
        if chosen:
            assert f"“{word['text']}”" in page.locator(".st-key-drawer-head").inner_text()
            page.locator(f"{CLOUD} .annotation rect.bg[style*='stroke-width: 2px']").wait_for(timeout=60_000)
    assert page.outside == []


@pytest.mark.parametrize("width", [1440, 800])
def test_no_word_is_drawn_over_another(page: Any, server: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    opened_words(page, server, words="count", stops="keep")
    boxes = page.evaluate(BOXES, CLOUD)
    assert len(boxes) > 40
    for i, box in enumerate(boxes):
        for earlier in boxes[:i]:
            apart = box["left"] >= earlier["right"] - 1 or earlier["left"] >= box["right"] - 1
            assert apart or abs(box["middle"] - earlier["middle"]) >= 0.5 * (box["size"] + earlier["size"]) - 1, (box, earlier)
    page.set_viewport_size({"width": 1440, "height": 900})


def test_a_million_points_are_seen_without_sending_them(disk: Any, tiny_run: Path, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    (tmp_path / "a.txt").write_text("a warm song")
    scored = score(Run.open(tiny_run), [tmp_path / "a.txt"], tmp_path / "out")
    points = np.zeros(1_000_000, dtype=POINT)
    points["x"], points["y"] = np.random.default_rng(0).normal(size=(2, len(points)))
    points[-1]["x"] = points[-1]["y"] = 0
    sizes: dict[str, int] = {}
    wrong: list[str] = []
    with (
        server(points, scored) as serving,
        listening(
            disk,
            response=lambda answer: sizes.update({answer.url: int(answer.headers.get("content-length", 0))}),
            pageerror=lambda error: wrong.append(str(error)),
        ),
    ):
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        disk.goto(f"http://127.0.0.1:{serving.server_port}")
        summary = disk.locator(".said")
        expect(summary).to_have_text(re.compile("^20,000 of the 1,000,000"), timeout=WAIT)
        assert sum(sizes.values()) < 300_000 and len(sizes) == 2
        disk.locator("canvas").focus()
        for _ in range(20):
            disk.keyboard.press("+")
        expect(summary).to_have_text(re.compile(r"^([0-9,]+) of the \1 points in view are shown\.$"), timeout=WAIT)
        assert 0 < int(summary.text_content().split()[0].replace(",", "")) < MAX_SAMPLE
        disk.evaluate("window.requestAnimationFrame = () => 0")  # a click is understood before the next picture is drawn
        for _ in range(20):
            disk.keyboard.press("-")
        expect(summary).to_have_text(re.compile("^20,000 of the 1,000,000"), timeout=WAIT)
        disk.keyboard.press("0")
        box = disk.locator("canvas").bounding_box()
        disk.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(disk.locator(".row")).to_have_text(re.compile("^a.txt, row 1: "), timeout=WAIT)
        assert wrong == []
        serving.shutdown()
