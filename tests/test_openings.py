"""The lines that open a paper's page: they rest on verdicts, follow the findings, and a wrong file is one sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from sentviz.analysis.claim import VERDICT_WORDS, Effect, Finding
from sentviz.charts.registry import find_figure
from sentviz.errors import SentvizError
from sentviz.papers.ndt import PAPER
from sentviz.papers.studies.findings import OTHER_RUNS, TITLES, opening_of
from sentviz.papers.studies.verdicts import stored_findings
from sentviz.runs.registry import BUILT_IN, Paper, find_paper

OPENED = [name for name in BUILT_IN if find_paper(name).opening()]


def written(folder: Path, text: str) -> Paper:
    (folder / "opening.toml").write_text(text, encoding="utf-8")
    return replace(PAPER, folder=folder)


@pytest.mark.parametrize("name", OPENED)
def test_an_opening_rests_on_the_stored_verdicts(name: str) -> None:
    """Every verdict that the lines rest on is the stored one, every number is filled, and the figure is one of the gallery.

    Words that are a verdict rest on none.
    """
    paper, findings = find_paper(name), stored_findings()
    opening, filled = paper.opening(), opening_of(paper, findings)
    assert opening and filled and opening.expects
    named = set(re.findall(r"\{([a-z0-9]+-[0-9a-f]{6})(?!:verdict)", opening.result + opening.question))
    assert named <= opening.expects.keys() <= findings.keys()
    assert {key: findings[key].verdict for key in opening.expects} == dict(opening.expects)
    assert tuple(title for title, _ in filled.lines) == TITLES
    assert all(text.endswith(".") and len(text.split()) <= 80 and not re.search(r"[{}\n]", text) for _, text in filled.lines)
    if filled.figure:
        assert filled.of in find_figure(filled.figure).names


def test_the_paper_with_the_most_runs_opens_its_page() -> None:
    assert "ndt" in OPENED


FOUND = 'thesis = "A."\nresult = "It is {x-000001}, and this {x-000001:verdict}."\nquestion = "B."\nexpects = { x-000001 = "holds" }\n'


def test_numbers_are_those_of_the_findings(tmp_path: Path) -> None:
    paper = written(tmp_path, FOUND)
    filled = opening_of(paper, {"x-000001": Finding("holds", "", effect=Effect(2.5))})
    assert filled and filled.lines[1] == (TITLES[1], f"It is +2.50 points, and this {VERDICT_WORDS['holds']}.")


@pytest.mark.parametrize("findings", [{"x-000001": Finding("open", "", effect=Effect(2.5))}, {}])
def test_other_verdicts_leave_only_what_the_paper_says(findings: dict[str, Finding], tmp_path: Path) -> None:
    """Words that rest on other verdicts are not shown, neither with other runs nor without any."""
    filled = opening_of(written(tmp_path, FOUND), findings)
    assert filled and [text for _, text in filled.lines] == ["A.", OTHER_RUNS]


def test_a_paper_needs_no_opening(tmp_path: Path) -> None:
    assert opening_of(replace(PAPER, folder=tmp_path), {}) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('thesis = "A."\nresult = "B."\n', "it has no line 'question'"),
        ('thesis = "A."\nresult = "B."\nquestion = "C."\nend = "D."\n', "'end' is unknown"),
        ("thesis = A\n", "Invalid value"),
        ('thesis = 1\nresult = "B."\nquestion = "C."\n', "'thesis' is unknown or has a wrong type"),
        ('thesis = "A."\nresult = "B."\nquestion = "C."\nexpects = "holds"\n', "'expects' is unknown or has a wrong type"),
    ],
)
def test_a_wrong_file_is_one_sentence(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(SentvizError, match=r"^The opening of NDT cannot be read: ") as caught:
        written(tmp_path, text).opening()
    assert fault in str(caught.value) and "\n" not in str(caught.value)


def test_a_claim_that_does_not_exist_is_named(tmp_path: Path) -> None:
    paper = written(tmp_path, 'thesis = "A."\nresult = "{x-000002}."\nquestion = "C."\n')
    with pytest.raises(SentvizError, match="x-000002"):
        opening_of(paper, {})
