"""The page Embeddings in a real Chromium: a line around points, their rows, points that travel, and the picture as files."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import pytest

from tests.browser.visitor import HEADING, chosen, settled, surround

pytestmark = pytest.mark.usefixtures("moving")

PLOT = ".st-key-figure-embedding"
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
