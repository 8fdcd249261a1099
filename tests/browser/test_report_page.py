"""The one-file report opened from disk in a real Chromium without a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sentviz.analysis.explain import explained
from sentviz.analysis.maps.arithmetic import cell
from sentviz.export.report import report_html
from sentviz.models.model import Model
from sentviz.runs.store import Run
from tests.browser.conftest import offline
from tests.shipped import often

HOSTILE = 'a warm </script><script>window.hacked=1</script> <img src=x onerror=window.hacked=1> <!-- & "song" we saw $x$ שלום 🙂'


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", often(["a warm, clever song", HOSTILE, "warm song " * 30], HOSTILE), ids=["plain", "hostile", "long"])
def test_all_figures_are_drawn_without_a_request(disk: Any, tiny_run: Path, tiny_model: Model, tmp_path: Path, text: str) -> None:
    """Every figure is drawn at its width, without a request, a script error or a warning."""
    trace = explained(tiny_model, tiny_model.trace(text))
    path = tmp_path / "report.html"
    path.write_text(report_html(trace, Run.open(tiny_run), arithmetic=cell(tiny_model, trace, 0, 0, 1, 0)), encoding="utf-8")
    with offline(disk) as (requests, wrong):
        disk.goto(path.as_uri())
        places = disk.locator(".plot")
        disk.wait_for_function("document.querySelectorAll('.plot .main-svg').length >= 2 * document.querySelectorAll('.plot').length")
        assert places.count() >= 10
        assert all(place.locator(".main-svg").count() for place in places.all())
        assert disk.evaluate("[...document.querySelectorAll('.plot')].every(p => p.scrollWidth <= p.clientWidth + 1)")
        assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [path.as_uri()]
        assert wrong == []
        assert disk.evaluate("window.hacked") is None and disk.locator("img").count() == 0
        assert disk.locator("blockquote").text_content() == trace.text

        pdf = disk.pdf(prefer_css_page_size=True)
        assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 12
        disk.set_viewport_size({"width": 680, "height": 980})
        disk.emulate_media(media="print")
        assert disk.evaluate("document.documentElement.scrollWidth") <= 681
