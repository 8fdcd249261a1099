"""Each claim of each paper on made-up numbers: it holds, fails and stays open as they say, with the evidence that is stored."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from sentviz.papers.studies.claims import claims_of
from sentviz.runs.registry import built_in, find_paper
from tests.claims import fused, hardmax, ndt, sentiformer, sevenessxin
from tests.claims.table import DIRECTIONS, Case, World, answers_of, described, in_words
from tests.studies import as_said

TABLES = {table.paper: table for table in (ndt.TABLE, sentiformer.TABLE, sevenessxin.TABLE, fused.TABLE, hardmax.TABLE)}
CLAIMS = {claim.key(name): (name, claim) for name in built_in() for claim in claims_of(find_paper(name))}
MEASURED = {"sevenessxin-3e5e63"}
"""Claims about runs that measurements judge which ship without their runs."""
STORED = Path(__file__).with_name("findings.json")


@pytest.fixture(scope="module")
def stored(request: pytest.FixtureRequest) -> Iterator[dict[str, list[str]]]:
    """Return what every claim says of itself, and its finding in each case; `pytest tests/claims --bless` stores what they are now."""
    findings: dict[str, list[str]] = json.loads(STORED.read_text(encoding="utf-8")) if STORED.is_file() else {}
    yield findings
    if request.config.getoption("--bless"):
        ordered = {key: findings[key] for key in CLAIMS if key in findings}
        STORED.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def firsts(cases: list[Case]) -> set[int]:
    """Return the places of the first case of each verdict."""
    verdicts = [case.verdict for case in cases]
    return {verdicts.index(verdict) for verdict in verdicts}


Judge = Callable[[str, Iterable[int]], list[str]]


@pytest.fixture
def judge(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """Return the findings of some cases of a claim, whose verdicts and words are those of the table."""

    def judged(key: str, places: Iterable[int]) -> list[str]:
        paper, claim = CLAIMS[key]
        findings = []
        for place in places:
            case = TABLES[paper].cases[claim.id][place]
            (folder := tmp_path / str(place)).mkdir()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("sentviz.papers.studies.stats._answers", answers_of)
                runs = case.numbers(World(patch, folder, tmp_path_factory.getbasetemp() / "runs of claims"))
                finding = as_said(claim.test(runs or []))
            assert finding.verdict == case.verdict, (place, finding.evidence)
            for words in case.says:
                assert words in finding.evidence, place
            findings.append(in_words(finding))
        return findings

    return judged


@pytest.mark.parametrize("key", CLAIMS)
def test_a_claim_has_the_verdicts_of_its_numbers(
    key: str, judge: Judge, stored: dict[str, list[str]], request: pytest.FixtureRequest
) -> None:
    """The first case of each verdict is judged; effect, p and evidence are those that are stored."""
    paper, claim = CLAIMS[key]
    cases = TABLES[paper].cases.get(claim.id, [])
    if request.config.getoption("--bless"):
        stored[key] = [described(claim), *judge(key, range(len(cases)))]
    places = sorted(firsts(cases))
    wanted = stored.get(key, [""])
    now = [described(claim), *judge(key, places)]
    assert [wanted[0], *(wanted[1 + place] for place in places)] == now, f"{claim.statement} differs; if it should, use --bless"


@pytest.mark.parametrize("key", CLAIMS)
def test_a_claim_has_the_verdicts_of_further_numbers(key: str, judge: Judge, stored: dict[str, list[str]]) -> None:
    paper, claim = CLAIMS[key]
    cases = TABLES[paper].cases.get(claim.id, [])
    places = sorted({*range(len(cases))} - firsts(cases))
    assert [stored[key][1 + place] for place in places] == judge(key, places)


@pytest.mark.parametrize("paper", built_in())
def test_every_claim_says_what_is_stored_and_cannot_be_judged_without_runs(paper: str) -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    of_paper = {key: claim for key, (name, claim) in CLAIMS.items() if name == paper}
    assert {key: described(claim) for key, claim in of_paper.items()} == {key: stored[key][0] for key in stored if key in of_paper}
    without = {key: claim.test([]) for key, claim in of_paper.items() if claim.against == "runs here"}
    assert {key for key, finding in without.items() if finding.verdict != "unjudged"} <= MEASURED
    assert all(finding.evidence for finding in without.values())


@pytest.mark.parametrize("paper", built_in())
def test_every_claim_is_tried_in_its_directions(paper: str) -> None:
    """A claim holds and fails, a tested one stays open, too, and one about runs is not judged without them; `never` has the exceptions."""
    wanted = {
        claim.statement: DIRECTIONS[claim.kind] | ({"unjudged"} if claim.against == "runs here" else set())
        for claim in claims_of(find_paper(paper))
    }
    missing = {claim.statement: wanted[claim.statement] - TABLES[paper].tried(claim) for claim in claims_of(find_paper(paper))}
    assert {statement: verdicts for statement, verdicts in missing.items() if verdicts} == {}


def test_no_claim_is_tried_in_a_direction_that_it_never_has() -> None:
    for table in TABLES.values():
        for name, cases in table.cases.items():
            assert not {case.verdict for case in cases} & table.never[name], name
