"""Claims: their parts, their stored verdicts, those about layers, components and epochs, and the findings that words are made of."""

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_args

import pandas as pd
import pytest

from experiments.general import claim_runs
from sentviz.analysis.causal import claims
from sentviz.analysis.claim import (
    HOW,
    VERDICT_WORDS,
    Answer,
    Board,
    Claim,
    Effect,
    Finding,
    Reference,
    Verdict,
    decide,
    not_testable,
    settled,
    strictest_finding,
)
from sentviz.analysis.explain import stored
from sentviz.charts.registry import find_figure
from sentviz.charts.verdicts import effect_in_words
from sentviz.errors import InputError
from sentviz.papers.studies import findings
from sentviz.papers.studies.claims import claims_of, judged
from sentviz.papers.studies.findings import Picture, article, changed_by, every_claim, expected, sources, unmarked
from sentviz.papers.studies.verdicts import FILE, digest_of_sources, store_verdicts, stored_findings, verdicts
from sentviz.runs.catalog import study_runs
from sentviz.runs.registry import built_in, find_paper, papers
from sentviz.runs.store import SHIPPED, Run
from tests import kit
from tests.claims.table import without_rounding_errors
from tests.kit import refused
from tests.studies import made_run

HOLDS = Finding("holds", "it is so", effect=Effect(1.0))


def test_parts_of_claims_are_checked_values() -> None:
    assert Effect(2.0) == Effect(2.0, None, None, "points", 0.0, "")
    assert Effect.from_share_difference(0.1, 0.02, 0.3, "a minus b") == Effect(10.0, 2.0, 30.0, "points", 0.0, "a minus b")
    assert Effect.from_share_difference(-0.5, -0.75, 0.25) == Effect(-50.0, -75.0, 25.0)
    assert Effect.from_comparison({"difference": 0.25, "low": -0.5, "high": 0.75, "n": 9}, "c") == Effect(25.0, -50.0, 75.0, of="c")
    assert Effect.from_share(0.625, 0.5, 0.75, 0.25, "right") == Effect(62.5, 50.0, 75.0, "%", 25.0, "right")
    assert not_testable("one seed", Effect(2.0)) == Finding("unjudged", "one seed", (), Effect(2.0), None)
    assert [Answer("Is it?", "holds", "Yes", n, "results").sentence for n in ("n = 9.", "")] == ["Is it? Yes. n = 9.", "Is it? Yes."]
    assert set(VERDICT_WORDS) == set(get_args(Verdict)) and set(HOW) == set(get_args(Reference))
    for text in (*set(VERDICT_WORDS.values()) - {"holds"}, "true", ""):
        refused(InputError, "Use one of holds, fails, open, unjudged", Finding, text, "")
    claim = Claim("a", "so", "here", "data sets", "counted", lambda _: HOLDS)
    for value in (Effect(1.0), HOLDS, Answer("?", "holds", "yes", "", ""), claim):
        refused(FrozenInstanceError, "cannot assign", setattr, value, next(iter(vars(value))), "other")
    claim = Claim("a-b", "A beats B on X", "table 1", "runs here", "tested", lambda _: HOLDS)
    assert (claim.row, claim.key("ndt")) == ("A beats B on X", "ndt-a-b")
    wrong = ("a", "A beats B", "", "runs here")
    refused(InputError, r"The claim 'A beats B' has the kind 'sure'. Use one of printed, counted", Claim, *wrong, "sure", lambda _: HOLDS)
    registered = Board({}).claim("a", "A beats B", where="", against="runs here", kind="")
    refused(InputError, r"^The claim 'A beats B' has no kind. Use one of printed, counted, tested, theorem.$", registered, lambda: HOLDS)
    assert [decide(*each) for each in ((True, False), (False, True), (False, False), (True, True))] == ["holds", "fails", "open", "fails"]
    for holds, verdict in ((True, "holds"), (False, "fails")):
        assert settled(holds, "n = 3", Effect(1.0)) == Finding(verdict, "n = 3", effect=Effect(1.0))


def test_the_strictest_verdict_wins() -> None:
    """Of each pair the first one of `Verdict` wins in any order, with its own effect; of two equal verdicts the first finding."""
    for stricter, milder in ((a, b) for i, a in enumerate(get_args(Verdict)) for b in get_args(Verdict)[i + 1 :]):
        first, second = Finding(stricter, "one", effect=Effect(1.0)), Finding(milder, "other", effect=Effect(2.0))
        for parts in ({"these": first, "those": second}, {"those": second, "these": first}):
            finding = strictest_finding(parts)
            assert (finding.verdict, finding.effect, finding.parts) == (stricter, Effect(1.0), tuple(parts.items()))
            evidence = {f"on these it {VERDICT_WORDS[stricter]}: one", f"on those it {VERDICT_WORDS[milder]}: other"}
            assert set(finding.evidence.split("; ")) == evidence
    assert strictest_finding({"these": HOLDS, "those": Finding("holds", "again", effect=Effect(2.0))}).effect == Effect(1.0)
    sure, less = Finding("holds", "", p=0.001), Finding("holds", "", p=0.03)
    assert strictest_finding({"a": sure, "b": less, "c": not_testable("no runs")}).p == 0.03
    assert strictest_finding({"a": Finding("fails", "", p=0.01), "b": less, "c": not_testable("no runs")}).p == 0.02
    assert strictest_finding({"a": sure, "b": Finding("holds", "")}).p is None


def test_a_decorator_registers_a_claim_per_data_set() -> None:
    board = Board({"x": "X", "y": "Y News"}, {"y": "Y"})

    @board.claim({"x": "one", "y": "two"}, "On {} a beats B", where={"x": "table 1", "y": "table 2"}, against="runs here", kind="tested",
        section="results", figure="bars", how="by counting")  # fmt: skip
    @board.claim("three", "Every A beats B", "A beats all", where="table 3", against="runs here", kind="tested", reads=("x", "y"))
    def judge(dataset: str, runs: Sequence[Run]) -> Finding:
        return HOLDS if dataset == "x" else not_testable(f"{len(runs)} runs of {dataset}")

    @board.claim("four", "λ is {least} or more", where="", against="data sets", kind="counted", least=3)
    def judge_least(least: int) -> Finding:
        return not_testable(f"{least}")

    assert [(each.id, each.row, each.on, each.data, each.where, each.statement) for each in board] == [
        ("one", "A beats B", "X", ("x",), "table 1", "On X a beats B"),
        ("two", "A beats B", "Y News", ("y",), "table 2", "On Y a beats B"),
        ("three", "A beats all", "", ("x", "y"), "table 3", "Every A beats B"),
        ("four", "Λ is 3 or more", "", (), "", "λ is 3 or more"),
    ]
    first, second, _, least = board
    assert (first.against, first.kind, first.how, first.shows, first.figure) == ("runs here", "tested", "by counting", "results", "bars")
    assert first.test([]) is HOLDS and second.test([]) == not_testable("0 runs of y") and least.test([]) == not_testable("3")
    again = board.claim("c", "So", where="", against="data sets", kind="counted", most=1)
    refused(InputError, "The test of 'So' has no argument most", again, judge_least)


def test_ids_are_those_of_the_stored_verdicts() -> None:
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    assert {name: [claim.key(name) for claim in claims_of(find_paper(name))] for name in built_in()} == {
        name: list(each["found"]) for name, each in stored.items()
    }
    every = [claim for paper in papers().values() for claim in claims_of(paper)]
    assert max(len(claim.row) for claim in every) <= 46, "words that fit a printed column"
    assert not [claim.statement for claim in every if not claim.data and (claim.on or claim.against == "runs here")]


@pytest.mark.parametrize("name", built_in())
def test_what_needs_no_runs_is_judged_as_it_is_stored(name: str) -> None:
    stored = stored_findings()
    for claim in claims_of(find_paper(name)):
        if claim.against != "runs here":
            finding, own = claim.test([]), stored[claim.key(name)]
            assert finding.verdict == own.verdict and plain(finding.evidence) == plain(own.evidence), claim.statement
            assert finding.p == (own.p if own.p is None else pytest.approx(own.p, rel=1e-6))


@pytest.mark.data
@pytest.mark.exhaustive
def test_stored_verdicts_are_those_of_the_tests() -> None:
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
    folder = Path(shutil.copytree(find_paper("ndt").folder, tmp_path / "ndt"))
    paper = replace(find_paper("ndt"), folder=folder)
    before = digest_of_sources(paper, [])
    assert before == digest_of_sources(find_paper("ndt"), [])
    table = min((folder / kind).glob("*.csv"))
    table.write_text(table.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert digest_of_sources(paper, []) != before


SPREAD = {"holds": (0.1, 0.3), "fails": (-0.3, -0.1), "open": (-0.1, 0.1)}


@pytest.mark.parametrize("verdict", SPREAD)
@pytest.mark.parametrize("test", [claims.layers_apart, claims.second_is_negative, claims.direction_is_ahead])
def test_claims_are_decided_in_three_directions(test: Callable[[Run], Finding], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interval above 0 (for the second component: below 0), below 0, and around 0."""
    low, high = SPREAD[verdict]
    low, high = (-high, -low) if test is claims.second_is_negative else (low, high)
    names = [("centre", -1, "apart"), ("component", 2, "adjective"), ("epoch", 1, "ahead")]
    further = [("centre", -1, "adjective"), ("centre", -1, "negation"), ("component", 1, "adjective"), ("epoch", 1, "separated"),
               ("epoch", 1, "accuracy")]  # fmt: skip
    rows = [(*name, "", (low + high) / 2, low, high, 40) for name in names] + [(*name, "", 0.5, 0.4, 0.6, 40) for name in further]
    monkeypatch.setattr(claims, "rows_of", lambda name, run: pd.DataFrame(rows, columns=claim_runs.COLUMNS))
    finding = test(cast(Run, SimpleNamespace(name="sst2/ndt-unit-2", digest="abc", epochs=(1, 3))))
    assert finding.verdict == verdict and finding.effect is not None and "40" in finding.evidence


@kit.SHIPPED
def test_the_stored_tables_are_of_shipped_runs() -> None:
    known = {run.name: run.digest for run in study_runs([SHIPPED]).runs}
    for name in (claims.CAUSES, "agreement"):
        table = stored.read_measured(name)
        assert {(row.run, row.digest) for row in table[["run", "digest"]].drop_duplicates().itertuples()} <= set(known.items())
        assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()


def test_every_sentence_that_can_be_wrong_names_its_source() -> None:
    """No sentence with a digit, a test's name, or one of best, most, all, none, no, every is without a marker, and every source exists."""
    text = findings.ARTICLE.read_text(encoding="utf-8")
    named = sources(text, stored_findings())
    assert unmarked(text) == [] and len(named) >= 10 and all(named.values()), named
    invented = "A.<!-- by ndt-000000, leak share, printed ndt/lambdas, printed ndt/none --> B.<!-- by definition -->"
    known = {"ndt-000000": False, "leak share": True, "printed ndt/lambdas": True, "printed ndt/none": False, "definition": True}
    assert sources(invented, stored_findings()) == known
    for sentence in ("Most runs gain.", "It gains 3 points.", "No run gains (Welch).", "They have one seed each."):
        around = f"Words lead (Sun et al. say so). {sentence} It is {{n}} of 4.<!-- expects ndt-c41f6e open -->"
        assert unmarked(around) == [sentence] and unmarked(around.replace(sentence, f"{sentence}<!-- by ndt-c41f6e -->")) == []
        assert unmarked(f"# {sentence}") == []
    assert unmarked("On SST-2 and Sentiment140, 7ess-Xin V6 reads words in [−1, 1].") == []
    stored = stored_findings()
    assert len(expected()) >= 15 and {key: stored[key].verdict for key in expected()} == expected()


def test_every_number_of_the_article_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = article()
    text = "".join(part for part in parts if isinstance(part, str))
    assert not re.search(r"[{}]|<!--", text) and 1_200 <= len(text.split()) <= 2_500
    pictures = [part for part in parts if isinstance(part, Picture)]
    assert len(pictures) == 6 and all(picture.of in find_figure(picture.figure).names for picture in pictures)
    table = Path(findings.__file__).parents[1] / "ndt" / "measured" / "leak.csv"
    cells = [line.split(",") for line in table.read_text(encoding="utf-8").splitlines()]
    (row,) = [row for row in cells if row[:3] == ["the re-split", "5 words or more", "inside"] and row[5] == "vanilla"]
    assert f"{100 * float(row[3]):.1f} % of the test phrases" in text and f"{100 * float(row[6]):.1f} % correctly" in text
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    effect = {"value": 7.25, "low": 6.5, "high": 8.0, "unit": "points", "null": 0.0, "of": "made up"}
    stored["ndt"]["found"]["ndt-c41f6e"] |= {"verdict": "holds", "effect": effect}
    edited = tmp_path / "verdicts.json"
    edited.write_text(json.dumps(stored), encoding="utf-8")
    assert "+7.25 points [+6.50, +8.00]" in "".join(map(str, article(edited)))
    holding = [sum(finding.verdict == "holds" for finding in stored_findings(file).values()) for file in (FILE, edited)]
    assert holding[1] == holding[0] + 1 and f"{holding[1]} hold" in str(article(edited)[1])
    wrong = tmp_path / "findings.md"
    wrong.write_text("One number: {ndt-000000}.", encoding="utf-8")
    monkeypatch.setattr(findings, "ARTICLE", wrong)
    refused(InputError, "ndt-000000", article)


WIDE = Effect(9.0, 8.0, 10.0)


def test_what_would_change_a_verdict() -> None:
    """An open claim names how many times as many runs, by the square of interval over effect; a settled one the distance to its limit."""
    frame, stored = every_claim(), stored_findings()
    assert len(frame) == len(stored) > 100 and (frame["what would change it"].str.len() > 10).all()
    assert sorted(frame["effect"]) == sorted(effect_in_words(each.effect) if each.effect else "" for each in stored.values())
    for claim, finding, words in (
        ({}, Finding("open", "", effect=Effect(0.5, -1.0, 2.0)), "About 9 times as many seeds"),
        ({}, Finding("open", "", effect=Effect(0.01, -1.49, 1.51)), "1.50 points"),
        ({}, Finding("open", "", effect=Effect(2.0, 1.0, 3.0)), "correction"),
        ({}, Finding("holds", "", effect=Effect(1.0, 0.4, 1.6)), "0.40 points"),
        ({}, Finding("fails", "", effect=Effect(40.0, 30.0, 49.75, "%", null=50.0)), "0.25\u00a0%"),
        ({}, Finding("open", "the run did not learn: a/b", effect=WIDE), "Runs that learn"),
        ({}, Finding("open", "its validation loss still fell by 2.0%", effect=WIDE), "Longer trainings"),
        ({}, Finding("open", "A (A did not have every training of B)", effect=WIDE), "same learning rates"),
        ({}, Finding("open", "means over heads, so a difference in single heads is not seen", effect=Effect(0, 0, 37)), "head by head"),
        ({"how": "an interval inside one point on either side"}, Finding("open", "", effect=Effect(0.1, -1.1, 1.3)), "A narrower interval"),
        ({"against": "its own tables"}, Finding("holds", ""), "tables"),
        ({}, not_testable("only one run is installed"), "only one run"),
    ):
        named = {"against": "runs here"} | claim
        claimed = Claim("000000", "It gains", "", kind="tested", test=lambda runs: not_testable(""), **named)
        assert words in changed_by(claimed, finding)
        assert "learning" not in changed_by(claimed, Finding("fails", "and the paper waits until 3 epochs", effect=WIDE))
