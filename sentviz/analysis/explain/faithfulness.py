"""Is an explanation faithful? The model asked again without the words that it names, against an explanation drawn at random.

p is the probability of the class predicted for the whole text; the top words are those with the highest scores.

    comprehensiveness   mean over 10, 20 .. 50 % of the words of p(text) - p(text without the top words)    higher is better
    sufficiency         the same of p(text) - p(the top words alone)                                        lower is better
                        DeYoung et al. 2020 (ERASER), arXiv 1911.03429, with even steps; at least one word each
    spearman, kendall   rank correlation of the scores with word removal's                                  higher is better
    size                Spearman's of the sizes of both: what decides, whichever way                        higher is better

Words are removed as in `sentviz.analysis.explain.leave_out`; a word of several tokens scores their mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain import SCORES, available, explained, score, spearman
from sentviz.analysis.explain.leave_out import leaving_out, words
from sentviz.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.models.model import Model, Progress
    from sentviz.runs.trace import Trace

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FILE = "faithfulness.parquet"
METRICS = ("comprehensiveness", "sufficiency", "spearman", "kendall", "size")
PERCENTS = (10, 20, 30, 40, 50)
LEAST_WORDS = 3  # fewer have no rank correlation
RESAMPLES = 2_000
ORDERS, STEPS = 39, 8  # of a verdict: random orders, and how many words are gone at each step, at most so many
TAIL, SAME = 0.05, 1e-5  # share of the orders that may do as well, and what is no difference


def kendall(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Kendall's tau-b of two scores (n,); NaN with fewer than three values or all alike."""
    first, second = (np.sign(x[:, None] - x[None, :]) for x in (np.asarray(a, np.float64), np.asarray(b, np.float64)))
    norm = np.sqrt(np.abs(first).sum() * np.abs(second).sum())
    return float((first * second).sum() / norm) if len(a) > 2 and norm else float("nan")


def faithfulness(
    model: Model, trace: Trace, scores: Mapping[str, Floats], *, orders: int = 20, seed: int = 0, **change: Any
) -> pd.DataFrame:
    """Every metric of every explanation of one sentence, all shortened texts in one forward call.

    Args:
        scores: method -> (m,) token scores.
        orders: random explanations of the same words, whose mean stands beside; the same for all methods.
        change: lambdas and heads_off, the same that the trace was made with.
    Frame:
        method, metric, value, random; NaN where a metric is not defined.
    Raises:
        InputError: fewer than two words, or scores that do not fit the tokens.
    """
    import pandas as pd

    those = words(trace)
    if len(those) < 2:
        raise InputError("Faithfulness needs a text of at least two words: there is nothing to leave out.")
    if bad := [name for name, values in scores.items() if np.shape(values) != (len(trace.tokens),)]:
        raise InputError(f"The scores of {bad[0]} do not fit the {len(trace.tokens)} tokens.")
    if "removal" not in trace.token_scores:
        trace = explained(model, trace, **change)

    def by_word(values: Floats) -> Doubles:
        return np.array([np.mean(values[list(word.indices)], dtype=np.float64) for word in those])

    rng = np.random.default_rng(seed)
    given = [by_word(values) for values in scores.values()]
    drawn = [rng.permutation(len(those)).astype(np.float64) for _ in range(orders)]
    aopc = _aopc(model, trace, [np.argsort(-values, kind="stable") for values in (*given, *drawn)], [w.indices for w in those], change)
    reference = by_word(trace.token_scores["removal"])
    table = np.column_stack([aopc, [_agreement(values, reference) for values in (*given, *drawn)]])
    beside = _mean(table[len(given) :])
    rows = [
        (name, metric, value, other)
        for name, line in zip(scores, table, strict=False)
        for metric, value, other in zip(METRICS, line, beside, strict=True)
    ]
    return pd.DataFrame(rows, columns=["method", "metric", "value", "random"])


def sampled(model: Model, texts: Sequence[str], pairs: Sequence[str] | None = None, *, sample: int = 200, seed: int = 0) -> Iterator[Trace]:
    """Traces of a seeded sample of the texts of at least LEAST_WORDS words, in a seeded order: the rows that `over_split` asks about."""

    def read() -> Iterator[Trace]:
        for place in np.random.default_rng(seed).permutation(len(texts)):
            trace = model.trace(texts[place], None if pairs is None else pairs[place])
            if len(words(trace)) >= LEAST_WORDS:
                yield trace

    return islice(read(), sample)


@dataclass(frozen=True)
class Verdict:
    """How far the answer to one text falls as words go in the order of an explanation, and in random orders."""

    fall: float  # of the probability, mean over the steps
    random: float  # the same, mean over random orders
    higher: int  # random orders with which it falls further
    equal: int  # ... as far
    orders: int

    @property
    def better(self) -> bool | None:
        """Whether at most TAIL of the orders, its own among them, are as good; None where too many are equal to tell."""
        best, worst = ((worse + 1) / (self.orders + 1) <= TAIL for worse in (self.higher, self.higher + self.equal))
        return worst if worst == best else None

    def __str__(self) -> str:
        if self.better is None:
            return f"Too short to tell from chance: {self.equal} of {self.orders} random orders of its words do as well."
        said = f"without what it names first the answer falls by {100 * self.fall:.0f} points, without random words by"
        return f"{'Better' if self.better else 'No better'} than chance: {said} {100 * self.random:.0f}.".replace("-", "−")


def against_chance(model: Model, trace: Trace, scores: Floats, *, seed: int = 0, **change: Any) -> Verdict:
    """Whether an explanation names words that matter: words go one by one, up to half of them, by its order and by ORDERS random ones.

    Args:
        scores: (m,) of the tokens.
        change: lambdas and heads_off, the same that the trace was made with.
    Raises:
        InputError: fewer than two words.
    """
    if (n := len(those := words(trace))) < 2:
        raise InputError("Faithfulness needs a text of at least two words: there is nothing to leave out.")
    rng = np.random.default_rng(seed)
    own = np.array([np.mean(scores[list(word.indices)], dtype=np.float64) for word in those])
    ranked = [np.argsort(-own, kind="stable"), *(rng.permutation(n) for _ in range(ORDERS))]
    steps = np.unique(np.linspace(1, -(-n // 2), STEPS).round().astype(int)).tolist()
    (fall, *drawn), _ = _aopc(model, trace, ranked, [word.indices for word in those], change, steps, alone=False).T
    beyond = np.array(drawn) - fall
    return Verdict(float(fall), float(np.mean(drawn)), int((beyond > SAME).sum()), int((abs(beyond) <= SAME).sum()), ORDERS)


def scores_of(model: Model, trace: Trace, names: Iterable[str] = (), **change: Any) -> tuple[Trace, dict[str, Floats]]:
    """The trace with all that was asked, removal too, and the scores by method; a method that is not defined for this text is left out.

    Args:
        names: methods of `SCORES`; empty means all that the model has.
    """
    wanted = list(names) or available(trace, asking=True)
    trace = explained(model, trace, {"removal": None, **dict.fromkeys(wanted)}, **change)
    found: dict[str, Floats] = {}
    for name in wanted:
        try:
            found[name] = score(trace, name)
        except InputError:
            continue
    return trace, found


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
    """Every metric of every method over a seeded sample of texts of at least LEAST_WORDS words.

    Args:
        methods: of `SCORES`; empty means all that the model has.
        pairs: as many second texts, for models that read pairs.
        progress: called with (done, sample) after each text.
    Frame:
        method, metric, value, low, high (95 % percentile bootstrap over texts), random (the mean of random explanations of the same texts),
        n (texts for which the metric is defined), seed. The method "random" is the random explanation itself.
    Raises:
        InputError: no such method, or no text of enough words.
    """
    import pandas as pd

    names = list(methods)
    if unknown := [name for name in names if name not in SCORES]:
        raise InputError(f"There is no score {unknown[0]!r}; there are {', '.join(SCORES)}.")
    parts = []
    for i, trace in enumerate(sampled(model, texts, pairs, sample=sample, seed=seed)):
        trace, found = scores_of(model, trace, names)
        parts.append(faithfulness(model, trace, found, seed=seed + i).assign(text=i))
        if progress is not None:
            progress(i + 1, sample)
    if not parts:
        raise InputError(f"None of the texts has {LEAST_WORDS} words.")
    return _summary(pd.concat(parts, ignore_index=True), seed)


def _aopc(
    model: Model,
    trace: Trace,
    orders: Sequence[Ints],
    tokens: Sequence[tuple[int, ...]],
    change: Mapping[str, Any],
    tops: Sequence[int] = (),
    *,
    alone: bool = True,
) -> Doubles:
    """(orders, 2) comprehensiveness and sufficiency; sets of words that several orders share are asked once.

    Args:
        tops: how many words are named, one step each; without, those of PERCENTS. alone: without, sufficiency is not asked and 0.
    """
    from sentviz.models.model import softmax

    n, k = len(tokens), int(trace.probabilities.argmax())
    tops = tops or [-(-percent * n // 100) for percent in PERCENTS]
    removed = [[(frozenset(order[:top].tolist()), frozenset(order[top:].tolist() if alone else ())) for top in tops] for order in orders]
    sets = list(dict.fromkeys(some for row in removed for pair in row for some in pair))
    logits = leaving_out(model, trace, [[i for word in some for i in tokens[word]] for some in sets], **change)
    left = dict(zip(sets, softmax(logits)[:, k].astype(np.float64), strict=True))
    falls = float(trace.probabilities[k]) - np.array([[[left[some] for some in pair] for pair in row] for row in removed])
    return np.asarray(falls.mean(axis=1))


def _agreement(values: Doubles, reference: Doubles) -> tuple[float, float, float]:
    return spearman(values, reference), kendall(values, reference), spearman(np.abs(values), np.abs(reference))


def _mean(table: Doubles) -> Doubles:
    """Column means without NaN; NaN where there is nothing else."""
    known = ~np.isnan(table)
    counts = known.sum(axis=0)
    return np.where(counts > 0, np.where(known, table, 0).sum(axis=0) / np.maximum(counts, 1), np.nan)


def _summary(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Means over texts with bootstrap intervals; the same resamples for all, so that methods can be compared."""
    import pandas as pd

    from sentviz.analysis.evaluation import interval

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
