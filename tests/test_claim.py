"""Claims, findings and effects by hand."""

from __future__ import annotations

import hashlib
from dataclasses import FrozenInstanceError
from typing import Any, get_args

import pytest

from sentviz.analysis.claim import (
    HOW,
    VERDICT_WORDS,
    Answer,
    Claim,
    Effect,
    Finding,
    Reference,
    Verdict,
    alike,
    not_testable,
    strictest_finding,
)

HOLDS = Finding("holds", "it is so", effect=Effect(1.0))


def test_shares_become_points_and_percent() -> None:
    """Each number is a hundred times its share, whatever the others are; a difference is held against 0, a share against a share."""
    assert Effect.from_share_difference(0.1, 0.02, 0.3, "a minus b") == Effect(10.0, 2.0, 30.0, "points", 0.0, "a minus b")
    assert Effect.from_share_difference(-0.5, -0.75, 0.25) == Effect(-50.0, -75.0, 25.0)
    assert Effect.from_comparison({"difference": 0.25, "low": -0.5, "high": 0.75, "n": 9}, "c") == Effect(25.0, -50.0, 75.0, of="c")
    assert Effect.from_share(0.625, 0.5, 0.75, 0.25, "right") == Effect(62.5, 50.0, 75.0, "%", 25.0, "right")


def test_what_nothing_is_said_of() -> None:
    alone = Effect(2.0)
    assert (alone.low, alone.high, alone.unit, alone.null, alone.of) == (None, None, "points", 0.0, "")
    assert Finding("holds", "so") == Finding("holds", "so", (), None)
    assert not_testable("no runs") == Finding("unjudged", "no runs")
    assert not_testable("one seed", alone).effect is alone


@pytest.mark.parametrize(
    "made", [Effect(1.0), HOLDS, Answer("?", "holds", "yes", "", ""), Claim("so", "here", "data sets", lambda _: HOLDS)]
)
def test_nothing_is_changed_behind_a_verdict(made: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(made, next(iter(vars(made))), "other")


def test_the_strictest_verdict_is_the_headline() -> None:
    """Of each pair the first of `Verdict`, whichever stands first, with its own effect; of two alike the first one's."""
    for stricter, milder in ((a, b) for i, a in enumerate(get_args(Verdict)) for b in get_args(Verdict)[i + 1 :]):
        first, second = Finding(stricter, "one", effect=Effect(1.0)), Finding(milder, "other", effect=Effect(2.0))
        for parts in ({"these": first, "those": second}, {"those": second, "these": first}):
            found = strictest_finding(parts)
            assert (found.verdict, found.effect) == (stricter, Effect(1.0)) and found.parts == tuple(parts.items())
            assert (
                f"on these it {VERDICT_WORDS[stricter]}: one" in found.evidence
                and f"on those it {VERDICT_WORDS[milder]}: other" in found.evidence
            )
    both = {"these": HOLDS, "those": Finding("holds", "again", effect=Effect(2.0))}
    assert strictest_finding(both).effect == Effect(1.0)


def test_an_answer_in_one_line() -> None:
    assert Answer("Is it?", "holds", "Yes", "n = 9.", "results").sentence == "Is it? Yes. n = 9."
    assert Answer("Is it?", "holds", "Yes", "", "results").sentence == "Is it? Yes."


def test_a_claim_has_a_row_and_a_name_of_its_own() -> None:
    """The row is the short form where there is one; the name changes with the words and with what they are held against."""
    claim = Claim("A beats B on X", "table 1", "runs here", lambda _: HOLDS)
    assert claim.row == "A beats B on X" and Claim("A beats B on X", "", "runs here", lambda _: HOLDS, "A beats B").row == "A beats B"
    assert claim.key("ndt") == "ndt-" + hashlib.sha256(b"runs here: A beats B on X").hexdigest()[:6]
    assert len({Claim(said, "", against, lambda _: HOLDS).key("ndt") for said in ("A", "B") for against in HOW}) == 2 * len(HOW)
    assert set(HOW) == set(get_args(Reference))


def test_claims_alike_share_a_row() -> None:
    """A column for each data set as the paper calls it; one that is of none has no column and reads no runs."""
    of_x, of_all = alike(
        "A beats B",
        "runs here",
        {"x": "X"},
        ("x", "A beats B on X", "table 1", lambda _: HOLDS),
        ("", "A beats B everywhere", "table 2", lambda _: not_testable("")),
        how="by counting",
        shows="results",
        figure="bars",
    )
    assert (of_x.row, of_x.on, of_x.data, of_x.where, of_x.statement) == ("A beats B", "X", ("x",), "table 1", "A beats B on X")
    assert (of_all.row, of_all.on, of_all.data, of_all.where) == ("A beats B", "", (), "table 2")
    assert {(one.against, one.how, one.shows, one.figure) for one in (of_x, of_all)} == {("runs here", "by counting", "results", "bars")}
    assert of_x.test([]) is HOLDS and of_all.test([]).verdict == "unjudged"
