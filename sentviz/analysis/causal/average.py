"""Patching averaged over minimal pairs, by layer and head, or by layer and place in the sentence.

    share(cell) = sum over pairs of the log-odds that the cell brings over / sum over pairs of |f(B) - f(A)|

So a pair whose two predictions hardly differ counts little. Intervals are 95 % percentile bootstrap intervals over pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.causal.patching import WORDS, Pair, patch
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.io.numbers import number

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float64]
PLACES = ("first token", "before", "changed", "next", "after", "end")  # places in a sentence, relative to the changed word
RESAMPLES = 2_000
LEAST_PAIRS = 4  # pairs below which no average is taken


@dataclass(frozen=True, eq=False)
class PatchAverage:
    """The share of the difference that each cell brings over in a set of pairs."""

    what: str  # a quantity of `sentviz.runs.intervention.VECTORS`
    columns: tuple[str, ...]  # names of heads, components or places
    by_place: bool
    share: Floats  # (L or L + 1, columns); NaN if no pair has such a token
    low: Floats
    high: Floats
    pairs: int  # pairs that were averaged
    left_out: int  # pairs whose log-odds differ too little
    difference: float  # mean |f(B) - f(A)|, in log-odds
    seed: int

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Table of layer (counted from 0; of states the depth), column, share, low and high."""
        rows, columns = np.indices(self.share.shape).reshape(2, -1)
        names = [self.columns[i] for i in columns]
        return pd.DataFrame(
            {"layer": rows, "column": names, "share": self.share.ravel(), "low": self.low.ravel(), "high": self.high.ravel()}
        )

    @property
    def says(self) -> str:
        """A sentence on the pairs."""
        left = f", {self.left_out} further pairs differ by less and are left out" if self.left_out else ""
        return f"{self.pairs} minimal pairs, whose log-odds differ by {number(self.difference)} on average{left}."


def averages(
    model: Model,
    pairs: Sequence[tuple[str, str]],
    whats: Sequence[str] = ("state", "head"),
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, PatchAverage]:
    """Return the average of some quantities over pairs of sentences: by place for states, otherwise by head or component.

    Args:
        pairs: sentences A, whose states are replaced, and B, which gives the new ones.
        seed: of the bootstrap. progress: called with finished and all pairs.
    """
    patched, left_out = usable(model, pairs)
    shares: dict[str, list[Floats]] = {what: [] for what in whats}
    for done, pair in enumerate(patched):
        for what in whats:
            groups = list(places(pair).values()) if what in WORDS else None
            shares[what].append(pair.map(what, tokens=False, exact=True).share if groups is None else pair.grouped(what, groups))
        if progress is not None:
            progress(done + 1, len(patched))
    differences = np.array([abs(pair.goal - pair.start) for pair in patched])
    return {
        what: PatchAverage(
            what,
            PLACES if what in WORDS else names(model, what),
            what in WORDS,
            *ratio(np.stack(shares[what]) * differences[:, None, None], differences, seed),
            len(patched),
            left_out,
            float(differences.mean()),
            seed,
        )
        for what in whats
    }


def usable(model: Model, pairs: Sequence[tuple[str, str]]) -> tuple[list[Pair], int]:
    """Return the pairs whose predictions differ, and the number of the others."""
    different, problem = [], None
    for first, second in pairs:
        try:
            different.append(patch(model, first, second))
        except InputError as error:
            if "log-odds" not in str(error):
                raise
            problem = error
    if len(different) < LEAST_PAIRS:
        raise InputError(
            f"Only {len(different)} of {len(pairs)} pairs get different log-odds from {model.name}, too few for an average."
        ) from problem
    return different, len(pairs) - len(different)


def names(model: Model, what: str) -> tuple[str, ...]:
    """Return the names of the columns of a map of heads or components."""
    has = model.capabilities
    return tuple(f"A{c + 1}" for c in range(has.components)) if what == "component" else tuple(f"head {h + 1}" for h in range(has.heads))


def places(pair: Pair) -> dict[str, npt.NDArray[np.int64]]:
    """Return the tokens of the first sentence at each of `PLACES`.

    changed: tokens that differ from their partner or have none. next: the token behind them. end: final marks and special tokens.
    """
    tokens, theirs, n = pair.first.tokens, pair.second.tokens, len(pair.first.tokens)
    changed = [i for i, j in enumerate(pair.partners) if j is None or tokens[i] != theirs[j]] or list(_before_new(pair))
    specials = pair.first.specials
    start, stop = int(specials[0]), n
    while stop > start and (specials[stop - 1] or not any(letter.isalnum() for letter in tokens[stop - 1])):
        stop -= 1
    first, last = (min(changed), max(changed)) if changed else (stop, stop)
    inside = [i for i in range(start, stop) if i not in changed]
    by_place = {
        "first token": [0] if start else [],
        "before": [i for i in inside if i < last],
        "changed": changed,
        "next": [i for i in inside if i == last + 1],
        "after": [i for i in inside if i > last + 1],
        "end": [i for i in range(stop, n) if i not in changed and i >= first],
    }
    return {name: np.array(by_place[name], dtype=np.int64) for name in PLACES}


def _before_new(pair: Pair) -> Iterator[int]:
    """Yield tokens behind whose partner the second sentence has further tokens."""
    for i, (j, following) in enumerate(zip(pair.partners, (*pair.partners[1:], len(pair.second.tokens)), strict=True)):
        if j is not None and following is not None and following > j + 1:
            yield i


def ratio(effects: npt.ArrayLike, differences: npt.ArrayLike, seed: int) -> tuple[Any, Any, Any]:
    """Return sum of effects / sum of differences over pairs, with its 95 % bootstrap interval; NaN effects are left out of both.

    Args:
        effects: (P, ..). differences: (P,), at least 0.
    """
    values, scale = np.asarray(effects, dtype=np.float64), np.asarray(differences, dtype=np.float64)
    flat = values.reshape(len(values), -1)
    known = np.isfinite(flat)
    top, bottom = np.where(known, flat, 0), known * scale[:, None]
    weights = np.random.default_rng(seed).multinomial(len(scale), np.full(len(scale), 1 / len(scale)), size=RESAMPLES)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(known.any(axis=0), top.sum(axis=0) / bottom.sum(axis=0), np.nan)
        draws = (weights @ top) / (weights @ bottom)
    low, high = (np.full(share.shape, np.nan) for _ in range(2))
    some = np.isfinite(share)
    low[some], high[some] = np.nanquantile(draws[:, some], [0.025, 0.975], axis=0)
    return share.reshape(values.shape[1:]), low.reshape(values.shape[1:]), high.reshape(values.shape[1:])
