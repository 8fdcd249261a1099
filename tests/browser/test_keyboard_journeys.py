"""The journeys of new users by keyboard alone: the finder (Ctrl K), Tab, arrows, Enter, Space and Escape, from the first page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.visitor import KOREAN, SENTENCE, Visitor, chosen, settled

pytestmark = pytest.mark.exhaustive


@pytest.fixture
def visitor(page: Any, server: str) -> Visitor:
    visitor = Visitor(page, has_mouse=False)
    visitor.arrive(server)
    return visitor


def test_why_did_it_say_negative(visitor: Visitor) -> None:
    """A typed sentence is answered with a reason, and a PDF of the answer leaves."""
    assert visitor.ask(SENTENCE).startswith("Negative")
    visitor.page.locator(".st-key-why-reason").filter(has_text=re.compile("Without|With|No single")).wait_for()
    settled(visitor.page)
    visitor.reach("Export", "button")
    visitor.press("Enter")
    visitor.page.locator(".st-key-export-what").wait_for()
    assert visitor.download("^PDF").startswith(b"%PDF-")


def test_lambda_and_the_spread_of_cls_attention_over_training(visitor: Visitor) -> None:
    page = visitor.page
    visitor.find("lambda", "lambdas")
    page.wait_for_selector(".st-key-figure-lambda .main-svg")
    assert "λ" in page.locator(".st-key-figure-lambda").inner_text()
    visitor.find("training film", "curves")
    page.locator(".st-key-figure-through .of-heads").wait_for()
    visitor.choose("^Model", "sst2/minilm-epochs")  # it has [CLS]
    page.wait_for_url(re.compile("minilm-epochs"))
    settled(page)
    visitor.reach("Measure of the heads")
    visitor.type("CLS attention std, from [CLS]")
    lines = page.locator(".st-key-figure-through .of-heads")
    lines.get_by_text("layer 2").first.wait_for()
    assert re.search(r"layer 1\s*0\.\d+", lines.inner_text())


def test_hardmax_leaders(visitor: Visitor) -> None:
    page = visitor.page
    visitor.find("hardmax animation", "hardmax")
    page.locator(".particles canvas").wait_for()
    visitor.reach("^Play")
    visitor.press("Enter")
    page.locator(".particles.playing").wait_for()
    visitor.find("leaders in the data", "lab=leaders")
    negative = page.locator("[class*=st-key-plot-leaders]").first
    negative.locator(".main-svg").first.wait_for()
    assert "terrible" in negative.inner_text()


def test_a_cluster_and_what_it_holds(visitor: Visitor) -> None:
    """Enter marks the points in the middle of the plane; words and rows of the selection follow."""
    page = visitor.page
    visitor.find("t-SNE/UMAP", "embeddings")
    page.locator(".st-key-figure-embedding canvas").wait_for()
    settled(page)
    visitor.reach("points. Dragging")
    visitor.press("Enter")
    page.get_by_text("What the selection holds").wait_for()
    assert chosen(page) > 20


def test_a_korean_sentence(visitor: Visitor) -> None:
    assert visitor.ask(KOREAN)
    assert "korean" in visitor.page.url or "korean/e5" in visitor.page.locator("[data-testid=stMain]").inner_text()


def test_a_phone_in_the_dark(visitor: Visitor) -> None:
    """With a keyboard at a narrow window, the sentence is answered, too."""
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    visitor.page.emulate_media(color_scheme="dark")
    settled(visitor.page)
    assert visitor.ask("Not bad at all.").startswith("Positive")
    visitor.page.emulate_media(color_scheme="light")


def test_two_runs_to_a_verdict(visitor: Visitor) -> None:
    page = visitor.page
    visitor.find("compare models", "comparison")
    visitor.choose("^Model", "sst2/ndt-unit-2")
    page.wait_for_url(re.compile("ndt-unit-2"))
    page.locator("h4").first.wait_for()
    settled(page)
    visitor.reach("Beside it")
    visitor.press("Backspace")
    page.get_by_text("Choose at least one more model").wait_for()
    settled(page)
    visitor.choose("Beside it", "sst2/vanilla-matched")
    visitor.press("Escape")
    page.locator("h4", has_text="sst2/vanilla-matched").wait_for()
    settled(page)
    assert visitor.download(r"Report, one page \(PDF\)").startswith(b"%PDF-")


def test_from_an_own_file_to_its_rows(visitor: Visitor, tmp_path: Path) -> None:
    """A file with predictions is brought, its answers are chosen, the weakest slice is opened, and its rows leave as a file.

    The file itself is chosen in the window of the system, which Chromium opens by Enter.
    """
    file, page = tmp_path / "answers.csv", visitor.page
    texts = [f"A {'warm' if k % 2 else 'dull'} film{', with a battery' if k % 4 == 0 else ''}, number {k}." for k in range(400)]
    frame = pd.DataFrame({"text": texts, "label": ["negative", "positive"] * 200})
    frame.assign(prob=[0.9 if k % 4 in (0, 1, 3) else 0.2 for k in range(400)]).to_csv(file, index=False)
    visitor.find("upload a file", "yours")
    page.locator("[data-testid=stFileUploader]").wait_for()
    settled(page)
    visitor.reach(r"^upload\s+Upload$|^Browse files", "button")
    with page.expect_file_chooser() as chooser:
        page.wait_for_timeout(300)  # until Chromium leaves its window to this test
        visitor.press("Enter")
    chooser.value.set_files(str(file))
    page.get_by_role("button", name="Show the mistakes").wait_for()
    settled(page)
    visitor.reach("Show the mistakes")
    visitor.press("Enter")
    page.get_by_role("radiogroup", name="The file has predictions. Whose answers shall be judged?").wait_for()
    settled(page)
    visitor.reach("", "radio")
    visitor.press("Space")
    weakest = page.locator(".st-key-weakest button").first
    weakest.wait_for()
    settled(page)
    visitor.reach("or more words", "button")
    visitor.press("Enter")
    page.locator(".st-key-one-row").wait_for()
    settled(page)
    visitor.reach("Next mistake")
    visitor.press("Enter")
    settled(page)
    assert "battery" in page.locator(".st-key-one-row [data-testid=stText]").first.inner_text()
    visitor.reach("CSV", back=True)
    assert b"battery" in visitor.download("CSV")
