"""Compute what an explanation drawn at random reaches on average: the exact expectation over all orders of a text's words.

Random scores are independent and symmetric around 0, so that every order of the words, and of their sizes, is equally likely:

    ranks, size        0: a rank correlation with a random order has mean 0
    signs              1/2
    first              k / n, where k of the n words share the strongest exact value
    reached, comprehensiveness, sufficiency, deletion, insertion
                       are linear in the curves, whose point for j present words is the mean over all subsets of j words
    error              not defined: the length of random scores has no meaning
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.judge import ZERO

Doubles = npt.NDArray[np.float64]

EQUAL = 1e-6  # share of the strongest exact value by which another may be smaller and count as strongest, as in `Agreement`


def expected_curves(chances: Doubles) -> tuple[Doubles, Doubles]:
    """Return the deletion and the insertion curve of a random order, (n + 1,) each.

    Args:
        chances: (2^n,) probability for each subset of the words.
    """
    sizes = np.array([place.bit_count() for place in range(len(chances))])
    insertion = np.bincount(sizes, chances) / np.bincount(sizes)
    return insertion[::-1], insertion


def expected_ranks(values: Doubles) -> float:
    """Return the mean rank correlation of random scores with values (n,): 0; NaN for fewer than three or for equal values."""
    return 0.0 if len(values) > 2 and np.ptp(values) > 0 else float("nan")


def expected_signs(values: Doubles) -> float:
    """Return the mean share of right signs: 1/2; NaN if no value has a sign."""
    size = np.abs(values)
    return 0.5 if (size > ZERO * size.max(initial=0.0)).any() else float("nan")


def expected_first(values: Doubles) -> float:
    """Return the probability that a random word is one of the strongest."""
    size = np.abs(values)
    return float(np.mean(size >= size.max() * (1 - EQUAL)))
