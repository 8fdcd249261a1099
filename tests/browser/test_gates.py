"""A person shuts a gate by a click on its token, opens it by the next one, and sees the answer change."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.browser.visitor import settled

TEXT = "a warm garden, and not a dull song"
RUN, LAYERS = "sst5_trees/sentiformer", 6


def opened(page: Any, server: str, where: str, **query: str) -> None:
    page.goto(f"{server}/{where}?{urlencode({'run': RUN, 'text': TEXT, **query})}")
    page.wait_for_selector(".main-svg, .st-key-canvas .word", timeout=120_000)
    settled(page)


@pytest.mark.exhaustive
def test_clicks_shut_and_open_a_gate(page: Any, server: str) -> None:
    """Each click sets the next state of a gate in the URL, the lists and the sentence; the third click restores the trained gate."""
    opened(page, server, "attention", look="gates")
    assert page.get_by_text("as changed").count() == 0
    shares = []
    for state in ("shut", "open"):
        cell = page.locator(".st-key-plot-gates .bars .point path").nth(2 * LAYERS)
        box = cell.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_url(re.compile(rf"change=gate(%3A|:)3(%3D|=){int(state == 'open')}"), timeout=30_000)
        settled(page)
        assert page.locator(f".st-key-gates-{state}").inner_text().count("3 · warm") == 1
        shares.append(page.get_by_text("as changed").inner_text())
    assert len(set(shares)) == 2
    box = page.locator(".st-key-plot-gates .bars .point path").nth(2 * LAYERS).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("!location.search.includes('change=')", timeout=30_000)
    settled(page)
    assert page.get_by_text("as changed").count() == 0 and page.outside == []
