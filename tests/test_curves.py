"""Insertion, deletion and normalised AOPC, compared with loops over all orders."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from sentviz.analysis.explain.curves import area, deletion, insertion, limits, normalised_fall, probabilities

TABLE = np.random.default_rng(5).normal(size=16)


def _value(present: set[int]) -> float:
    return float(TABLE[sum(1 << player for player in present)])


def test_curves_remove_and_add_players_one_by_one() -> None:
    """Each step is the value of a set that is made by hand."""
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        assert deletion(TABLE, np.array(order)) == pytest.approx([_value(set(order[k:])) for k in range(5)])
        assert insertion(TABLE, np.array(order)) == pytest.approx([_value(set(order[:k])) for k in range(5)])
    assert area(np.linspace(0.9, 0.1, 7)) == pytest.approx(0.5) and np.isnan(normalised_fall(np.full(8, 0.3), np.arange(3)))


def test_limits_are_those_of_all_24_orders() -> None:
    falls = [TABLE[15] - sum(_value(set(order[k:])) for k in range(1, 5)) / 4 for order in permutations(range(4))]
    assert limits(TABLE) == pytest.approx((min(falls), max(falls)))
    scaled = [normalised_fall(TABLE, np.array(order)) for order in permutations(range(4))]
    assert scaled == pytest.approx([(fall - min(falls)) / (max(falls) - min(falls)) for fall in falls])


def test_probabilities_are_exact_for_large_log_odds() -> None:
    assert probabilities(np.array([-800.0, 0.0, 800.0])) == pytest.approx([0.0, 0.5, 1.0])
    assert probabilities(np.array([-30.0]))[0] == pytest.approx(np.exp(-30) / (1 + np.exp(-30)), rel=1e-12)
