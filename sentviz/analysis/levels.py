"""Error levels of claims: p from an interval, the false discovery rate over a board, and equivalence within a margin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist

from sentviz.errors import InputError

LEVEL = 0.05
_NORMAL = NormalDist()


def _error(low: float, high: float, coverage: float) -> float:
    """Return the standard error behind a normal interval."""
    return (high - low) / (2 * _NORMAL.inv_cdf((1 + coverage) / 2))


def p_of_interval(value: float, low: float, high: float, null: float, *, coverage: float = 0.95) -> float:
    """Return the two-sided p of a value against `null`, from its interval by the normal approximation.

    Half of the interval is taken as a normal quantile times the standard error. If the interval is from a t distribution with few degrees
    of freedom, or is not symmetric, this p is an approximation; a test that knows its p should state it.
    """
    error = _error(low, high, coverage)
    if error <= 0:
        return 1.0 if value == null else 0.0
    return math.erfc(abs(value - null) / error / math.sqrt(2))


def equivalent(low: float, high: float, margin: float) -> bool | None:
    """Return whether a difference is smaller than a margin, by two one-sided tests; None if its interval does not decide.

    True if the 95 % interval lies inside (-margin, +margin), which is stricter than the usual 90 % interval: each one-sided test has a
    level of 2.5 %. False if the interval lies beyond one end of the margin.
    """
    if margin <= 0:
        raise InputError("A margin must be larger than 0.")
    if -margin < low and high < margin:
        return True
    return False if low >= margin or high <= -margin else None


def p_of_margin(value: float, low: float, high: float, margin: float, *, coverage: float = 0.95) -> float:
    """Return the p behind `equivalent`, from the interval by the normal approximation.

    For a value inside the margin it is the larger p of the two one-sided tests, for one outside the p of the test that it is inside.
    """
    error = _error(low, high, coverage)
    room = abs(margin - abs(value))
    if error <= 0:
        return 0.0 if room else 1.0
    return _NORMAL.cdf(-room / error)


def false_discovery(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted by Benjamini and Hochberg (1995), in the same order.

    If all claims with an adjusted value of at most 5 % are believed, 5 % of them are expected to be wrong.
    """
    if wrong := [name for name, p in p_values.items() if not 0 <= p <= 1]:
        raise InputError(f"A p-value must be from 0 to 1. Outside this range: {', '.join(wrong)}.")
    adjusted, least, number = dict(p_values), 1.0, len(p_values)
    for rank, name in sorted(enumerate(sorted(p_values, key=p_values.__getitem__), start=1), reverse=True):
        least = adjusted[name] = min(least, p_values[name] * number / rank)
    return adjusted
