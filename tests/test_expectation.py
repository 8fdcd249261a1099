"""The exact expectation of random explanations, against all orders of a few words, and the shipped tables."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from sentviz.analysis.explain import exact_comparison
from sentviz.analysis.explain.curves import deletion, insertion, limits, probabilities
from sentviz.analysis.explain.exact import shapley_values
from sentviz.analysis.explain.exact_comparison_table import PATCHED, TABLE
from sentviz.analysis.explain.stored import read_measured


def additive(weights: list[float]) -> np.ndarray:
    return np.array([sum(weight for i, weight in enumerate(weights) if place >> i & 1) for place in range(1 << len(weights))])


TABLES = [np.random.default_rng(n).normal(size=1 << n) for n in (3, 4)] + [additive([1.0, -1.0, 0.5, 1.0]), additive([1.0, 2.0])]


@pytest.mark.parametrize("table", TABLES, ids=["3", "4", "tie", "two"])
def test_all_orders_and_signs(table: np.ndarray) -> None:
    """Each measure's column `random` is its mean over all orders of sizes with all signs, which random scores have alike."""
    values, chances = shapley_values(table), probabilities(table)
    orders = [np.array(order) for order in permutations(range(len(values)))]
    scores = [np.array(signs) * (order + 1.0) for order in orders for signs in product((-1, 1), repeat=len(values))]
    lines = [exact_comparison._measures(values, chances, limits(chances), line, signed=True) for line in scores]
    frame, curves = exact_comparison.of_text(table, {"removal": values}, 0)
    random = frame[frame["method"] == "removal"].set_index("metric")["random"]
    wanted = dict(zip(exact_comparison.MEASURES, np.mean(lines, axis=0), strict=True)) | {"error": np.nan}
    assert {metric: random[metric] for metric in wanted} == pytest.approx(wanted, abs=1e-12, nan_ok=True)
    for curve, of in (("deletion", deletion), ("insertion", insertion)):
        every = [exact_comparison._at_points(of(chances, order)) for order in orders]
        assert curves["expected", curve] == pytest.approx(np.mean(every, axis=0), abs=1e-12)


def test_the_shipped_tables_have_expectations() -> None:
    """Rank correlations of random scores are 0, signs 1/2, and the first word is found as often as one word of 4 to 10 is."""
    table = read_measured(TABLE)
    for metric, expected in (("ranks", 0.0), ("size", 0.0), ("signs", 0.5)):
        assert (table[table["metric"] == metric]["random"] == expected).all(), metric
    first = table[table["metric"] == "first"]
    assert first["random"].between(1 / exact_comparison.MOST, 1 / exact_comparison.LEAST).all()
    assert (first.groupby("run")["random"].nunique() == 1).all() and (read_measured(PATCHED)["random"] == 0).all()
