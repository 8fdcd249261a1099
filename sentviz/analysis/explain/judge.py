"""Judge an explanation of one text, whoever computed it: beside random orders, the exact values, and explanations of ours.

Three questions. Do the words that it names first decide the prediction, more than words in random order (`against_chance`)? For texts with
few enough words: does it agree with exact Shapley values (`sentviz.analysis.explain.exact`)? Does it agree with word removal?

What an explanation drawn at random reaches on average is the exact expectation over all orders of a text's words.
Random scores are independent and symmetric around 0, so that every order of the words, and of their sizes, is equally likely:

    ranks, size        0: a rank correlation with a random order has mean 0
    signs              1/2
    first              k / n, where k of the n words share the strongest exact value
    reached, comprehensiveness, sufficiency, deletion, insertion
                       are linear in the curves, whose point for j present words is the mean over all subsets of j words
    error              not defined: the length of random scores has no meaning
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain import explained, spearman
from sentviz.analysis.explain.curves import normalised_fall, probabilities
from sentviz.analysis.explain.exact import Exact, exact
from sentviz.analysis.explain.faithfulness import MAX_TAIL, Verdict, against_chance
from sentviz.analysis.explain.foreign_scores import Fitted, fit, read_scores
from sentviz.analysis.explain.leave_out import spread
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import stats
from sentviz.io.numbers import number, percent
from sentviz.runs.target import PREDICTED, Target
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Doubles = npt.NDArray[np.float64]

SHUFFLES = 2_000  # random orders of the scores for the tail of the rank correlation
ZERO = 1e-9  # share of the largest exact value below which a value has no sign
EQUAL = 1e-6  # share of the strongest exact value by which another may be smaller and count as strongest, as in `Agreement`


@dataclass(frozen=True)
class Agreement:
    """Agreement of scores of some words with reference values of the same words."""

    ranks: float  # Spearman's rank correlation; NaN for fewer than three words or equal scores
    signs: float  # share of words with the same sign, among words whose reference is not 0; NaN if there are none
    first: bool  # both name the same word as the strongest
    error: float  # length of the difference of both as a share of the reference's length; NaN if that is 0

    @classmethod
    def of(cls, scores: npt.ArrayLike, reference: npt.ArrayLike, *, signed: bool = True) -> Agreement:
        """Compare two scores (n,).

        Args:
            signed: False if scores only say how important a word is: they are compared with absolute values and have no signs or error.
        """
        ours, values = np.asarray(scores, dtype=np.float64), np.asarray(reference, dtype=np.float64)
        compared = values if signed else np.abs(values)
        length = float(np.linalg.norm(values))
        clear = np.abs(values) > ZERO * np.abs(values).max(initial=0.0)
        strongest = np.abs(values).max(initial=0.0)
        leader = int(np.argmax(np.abs(ours) if signed else ours)) if len(ours) else -1
        return cls(
            ranks=spearman(ours, compared),
            signs=float((np.sign(ours) == np.sign(values))[clear].mean()) if signed and clear.any() else float("nan"),
            first=bool(len(ours) and np.ptp(ours) > 0 and abs(values[leader]) >= strongest * (1 - 1e-6)),
            error=float(np.linalg.norm(ours - values)) / length if signed and length > 0 else float("nan"),
        )


@dataclass(frozen=True, eq=False)
class Judgement:
    """Scores of a text's words, and what speaks for and against them."""

    trace: Trace  # trace of the text for the judged class, with the scores of word removal
    fitted: Fitted  # judged scores of the words, and what did not fit
    chance: Verdict  # beside random orders
    exact: Exact  # exact values of the words, or of larger parts of a longer text
    by_player: Doubles  # (n,) judged scores of the same parts
    signed: bool  # False if no score is below 0: scores without a sign are compared with the size of effects
    to_exact: Agreement  # agreement of both
    tail: float  # share of random orders of the judged scores whose rank correlation with the exact values is as high; NaN without one
    to_removal: Agreement  # agreement with word removal

    @property
    def verdict(self) -> str:
        """ "believe", "doubt" or "unclear"."""
        no_better = self.chance.better is False and self.chance.fall <= self.chance.random
        if self.exact.flat or np.isnan(self.to_exact.ranks):
            return "unclear"
        if self.tail <= MAX_TAIL:
            return "unclear" if no_better else "believe"
        return "doubt" if no_better or self.to_exact.ranks <= 0 else "unclear"

    @property
    def reached(self) -> float:
        """Normalised AOPC of the judged order: 0 for the worst order of this text, 1 for the best; NaN if all orders are equal."""
        return normalised_fall(probabilities(self.exact.table), np.argsort(-self.by_player, kind="stable"))

    def __str__(self) -> str:
        return " ".join([self.answer, *self.evidence])

    @property
    def evidence(self) -> list[str]:
        """Sentences on what the verdict rests on: exact values, random orders, and what did not fit."""
        alone = "Removal alone does not show it. " if self.verdict == "believe" and not self.chance.better else ""
        return [self.beside_exact, f"{alone}{self.chance}", *self.fitted.notes]

    @property
    def answer(self) -> str:
        """The verdict as a sentence."""
        of = self.trace.target.says("this prediction")
        if self.exact.flat:
            return f"Nothing to explain: {self.trace.run} gives the same prediction whichever words are left out."
        return {
            "believe": f"These scores explain {of} well.",
            "doubt": f"These scores do not explain {of}.",
            "unclear": f"It cannot be told from this text whether these scores explain {of}.",
        }[self.verdict]

    @property
    def beside_exact(self) -> str:
        """Agreement with the exact values as a sentence."""
        agreed, n = self.to_exact, len(self.exact.players)
        strongest = self.exact.players[int(np.argmax(np.abs(self.exact.values)))].text
        scored = self.by_player != 0
        right = int((np.sign(self.by_player) == np.sign(self.exact.values))[scored].sum())
        signs = f"give {right} of the {int(scored.sum())} that have a score the right sign"
        parts = [
            f"they {'find' if agreed.first else 'miss'} the strongest of {n}, “{strongest}”",
            "have no sign, so that they are compared with the size of the values" if not self.signed else "",
            "" if np.isnan(agreed.signs) else signs if not scored.all() else f"give {percent(agreed.signs, 0)} of them the right sign",
            f"the rank correlation is {number(agreed.ranks)}, which {percent(self.tail)} of random orders of the scores reach"
            if not np.isnan(agreed.ranks)
            else "",
        ]
        way = f"the way from the worst order of these {self.exact.by} to the best, by the mean fall"
        scale = "" if np.isnan(self.reached) else f" Their order is {percent(self.reached, 0)} of {way}."
        return f"Beside the exact Shapley values of the {self.exact.by}: {', '.join(filter(None, parts))}.{scale}"


def judge(
    model: Model,
    text: str,
    scores: object,
    *,
    pair: str | None = None,
    target: Target = PREDICTED,
    seed: int = 0,
    progress: Progress | None = None,
) -> Judgement:
    """Judge scores of the words or tokens of a text.

    Args:
        scores: what Captum, SHAP, LIME, Interpreto or InterpKit returns for one text, pairs of a word and a score, a dictionary of tokens
            and scores with or without offsets, or numbers, one for each word or token.
        pair: second text, for a model that reads pairs.
        target: class that the scores explain, by default the predicted class.
        seed: seed of the random orders.
        progress: called with the numbers of finished and of all texts while the exact values are computed.
    """
    trace = explained(model, model.trace(text, pair).for_target(target))
    return judged(model, trace, scores, seed=seed, progress=progress)


def judged(model: Model, trace: Trace, scores: object, *, seed: int = 0, progress: Progress | None = None) -> Judgement:
    """Judge scores of a trace that has the scores of word removal, as `judge` does."""
    if not trace.labels:
        raise InputError(f"{trace.run} has no classification head, so it gives no prediction that scores could explain.")
    fitted = fit(trace, read_scores(scores, trace.target_places[0], len(trace.labels)))
    by_word = {word.indices: float(value) for word, value in zip(fitted.words, fitted.values, strict=True)}
    chance = against_chance(model, trace, spread(fitted.words, fitted.values, len(trace.tokens)), seed=seed)
    values = exact(model, trace, progress=progress)
    removal = [float(trace.token_scores["removal"][word.indices[0]]) for word in fitted.words]
    by_player = _by_player(values, by_word)
    signed = bool((fitted.values < 0).any())
    reference = values.values if signed else np.abs(values.values)
    to_exact = Agreement.of(by_player, values.values, signed=signed)
    return Judgement(
        trace,
        fitted,
        chance,
        values,
        by_player,
        signed,
        to_exact,
        _tail(by_player, reference, seed) if not np.isnan(to_exact.ranks) else float("nan"),
        Agreement.of(fitted.values, removal, signed=signed),
    )


def _tail(scores: Doubles, reference: Doubles, seed: int) -> float:
    """Return the share of random orders of scores with at least their rank correlation; the scores' own order counts as one."""
    ours, theirs = (ranked - ranked.mean() for ranked in (stats.rankdata(scores), stats.rankdata(reference)))
    drawn = np.random.default_rng(seed).permuted(np.tile(ours, (SHUFFLES, 1)), axis=1) @ theirs
    as_high = int((drawn >= ours @ theirs - 1e-9).sum())
    return (as_high + 1) / (SHUFFLES + 1)


def _by_player(values: Exact, by_word: Mapping[tuple[int, ...], float]) -> Doubles:
    """Return the sum of the word scores of each player."""
    return np.array([sum(score for indices, score in by_word.items() if set(indices) <= set(player.indices)) for player in values.players])


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
