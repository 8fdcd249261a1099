"""A person's own file: chosen in the page, predicted, read row by row; what is no table gets one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_first_light import settled

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (ROOT / "checkpoints/sst2/ndt-unit-2").is_dir(), reason="sst2/ndt-unit-2 is not in checkpoints/"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Playwright's own sockets
]


def test_a_file_is_predicted_and_a_bad_one_refused(page: Any, server: str, tmp_path: Path) -> None:
    good, bad = tmp_path / "mine.csv", tmp_path / "bad.csv"
    good.write_text(
        "text,label\nA fine and warm film.,positive\nDull and far too long.,negative\n<b>bold</b> move,positive\n", encoding="utf-8"
    )
    bad.write_bytes(bytes(range(256)) * 20)
    page.goto(f"{server}/confusion?over=mine")
    page.wait_for_selector("[data-testid=stFileUploader]", timeout=120_000)
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(bad))
    page.get_by_text("not a table of text").wait_for(timeout=60_000)
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(good))
    page.wait_for_selector(".st-key-plot-matrix .main-svg", timeout=120_000)
    settled(page)
    assert page.locator(".st-key-drawer-head h5").inner_text().strip().endswith("3 of 3 rows")
    assert page.locator("[data-testid=stMain] b").count() == 0
