"""Error levels: p from intervals, the false discovery rate and equivalence, against slow definitions and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from sentviz.analysis.claim import (
    Finding,
    Kind,
    decided_in_words,
    equivalent,
    false_discovery,
    level_in_words,
    over_board,
    p_of_interval,
    p_of_margin,
)
from sentviz.errors import InputError
from sentviz.papers.studies.claims import claims_of
from sentviz.papers.studies.verdicts import stored_findings
from sentviz.runs.registry import built_in, find_paper


def slow_rejections(p_values: list[float], level: float) -> set[int]:
    """Benjamini and Hochberg's rule word by word: the largest k whose k-th smallest p is at most k / m of the level."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    most = max((k for k in range(1, len(order) + 1) if p_values[order[k - 1]] <= k / len(order) * level), default=0)
    return set(order[:most])


def test_the_adjusted_p_rejects_as_the_rule_does() -> None:
    """For 300 random sets of p, with ties, the claims at or below a level are those of the slow rule."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        p = np.round(rng.random(rng.integers(1, 30)) ** rng.integers(1, 6), 3)
        adjusted = false_discovery({str(i): float(each) for i, each in enumerate(p)})
        for level in (0.01, 0.0512345, 0.2):
            assert {int(name) for name, each in adjusted.items() if each <= level + 1e-12} == slow_rejections(p.tolist(), level)
    assert false_discovery({}) == {}
    with pytest.raises(InputError, match="Outside this range: b"):
        false_discovery({"a": 0.5, "b": 1.5})


def test_only_tested_claims_have_a_level() -> None:
    """Other kinds are outside the correction; an open claim counts with a p of 1; what cannot be judged counts not at all."""
    sure, unsure, unjudged = Finding("holds", "", p=0.02), Finding("open", "", p=0.001), Finding("unjudged", "", p=0.01)
    board: dict[str, tuple[Kind, Finding]] = {"a": ("tested", sure), "b": ("counted", sure), "c": ("tested", unjudged)}
    assert over_board(board) == {"a": 0.02}
    assert over_board(board | {"d": ("tested", unsure), "e": ("tested", unsure)}) == {"a": pytest.approx(0.06)}
    assert over_board({"a": ("tested", Finding("fails", ""))}) == {"a": 1.0}
    assert level_in_words(0.02, 0.06) == "p = 0.02, after Benjamini and Hochberg = 0.06: not significant over the paper's board"
    assert level_in_words(1e-9, 0.03) == "p < 0.0001, after Benjamini and Hochberg = 0.03"
    assert level_in_words(float("nan"), float("nan")) == ""
    words = decided_in_words(["holds", "open", "fails", "holds"], ["printed", "tested", "tested", "printed"])
    assert words == "3 decided: 2 printed, 1 tested (5 % risk each)" and decided_in_words(["open"], ["tested"]) == "0 decided"


def test_p_of_an_interval_is_that_of_a_normal_test() -> None:
    """A value with a standard error of 0.5, against 1, at three coverages of its interval."""
    for value in (-2.0, 0.3, 1.96, 4.0):
        for coverage in (0.9, 0.95, 0.999):
            half = 0.5 * norm.ppf((1 + coverage) / 2)
            p = p_of_interval(value, value - half, value + half, 1.0, coverage=coverage)
            assert p == pytest.approx(2 * norm.sf(abs(value - 1.0) / 0.5))
    assert p_of_interval(1.0, 1.0, 1.0, 1.0) == 1.0 and p_of_interval(2.0, 2.0, 2.0, 1.0) == 0.0


def test_equivalence_has_three_answers() -> None:
    """Inside the margin, beyond one of its ends, or undecided; its p is the larger of two one-sided ones, 2.5 % on the edge."""
    intervals = {(-0.4, 0.4): True, (0.5, 0.9): False, (-0.9, -0.6): False, (-0.6, 0.4): None, (0.1, 0.5): None}
    assert {interval: equivalent(*interval, 0.5) for interval in intervals} == intervals
    with pytest.raises(InputError, match="larger than 0"):
        equivalent(0, 1, 0)
    p_values = [p_of_margin(*interval, 0.5) for interval in ((0.1, -0.3, 0.5), (0.7, 0.5, 0.9), (0.0, 0.0, 0.0))]
    assert p_values == pytest.approx([0.025, 0.025, 0])


def test_every_decided_tested_claim_has_a_level() -> None:
    """A stored verdict that is said to carry 5 % risk has an interval or a p of at most 5 %; no other kind is said to have one."""
    stored = stored_findings()
    for name in built_in():
        for claim in claims_of(find_paper(name)):
            finding = stored[claim.key(name)]
            if claim.kind == "tested" and finding.verdict in ("holds", "fails"):
                effect = finding.effect
                assert finding.p is not None or (effect is not None and effect.low is not None and effect.high is not None), claim.id
                assert finding.level is not None and finding.level <= 0.05, (claim.id, finding.level)
