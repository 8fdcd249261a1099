"""Claims, findings and effects, computed in the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from typing import Any, get_args

import pytest

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
from sentviz.errors import InputError
from sentviz.runs.store import Run

HOLDS = Finding("holds", "it is so", effect=Effect(1.0))


def test_shares_become_points_and_percent() -> None:
    """Each number is a hundred times its share; a difference is compared with 0, a share with a share."""
    assert Effect(2.0) == Effect(2.0, None, None, "points", 0.0, "")
    assert Effect.from_share_difference(0.1, 0.02, 0.3, "a minus b") == Effect(10.0, 2.0, 30.0, "points", 0.0, "a minus b")
    assert Effect.from_share_difference(-0.5, -0.75, 0.25) == Effect(-50.0, -75.0, 25.0)
    assert Effect.from_comparison({"difference": 0.25, "low": -0.5, "high": 0.75, "n": 9}, "c") == Effect(25.0, -50.0, 75.0, of="c")
    assert Effect.from_share(0.625, 0.5, 0.75, 0.25, "right") == Effect(62.5, 50.0, 75.0, "%", 25.0, "right")
    assert not_testable("one seed", Effect(2.0)) == Finding("unjudged", "one seed", (), Effect(2.0), None)


def test_a_verdict_is_a_code() -> None:
    """Codes have words; words and other texts are refused with the list of codes."""
    assert set(VERDICT_WORDS) == set(get_args(Verdict)) and set(HOW) == set(get_args(Reference))
    for text in (*set(VERDICT_WORDS.values()) - {"holds"}, "true", ""):
        with pytest.raises(InputError, match="Use one of holds, fails, open, unjudged"):
            Finding(text, "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [Effect(1.0), HOLDS, Answer("?", "holds", "yes", "", ""), Claim("a", "so", "here", "data sets", "counted", lambda _: HOLDS)]
)
def test_values_cannot_be_changed(value: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(value, next(iter(vars(value))), "other")


@pytest.mark.parametrize(("holds", "fails", "verdict"), [(True, False, "holds"), (False, True, "fails"), (False, False, "open")])
def test_a_verdict_by_two_conditions(holds: bool, fails: bool, verdict: Verdict) -> None:
    """A refuted claim fails whatever else is true; a test that always decides has no open verdict."""
    assert decide(holds, fails) == verdict and decide(True, True) == "fails"
    assert settled(holds, "n = 3", Effect(1.0)) == Finding("holds" if holds else "fails", "n = 3", effect=Effect(1.0))


def test_the_strictest_verdict_wins() -> None:
    """Of each pair the first one of `Verdict` wins in any order, with its own effect; of two equal verdicts the first finding."""
    for stricter, milder in ((a, b) for i, a in enumerate(get_args(Verdict)) for b in get_args(Verdict)[i + 1 :]):
        first, second = Finding(stricter, "one", effect=Effect(1.0)), Finding(milder, "other", effect=Effect(2.0))
        for parts in ({"these": first, "those": second}, {"those": second, "these": first}):
            finding = strictest_finding(parts)
            assert (finding.verdict, finding.effect, finding.parts) == (stricter, Effect(1.0), tuple(parts.items()))
            assert {f"on these it {VERDICT_WORDS[stricter]}: one", f"on those it {VERDICT_WORDS[milder]}: other"} == set(
                finding.evidence.split("; ")
            )
    assert strictest_finding({"these": HOLDS, "those": Finding("holds", "again", effect=Effect(2.0))}).effect == Effect(1.0)


def test_the_p_of_several_parts() -> None:
    """A claim that holds on every part is as sure as its least sure part; one that fails on some part pays for the number of parts."""
    sure, less = Finding("holds", "", p=0.001), Finding("holds", "", p=0.03)
    assert strictest_finding({"a": sure, "b": less, "c": not_testable("no runs")}).p == 0.03
    assert strictest_finding({"a": Finding("fails", "", p=0.01), "b": less, "c": not_testable("no runs")}).p == 0.02
    assert strictest_finding({"a": sure, "b": Finding("holds", "")}).p is None


def test_an_answer_is_one_line() -> None:
    """Question, answer and numbers are joined; empty numbers are left out."""
    assert [Answer("Is it?", "holds", "Yes", n, "results").sentence for n in ("n = 9.", "")] == ["Is it? Yes. n = 9.", "Is it? Yes."]


def test_a_claim_needs_a_known_kind() -> None:
    claim = Claim("a-b", "A beats B on X", "table 1", "runs here", "tested", lambda _: HOLDS)
    assert (claim.row, claim.key("ndt")) == ("A beats B on X", "ndt-a-b")
    with pytest.raises(InputError, match=r"The claim 'A beats B' has the kind 'sure'. Use one of printed, counted, tested, theorem"):
        Claim("a", "A beats B", "", "runs here", "sure", lambda _: HOLDS)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^The claim 'A beats B' has no kind. Use one of printed, counted, tested, theorem.$"):
        Board({}).claim("a", "A beats B", where="", against="runs here", kind="")(lambda: HOLDS)  # type: ignore[arg-type]


def test_a_decorator_registers_a_claim_per_data_set() -> None:
    """Each claim has its id, column, place and test; a claim on no data set has no column, and reads the runs that it names.

    Tests are in the order of the module, decorators of one test from top to bottom; rows begin with a large letter.
    """
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
    with pytest.raises(InputError, match="The test of 'So' has no argument most"):
        board.claim("c", "So", where="", against="data sets", kind="counted", most=1)(judge_least)
