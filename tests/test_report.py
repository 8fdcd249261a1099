"""The one-file report as text: what it holds, what it says, what it never does."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from sentviz.analysis.explain import SCORES, explained
from sentviz.analysis.explain.notices import notices
from sentviz.analysis.explain.scores import LARGER
from sentviz.analysis.maps.arithmetic import cell
from sentviz.charts import strip
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.export import report
from sentviz.export.report import report_html
from sentviz.io.numbers import percent
from sentviz.models.model import Model
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

pytestmark = pytest.mark.slow

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


@pytest.mark.exhaustive
def test_the_report_holds_everything(run: Run, tiny_model: Model) -> None:
    """The report has sentence, verdict, notices, a strip per available score, maps of both layers, and provenance."""
    trace = with_scores(tiny_model, "a warm, clever song")
    page = report_html(trace, run)
    drawn, text = figures(page), words(page)
    titles = [figure["layout"].get("title", {}).get("text", "") for figure in drawn]
    for kind in ("Effective attention", "A₁", "A₂"):
        for layer in (1, 2):
            assert f"{kind} · layer {layer} · mean over heads" in titles
    for score in ("Word removal", "Attention received", "First-layer importance", "Component difference", "Attention rollout"):
        assert score in text
    assert "Integrated gradients" not in text  # the model is not run for the report
    for part in (trace.text, f"{trace.label.capitalize()}, ", run.digest, "seed 0", "Calibrated on validation", "toy", "λ of layer 2"):
        assert part in text, part
    assert f"{percent(run.metrics()['test']['accuracy']['value'], 2)}" in text
    assert len({figure["id"] for figure in drawn}) == len(drawn) == page.count('class="plot"')


def test_scores_are_chosen(run: Run, tiny_model: Model) -> None:
    """Only the named scores are shown, in that order; an unavailable score is an error."""
    trace = explained(tiny_model, tiny_model.trace("a warm, clever song"), ["removal", "gradient"])
    text = words(report_html(trace, run, scores=["gradient", "removal"]))
    assert 0 < text.index("Gradient × input") < text.index("Word removal")
    assert "Attention received" not in text
    with pytest.raises(InputError, match="Integrated gradients runs the model"):
        report_html(trace, run, scores=["integrated-gradients"])


def test_a_score_that_fails_is_said_in_its_place(run: Run, tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report states a failed score in its place; a named score that fails is an error."""

    def refuse(trace: Trace, name: str) -> None:
        raise InputError(f"No {name} <today>.")

    monkeypatch.setattr(strip, "strip", refuse)
    assert "No received <today>." in words(report_html(with_scores(tiny_model, "a warm song"), run))


def test_plotly_is_there_once_and_nothing_is_asked_of_the_network(run: Run, tiny_model: Model) -> None:
    """The page has one copy of Plotly, a policy without sources and eval, and no address in an attribute."""
    page = report_html(with_scores(tiny_model, "a warm song"), run)
    assert page.count("plotly.js v") <= 2 and 3e6 < len(page) < 7e6
    head = page.split("<body>")[0]
    assert "default-src 'none'" in head and "unsafe-eval" not in head and "script-src 'sha256-" in head
    assert not re.search(r"\b(?:src|href)\s*=", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))


def test_a_hostile_text_stays_text(run: Run, tiny_model: Model) -> None:
    """A hostile text adds no element to those of a harmless one, and is shown as it was written."""
    page = report_html(with_scores(tiny_model, HOSTILE), run)
    body = page.split("<body>")[1].split('<script type="application/json"')[0]
    assert not re.search(r"<(?:script|img|!--)", body)
    assert HOSTILE in words(page)
    assert page.count("</script>") == page.count("<script type=") + 2
    assert "hacked" not in page.split("<body>")[0].split("<title>")[0]


def test_remarks_say_what_must_be_said(run: Run, tiny_model: Model) -> None:
    """The notices name unknown words, cut text and and interventions; an ordinary text has none."""
    assert [*map(bool, notices(with_scores(tiny_model, "a warm, clever song"), run))] == []
    assert any("knows none" in line for _, line in notices(with_scores(tiny_model, "quux zork"), run))
    assert any("were not read" in line for _, line in notices(with_scores(tiny_model, "warm song " * 30), run))
    lambdas = [[1, 0], [1, np.nan]]
    changed = explained(tiny_model, tiny_model.trace("a warm song", lambdas=lambdas))
    assert any("intervention" in line for _, line in notices(changed, run))


def test_a_cells_arithmetic(run: Run, tiny_model: Model) -> None:
    """The arithmetic's steps are a list, and its place is given in words."""
    trace = with_scores(tiny_model, "a warm song")
    arithmetic = cell(tiny_model, trace, 1, 0, 1, 2)
    text = words(report_html(trace, run, arithmetic=arithmetic))
    assert "Layer 2, head 1: query “warm” (2), key “song” (3)." in text
    assert all(step in text for step in arithmetic.steps())


def test_many_maps_are_thinned(run: Run, tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit the component maps are left out, and the report says so."""
    trace = with_scores(tiny_model, "a warm song")
    monkeypatch.setattr(report, "MAX_MAPS", 4)
    page = report_html(trace, run)
    assert "The maps of the single components are left out." in words(page)
    assert sum("layer" in figure["layout"].get("title", {}).get("text", "") for figure in figures(page)) == 2


def test_a_run_of_one_component(tiny_runs: Path) -> None:
    """A run of one component has no component maps and no component score."""
    plain = Run.open(tiny_runs / "toy" / "vanilla-matched")
    text = words(report_html(plain.example(), plain))
    assert "Component" not in text and "λ of layer" not in text


@pytest.mark.exhaustive
def test_the_command_writes_it(tiny_run: Path, tmp_path: Path) -> None:
    """The command writes every score and the arithmetic of the largest weight; mistakes are one sentence."""
    out = tmp_path / "report.html"
    done = CliRunner().invoke(main, ["report", str(tiny_run), "a warm, clever song", "-o", str(out)])
    assert done.exit_code == 0, done.output
    text = words(out.read_text(encoding="utf-8"))
    assert (
        all(score.title in text for name, score in SCORES.items() if not score.package and name not in LARGER)
        and "How one weight is computed" in text
    )
    for arguments in ((str(tiny_run), " "), ("toy/none", "a song")):
        failed = CliRunner().invoke(main, ["report", *arguments, "-o", str(tmp_path / "none.html")])
        assert failed.exit_code != 0 and "Traceback" not in failed.output and failed.output.startswith("Error: ")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
