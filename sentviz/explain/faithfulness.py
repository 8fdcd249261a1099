"""Is an explanation faithful? The model asked again without the words that it names, against an explanation drawn at random.

p is the probability of the class predicted for the whole text; the top words are those with the highest scores.

    comprehensiveness   mean over 10, 20 .. 50 % of the words of p(text) - p(text without the top words)    higher is better
    sufficiency         the same of p(text) - p(the top words alone)                                        lower is better
                        DeYoung et al. 2020 (ERASER), arXiv 1911.03429, with even steps; at least one word each
    spearman, kendall   rank correlation of the scores with word removal's                                  higher is better
    size                Spearman's of the sizes of both: what decides, whichever way                        higher is better

Words are removed as in `sentviz.explain.leave_out`; a word of several tokens scores their mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.explain import SCORES, available, explained, score, spearman
from sentviz.explain.leave_out import leaving_out, words

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.models.model import Model, Progress
    from sentviz.trace import Trace

__all__ = ["FILE", "LEAST_WORDS", "METRICS", "PERCENTS", "faithfulness", "kendall", "over_split", "scores_of"]

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FILE = "faithfulness.parquet"
METRICS = ("comprehensiveness", "sufficiency", "spearman", "kendall", "size")
PERCENTS = (10, 20, 30, 40, 50)
LEAST_WORDS = 3  # fewer have no rank correlation
RESAMPLES = 2_000


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
    for i, trace in enumerate(islice(_traces(model, list(texts), None if pairs is None else list(pairs), seed), sample)):
        trace, found = scores_of(model, trace, names)
        parts.append(faithfulness(model, trace, found, seed=seed + i).assign(text=i))
        if progress is not None:
            progress(i + 1, sample)
    if not parts:
        raise InputError(f"None of the texts has {LEAST_WORDS} words.")
    return _summary(pd.concat(parts, ignore_index=True), seed)


def _aopc(model: Model, trace: Trace, orders: Sequence[Ints], tokens: Sequence[tuple[int, ...]], change: Mapping[str, Any]) -> Doubles:
    """(orders, 2) comprehensiveness and sufficiency; sets of words that several orders share are asked once."""
    from sentviz.models.model import softmax

    n, k = len(tokens), int(trace.probabilities.argmax())
    tops = [-(-percent * n // 100) for percent in PERCENTS]
    removed = [[frozenset(part) for top in tops for part in (order[:top].tolist(), order[top:].tolist())] for order in orders]
    sets = list(dict.fromkeys(some for row in removed for some in row))
    logits = leaving_out(model, trace, [[i for word in some for i in tokens[word]] for some in sets], **change)
    left = dict(zip(sets, softmax(logits)[:, k].astype(np.float64), strict=True))
    falls = float(trace.probabilities[k]) - np.array([[left[some] for some in row] for row in removed])
    return np.asarray(falls.reshape(len(orders), len(tops), 2).mean(axis=1))


def _agreement(values: Doubles, reference: Doubles) -> tuple[float, float, float]:
    return spearman(values, reference), kendall(values, reference), spearman(np.abs(values), np.abs(reference))


def _mean(table: Doubles) -> Doubles:
    """Column means without NaN; NaN where there is nothing else."""
    known = ~np.isnan(table)
    counts = known.sum(axis=0)
    return np.where(counts > 0, np.where(known, table, 0).sum(axis=0) / np.maximum(counts, 1), np.nan)


def _traces(model: Model, texts: Sequence[str], pairs: Sequence[str] | None, seed: int) -> Iterator[Trace]:
    """Traces of texts of enough words, in a seeded order."""
    for place in np.random.default_rng(seed).permutation(len(texts)):
        trace = model.trace(texts[place], None if pairs is None else pairs[place])
        if len(words(trace)) >= LEAST_WORDS:
            yield trace


def _summary(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Means over texts with bootstrap intervals; the same resamples for all, so that methods can be compared."""
    import pandas as pd

    from sentviz.evaluation import interval

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
