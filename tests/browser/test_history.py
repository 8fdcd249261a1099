"""Ten steps through the app, back and forward again, and two tabs of one visitor."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import go
from tests.browser.visitor import settled

pytestmark = pytest.mark.exhaustive
STEPS = (  # place and view; a place opens the view of it that was open last
    ("Sentence", "Attention"),
    ("Rows", ""),
    ("Rows", "Word clouds"),
    ("Model", "Lambda"),
    ("Model", "Training"),
    ("Papers", "Board"),
    ("Help", "Colours"),
    ("Rows", "Labels"),
)


def path_of(page: Any) -> str:
    """Return the path of the address."""
    return urlsplit(page.url).path


def model_of(page: Any) -> str:
    """Return the model that the bar shows."""
    return str(page.locator(".st-key-views input").first.input_value())


def test_ten_steps_back_and_forward(page: Any, server: str) -> None:
    """Each step back shows the view before, in one step, with the model that was chosen; each step forward shows it again."""
    page.set_default_timeout(120_000)
    page.goto(f"{server}/?run=sst2%2Fndt-unit-2")
    settled(page)
    addresses = [path_of(page)]
    for place, view in STEPS:
        for clicks in ((place, ""), (place, view)) if view else ((place, ""),):
            before = path_of(page)
            go(page, *clicks)
            page.wait_for_timeout(500)
            settled(page)
            addresses += [path_of(page)] * (path_of(page) != before)
    assert len(addresses) > 10 and len(set(addresses)) > 8, addresses
    back, forward = addresses[::-1][1:], addresses[1:]
    for how, ways in ((page.go_back, back), (page.go_forward, forward)):
        for address in ways:
            how()
            page.wait_for_url(lambda url, address=address: urlsplit(url).path == address)
            settled(page)
            assert page.locator(f'.st-key-tabs a[href^="{address.strip("/") or "?"}"]').count(), address
            if page.locator(".st-key-views input").count():
                assert "sst2/ndt-unit-2" in model_of(page), address


def test_two_tabs_do_not_share_a_state(page: Any, server: str) -> None:
    """A model, a filter and a sentence that one tab chooses are not those of the other, also after it was loaded again."""
    page.set_default_timeout(120_000)
    second_tab = page.context.new_page()
    second_tab.set_default_timeout(120_000)
    try:
        page.goto(f"{server}/?run=sst2%2Fndt-unit-2&text=A%20quiet%20delight.")
        second_tab.goto(f"{server}/confusion?run=sst2%2Fdiff&slice=cell%3D0,1")
        for tab in (page, second_tab):
            settled(tab)
        go(page, "Rows", "Confusion")
        page.wait_for_url(re.compile("/confusion"))
        settled(page)
        assert "sst2/ndt-unit-2" in model_of(page) and "slice" not in page.url
        assert "sst2/diff" in model_of(second_tab) and "slice=cell" in second_tab.url
        second_tab.reload()
        settled(second_tab)
        go(second_tab, "Sentence", "Reason")
        second_tab.wait_for_url(re.compile(r"/(\?|$)"))
        settled(second_tab)
        assert "sst2/diff" in model_of(second_tab) and "quiet delight" not in second_tab.locator("[data-testid=stMain]").inner_text()
    finally:
        second_tab.close()
