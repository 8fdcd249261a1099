"""The one-file report opened from disk in a real Chromium without a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sentviz.explain import explained
from sentviz.maps.arithmetic import cell
from sentviz.models.model import Model
from sentviz.report import report_html
from sentviz.runs import Run

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Playwright's own sockets
]

HOSTILE = 'a warm </script><script>window.hacked=1</script> <img src=x onerror=window.hacked=1> <!-- & "song" we saw $x$ שלום 🙂'


@pytest.mark.parametrize("text", ["a warm, clever song", HOSTILE, "warm song " * 30], ids=["plain", "hostile", "long"])
def test_all_figures_are_drawn_without_a_request(offline: Any, tiny_run: Path, tiny_model: Model, tmp_path: Path, text: str) -> None:
    """Each place holds its picture, with the width it was promised; nothing is asked of the network, nothing runs, nothing is wrong."""
    trace = explained(tiny_model, tiny_model.trace(text))
    path = tmp_path / "report.html"
    path.write_text(report_html(trace, Run.open(tiny_run), arithmetic=cell(tiny_model, trace, 0, 0, 1, 0)), encoding="utf-8")
    tab, seen, wrong = offline.new_page(), [], []
    tab.on("request", lambda request: seen.append(request.url) if not request.url.startswith(("data:", "blob:")) else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    tab.goto(path.as_uri())
    places = tab.locator(".plot")
    tab.wait_for_function("document.querySelectorAll('.plot .main-svg').length >= 2 * document.querySelectorAll('.plot').length")
    assert places.count() >= 10
    assert all(place.locator(".main-svg").count() for place in places.all())
    assert tab.evaluate("[...document.querySelectorAll('.plot')].every(p => p.scrollWidth <= p.clientWidth + 1)")
    assert (seen, wrong) == ([path.as_uri()], [])
    assert tab.evaluate("window.hacked") is None and tab.locator("img").count() == 0
    assert tab.locator("blockquote").text_content() == trace.text

    pdf = tab.pdf(prefer_css_page_size=True)
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 12
    tab.set_viewport_size({"width": 680, "height": 980})
    tab.emulate_media(media="print")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 681
    tab.close()
