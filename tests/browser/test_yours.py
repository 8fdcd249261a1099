"""A file becomes a data set on the page Yours, and its mistakes are two clicks away from the choice of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.conftest import serving
from tests.browser.visitor import settled
from tests.kit import BAD, GOOD


@pytest.mark.exhaustive
def test_a_file_is_saved_and_its_mistakes_shown(page: Any, tmp_path: Path) -> None:
    """The saved data set is in the library of the serving machine, and the matrix has every row with a label,
    once the visitor agrees that the row without a text is left out."""
    file, home = tmp_path / "Soups & Songs.csv", tmp_path / "home"
    texts = [f"the {word} soup number {i}" for i in range(2) for word in (*BAD, *GOOD)]
    labels = ["positive" if any(word in text for word in GOOD) else "negative" for text in texts]
    pd.DataFrame({"review": [*texts, ""], "opinion": [*labels, "positive"], "<b>shop</b>": "a"}).to_csv(file, index=False)
    with serving(SENTVIZ_HOME=str(home)) as address:
        page.goto(f"{address}/yours?run=sst2%2Fndt-unit-2&wish=train")
        page.wait_for_selector("[data-testid=stFileUploader]", timeout=120_000)
        page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(file))
        page.get_by_text("Rows left out: 1 without a text.").wait_for(timeout=60_000)
        settled(page)
        page.get_by_role("button", name="Save to my library").click()
        page.get_by_text("Saved as mine/soups-songs.").wait_for(timeout=60_000)
        assert {path.name for path in (home / "data" / "mine" / "soups-songs").iterdir()} >= {"dataset.toml", "test.parquet"}
        page.get_by_role("radio", name="See where a model is wrong").click()
        page.get_by_role("button", name="Show the mistakes").click()
        page.get_by_text("Show the numbers of the other rows").click(timeout=120_000)
        page.wait_for_selector(".st-key-plot-matrix .main-svg", timeout=120_000)
        page.get_by_text("of 20 rows").first.wait_for(timeout=60_000)
        assert page.locator("[data-testid=stMain] b").count() == 0
