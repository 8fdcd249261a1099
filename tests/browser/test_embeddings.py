"""The page Embeddings in a real Chromium: a line around points, their rows, points that travel, and the picture as files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import pytest

from sentviz.data.demo import load
from tests.browser.conftest import offline
from tests.browser.visitor import settled

pytestmark = pytest.mark.usefixtures("moving")

PLOT = ".st-key-figure-embedding"
HEADING = ".st-key-drawer-head h5"
SHOT = """
const root = [...document.querySelectorAll('*')].map(node => node.shadowRoot).find(root => root?.querySelector('.points')) || document
const canvas = root.querySelector('canvas')
const pen = new OffscreenCanvas(200, 150).getContext('2d', { willReadFrequently: true })
/** Where the middle of each colour lies, red and blue, in pixels of 200 x 150. */
const shot = () => {
  pen.clearRect(0, 0, 200, 150)
  pen.drawImage(canvas, 0, 0, 200, 150)
  const { data } = pen.getImageData(0, 0, 200, 150)
  const sums = [[0, 0, 0], [0, 0, 0]]
  for (let i = 0; i < data.length; i += 4) {
    const [r, , b, a] = data.subarray(i, i + 4)
    if (a < 40 || Math.abs(r - b) < 60) continue
    const sum = sums[r > b ? 0 : 1], weight = a / 255
    sum[0] += weight
    sum[1] += weight * ((i / 4) % 200)
    sum[2] += weight * Math.floor(i / 800)
  }
  return sums.flatMap(([n, x, y]) => [x / n, y / n])
}
"""
FILM = f"""() => {{
  {SHOT}
  const film = (window.film = [])
  const frame = () => {{
    film.push([Number(root.querySelector('.time').value), ...shot()])
    window.filming = requestAnimationFrame(frame)
  }}
  frame()
}}"""


def opened(page: Any, server: str, query: str = "") -> Any:
    """Open the page, by default with a run of two layers, and return the area that takes the pointer."""
    run = "" if "run=" in query else "run=english/ndt-unit-2&"
    page.goto(f"{server}/embeddings?{run}{query.removeprefix('?')}")
    canvas = page.locator(f"{PLOT} canvas")
    canvas.wait_for(timeout=120_000)
    page.wait_for_selector(HEADING, timeout=120_000)
    settled(page)
    return canvas


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


def film(page: Any) -> Any:
    """Stop the camera; return the slider's layer and the centres of two colours per frame, (frames, 5)."""
    pictures = page.evaluate("() => { cancelAnimationFrame(window.filming); return window.film }")
    return np.array([[np.nan if value is None else value for value in row] for row in pictures], dtype=float)


def legend(page: Any) -> int:
    """Return the number of points that are not faded, by the picture's legend."""
    counts = page.locator(f"{PLOT} .legend button").all_inner_texts()
    return sum(int(re.search(r"\(([\d,]+)\)", text)[1].replace(",", "")) for text in counts if not text.startswith("wrong"))


@pytest.mark.exhaustive
def test_a_lasso_shows_its_rows_and_the_link_shows_them_again(page: Any, server: str) -> None:
    """A lasso around the left half lists its rows, puts a short outline into the link, and a new visit to the link shows the same rows."""
    area = opened(page, server)
    surround(page, area, [(0.02, 0.02), (0.5, 0.02), (0.45, 0.5), (0.5, 0.98), (0.02, 0.98)])
    at_once = legend(page)
    n = chosen(page)
    assert 100 < n < 1000
    assert abs(n - at_once) <= 5  # points that the browser marks before Python answers with a simpler outline
    page.wait_for_url(re.compile("slice="), timeout=30_000)
    part = unquote(parse_qs(urlsplit(page.url).query)["slice"][0])
    assert part.startswith("lasso=pca.2:")
    assert 5 <= part.count(";") + 1 <= 24
    page.wait_for_selector(f"{PLOT} .outline", timeout=30_000)
    opened(page, server, "?" + urlsplit(page.url).query)
    assert chosen(page) == n
    assert legend(page) == n
    assert page.locator(f"{PLOT} .outline").count() == 1
    assert page.outside == []


@pytest.mark.exhaustive
def test_a_box_shows_its_rows_and_a_double_click_all(page: Any, server: str) -> None:
    area = opened(page, server)
    page.locator(PLOT).get_by_role("radio", name="box").check()
    box = area.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.02 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.98 * box["width"], box["y"] + 0.98 * box["height"], steps=20)
    page.mouse.up()
    assert 100 < chosen(page) < 1000
    page.wait_for_url(re.compile("slice="), timeout=30_000)
    assert unquote(parse_qs(urlsplit(page.url).query)["slice"][0]).count(";") == 3  # a box has four corners
    page.mouse.dblclick(box["x"] + 0.02 * box["width"], box["y"] + 0.5 * box["height"])
    page.wait_for_function(f"!document.querySelector('{HEADING}')?.innerText.includes('outline')", timeout=60_000)
    assert "slice" not in page.url


@pytest.mark.exhaustive
def test_a_click_on_a_point_shows_its_row(page: Any, server: str) -> None:
    """The card under the pointer names the row of the point, and a click lists that row."""
    area = opened(page, server, "?over=demo")
    area.scroll_into_view_if_needed()
    at = page.evaluate(
        f"""() => {{
          {SHOT}
          shot()
          const {{ data }} = pen.getImageData(0, 0, 200, 150)
          const first = [...Array(200 * 150).keys()].find(i => data[4 * i + 3] > 150)
          return [((first % 200) + 0.5) / 200, (Math.floor(first / 200) + 0.5) / 150]
        }}"""
    )
    box = area.bounding_box()
    where = (box["x"] + at[0] * box["width"], box["y"] + at[1] * box["height"])
    page.mouse.move(where[0] + 40, where[1] + 40)
    page.mouse.move(*where)
    tip = page.locator(f"{PLOT} .tip")
    tip.wait_for(timeout=10_000)
    words = tip.locator("span").inner_text()
    assert words in {str(text) for text in load()["text"]}
    page.mouse.click(*where)
    assert 1 <= chosen(page) <= 5


@pytest.mark.parametrize("method", ["pca", "tsne"])
@pytest.mark.exhaustive
def test_points_travel_from_layer_to_layer(page: Any, server: str, method: str) -> None:
    """Playing moves the centres of both colours in many small steps to the places that a new visit shows; the link holds the layer."""
    opened(page, server, f"?over=demo&method={method}&depth=0")
    page.wait_for_function(f"document.querySelector('{HEADING}') && !document.querySelector('[class*=st-key-stop-]')", timeout=200_000)
    page.locator(f"{PLOT} .play").wait_for(timeout=60_000)
    settled(page)
    assert page.locator(f"{PLOT} .marks [aria-current]").inner_text() == "embedding"
    page.evaluate(FILM)
    page.locator(f"{PLOT} .play").click()
    page.wait_for_function("!new URL(location).searchParams.has('depth')", timeout=60_000)
    page.wait_for_timeout(500)
    frames = film(page)
    moving = frames[(frames[:, 0] > 0) & (frames[:, 0] < 2)]
    assert len(np.unique(moving[:, 0])) >= 8
    spread = np.nanmax(frames[:, 1:], axis=0) - np.nanmin(frames[:, 1:], axis=0)
    which = 1 + int(spread.argmax())  # the coordinate that moves most
    steps = np.abs(np.diff(moving[np.isfinite(moving[:, which]), which]))
    assert spread.max() > 5
    assert (steps > 0).sum() >= 8
    assert steps.max() < 0.6 * spread.max()
    assert page.locator(f"{PLOT} .title").inner_text().endswith("layer 2, the last")
    opened(page, server, f"?over=demo&method={method}")
    page.evaluate(FILM)
    page.locator(f"{PLOT} .whole").click()
    page.wait_for_timeout(500)
    fresh = film(page)
    fresh = fresh[np.isfinite(fresh).all(axis=1)][-1]
    end = frames[np.isfinite(frames).all(axis=1)][-1]
    np.testing.assert_allclose(end[1:], fresh[1:], atol=2)
    assert page.outside == []


@pytest.mark.exhaustive
def test_the_slider_moves_points_under_the_hand_and_rests_at_a_layer(page: Any, server: str) -> None:
    """Between two layers the picture says so; released, the slider moves to the nearer layer, and numbers and link follow."""
    opened(page, server, "?over=demo")
    slider = page.locator(f"{PLOT} .time")
    slider.wait_for(timeout=60_000)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] - 8, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.35 * box["width"], y, steps=15)
    assert page.locator(f"{PLOT} .title").inner_text() == "PCA, from embedding to layer 1"
    assert "depth" not in page.url
    page.mouse.up()
    page.wait_for_url(re.compile("depth=1"), timeout=30_000)
    page.wait_for_function(f"document.querySelector('{PLOT}').innerText.includes('Rotated and scaled')", timeout=30_000)
    assert page.locator(f"{PLOT} .title").inner_text() == "PCA, layer 1"
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile("depth=0"), timeout=30_000)


@pytest.mark.exhaustive
def test_a_choice_travels_with_its_points(page: Any, server: str) -> None:
    """Points chosen in the last layer stay chosen in lower layers; the outline stays in the layer where it was drawn."""
    area = opened(page, server, "?over=demo")
    surround(page, area, [(0.02, 0.02), (0.5, 0.02), (0.5, 0.98), (0.02, 0.98)])
    n = chosen(page)
    page.locator(f"{PLOT} .marks button").first.click()
    page.wait_for_url(re.compile("depth=0"), timeout=30_000)
    page.wait_for_function(f"!document.querySelector('{PLOT} .outline')", timeout=30_000)
    assert chosen(page) == n
    assert legend(page) == n


@pytest.mark.exhaustive
def test_three_dimensions_turn(page: Any, server: str) -> None:
    area = opened(page, server, "?over=demo&dims=3")
    page.evaluate(FILM)
    page.locator(f"{PLOT} .modes").wait_for(state="hidden")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.6 * box["height"], steps=20)
    page.mouse.up()
    page.wait_for_timeout(500)
    frames = film(page)
    assert np.ptp(frames[np.isfinite(frames).all(axis=1), 1:], axis=0).max() > 3
    assert "slice" not in page.url


@pytest.mark.exhaustive
def test_the_picture_leaves_as_vectors(page: Any, server: str) -> None:
    """SVG and PDF hold the points as paths and the legend as text, and no image."""
    opened(page, server)
    page.locator(PLOT).get_by_role("button", name="Export").first.click()
    files = {}
    for format in ("svg", "pdf"):
        with page.expect_download(timeout=120_000) as download:
            page.locator(f".st-key-export-embedding-{format} button").click()
        files[format] = Path(download.value.path()).read_bytes()
    svg = files["svg"].decode()
    assert "<image" not in svg
    assert svg.count('class="point"') > 1000
    assert "positive (" in svg
    assert "digest" in svg
    assert files["pdf"].startswith(b"%PDF")
    assert b"/Subtype /Image" not in files["pdf"]
    assert b"/Subtype/Image" not in files["pdf"]


@pytest.mark.exhaustive
def test_a_page_of_its_own_plays_without_the_app(page: Any, server: str, disk: Any, tmp_path: Path) -> None:
    opened(page, server, "?over=demo")
    with page.expect_download(timeout=120_000) as download:
        page.get_by_role("button", name="HTML that moves").click()
    path = tmp_path / "points.html"
    path.write_bytes(Path(download.value.path()).read_bytes())
    with offline(disk) as (requests, wrong):
        disk.emulate_media(reduced_motion="no-preference")
        disk.goto(path.as_uri())
        disk.wait_for_selector(".title:has-text('layer 2, the last')")
        disk.evaluate(FILM)
        disk.locator(".play").click()
        disk.wait_for_selector(".title:has-text('PCA, from')", timeout=20_000)
        disk.wait_for_selector(".title:has-text('layer 2, the last')", timeout=20_000)
        frames = film(disk)
        assert np.ptp(frames[np.isfinite(frames).all(axis=1), 1:], axis=0).max() > 5
        assert "digest" in disk.locator(".about").inner_text()
        assert all(url.startswith(("file:", "data:", "blob:")) for url in requests)
        assert wrong == []
