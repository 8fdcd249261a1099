"""Two runs, verdict, report as PDF: the journey by clicks in a real Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sentviz.export.verify import verify
from tests.browser.conftest import go
from tests.browser.visitor import settled


@pytest.mark.exhaustive
def test_from_the_first_page_to_the_verdict_and_its_report(page: Any, server: str, tmp_path: Path) -> None:
    """Six clicks lead from the first page to a report on one page, which names the verdict and verifies."""
    page.goto(f"{server}/?run=sst2%2Fndt-unit-2")
    page.locator("h3").first.wait_for(timeout=90_000)
    settled(page)
    clicks = 0

    def click(place: Any) -> None:
        nonlocal clicks
        place.click()
        clicks += 1

    clicks += go(page, "Rows", "Models side by side")
    page.locator("h4").first.wait_for(timeout=90_000)
    settled(page)
    click(page.locator(".st-key-beside .react-aria-ComboBox button[aria-label^=Remove]").last)
    settled(page)
    box = page.locator(".st-key-beside input")
    click(box)
    box.fill("sst2/vanilla-matched")
    click(page.get_by_role("option").filter(has_text="sst2/vanilla-matched").first)
    page.keyboard.press("Escape")
    page.locator("h4", has_text="sst2/vanilla-matched").wait_for(timeout=60_000)
    verdict = page.locator("h4").first.inner_text()
    settled(page)
    with page.expect_download(timeout=90_000) as download:
        click(page.locator(".st-key-comparison-pdf button"))
    path = tmp_path / "report.pdf"
    download.value.save_as(path)
    assert clicks == 6 and "sst2/vanilla-matched" in verdict
    assert path.read_bytes().startswith(b"%PDF-") and verify(path).state == "equal"
    assert page.outside == []
