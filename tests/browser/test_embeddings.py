"""The page Embeddings in a real Chromium: a line around points, their rows, and points that travel."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.browser.visitor import FILM, HEADING, chosen, film, settled, surround

pytestmark = pytest.mark.usefixtures("moving")

PLOT = ".st-key-figure-embedding"


def opened(page: Any, server: str, query: str = "") -> Any:
    """Open the page, by default with a run of two layers, and return the area that takes the pointer."""
    run = "" if "run=" in query else "run=english/ndt-unit-2&"
    page.goto(f"{server}/embeddings?{run}{query.removeprefix('?')}")
    canvas = page.locator(f"{PLOT} canvas")
    canvas.wait_for(timeout=120_000)
    page.wait_for_selector(HEADING, timeout=120_000)
    settled(page)
    return canvas


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
def test_points_travel_from_layer_to_layer(page: Any, server: str) -> None:
    """Playing draws many pictures between the layers; the link has the layer at which the points rest."""
    opened(page, server, "?over=demo&depth=0")
    page.wait_for_function(f"document.querySelector('{HEADING}') && !document.querySelector('[class*=st-key-stop-]')", timeout=200_000)
    page.locator(f"{PLOT} .play").wait_for(timeout=60_000)
    settled(page)
    assert page.locator(f"{PLOT} .marks [aria-current]").inner_text() == "embedding"
    page.evaluate(FILM, "points")
    page.locator(f"{PLOT} .play").click()
    page.wait_for_function("!new URL(location).searchParams.has('depth')", timeout=60_000)
    frames = film(page)
    between = frames[(frames[:, 0] % 1) > 0]
    assert len(set(between[:, 0])) >= 8 and len(set(between[:, 1])) >= 8
    assert page.locator(f"{PLOT} .title").inner_text().endswith("layer 2, the last")
