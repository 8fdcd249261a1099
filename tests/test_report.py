"""The one-file report as text: what it holds, what it says, what it never does."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest

from sentviz.analysis.explain import explained
from sentviz.charts import strip
from sentviz.errors import InputError
from sentviz.export import report
from sentviz.export.report import report_html
from sentviz.models.model import Model
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from tests.kit import refused

HOSTILE = "a warm </script><script>window.hacked=1</script> <img src=x onerror=hacked()> <!-- & \"song\" 'we' saw $x$ שלום"


def with_scores(model: Model, text: str) -> Trace:
    """Return a trace with its removal scores."""
    return explained(model, model.trace(text))


def figures(page: str) -> list[dict[str, Any]]:
    """Return the figures that the page draws."""
    script = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL)
    assert script
    drawn: list[dict[str, Any]] = json.loads(script[1])
    return drawn


def words(page: str) -> str:
    """Return the text of the page."""
    body = page.split("<body>")[1].split('<script type="application/json"')[0]
    return unescape(re.sub(r"<[^>]+>", " ", body))


def test_scores_are_chosen(run: Run, tiny_model: Model) -> None:
    trace = explained(tiny_model, tiny_model.trace("a warm, clever song"), ["removal", "gradient"])
    text = words(report_html(trace, run, scores=["gradient", "removal"]))
    assert 0 < text.index("Gradient × input") < text.index("Word removal")
    assert "Attention received" not in text
    refused(InputError, "Integrated gradients runs the model", report_html, trace, run, scores=["integrated-gradients"])


def test_a_score_that_fails_is_said_in_its_place(run: Run, tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(trace: Trace, name: str) -> None:
        raise InputError(f"No {name} <today>.")

    monkeypatch.setattr(strip, "strip", refuse)
    assert "No received <today>." in words(report_html(with_scores(tiny_model, "a warm song"), run))


def test_a_hostile_text_stays_text(run: Run, tiny_model: Model) -> None:
    page = report_html(with_scores(tiny_model, HOSTILE), run)
    body = page.split("<body>")[1].split('<script type="application/json"')[0]
    assert not re.search(r"<(?:script|img|!--)", body)
    assert HOSTILE in words(page)
    assert page.count("</script>") == page.count("<script type=") + 2
    assert "hacked" not in page.split("<body>")[0].split("<title>")[0]


def test_many_maps_are_thinned(run: Run, tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = with_scores(tiny_model, "a warm song")
    monkeypatch.setattr(report, "MAX_MAPS", 4)
    page = report_html(trace, run)
    assert "The maps of the single components are left out." in words(page)
    assert sum("layer" in figure["layout"].get("title", {}).get("text", "") for figure in figures(page)) == 2
