"""The page Embeddings in a real Chromium: a line around points, their rows, and the picture as files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

pytestmark = pytest.mark.browser

PLOT = ".st-key-figure-embedding"


def opened(page: Any, server: str, query: str = "") -> Any:
    """The page with its picture; returns the area that takes the pointer."""
    page.goto(f"{server}/embeddings{query}")
    page.wait_for_selector(f"{PLOT} .main-svg", timeout=120_000)
    page.wait_for_selector(".st-key-drawer-head h5", timeout=120_000)
    area = page.locator(f"{PLOT} .nsewdrag").first
    area.wait_for(timeout=60_000)
    page.wait_for_timeout(500)
    return area


def surround(page: Any, area: Any, corners: list[tuple[float, float]]) -> None:
    """Draw a line through places given as shares of the picture."""
    box = area.bounding_box()
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*at[0])
    page.mouse.down()
    for place in [*at[1:], at[0]]:
        page.mouse.move(*place, steps=30)
    page.mouse.up()


def chosen(page: Any) -> int:
    """Rows in the drawer, once a slice is in force."""
    page.wait_for_function("document.querySelector('.st-key-drawer-head h5')?.innerText.includes('outline')", timeout=60_000)
    return int(re.search(r"([\d,]+) of", page.locator(".st-key-drawer-head h5").inner_text())[1].replace(",", ""))


def test_a_lasso_shows_its_rows_and_the_link_shows_them_again(page: Any, server: str) -> None:
    """The left half of the points: their rows are in the drawer, at most 24 corners in the link, and a fresh visit shows the same."""
    area = opened(page, server)
    surround(page, area, [(0.02, 0.02), (0.5, 0.02), (0.5, 0.98), (0.02, 0.98)])
    n = chosen(page)
    assert 100 < n < 1000
    page.wait_for_url(re.compile("slice="), timeout=30_000)
    part = unquote(parse_qs(urlsplit(page.url).query)["slice"][0])
    assert part.startswith("lasso=pca.2:")
    assert 3 <= part.count(";") + 1 <= 24
    page.wait_for_selector(f"{PLOT} .shapelayer path", timeout=30_000)
    other = page.context.new_page()
    opened(other, server, "?" + urlsplit(page.url).query)
    assert chosen(other) == n
    other.close()
    assert page.outside == []


def test_a_box_shows_its_rows(page: Any, server: str) -> None:
    opened(page, server)
    page.get_by_role("radio", name="box").or_(page.get_by_role("button", name="box", exact=True)).first.click()
    page.wait_for_timeout(1500)
    area = page.locator(f"{PLOT} .nsewdrag").first
    box = area.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.02 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.98 * box["width"], box["y"] + 0.98 * box["height"], steps=20)
    page.mouse.up()
    assert 100 < chosen(page) < 1000


def test_the_picture_leaves_as_vectors(page: Any, server: str) -> None:
    """SVG and PDF hold the points as paths, the legend as text, and no image."""
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
