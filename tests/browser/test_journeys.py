"""Six journeys of new users, each from the first page by clicks alone. The clicks are counted, so that no way gets longer unseen.

Three more have files of their own: two runs to a verdict (`test_comparison.py`), rows that fail to a file (`test_weak_slices.py`), and an
own file with predictions (`test_my_file.py`).
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.visitor import KOREAN, SENTENCE, Visitor, ask, chosen, download, settled, surround

pytestmark = pytest.mark.exhaustive


@pytest.fixture
def visitor(page: Any, server: str) -> Visitor:
    visitor = Visitor(page)
    visitor.arrive(server)
    return visitor


def test_why_did_it_say_negative(visitor: Visitor) -> None:
    """A typed sentence is answered, the reason names a word of it and what happens without it, and a PDF of the answer leaves."""
    says = visitor.ask(SENTENCE)
    assert says.startswith("Negative")
    reason = visitor.page.locator(".st-key-why-reason")
    reason.filter(has_text=re.compile("Without|With|No single")).wait_for()
    assert re.search("|".join(f"“{word}”" for word in re.findall(r"\w+", SENTENCE)), reason.inner_text())
    assert visitor.clicks == 1
    assert download(visitor.page, "verdict", "pdf").startswith(b"%PDF-")


def test_lambda_and_the_spread_of_cls_attention_over_training(visitor: Visitor) -> None:
    """The menu leads to each lambda over the updates, and to CLS attention std by layer after each epoch."""
    page = visitor.page
    visitor.open("Model", "Lambda")
    page.wait_for_selector(".st-key-figure-lambda .main-svg")
    assert "λ" in page.locator(".st-key-figure-lambda").inner_text()
    visitor.open("Model", "Training")
    visitor.click(page.get_by_role("button", name=re.compile("^Watch a training")))
    page.locator(".st-key-figure-through .of-heads").wait_for()
    settled(page)
    visitor.click(page.locator(".st-key-views").get_by_role("combobox", name="Model"))
    page.keyboard.type("sst2/minilm-epochs")  # it has [CLS]
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("minilm-epochs"))
    settled(page)
    lines = page.locator(".st-key-figure-through .of-heads")
    lines.get_by_role("combobox", name="Measure of the heads").select_option(label="CLS attention std, from [CLS] to others")
    visitor.clicks += 2
    lines.get_by_text("layer 2").first.wait_for()
    assert re.search(r"layer 1\s*0\.\d+", lines.inner_text())
    assert visitor.clicks == 8


def test_hardmax_leaders(visitor: Visitor) -> None:
    """The menu leads to the words of a review that move to their leaders, and to the most frequent leaders of a data set."""
    page = visitor.page
    visitor.open("Sentence", "Hardmax clusters")
    page.locator(".particles canvas").wait_for()
    visitor.click(page.get_by_role("button", name="Play").first)
    page.locator(".particles.playing").wait_for()
    visitor.click(page.locator(".st-key-focus-lab button", has_text="Leaders"))
    negative = page.locator("[class*=st-key-plot-leaders]").first
    negative.locator(".main-svg").first.wait_for()
    assert "terrible" in negative.inner_text()
    assert visitor.clicks == 4


def test_a_cluster_and_what_it_holds(visitor: Visitor) -> None:
    """A line around points of the plane says how many mistakes are inside, and by which words these rows differ from the others."""
    page = visitor.page
    visitor.open("Rows", "Map: t-SNE, UMAP")
    area = page.locator(".st-key-figure-embedding canvas")
    area.wait_for()
    surround(page, area, [(0.3, 0.3), (0.7, 0.3), (0.7, 0.7), (0.3, 0.7)])
    visitor.clicks += 1
    assert chosen(page) > 20
    settled(page)
    page.get_by_text("What the selection holds").wait_for()
    page.locator(".st-key-figure-selection-words, [class*=selection-words]").first.wait_for()
    assert re.search(r"[\d,]+ rows", page.locator("[data-testid=stMain]").inner_text().partition("What the selection holds")[2])
    assert visitor.clicks == 3


def test_a_korean_sentence(visitor: Visitor) -> None:
    """Korean is answered at once by a run that reads Korean."""
    says = visitor.ask(KOREAN)
    assert "korean" in visitor.page.url or "korean/e5" in visitor.page.locator("[data-testid=stMain]").inner_text()
    assert says and visitor.clicks == 1


def test_a_phone_in_the_dark(page: Any, server: str) -> None:
    """At 390 px in dark colours a sentence is answered without scrolling sideways, and its words are below."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto(server)
    page.wait_for_selector(".st-key-canvas .word", timeout=120_000)
    settled(page)
    assert ask(page, "Not bad at all.").startswith("Positive")
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    assert page.locator("h3").first.bounding_box()["y"] < 844
