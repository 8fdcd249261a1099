"""Every page in a real Chromium, with data sets and without: it is drawn to its end and shows no fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import serving
from tests.browser.visitor import settled
from tests.fresh import FAULTS
from tests.kit import PAGES

ADDRESSES = {"cls": "heads", "scalars": "lambdas"}  # addresses that are not the script's name
FAULT = '[data-testid="stException"], [data-testid="stAlertContentError"]'


def faults(page: Any, address: str) -> dict[str, str]:
    """Open every page of an app by its address; return the fault of each page that shows one."""
    wrong, headings = {}, set()
    for name in PAGES:
        page.goto(f"{address}/{'' if name == 'explore' else ADDRESSES.get(name, name.rpartition('/')[2])}", timeout=60_000)
        page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for(state="attached", timeout=60_000)
        settled(page)
        text = page.locator('[data-testid="stMain"]').inner_text()
        messages = page.locator(FAULT).all_inner_texts() + [fault for fault in FAULTS if fault in text]
        heading = page.title()
        if messages or heading in headings | {""}:
            wrong[name] = messages[0] if messages else f"the heading is {heading!r}: {text[:200]}"
        headings.add(heading)
    return wrong


@pytest.mark.exhaustive
def test_every_page_is_drawn_with_data(page: Any, server: str) -> None:
    """No page of the app shows a fault."""
    assert not faults(page, server)


@pytest.mark.exhaustive
def test_every_page_is_drawn_without_data(page: Any, tmp_path: Path) -> None:
    """No page shows a fault if there is no data set and the folder for downloads is empty."""
    with serving(SENTVIZ_DATA=str(tmp_path / "none"), SENTVIZ_HOME=str(tmp_path / "home")) as address:
        assert not faults(page, address)
