"""An own file is opened and leads to its weakest slice, its next mistake, a new label and an exported file."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.conftest import go
from tests.browser.visitor import settled


def table(n: int) -> pd.DataFrame:
    """Return predictions of which half are wrong where the text has the word "battery", and few elsewhere."""
    place = pd.Series(range(n))
    texts = [f"A {'warm' if k % 2 else 'dull'} film{' battery' if k % 5 == 0 else ''}, number {k}." for k in place]
    wrong = (place % 5 == 0) & (place % 20 < 10) | (place % 50 == 7)
    label = (place % 2).map({0: "negative", 1: "positive"})
    columns = {"text": texts, "label": label, "predicted": ((place + wrong) % 2).map({0: "negative", 1: "positive"})}
    return pd.DataFrame({**columns, "product": (place % 3).map({0: "phone", 1: "lamp", 2: "book"})})


@pytest.mark.exhaustive
def test_from_a_file_to_its_weakest_slice_a_mistake_a_label_and_an_export(page: Any, server: str, tmp_path: Path) -> None:
    """5,000 rows with predictions: at most ten clicks, two of them to choose the file. The exported rows are those of the slice, with all
    columns and the new label.
    """
    file = tmp_path / "reviews.csv"
    table(5_000).to_csv(file, index=False)
    page.set_default_timeout(120_000)
    page.goto(server)
    page.get_by_text("Bring yours", exact=True).first.wait_for()
    settled(page)
    clicks, begin = 0, time.monotonic()

    def click(place: Any) -> None:
        nonlocal clicks
        place.click()
        clicks += 1

    clicks += go(page, "Bring yours")
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(file))
    clicks += 2  # Browse files, and the file itself.
    click(page.get_by_role("button", name="Show the mistakes"))
    question = page.get_by_role("radiogroup", name="The file has predictions. Whose answers shall be judged?")
    click(question.get_by_text("predicted").first)
    weakest = page.locator(".st-key-weakest button").first
    weakest.wait_for()
    assert "with the word “battery”" in weakest.inner_text()
    click(weakest)
    row = page.locator(".st-key-one-row")
    row.wait_for()
    settled(page)
    assert "battery" in row.locator("[data-testid=stText]").first.inner_text()
    assert page.evaluate("document.querySelector('.st-key-one-row').getBoundingClientRect().top < innerHeight")
    first = row.locator("[data-testid=stText]").first.inner_text()
    click(row.get_by_role("button", name="Next mistake"))
    page.wait_for_function("text => document.querySelector('.st-key-one-row [data-testid=stText]')?.innerText !== text", arg=first)
    settled(page)
    text = row.locator("[data-testid=stText]").first.inner_text()
    click(row.locator("[data-testid=stSelectbox]").first)
    click(page.get_by_role("option", name="positive").first)
    page.get_by_text("1 row with your label or note.").wait_for()
    settled(page)
    with page.expect_download() as download:
        click(page.locator(".st-key-drawer-csv button").first)
    seconds = time.monotonic() - begin
    rows = pd.read_csv(io.BytesIO(Path(download.value.path()).read_bytes()))
    of = table(5_000)
    assert sorted(rows["text"]) == sorted(of.loc[of["text"].str.contains("battery"), "text"])
    assert rows["product"].tolist() == of["product"].iloc[rows["id"] - 1].tolist() and "your label" in rows
    assert rows.loc[rows["your label"] == "positive", "text"].tolist() == [text]
    assert clicks <= 10, f"{clicks} clicks, {seconds:.0f} s"
