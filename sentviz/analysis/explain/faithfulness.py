"""Measure whether an explanation is faithful: predict without the words that it ranks highest, and compare with random explanations.

p is the probability of the trace's target, by default the class predicted for the complete text; the top words have the highest scores.

    comprehensiveness   mean over 10, 20 .. 50 % of the words of p(text) - p(text without the top words)    higher is better
    sufficiency         the same of p(text) - p(the top words alone)                                        lower is better
                        DeYoung et al. 2020 (ERASER), arXiv 1911.03429, with even steps; at least one word each
    spearman, kendall   rank correlation of the scores with word removal's                                  higher is better
    size                Spearman's correlation of the absolute values of both                               higher is better

Words are removed as in `sentviz.analysis.explain.leave_out`. The score of a word with several tokens is their mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import interval
from sentviz.analysis.explain import explained, score, spearman, usual
from sentviz.analysis.explain.leave_out import leaving_out, words
from sentviz.analysis.explain.scores import find_score
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.io.numbers import number
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FILE = "faithfulness.parquet"
METRICS = ("comprehensiveness", "sufficiency", "spearman", "kendall", "size")
PERCENTS = (10, 20, 30, 40, 50)
MIN_WORDS = 3  # words of a text; fewer have no rank correlation
RESAMPLES = 2_000
ORDERS, STEPS = 39, 8  # random orders of a verdict, and its maximum number of removal steps
MAX_TAIL, EQUAL_MARGIN = 0.05, 1e-5  # largest share of orders that are as good for "better than chance", and the margin for equal falls


def kendall(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Return Kendall's tau-b of two scores (n,); NaN for fewer than three or for equal values."""
    first, second = (np.sign(x[:, None] - x[None, :]) for x in (np.asarray(a, np.float64), np.asarray(b, np.float64)))
    norm = np.sqrt(np.abs(first).sum() * np.abs(second).sum())
    return float((first * second).sum() / norm) if len(a) > 2 and norm else float("nan")


def faithfulness(model: Model, trace: Trace, scores: Mapping[str, Floats], *, orders: int = 20, seed: int = 0) -> pd.DataFrame:
    """Return every metric of every explanation of a sentence; all shortened texts are predicted in one forward call.

    Args:
        scores: method -> (m,) token scores.
        orders: number of random explanations, whose mean is in the column `random`; they are the same for all methods.
    Frame:
        method, metric, value, random; NaN if a metric is not defined.
    """
    text_words = words(trace)
    if len(text_words) < 2:
        raise InputError("Faithfulness needs a text of at least two words: there is nothing to leave out.")
    if bad := [name for name, values in scores.items() if np.shape(values) != (len(trace.tokens),)]:
        raise InputError(f"The scores of {bad[0]} do not fit the {len(trace.tokens)} tokens.")
    if "removal" not in trace.token_scores:
        trace = explained(model, trace)

    def by_word(values: Floats) -> Doubles:
        return np.array([np.mean(values[list(word.indices)], dtype=np.float64) for word in text_words])

    rng = np.random.default_rng(seed)
    word_scores = [by_word(values) for values in scores.values()]
    drawn = [rng.permutation(len(text_words)).astype(np.float64) for _ in range(orders)]
    aopc = _aopc(model, trace, [np.argsort(-values, kind="stable") for values in (*word_scores, *drawn)], [w.indices for w in text_words])
    reference = by_word(trace.token_scores["removal"])
    table = np.column_stack([aopc, [_agreement(values, reference) for values in (*word_scores, *drawn)]])
    beside = _mean(table[len(word_scores) :])
    rows = [
        (name, metric, value, random)
        for name, line in zip(scores, table, strict=False)
        for metric, value, random in zip(METRICS, line, beside, strict=True)
    ]
    return pd.DataFrame(rows, columns=["method", "metric", "value", "random"])


def sampled(model: Model, texts: Sequence[str], pairs: Sequence[str] | None = None, *, sample: int = 200, seed: int = 0) -> Iterator[Trace]:
    """Yield the traces of a seeded sample of the texts with at least MIN_WORDS words, in random order: the sample of `over_split`."""

    def read() -> Iterator[Trace]:
        for place in np.random.default_rng(seed).permutation(len(texts)):
            trace = model.calibrated(1.0).trace(texts[place], None if pairs is None else pairs[place])
            if len(words(trace)) >= MIN_WORDS:
                yield trace

    return islice(read(), sample)


@dataclass(frozen=True)
class Verdict:
    """Fall of the probability if words are removed in the order of an explanation, and in random orders."""

    fall: float  # fall of the probability, mean over the steps
    random: float  # the same, mean over random orders
    higher: int  # random orders with a larger fall
    equal: int  # random orders with an equal fall
    orders: int  # random orders

    @property
    def better(self) -> bool | None:
        """True if at most MAX_TAIL of the orders, with the explanation's own, are as good; None if equal orders leave it undecided."""
        best, worst = ((worse + 1) / (self.orders + 1) <= MAX_TAIL for worse in (self.higher, self.higher + self.equal))
        return worst if worst == best else None

    def __str__(self) -> str:
        as_good = self.higher + self.equal
        if self.better is None:
            return f"The text is too short for a comparison with chance: {as_good} of {self.orders} random orders of its words are as good."
        verdict = (
            "Better than chance"
            if self.better
            else "Not clearly better than chance"
            if self.fall > self.random
            else "No better than chance"
        )
        orders = f"{as_good or 'none'} of {self.orders} random orders {'lowers' if as_good < 2 else 'lower'} it by as much"
        falls = f"removing the words that it names first lowers the probability by {number(100 * self.fall, 0)} points on average"
        falls += f" (random orders: {number(100 * self.random, 0)})"
        return f"{verdict}: {falls}; {orders}."


def against_chance(model: Model, trace: Trace, scores: Floats, *, seed: int = 0) -> Verdict:
    """Compare an explanation with ORDERS random orders: remove up to half of the words step by step, and average the falls.

    Args:
        scores: (m,) scores of the tokens.
    """
    if (n := len(text_words := words(trace))) < 2:
        raise InputError("Faithfulness needs a text of at least two words: there is nothing to leave out.")
    rng = np.random.default_rng(seed)
    own = np.array([np.mean(scores[list(word.indices)], dtype=np.float64) for word in text_words])
    ranked = [np.argsort(-own, kind="stable"), *(rng.permutation(n) for _ in range(ORDERS))]
    steps = np.unique(np.linspace(1, -(-n // 2), STEPS).round().astype(int)).tolist()
    (fall, *drawn), _ = _aopc(model, trace, ranked, [word.indices for word in text_words], steps, alone=False).T
    beyond = np.array(drawn) - fall
    return Verdict(float(fall), float(np.mean(drawn)), int((beyond > EQUAL_MARGIN).sum()), int((abs(beyond) <= EQUAL_MARGIN).sum()), ORDERS)


def scores_of(model: Model, trace: Trace, names: Iterable[str] = ()) -> tuple[Trace, dict[str, Floats]]:
    """Return the trace with the results of some methods and of removal, and the scores by method.

    A method that is not defined for this text is left out.

    Args:
        names: methods of `SCORES`; empty = the usual methods of a comparison (`usual`).
    """
    wanted = list(names) or usual(model, trace)
    trace = explained(model, trace, {"removal": None, **dict.fromkeys(wanted)})
    scores: dict[str, Floats] = {}
    for name in wanted:
        try:
            scores[name] = score(trace, name)
        except InputError:
            continue
    return trace, scores


def over_split(
    model: Model,
    texts: Sequence[str],
    methods: Iterable[str] = (),
    *,
    pairs: Sequence[str] | None = None,
    sample: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return every metric of every method over a seeded sample of texts with at least MIN_WORDS words.

    Args:
        methods: methods of `SCORES`; empty = the usual methods of a comparison (`usual`).
        pairs: second texts, one per text, for models that read pairs.
        sample: number of texts.
        seed: seed of the sample and of the random explanations.
        progress: called with (done, sample) after each text.
    Frame:
        method, metric, value, low, high (95 % percentile bootstrap over texts), random (the mean of random explanations of the same texts),
        n (texts for which the metric is defined), seed. The method "random" is the random explanation itself.
    """
    names = list(methods)
    for name in names:
        find_score(name)
    parts = []
    for i, trace in enumerate(sampled(model, texts, pairs, sample=sample, seed=seed)):
        trace, scores = scores_of(model, trace, names)
        parts.append(faithfulness(model, trace, scores, seed=seed + i).assign(text=i))
        if progress is not None:
            progress(i + 1, sample)
    if not parts:
        raise InputError(f"None of the texts has {MIN_WORDS} words.")
    return summary(pd.concat(parts, ignore_index=True), seed)


def _aopc(
    model: Model,
    trace: Trace,
    orders: Sequence[Ints],
    tokens: Sequence[tuple[int, ...]],
    tops: Sequence[int] = (),
    *,
    alone: bool = True,
) -> Doubles:
    """Return comprehensiveness and sufficiency of each order, (orders, 2). A set of words that several orders share is predicted once.

    Args:
        tops: number of top words at each step; by default those of PERCENTS.
        alone: whether to compute sufficiency; otherwise it is 0.
    """
    n = len(tokens)
    tops = tops or [-(-percent * n // 100) for percent in PERCENTS]
    removed = [[(frozenset(order[:top].tolist()), frozenset(order[top:].tolist() if alone else ())) for top in tops] for order in orders]
    sets = list(dict.fromkeys(words_left_out for row in removed for pair in row for words_left_out in pair))
    logits = leaving_out(model, trace, [[i for word in words_left_out for i in tokens[word]] for words_left_out in sets])
    left = dict(zip(sets, trace.share_of(logits), strict=True))
    falls = float(trace.share_of(trace.logits)) - np.array(
        [[[left[words_left_out] for words_left_out in pair] for pair in row] for row in removed]
    )
    return np.asarray(falls.mean(axis=1))


def _agreement(values: Doubles, reference: Doubles) -> tuple[float, float, float]:
    return spearman(values, reference), kendall(values, reference), spearman(np.abs(values), np.abs(reference))


def _mean(table: Doubles) -> Doubles:
    """Return the column means without NaN; NaN if a column has no other value."""
    known = ~np.isnan(table)
    counts = known.sum(axis=0)
    return np.where(counts > 0, np.where(known, table, 0).sum(axis=0) / np.maximum(counts, 1), np.nan)


def summary(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return means over texts with bootstrap intervals. All methods share the resamples, so that they can be compared.

    Args:
        rows: text, method, metric, value, random (of the same text and metric).
    Frame:
        as for `over_split`.
    """

    chance = rows.drop_duplicates(["text", "metric"]).assign(method="random", value=lambda frame: frame["random"])
    lines = []
    for (method, metric), part in pd.concat([rows, chance]).groupby(["method", "metric"], sort=False):
        part = part.dropna(subset="value")
        values, n = part["value"].to_numpy(), len(part)
        if not n:
            continue
        draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES) @ values / n
        spread = interval(float(values.mean()), draws)
        lines.append({"method": method, "metric": metric, **spread, "random": round(float(part["random"].mean()), 5), "n": n, "seed": seed})
    return pd.DataFrame(lines)
