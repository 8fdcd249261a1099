"""The finder in a real browser: Ctrl K, a word as people say it, Enter; and queries that nobody should type."""

from __future__ import annotations

from typing import Any

from tests.browser.conftest import go
from tests.browser.visitor import settled

LEADS = {
    "lambda": "lambdas",
    "CLS std": "heads",
    "t-SNE": "embeddings?method=tsne",
    "silhouette": "embeddings",
    "word cloud": "words",
    "confusion": "confusion",
    "hardmax": "hardmax",
    "Figure 3": "ndt?part=tsne",
    "attention heat": "attention",
}


def search(page: Any, query: str) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.insert_text(query)
    page.wait_for_timeout(600)
    page.keyboard.press("Enter")


def test_one_enter_leads_to_the_view(page: Any, server: str) -> None:
    page.goto(f"{server}/yours")
    page.locator(".st-key-finder input").wait_for()
    for query, lead in LEADS.items():
        go(page, "Bring yours")
        settled(page)
        search(page, query)
        address, _, parameters = lead.partition("?")
        page.wait_for_url(f"**/{address}*")
        page.wait_for_function("words => location.search.includes(words)", arg=parameters)


def test_a_strange_query_finds_nothing_and_stays(page: Any, server: str) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"{server}/colours")
    page.locator(".st-key-finder input").wait_for()
    settled(page)
    for query in ("<img src=x onerror=alert(1)>", "x" * 10_000, "](javascript:alert(1))", "\u202e\u0000lambda"):
        search(page, query)
        page.wait_for_timeout(500)
        assert page.url.endswith("/colours") and not dialogs and not page.locator("img[src='x']").count(), query[:40]
