"""A visitor's own file is chosen on the page, predicted and read row by row; a file without a table gives one sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.conftest import go
from tests.browser.visitor import cell, download, page_yours, settled


@pytest.mark.exhaustive
def test_answers_of_a_file_from_the_choice_to_a_row_and_a_pdf(page: Any, server: str, tmp_path: Path) -> None:
    """A file with predictions, brought on Yours, is asked about; a cell shows its rows, one opens, and the matrix is written as PDF."""
    file = tmp_path / "answers.csv"
    texts = ["A warm film.", "Two hours lost.", "The soup was quick and hot.", "Nobody laughed."]
    frame = pd.DataFrame({"text": texts, "label": ["positive", "negative"] * 2, "prob": [0.9, 0.2, 0.3, 0.4]})
    frame.to_csv(file, index=False)
    page_yours(page, server, "A file")
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(file))
    page.get_by_role("button", name="Show the mistakes").click(timeout=120_000)
    question = page.get_by_role("radiogroup", name="The file has predictions. Whose answers shall be judged?")
    question.wait_for(timeout=120_000)
    assert page.locator(".st-key-plot-matrix").count() == 0
    question.get_by_text("prob").click()
    page.wait_for_selector(".st-key-plot-matrix .main-svg", timeout=120_000)
    page.get_by_text("answers.csv is right on").wait_for()
    cell(page, 1, 0)
    page.wait_for_function("document.querySelector('.st-key-drawer-head h5')?.innerText.includes('1 of 4 rows')")
    settled(page)
    page.locator("[data-testid=stDataFrame]").first.scroll_into_view_if_needed()
    settled(page)
    table = page.locator("[data-testid=stDataFrame] canvas").first.bounding_box()
    page.mouse.click(table["x"] + 18, table["y"] + 36 + 17)
    page.get_by_role("button", name=re.compile("Open in Sentence, as .+ reads it")).wait_for(timeout=120_000)
    assert texts[2] in page.locator("[data-testid=stText]").all_inner_texts()
    assert download(page, "matrix", "pdf").startswith(b"%PDF")


HOSTILE = [
    "<script>hit=1</script> a warm song",
    "<img src=x onerror=hit=2> a dull song",
    "[a](javascript:hit=3) ![a](http://elsewhere.example/a.png)",
    "$\\frac{a}{b}$ :material/home: :red[dull] `b` **c**",
    "\u202emraw\u202c \u200f\u05d7\u05dd",
    "</script><svg onload=hit=4> %{text} <extra></extra>",
    "a\u0301" * 400,
    "x" * 30_000,
]
FOUND = """() => ({
  hit: window.hit,
  marked: document.querySelectorAll(
    '[data-testid=stMain] :is(img:not([alt=sentviz]), .katex, .stMarkdownColoredText, svg script, b)').length,
  icons: [...document.querySelectorAll('[data-testid=stIconMaterial]')].filter(node => node.textContent === 'home').length,
})"""


@pytest.mark.exhaustive
def test_marks_in_a_file_stay_text(page: Any, server: str, tmp_path: Path) -> None:
    """HTML, markdown, formulas, icons and right-to-left marks in cells, a column or the file's name are shown as text on each page of
    rows.
    """
    file = tmp_path / "a -- b :smile: :material_home: $x$ <b>.csv"
    frame = pd.DataFrame({"<img src=x onerror=hit=5> $t$": HOSTILE * 4, "label": ["positive", "negative"] * 16})
    frame.to_csv(file, index=False)
    page.goto(f"{server}/confusion?over=mine")
    page.wait_for_selector("[data-testid=stFileUploader]", timeout=120_000)
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(file))
    page.wait_for_selector(".st-key-plot-matrix .main-svg", timeout=120_000)
    settled(page)
    summary = page.get_by_text("32 rows.").first.inner_text().replace("\u2060", "")
    assert summary.splitlines()[0] == f"{file.name}: 32 rows."
    assert "4 cells have more than 20,000 characters" in summary
    for name, there in (
        ("Confusion", ".st-key-plot-matrix"),
        ("Word clouds", ".st-key-figure-cloud"),
        ("Map: t-SNE, UMAP", ".st-key-figure-embedding"),
    ):
        go(page, "Rows", name)
        page.wait_for_selector(there, timeout=120_000)
        settled(page)
        assert page.evaluate(FOUND) == {"hit": None, "marked": 0, "icons": 0}
    assert page.outside == []
