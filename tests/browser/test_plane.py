"""A million points in a real Chromium: a sample arrives, zooming in brings the others."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentviz.runs.store import Run
from sentviz.serving.corpus.engines import score
from sentviz.serving.corpus.plane import MAX_SAMPLE, POINT, server
from tests.browser.conftest import listening

WAIT = 30_000  # milliseconds


@pytest.mark.exhaustive
def test_a_million_points_are_seen_without_sending_them(disk: Any, tiny_run: Path, tmp_path: Path) -> None:
    """Fewer than 300 KB are sent at first; near the middle all points in view are shown, and a click names one."""
    from playwright.sync_api import expect

    (tmp_path / "a.txt").write_text("a warm song")
    scored = score(Run.open(tiny_run), [tmp_path / "a.txt"], tmp_path / "out")
    points = np.zeros(1_000_000, dtype=POINT)
    points["x"], points["y"] = np.random.default_rng(0).normal(size=(2, len(points)))
    points[-1]["x"] = points[-1]["y"] = 0
    sizes: dict[str, int] = {}
    wrong: list[str] = []
    with (
        server(points, scored) as serving,
        listening(
            disk,
            response=lambda answer: sizes.update({answer.url: int(answer.headers.get("content-length", 0))}),
            pageerror=lambda error: wrong.append(str(error)),
        ),
    ):
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        disk.goto(f"http://127.0.0.1:{serving.server_port}")
        summary = disk.locator(".said")
        expect(summary).to_have_text(re.compile("^20,000 of the 1,000,000"), timeout=WAIT)
        assert sum(sizes.values()) < 300_000 and len(sizes) == 2
        disk.locator("canvas").focus()
        for _ in range(20):
            disk.keyboard.press("+")
        expect(summary).to_have_text(re.compile(r"^([0-9,]+) of the \1 points in view are shown\.$"), timeout=WAIT)
        assert 0 < int(summary.text_content().split()[0].replace(",", "")) < MAX_SAMPLE
        disk.evaluate("window.requestAnimationFrame = () => 0")  # a click is understood before the next picture is drawn
        for _ in range(20):
            disk.keyboard.press("-")
        expect(summary).to_have_text(re.compile("^20,000 of the 1,000,000"), timeout=WAIT)
        disk.keyboard.press("0")
        box = disk.locator("canvas").bounding_box()
        disk.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(disk.locator(".row")).to_have_text(re.compile("^a.txt, row 1: "), timeout=WAIT)
        assert wrong == []
        serving.shutdown()
