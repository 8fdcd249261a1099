"""The lines that open a paper's page: they rest on verdicts and follow the findings."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sentviz.analysis.claim import VERDICT_WORDS, Effect, Finding
from sentviz.charts.gallery import FIGURES
from sentviz.errors import SentvizError
from sentviz.papers.studies.findings import OTHER_RUNS, TITLES, opening_of
from sentviz.papers.studies.verdicts import stored_findings
from sentviz.runs.registry import Opening, Paper, built_in, find_paper

PAPER = find_paper("ndt")


def with_opening(result: str, **expects: str) -> Paper:
    return replace(PAPER, opening=Opening("A.", result, "B.", {name.replace("_", "-"): verdict for name, verdict in expects.items()}))


def test_an_opening_rests_on_the_stored_verdicts() -> None:
    """Every verdict that the lines rest on is the stored one, every number is filled, and the figure is one of the gallery.
    Words that are a verdict rest on none.
    """
    findings = stored_findings()
    papers = [paper for paper in built_in().values() if paper.opening]
    assert PAPER in papers
    for paper in papers:
        opening, filled = paper.opening, opening_of(paper, findings)
        assert opening and filled and opening.expects
        named = set(re.findall(r"\{([a-z0-9]+-[0-9a-f]{6})(?!:verdict)", opening.result + opening.question))
        assert named <= opening.expects.keys() <= findings.keys()
        assert {key: findings[key].verdict for key in opening.expects} == dict(opening.expects)
        assert tuple(title for title, _ in filled.lines) == TITLES
        assert all(text.endswith(".") and len(text.split()) <= 80 and not re.search(r"[{}\n]", text) for _, text in filled.lines)
        assert not filled.figure or filled.of in FIGURES[filled.figure].names


READ = with_opening("It is {x-000001}, and this {x-000001:verdict}.", x_000001="holds")


def test_numbers_are_those_of_the_findings() -> None:
    filled = opening_of(READ, {"x-000001": Finding("holds", "", effect=Effect(2.5))})
    assert filled and filled.lines[1] == (TITLES[1], f"It is +2.50 points, and this {VERDICT_WORDS['holds']}.")


def test_other_verdicts_leave_only_what_the_paper_says() -> None:
    """Words that rest on other verdicts are not shown, neither with other runs nor without any."""
    for findings in ({"x-000001": Finding("open", "", effect=Effect(2.5))}, {}):
        filled = opening_of(READ, findings)
        assert filled and [text for _, text in filled.lines] == ["A.", OTHER_RUNS]
    assert opening_of(replace(PAPER, opening=None), {}) is None
    with pytest.raises(SentvizError, match="x-000002"):
        opening_of(with_opening("{x-000002}."), {})
