"""The studio as a person uses it: looks chosen beside a preview at true size, files taken along and opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from sentviz.export.verify import verify
from tests.browser.visitor import settled


def menu(page: Any, button: str) -> None:
    """Return a button of the export menu of the curves."""
    page.locator(".st-key-figure-curves").get_by_role("button", name="Export").click()
    page.locator(f".st-key-{button}-curves button").first.click()
    settled(page)


@pytest.mark.exhaustive
def test_looks_at_true_size(page: Any, server: str, tmp_path: Path) -> None:
    """A width of 84 mm is shown and put into the link; the PDF verifies."""
    page.goto(f"{server}/curves?run=sst2%2Fndt-unit-2&versus=sst2%2Fvanilla")
    page.locator(".st-key-figure-curves").get_by_role("button", name="Export").wait_for(timeout=60_000)
    settled(page)
    menu(page, "open-studio")
    page.locator(".st-key-studio-size").get_by_text("84 mm").click()
    page.get_by_text("At true size: 84 mm wide.").wait_for(timeout=30_000)
    settled(page)
    width = page.locator(".paper img").bounding_box()["width"]
    assert width == pytest.approx(84 / 25.4 * 96, abs=1)
    assert page.locator("[data-testid='stPopoverBody']:visible").count() == 0
    with page.expect_download(timeout=60_000) as download:
        page.locator(".st-key-studio-pdf button").first.click()
    download.value.save_as(tmp_path / "curves.pdf")
    assert verify(tmp_path / "curves.pdf").state == "equal"
    page.get_by_role("button", name="Close").last.click()
    page.wait_for_url("**style=**")
    assert parse_qs(urlparse(page.url).query)["style"] == ["size=column"]
