"""Proposition 2 in a real browser: the button, the bar, the answer."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.exhaustive
def test_proposition_2_is_learned_and_asked(page: Any, server: str) -> None:
    """Short sequences are learned; the page answers a typed sequence, which the link holds, and refuses an unknown word."""
    page.goto(f"{server}/sentiformer?part=theory")
    button = page.get_by_role("button", name="Train all models")
    button.wait_for(timeout=60_000)
    page.get_by_role("radio", name="8", exact=True).click()
    button.click()
    box = page.get_by_role("textbox", name="A sequence")
    box.wait_for(timeout=180_000)
    page.get_by_text("as in training").first.wait_for()
    box.fill("not the film was good")
    box.press("Enter")
    page.get_by_text("was the film was good").wait_for()
    page.wait_for_url("**sequence=not+the+film+was+good**")
    assert "longest=8" in page.url
    box.fill("not the soup was good")
    box.press("Enter")
    page.get_by_text("is none of the 8 words").wait_for()
    page.goto(f"{server}/sentiformer?part=theory&longest=8&sequence=not+the+film+was+good")
    page.get_by_role("radio", name="8", exact=True).and_(page.locator("[aria-checked=true]")).wait_for()
    assert not page.outside
