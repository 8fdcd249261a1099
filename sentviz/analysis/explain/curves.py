"""Measures of an order of a text's players, from the values of all subsets (`sentviz.analysis.explain.exact`).

deletion           probability without the first k players of the order, k = 0 .. n; a good order falls early      Petsiuk et al. 2018
insertion          probability with only the first k players; a good order rises early
area               mean height of a curve, by trapezoids, with k / n from 0 to 1
normalised AOPC    the mean fall of the deletion curve, on a scale from the lowest (0) to the highest (1) that any order of this
                   text reaches                                                                  Edin et al. 2024, arXiv 2408.08137
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def probabilities(log_odds: Doubles) -> Doubles:
    """Return probabilities of log-odds."""
    return np.asarray(np.exp(-np.logaddexp(0, -log_odds)))


def deletion(table: Doubles, order: Ints) -> Doubles:
    """Return the values (n + 1,) without the first 0, 1 .. n players of an order.

    Args:
        table: (2^n,) value of each subset; bit i of the place is 1 if player i is present.
        order: (n,) players, first to last.
    """
    return table[len(table) - 1 - _first(order)]


def insertion(table: Doubles, order: Ints) -> Doubles:
    """Return the values (n + 1,) with only the first 0, 1 .. n players of an order; arguments as for `deletion`."""
    return table[_first(order)]


def area(curve: Doubles) -> float:
    """Return the mean height of a curve (n + 1,)."""
    return float((curve[:-1] + curve[1:]).mean() / 2)


def mean_fall(curve: Doubles) -> float:
    """Return the mean fall of a deletion curve (n + 1,) over its n steps (AOPC)."""
    return float(curve[0] - curve[1:].mean())


def limits(table: Doubles) -> tuple[float, float]:
    """Return the lowest and the highest mean fall that any order reaches, by dynamic programming over all subsets.

    The best sum of values from a subset down to the empty one is its own value and the best sum of the subsets with one player less.
    """
    n = len(table).bit_length() - 1
    places = np.arange(len(table))
    low, high = table.copy(), table.copy()  # sums from each subset down; those without players are their own values
    sizes = np.array([place.bit_count() for place in places.tolist()])
    for size in range(1, n + 1):
        large = places[sizes == size]
        below = np.where((large[:, None] >> np.arange(n)) & 1, large[:, None] & ~(1 << np.arange(n)), -1)
        low[large] += np.where(below >= 0, low[below], np.inf).min(axis=1)
        high[large] += np.where(below >= 0, high[below], -np.inf).max(axis=1)
    full = table[-1]
    return float(full - (high[-1] - full) / n), float(full - (low[-1] - full) / n)


def normalised_fall(table: Doubles, order: Ints) -> float:
    """Return the normalised AOPC of an order: 0 for the worst order of this text, 1 for the best; NaN if all orders are equal."""
    low, high = limits(table)
    return (mean_fall(deletion(table, order)) - low) / (high - low) if high - low > 1e-9 else float("nan")


def _first(order: Ints) -> Ints:
    """Return the subsets of the first 0, 1 .. n players of an order."""
    return np.concatenate([[0], np.cumsum(1 << np.asarray(order, dtype=np.int64))])
