"""Hold every explanation method of a model against exact Shapley values, on short texts whose subsets can all be predicted.

Each method scores the words of a text; all measures then follow from the values of the text's subsets (`sentviz.analysis.explain.exact`):

    ranks              Spearman's rank correlation with the exact values
    size               the same of the absolute values of both
    signs              share of words with the sign of their exact value
    first              1 if the word with the strongest score is a word with the strongest exact value
    error              length of the difference to the exact values, as a share of their length
    reached            normalised AOPC of the order of the scores: 0 for the worst order of the text, 1 for the best
    comprehensiveness, sufficiency      as in `sentviz.analysis.explain.faithfulness`
    deletion, insertion                 area under the curve of the probability       (`sentviz.analysis.explain.curves`)

Scores without a sign (attention) have no ranks, signs and error: `size` and `first` compare them with the size of the exact values. A
score of a word is the sum over its tokens if the method scores tokens. `turning` asks whether one number per word can be enough at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import wilson
from sentviz.analysis.explain import SCORES, available, explained, score
from sentviz.analysis.explain.curves import area, deletion, insertion, limits, mean_fall, probabilities
from sentviz.analysis.explain.exact import Exact, exact, shapley_values, subsets
from sentviz.analysis.explain.exact_comparison_table import NEGATED, OTHERS
from sentviz.analysis.explain.faithfulness import PERCENTS, summary
from sentviz.analysis.explain.judge import Agreement, expected_curves, expected_first, expected_ranks, expected_signs
from sentviz.analysis.explain.leave_out import words
from sentviz.analysis.explain.permutation import sampled_values
from sentviz.analysis.explain.scores import LARGER
from sentviz.analysis.explain.shap_lime import kernel_values, lime_weights
from sentviz.analysis.explain.value_function import Doubles, Valued, numbered
from sentviz.analysis.explain.word_groups import spaced_words
from sentviz.data.texts import Word
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float32]

LEAST, MOST = 4, 10  # words of a text
RANDOM = 20  # orders of each text that are drawn for the band of its curves
COLUMNS = ["method", "metric", "value", "low", "high", "random", "n", "seed"]
POINTS = 11  # points of a stored curve, from no word to all words
MEASURES = ("ranks", "size", "signs", "first", "error", "reached", "comprehensiveness", "sufficiency", "deletion", "insertion")
BEHIND = ("ranks", "size", "first")  # measures whose difference to word removal is stored, as "ranks-behind" ..
CLEAR = 0.1  # least effect of `turning`, as a share of the strongest exact value
# Methods that predict subsets of the words: the table of all subsets has their predictions already.
_FROM_SUBSETS: Mapping[str, Callable[[Valued, int], Doubles]] = {
    "permutation": lambda game, n: sampled_values(game, n)[0],
    "kernel-shap": kernel_values,
    "lime": lime_weights,
}


def compare_with_exact(
    model: Model,
    texts: Sequence[str],
    negated: npt.NDArray[np.bool_],
    *,
    sample: int = 300,
    negations: int = 60,
    seed: int = 0,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Measure every method of a model on a seeded sample of texts of LEAST to MOST words, each read completely.

    Args:
        negated: which texts have a negation, (len(texts),).
        sample: number of texts.
        negations: least number of negated texts for `turning`: after the sample, only its exact values are computed for more of them.
        seed: seed of the sample and of the drawn orders.
        progress: called with (done, sample) after each text.
    Frame:
        as `sentviz.analysis.explain.faithfulness.over_split`, with exact expectations in the column random. The metrics
        are MEASURES, and for BEHIND the difference to word removal.
        The points of mean curves are metrics, too: "deletion-00" .. "insertion-10" at POINTS even shares of the words; their interval
        is that of the means of RANDOM drawn orders. The method "exact" also has the share of texts in which `turning` is true, with
        Wilson's interval: NEGATED and OTHERS.
    """
    rows: list[pd.DataFrame] = []
    curves: list[dict[tuple[str, str], Doubles]] = []
    turns: list[tuple[bool, bool]] = []
    missing = negations
    for place, trace in short(model, texts, lambda place: len(rows) < sample or bool(negated[place]), seed=seed):
        is_complete = len(rows) == sample
        if is_complete and missing <= 0:
            break
        values = exact(model, trace, by="words")
        turns.append((bool(negated[place]), turning(values.table)))
        missing -= bool(negated[place])
        if is_complete:
            continue
        table, drawn = of_text(values.table, method_scores(model, trace, values), seed + len(rows))
        rows.append(table.assign(text=len(rows)))
        curves.append(drawn)
        if progress is not None:
            progress(len(rows), sample)
    if not rows:
        raise InputError(f"None of the texts has {LEAST} to {MOST} words.")
    means = summary(pd.concat(rows, ignore_index=True), seed)
    return pd.concat([means, _mean_curves(curves, seed), _shares(turns, seed)], ignore_index=True)


def short(model: Model, texts: Sequence[str], is_wanted: Callable[[int], bool], *, seed: int = 0) -> Iterator[tuple[int, Trace]]:
    """Yield the place and trace of each wanted text of LEAST to MOST words that is read completely, in random order."""
    uncalibrated = model.calibrated(1.0)
    for place in np.random.default_rng(seed).permutation(len(texts)).tolist():
        if is_wanted(place) and len(texts[place].split()) <= MOST:  # no text has fewer words than parts between white space
            try:
                trace = uncalibrated.trace(texts[place])
            except InputError:  # the model reads none of its words
                continue
            if LEAST <= len(spaced_words(trace)) <= MOST and not trace.dropped:
                yield place, trace


def method_scores(model: Model, trace: Trace, values: Exact) -> dict[str, Doubles]:
    """Return the scores of each word by method, (n,) each; without exact values, larger parts, and methods that the text or model lacks."""
    n = len(values.players)
    weights = 1 << np.arange(n)
    names = [name for name in available(trace, asking=True) if name != "exact" and name not in LARGER]
    trace = explained(model, trace, [name for name in names if name not in _FROM_SUBSETS])
    scores: dict[str, Doubles] = {}
    for name in names:
        try:
            if name in _FROM_SUBSETS:
                scores[name] = _FROM_SUBSETS[name](lambda present: values.table[present @ weights], n)
            else:
                scores[name] = word_scores(trace, name, values.players)
        except InputError:
            continue
    return scores


def word_scores(trace: Trace, name: str, players: Sequence[Word]) -> Doubles:
    """Return the sum of a method's scores over what it scores inside of each player, (n,): tokens, words, or units."""
    tokens, places = score(trace, name), np.arange(len(trace.tokens))
    if name in trace.units:
        places = trace.units[name]
    elif name == "removal":
        places = numbered(trace, words(trace))
    firsts = [np.unique(places[list(player.indices)], return_index=True)[1] for player in players]
    return np.array([tokens[np.array(player.indices)[first]].sum(dtype=float) for player, first in zip(players, firsts, strict=True)])


def of_text(table: Doubles, scores: Mapping[str, Doubles], seed: int) -> tuple[pd.DataFrame, dict[tuple[str, str], Doubles]]:
    """Return every measure of every method for one text, and the curves, (POINTS,), by method and curve.

    The method "expected" has the expectation of a random order, "random" the curves of RANDOM drawn ones, (RANDOM, POINTS).

    Args:
        table: (2^n,) log-odds of each subset of the words. scores: method -> (n,), with "removal".
        seed: seed of the drawn orders.
    Frame:
        method, metric, value, random (the exact expectation, `sentviz.analysis.explain.judge`). The exact values are a method, too.
    """
    chances, values = probabilities(table), shapley_values(table)
    ends, n = limits(chances), len(values)
    drawn = np.random.default_rng(seed).standard_normal((RANDOM, n))
    scores = {**scores, "exact": values}
    lines = {name: _measures(values, chances, ends, line, signed=SCORES[name].signed) for name, line in scores.items()}
    without, alone = expected_curves(chances)
    by_chance = [
        expected_ranks(values),
        expected_ranks(np.abs(values)),
        expected_signs(values),
        expected_first(values),
        np.nan,
        *_of_curves(without, alone, ends),
    ]
    rows = [
        (name, metric, value, random)
        for name, line in lines.items()
        for metric, value, random in zip(MEASURES, line, by_chance, strict=True)
    ]
    for metric in BEHIND:
        at = MEASURES.index(metric)
        rows += [(name, f"{metric}-behind", lines["removal"][at] - line[at], np.nan) for name, line in lines.items() if name != "removal"]
    curves: dict[tuple[str, str], Doubles] = {}
    for curve, of in (("deletion", deletion), ("insertion", insertion)):
        curves |= {(name, curve): _at_points(of(chances, _order(line))) for name, line in scores.items()}
        curves["random", curve] = np.stack([_at_points(of(chances, _order(line))) for line in drawn])
    curves |= {("expected", "deletion"): _at_points(without), ("expected", "insertion"): _at_points(alone)}
    return pd.DataFrame(rows, columns=["method", "metric", "value", "random"]), curves


def _measures(values: Doubles, chances: Doubles, ends: tuple[float, float], scores: Doubles, *, signed: bool) -> list[float]:
    """Return the MEASURES of the scores of one text's words, (n,)."""
    order = _order(scores)
    agreement = Agreement.of(scores, values, signed=signed)
    size = agreement.ranks if not signed else Agreement.of(np.abs(scores), values, signed=False).ranks
    return [
        agreement.ranks if signed else np.nan,
        size,
        agreement.signs,
        float(agreement.first),
        agreement.error,
        *_of_curves(deletion(chances, order), insertion(chances, order), ends),
    ]


def _of_curves(without: Doubles, alone: Doubles, ends: tuple[float, float]) -> list[float]:
    """Return the MEASURES from "reached" on of a deletion and an insertion curve, (n + 1,) each."""
    tops = [-(-percent * (len(alone) - 1) // 100) for percent in PERCENTS]
    low, high = ends
    return [
        (mean_fall(without) - low) / (high - low) if high - low > 1e-9 else np.nan,
        float(alone[-1] - without[tops].mean()),
        float(alone[-1] - alone[tops].mean()),
        area(without),
        area(alone),
    ]


def turning(table: Doubles) -> bool:
    """Return whether the text has two words of which one turns the effect of the other: no single number can describe such a word.

    The mean effect of the word over all orders in which the other comes before it, and over those in which it comes later, have opposite
    signs, and both are at least CLEAR of the text's strongest exact value. The word's exact value is the mean of both.

    Args:
        table: (2^n,) log-odds of each subset of the words.
    """
    values = shapley_values(table)
    n, least = len(values), CLEAR * float(np.abs(values).max())
    places, sizes = np.arange(len(table)), subsets(len(values)).sum(axis=1)
    weights = np.array([2 / (n * comb(n - 1, size)) for size in range(n)])
    for i, j in permutations(range(n), 2):
        without = places[(places >> i) & 1 == 0]
        gains = weights[sizes[without]] * (table[without | 1 << i] - table[without])
        there = (without >> j) & 1 == 1
        after, before = float(gains[there].sum()), float(gains[~there].sum())
        if after * before < 0 and min(abs(after), abs(before)) >= least:
            return True
    return False


def _shares(turns: Sequence[tuple[bool, bool]], seed: int) -> pd.DataFrame:
    rows = []
    for name, wanted in ((NEGATED, True), (OTHERS, False)):
        results = [is_turning for is_negated, is_turning in turns if is_negated == wanted]
        if results:
            low, high = wilson(sum(results), len(results))
            rows.append(("exact", name, np.mean(results), low, high, np.nan, len(results), seed))
    return pd.DataFrame(rows, columns=COLUMNS)


def _order(scores: Doubles) -> npt.NDArray[np.int64]:
    return np.argsort(-scores, kind="stable")


def _at_points(curve: Doubles) -> Doubles:
    """Return a curve (n + 1,) at POINTS even places."""
    return np.interp(np.linspace(0, 1, POINTS), np.linspace(0, 1, len(curve)), curve)


def _mean_curves(curves: Sequence[Mapping[tuple[str, str], Doubles]], seed: int) -> pd.DataFrame:
    """Return the means over texts, a row per point; the row "random" has the expectation, and 95 % of the means of RANDOM drawn orders."""
    rows: list[tuple[object, ...]] = []
    for method, curve in dict.fromkeys(key for each in curves for key in each if key[0] != "expected"):
        every = [each[method, curve] for each in curves if (method, curve) in each]
        means = np.mean(every, axis=0)
        low, high = np.full((2, POINTS), np.nan)
        if method == "random":
            low, high = np.percentile(means, (2.5, 97.5), axis=0)
            means = np.mean([each["expected", curve] for each in curves], axis=0)
        points = zip(means, low, high, strict=True)
        rows += [(method, f"{curve}-{i:02d}", *point, np.nan, len(every), seed) for i, point in enumerate(points)]
    return pd.DataFrame(rows, columns=COLUMNS)
