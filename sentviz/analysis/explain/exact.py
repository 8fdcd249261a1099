"""Exact Shapley values and pair interactions of a short text, over all subsets of its words.

    Shapley value        phi_i  = sum over S without i       of s! (n - s - 1)! / n! (f(S + i) - f(S))          Shapley 1953
    interaction index    I_ij   = sum over S without i and j of s! (n - s - 2)! / (n - 1)!
                                  (f(S + i + j) - f(S + i) - f(S + j) + f(S))                  Grabisch & Roubens 1999
    alone                f({i}) - f({})                     the effect of a word without all others

S is a set of s of the n players, f(S) the value of the text with only these (`sentviz.analysis.explain.value_function`): log-odds or
probability of the trace's target. The values sum to f(text) - f(empty text). Players are words; a longer text is cut into at most
MAX_PLAYERS phrases, clauses or sentences (`parts` there). A text of more than SHORT tokens has fewer players, so that the 2^n texts have at
most MAX_TOKENS tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.leave_out import spread
from sentviz.analysis.explain.value_function import Absent, Cut, Doubles, Game, Measure, fitting, joined, numbered, parts
from sentviz.analysis.explain.word_groups import spaced_words
from sentviz.data.texts import Word
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.io.numbers import signed
from sentviz.runs.target import Target
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

MAX_PLAYERS = 12
SHORT = 64  # tokens of a text whose 2^MAX_PLAYERS subsets are all predicted
MAX_TOKENS = 49_152  # tokens of all 2^n texts of a longer text together
QUICK = 250_000_000_000  # parameters times tokens of quick work: 10 words for MiniLM, about 4 seconds on one core
MIN_INTERACTION = 0.1  # least interaction that `summary` names, as a share of the strongest value
FLAT = 1e-6  # range of values that counts as no change
_SINGULAR: dict[Cut, str] = {"words": "word", "phrases": "phrase", "clauses": "clause", "sentences": "sentence"}


@dataclass(frozen=True, eq=False)
class Exact:
    """The values of all subsets of a text's players, and what follows from them."""

    players: tuple[Word, ...]  # n players in text order, with their tokens
    by: Cut  # kind of the players
    table: Doubles  # (2^n,) value of each subset; bit i of the place is 1 if player i is present
    places: npt.NDArray[np.int64]  # (m,) number of each token's player; each special token has a separate number
    target: Target  # with the name of its class
    absent: Absent
    measure: Measure
    replaced_by: str  # token in the place of absent tokens; "" if they are deleted
    passes: int  # texts that were predicted: equal texts are predicted once

    @cached_property
    def values(self) -> Doubles:
        """Shapley values of the players, (n,)."""
        return shapley_values(self.table)

    @cached_property
    def interactions(self) -> Doubles:
        """Shapley interaction index of each pair, (n, n), symmetric; 0 on the diagonal."""
        return interaction_index(self.table)

    @property
    def alone(self) -> Doubles:
        """Value of each player without all others, minus that of the empty text, (n,)."""
        return np.asarray(self.table[1 << np.arange(len(self.players))] - self.table[0])

    @property
    def left_out(self) -> Doubles:
        """Fall of the value if each player is left out, (n,): the removal score."""
        return np.asarray(self.table[-1] - self.table[len(self.table) - 1 - (1 << np.arange(len(self.players)))])

    @property
    def empty(self) -> float:
        """Value without any player."""
        return float(self.table[0])

    @property
    def full(self) -> float:
        """Value of the text."""
        return float(self.table[-1])

    @property
    def flat(self) -> bool:
        """True if all subsets have the same value: the model always gives the same prediction."""
        return bool(np.ptp(self.table) <= FLAT)

    @property
    def scores(self) -> npt.NDArray[np.float32]:
        """The value of each token's player, (m,); 0 for special tokens."""
        return spread(self.players, self.values, len(self.places))

    @property
    def rise(self) -> float:
        """Value of the text minus that of the empty text: the sum of the values."""
        return self.full - self.empty

    def together(self, *players: int) -> float:
        """Return the value of some players without all others, minus that of the empty text."""
        return float(self.table[sum(1 << player for player in players)] - self.table[0])

    @property
    def summary(self) -> str:
        """A sentence on the pair with the strongest interaction, or on why there is none."""
        of = f"the {self.measure} of {self.target.says()}"
        if self.flat:
            return "The model gives the same prediction for every subset of these words, so all values are 0."
        if len(self.players) < 2:
            return f"The text has only one {_SINGULAR[self.by]}, which has the complete value."
        i, j = self.pairs(1)[0]
        pair = f"“{self.players[i].text}” and “{self.players[j].text}”"
        index, together, apart = float(self.interactions[i, j]), self.together(i, j), float(self.alone[[i, j]].sum())
        if abs(index) < MIN_INTERACTION * float(np.abs(self.values).max()):
            return f"The effects nearly add up: the strongest pair, {pair}, changes {of} by {signed(index)} more together than apart."
        average = f"Averaged over all subsets of the other {self.by}, the pair adds {signed(index)} beyond the effects of both."
        if (together - apart) * index <= 0:  # without all others, the pair acts differently
            return f"{pair} interact most. {average}"
        return f"{pair} together change {of} by {signed(together)}, apart by {signed(apart)}. {average}"

    def pairs(self, most: int = 3) -> list[tuple[int, int]]:
        """Return the pairs with the strongest interactions, strongest first."""
        pairs = list(combinations(range(len(self.players)), 2))
        return sorted(pairs, key=lambda pair: -abs(self.interactions[pair]))[:most]


def exact(
    model: Model,
    trace: Trace,
    *,
    by: Cut | None = None,
    absent: Absent = "deleted",
    measure: Measure = "log-odds",
    progress: Progress | None = None,
) -> Exact:
    """Return exact Shapley values and interactions of a text for the trace's target. All subsets are predicted in batches by length.

    Args:
        by: how to cut the text; by default into words, or into the finest larger parts that are few enough (`fitting`).
        absent: what happens to absent words.
        measure: value of a text.
        progress: called with the numbers of finished and of all texts after each batch. `Model.stoppable` stops the work.
    """
    most = most_players(len(trace.tokens) - trace.padding)
    if by is None:
        by, players = fitting(model, trace, most)
    else:
        players = parts(model, trace, by)
        if by == "words" and len(players) > MAX_PLAYERS:
            raise InputError(
                f"The text has {len(players)} words, and exact values are computed for at most {MAX_PLAYERS}."
                " Cut the text by phrases, clauses or sentences."
            )
        players = joined(trace, players, most)
    game = Game(model, trace, players, absent, measure)
    table = game(subsets(len(players)), progress)
    target = Target(trace.target.label or trace.label, trace.target.against)
    return Exact(tuple(players), by, table, numbered(trace, players), target, absent, measure, game.replaced_by, game.passes)


def most_players(tokens: int) -> int:
    """Return the largest number of players of a text with this many tokens: MAX_PLAYERS, or at least 2 in a long text."""
    return MAX_PLAYERS if tokens <= SHORT else max(2, min(MAX_PLAYERS, int(np.log2(2 * MAX_TOKENS / tokens))))


def cost(trace: Trace) -> int:
    """Return the number of tokens that `exact` predicts for a text, about; equal texts are not counted once."""
    tokens = len(trace.tokens) - trace.padding
    players = min(len(spaced_words(trace)), most_players(tokens))
    return (1 << players) * (tokens + int(trace.specials.sum())) // 2


def is_quick(model: Model, trace: Trace) -> bool:
    """Return whether `exact` takes a few seconds for a text."""
    return cost(trace) * model.network.parameters_count() <= QUICK


def subsets(n: int) -> npt.NDArray[np.bool_]:
    """Return all subsets of n players, (2^n, n); player i is in row r if bit i of r is 1."""
    return np.asarray((np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1)


def shapley_values(table: Doubles) -> Doubles:
    """Return the Shapley values (n,) of the values (2^n,) of all subsets."""
    n = _players(table)
    places, sizes = np.arange(len(table)), _sizes(n)
    weights = np.array([1 / (n * comb(n - 1, size)) for size in range(n)])  # s! (n - s - 1)! / n!
    values = np.empty(n)
    for i in range(n):
        without = places[(places >> i) & 1 == 0]
        values[i] = weights[sizes[without]] @ (table[without | 1 << i] - table[without])
    return values


def interaction_index(table: Doubles) -> Doubles:
    """Return the Shapley interaction index (n, n) of the values (2^n,) of all subsets; 0 on the diagonal."""
    n = _players(table)
    places, sizes = np.arange(len(table)), _sizes(n)
    weights = np.array([1 / ((n - 1) * comb(n - 2, size)) for size in range(n - 1)])  # s! (n - s - 2)! / (n - 1)!
    index = np.zeros((n, n))
    for i, j in combinations(range(n), 2):
        rest = places[(places >> i | places >> j) & 1 == 0]
        both, left, right = rest | 1 << i | 1 << j, rest | 1 << i, rest | 1 << j
        index[i, j] = index[j, i] = weights[sizes[rest]] @ (table[both] - table[left] - table[right] + table[rest])
    return index


def _players(table: Sequence[float] | Doubles) -> int:
    n = len(table).bit_length() - 1
    if len(table) != 1 << n or not n:
        raise InputError(f"A table of all subsets has 2, 4, 8 .. entries, not {len(table)}.")
    return n


def _sizes(n: int) -> npt.NDArray[np.int64]:
    return np.asarray(subsets(n).sum(axis=1))


def subset_table(values: Exact) -> pd.DataFrame:
    """Return every subset as text, its size, and its value; larger subsets first."""
    n = len(values.players)
    present = [[(place >> i) & 1 == 1 for i in range(n)] for place in range(len(values.table))]
    texts = [" ".join(part.text if there else "·" for part, there in zip(values.players, row, strict=True)) for row in present]
    frame = pd.DataFrame({"text": texts, values.by: np.sum(present, axis=1), values.measure: values.table})
    return frame.sort_values(values.by, ascending=False, kind="stable", ignore_index=True)
