"""Permutation SHAP: Shapley values from sampled orders of the words (Castro et al. 2009; Lundberg & Lee 2017, arXiv 1705.07874).

The words of an empty text appear one by one in a random order; each is credited with the rise of f when it appears. Each order is used
forwards and backwards, and the mean of the two is one draw. The values are means over draws, so they sum to f(text) - f(empty text); the
standard error of a word is the standard deviation of its draws by the root of their number; `interval_of_draws` makes a 95 % interval of
it. If all subsets of the words fit into the samples, the values are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.exact import MAX_TOKENS, shapley_values, subsets
from sentviz.analysis.explain.leave_out import spread
from sentviz.analysis.explain.value_function import Absent, Doubles, Game, Valued, fitting, numbered
from sentviz.analysis.seeds import half_width
from sentviz.data.texts import Word
from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
SAMPLES, LEAST_DRAWS = 200, 2  # predicted texts, and draws that a standard error needs


@dataclass(frozen=True, eq=False)
class Sampled:
    """Sampled Shapley values of a text's words, with their standard errors."""

    players: tuple[Word, ...]  # n
    values: Doubles  # (n,) log-odds
    sampling_errors: Doubles  # (n,) standard errors in log-odds; 0 if the values are exact
    draws: int  # pairs of an order and its reverse; 0 if the values are exact
    rise: float  # f(text) - f(empty text), the sum of the values
    scores: Floats  # (m,) value of each token's player; 0 for special tokens
    errors: Floats  # (m,) standard error of each token's player; 0 for special tokens
    places: Ints  # (m,) number of the token's player; each special token has a separate number


def permutation_shap(model: Model, trace: Trace, *, samples: int = SAMPLES, seed: int = 0, absent: Absent = "deleted") -> Sampled:
    """Return sampled Shapley values of the words of a text for the trace's target; of larger parts if the text is long.

    Args:
        samples: number of predicted texts, about; more only if LEAST_DRAWS draws need them.
        seed: seed of the orders.
        absent: what happens to absent words.
    """
    if samples < 2:
        raise InputError(f"Permutation SHAP needs at least two samples, not {samples}.")
    _, players = fitting(model, trace, longest(len(trace.tokens) - trace.padding))
    values, errors, draws, rise = sampled_values(Game(model, trace, players, absent), len(players), samples, seed)
    m = len(trace.tokens)
    return Sampled(
        tuple(players), values, errors, draws, rise, spread(players, values, m), spread(players, errors, m), numbered(trace, players)
    )


def sampled_values(game: Valued, n: int, samples: int = SAMPLES, seed: int = 0) -> tuple[Doubles, Doubles, int, float]:
    """Return sampled Shapley values of n players (n,), their standard errors (n,), the number of draws, and the sum of the values.

    Args:
        game: coalitions (N, n) -> their values (N,).
        samples, seed: as for `permutation_shap`.
    """
    if n < 2 or 1 << n <= samples:
        table = game(subsets(n))
        return shapley_values(table), np.zeros(n), 0, float(table[-1] - table[0])
    draws = max(LEAST_DRAWS, (samples - 2) // (2 * (n - 1)))
    rng = np.random.default_rng(seed)
    forward = np.stack([rng.permutation(n) for _ in range(draws)])
    orders = np.concatenate([forward, forward[:, ::-1]])  # (2 draws, n)
    ranks = orders.argsort(axis=1)
    present = ranks[:, None, :] < np.arange(n + 1)[:, None]  # (2 draws, n + 1, n): the first 0, 1 .. n players of each order
    worth = game(present.reshape(-1, n)).reshape(2 * draws, n + 1)
    gains = np.take_along_axis(np.diff(worth, axis=1), ranks, axis=1)  # (2 draws, n) by player
    drawn = (gains[:draws] + gains[draws:]) / 2
    return drawn.mean(axis=0), drawn.std(axis=0, ddof=1) / np.sqrt(draws), draws, float(worth[0, -1] - worth[0, 0])


def interval_of_draws(errors: Doubles, draws: int) -> Doubles:
    """Return half the width of the 95 % interval of each player, (n,): Student's t with one degree of freedom less than draws.

    A player whose few draws are equal by chance has no standard error, so the mean square of all players counts as much as its own. In
    simulated games with two to fourteen draws, these intervals hold the exact value in 95 % or more, plain t intervals in 80 to 95 %.

    Args:
        errors: (n,) standard errors.
    """
    return half_width(1.0, draws - 1) * np.sqrt((errors**2 + np.mean(errors**2)) / 2)


def longest(tokens: int) -> int:
    """Return the largest number of players of a text with this many tokens, so that LEAST_DRAWS draws have at most MAX_TOKENS tokens."""
    return max(2, MAX_TOKENS // (LEAST_DRAWS * max(1, tokens)))
