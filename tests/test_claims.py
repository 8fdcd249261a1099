"""Stored verdicts: they are those of the tests, for the runs and tables that they were made of, and every claim has an answer."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sentviz.papers.studies.claims import BROKEN, claims_of, judged
from sentviz.papers.studies.verdicts import FILE, digest_of_sources, store_verdicts, stored_findings, verdicts
from sentviz.runs.catalog import study_runs
from sentviz.runs.registry import built_in, find_paper, papers
from sentviz.runs.store import SHIPPED
from tests.claims.table import without_rounding_errors
from tests.studies import made_run, plant


def test_ids_are_those_of_the_stored_verdicts() -> None:
    """Links and stored verdicts rest on the ids: the claims of each built-in paper have the stored keys, each once, in the same order."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    assert {name: [claim.key(name) for claim in claims_of(find_paper(name))] for name in built_in()} == {
        name: list(each["found"]) for name, each in stored.items()
    }
    every = [claim for paper in papers().values() for claim in claims_of(paper)]
    assert max(len(claim.row) for claim in every) <= 46, "words that fit a printed column"
    assert not [claim.statement for claim in every if not claim.data and (claim.on or claim.against == "runs here")]


@pytest.mark.parametrize("name", built_in())
def test_what_needs_no_runs_is_judged_as_it_is_stored(name: str) -> None:
    """Verdict, evidence and p of claims on the paper's own tables, on data sets and on simulations are those that ship."""
    stored = stored_findings()
    for claim in claims_of(find_paper(name)):
        if claim.against != "runs here":
            finding, own = claim.test([]), stored[claim.key(name)]
            assert finding.verdict == own.verdict and plain(finding.evidence) == plain(own.evidence), claim.statement
            assert finding.p == (own.p if own.p is None else pytest.approx(own.p, rel=1e-6))


@pytest.mark.exhaustive
def test_without_runs_what_needs_them_cannot_be_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor with what was measured of runs and is stored beside a study."""
    for name in ("PADDING", "NEUTRAL"):
        plant(monkeypatch, f"sevenessxin.measured.{name}", tmp_path)
    frame = judged([])
    assert not frame["evidence"].str.startswith(BROKEN).any() and frame["evidence"].str.len().all()
    assert set(frame[frame["against"] == "runs here"]["verdict"]) == {"unjudged"}
    assert len(frame) == sum(len(claims_of(paper)) for paper in papers().values()) and frame["key"].is_unique


@pytest.mark.data
@pytest.mark.exhaustive
def test_stored_verdicts_are_those_of_the_tests() -> None:
    """The stored verdicts of the shipped runs equal the verdicts of running every test again."""
    shipped_runs = study_runs([SHIPPED]).runs
    stored, fresh = verdicts(shipped_runs), judged(shipped_runs)
    for column in ("key", "verdict", "evidence", "parts"):
        pd.testing.assert_series_equal(stored[column].map(plain), fresh[column].map(plain), check_names=False)
    for own, again in zip(stored["effect"], fresh["effect"], strict=True):
        assert (own is None) == (again is None)
        if own is not None:
            assert (own.unit, own.of, own.low is None) == (again.unit, again.of, again.low is None)
            assert (own.value, own.low or 0) == pytest.approx((again.value, again.low or 0))


def plain(value: object) -> object:
    """Return parts without their effects, which are compared as numbers, and texts without tiny numbers, in which machines differ."""
    if isinstance(value, tuple):
        return [(rows, finding.verdict, plain(finding.evidence)) for rows, finding in value]
    return without_rounding_errors(value) if isinstance(value, str) else value


def test_verdicts_are_kept_for_the_same_runs_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored verdicts are used only for the runs that the store names; other runs, and a damaged store, are judged again."""
    file, small = tmp_path / "verdicts.json", replace(find_paper("ndt"), claims="sentviz.papers.ndt.our_claims:BOARD")
    monkeypatch.setitem(papers(), "ndt", small)
    monkeypatch.setattr("sentviz.papers.studies.verdicts.built_in", lambda: {"ndt": small})
    store_verdicts([], file=file)
    file.write_text(file.read_text(encoding="utf-8").replace("unjudged", "holds"), encoding="utf-8")

    def on_runs(runs: list[Any]) -> list[str]:
        return verdicts(runs, ["ndt"], file=file)["verdict"].tolist()

    assert on_runs([]) == ["holds"] * 2 and on_runs([made_run(tmp_path, "sst2", "vanilla")]) == ["unjudged"] * 2
    file.write_text("{", encoding="utf-8")
    assert on_runs([]) == ["unjudged"] * 2


@pytest.mark.parametrize("kind", ["printed", "measured"])
def test_verdicts_are_judged_again_after_a_table_of_their_paper_has_changed(kind: str, tmp_path: Path) -> None:
    """Claims read printed and measured tables, so a changed digit there makes stored verdicts stale."""
    folder = Path(shutil.copytree(find_paper("ndt").folder, tmp_path / "ndt"))
    paper = replace(find_paper("ndt"), folder=folder)
    before = digest_of_sources(paper, [])
    assert before == digest_of_sources(find_paper("ndt"), [])
    table = min((folder / kind).glob("*.csv"))
    table.write_text(table.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert digest_of_sources(paper, []) != before
