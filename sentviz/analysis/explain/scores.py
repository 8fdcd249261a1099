"""Scores for the tokens of a sentence: contributions to the prediction, and attention.

`SCORES` is the registry of methods. Some methods read the trace. Others run the model, and `explained` stores their result in the trace.
The method *removal* is the reference; `agreement` measures how well another method agrees with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.exact import MAX_PLAYERS, exact, is_quick
from sentviz.analysis.explain.gradients import MAX_STEPS, Integrated, gradient_shap, gradient_x_input, integrated_gradients, smoothgrad
from sentviz.analysis.explain.leave_out import removal
from sentviz.analysis.explain.permutation import interval_of_draws, permutation_shap
from sentviz.analysis.explain.rollout import attention_flow, rollout, value_weighted, value_zeroing
from sentviz.analysis.explain.screening import alone
from sentviz.analysis.explain.shap_lime import is_installed, kernel_shap, lime
from sentviz.analysis.explain.value_function import Cut, part_removal, parts
from sentviz.analysis.explain.word_groups import MAX_WORDS, find_units
from sentviz.errors import InputError, nearest
from sentviz.io.numbers import signed
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float32]


def explained(model: Model, trace: Trace, names: Iterable[str] = ("removal",)) -> Trace:
    """Return the trace with the scores of the methods that run the model; methods that read the trace need no preparation.

    Args:
        names: methods of `SCORES`.
    """
    methods = {name: ask for name in names if (ask := find_score(name).ask) is not None}
    if lacking := next(filter(None, (_missing(trace, SCORES[name], has_maps=model.capabilities.maps) for name in methods)), ""):
        raise InputError(lacking)
    results = {name: ask(model, trace) for name, ask in methods.items()}
    return with_scores(trace, results)


def with_scores(trace: Trace, results: Mapping[str, Any]) -> Trace:
    """Return the trace with results of methods: arrays (m,), or objects with `scores` and perhaps `rise`, `places`, `errors`, `draws`."""

    def of(name: str) -> dict[str, Any]:
        return {method: value for method, result in results.items() if (value := getattr(result, name, None)) is not None}

    plain = {method: result for method, result in results.items() if isinstance(result, np.ndarray)}
    return trace.replace(
        token_scores={**trace.token_scores, **plain, **of("scores")},
        rises={**trace.rises, **of("rise")},
        units={**trace.units, **of("places")},
        errors={**trace.errors, **of("errors")},
        draws={**trace.draws, **of("draws")},
    )


def received(trace: Trace, component: int | str = "effective", layers: int = 0) -> Floats:
    """Return the attention that each key receives, (m,): sum over queries, mean over heads and the first `layers` (0 = all layers)."""
    total = np.zeros(len(trace.tokens))
    for layer, _, maps, keys in trace.bands(component):
        if not layers or layer < layers:
            total[keys] += maps.sum(axis=(0, 1), dtype=np.float64)
    return np.asarray(total / (len(trace.head_ids) * (layers or len(trace.layer_ids))), dtype=np.float32)


def _first_layer(trace: Trace) -> Floats:
    return received(trace, layers=1)


def _difference(trace: Trace) -> Floats:
    rest = [received(trace, c) for c in trace.component_ids[1:]]
    return np.asarray(received(trace, trace.component_ids[0]) - np.mean(rest, axis=0), dtype=np.float32)


@dataclass(frozen=True)
class Score:
    """Method that scores the tokens of a sentence: it reads the trace (`of`) or runs the model (`ask`)."""

    name: str
    title: str
    low: str  # meaning of a value below the neutral value
    high: str  # meaning of a value above the neutral value
    about: str = ""  # definition and source
    of: Callable[[Trace], Floats] | None = None  # trace -> (m,)
    ask: Callable[[Model, Trace], Any] | None = None  # (model, trace) -> what `with_scores` takes
    removes: bool = False  # True: the score of a unit is the fall of the log-odds without it
    package: str = ""  # package that computes the score
    needs: Literal["", "maps", "components", "gradients"] = ""
    signed: bool = False  # True: the neutral value is 0; False: it is an even share, the mean over the tokens
    unit: str = "even shares"
    full: float = 8.0  # deviation with the strongest colour, equal in all sentences
    knee: float = 0.25  # deviation from which colours grow with the logarithm


FOR, AGAINST = "supports the prediction", "opposes the prediction"
ODDS: dict[str, Any] = {"unit": "log-odds", "full": 16.0, "knee": 0.5}
LARGER: dict[str, Cut] = {"clauses": "clauses", "alone": "clauses", "sentences": "sentences"}  # scores of larger parts -> the parts
MORE, LESS = "more than an even share", "less than an even share"

SCORES = {
    score.name: score
    for score in (
        Score(
            "removal",
            "Word removal",
            AGAINST,
            FOR,
            "Score: how much the log-odds of the class fall if the word is removed.",
            ask=removal,
            signed=True,
            **ODDS,
        ),
        Score(
            "exact",
            "Exact Shapley values",
            AGAINST,
            FOR,
            "Score: the mean rise of the log-odds of the class if the word is added, over all orders in which the words can be added"
            f" (Shapley 1953). All subsets of up to {MAX_PLAYERS} words are predicted; a longer text is cut into larger parts.",
            ask=exact,
            signed=True,
            **ODDS,
        ),
        Score(
            "permutation",
            "Permutation SHAP",
            AGAINST,
            FOR,
            "Score: the mean rise of the log-odds of the class if the word is added, over sampled orders (Lundberg & Lee 2017).",
            ask=permutation_shap,
            signed=True,
            **ODDS,
        ),
        Score(
            "units",
            "Unit removal",
            AGAINST,
            FOR,
            f"Up to {MAX_WORDS} words are one unit where leaving them out together differs from the sum of leaving out each."
            " Score: how much the log-odds of the class fall if the unit is removed.",
            ask=find_units,
            removes=True,
            signed=True,
            **ODDS,
        ),
        Score(
            "clauses",
            "Clause removal",
            AGAINST,
            FOR,
            "Score: how much the log-odds of the class fall if the clause is removed. Clauses end at punctuation and before conjunctions.",
            ask=partial(part_removal, by="clauses"),
            removes=True,
            signed=True,
            **ODDS,
        ),
        Score(
            "sentences",
            "Sentence removal",
            AGAINST,
            FOR,
            "Score: how much the log-odds of the class fall if the sentence is removed.",
            ask=partial(part_removal, by="sentences"),
            removes=True,
            signed=True,
            **ODDS,
        ),
        Score(
            "alone",
            "Clause alone",
            AGAINST,
            FOR,
            "Score: the log-odds of the class if the model reads only the clause. This is what the clause says, not what it adds.",
            ask=alone,
            signed=True,
            **ODDS,
        ),
        Score("received", "Attention received", LESS, MORE, of=received, needs="maps"),
        Score("first-layer", "First-layer importance", LESS, MORE, of=_first_layer, needs="maps"),
        Score(
            "difference",
            "Component difference",
            "looked at by A₂ and above",
            "looked at by A₁",
            of=_difference,
            needs="components",
            signed=True,
        ),
        Score(
            "rollout",
            "Attention rollout",
            LESS,
            MORE,
            "Effective maps averaged over heads, half of each row left to the residual, multiplied over layers (Abnar & Zuidema 2020)."
            " Signed weights enter by their size; rows are made to sum to 1.",
            of=rollout,
            needs="maps",
        ),
        Score(
            "flow",
            "Attention flow",
            LESS,
            MORE,
            "Maximum flow from what the classifier reads to each token, through the maps of rollout as capacities (Abnar & Zuidema 2020).",
            of=attention_flow,
            needs="maps",
        ),
        Score(
            "value-weighted",
            "Value-weighted attention",
            LESS,
            MORE,
            "Length of the vector that a token adds to other tokens, ‖Σ A V W‖ over heads: sum over tokens, mean over layers (Kobayashi"
            " et al. 2020).",
            ask=value_weighted,
            needs="maps",
        ),
        Score(
            "value-zeroing",
            "Value zeroing",
            LESS,
            MORE,
            "Change of direction of a layer's outputs if the token's value vectors are set to zero, rolled out over layers (Mohebbi et"
            " al. 2023).",
            ask=value_zeroing,
            needs="maps",
        ),
        Score(
            "gradient",
            "Gradient × input",
            AGAINST,
            FOR,
            "Gradient of the log-odds of the class with respect to the token's embedding, times the embedding.",
            ask=gradient_x_input,
            needs="gradients",
            signed=True,
            **ODDS,
        ),
        Score(
            "integrated-gradients",
            "Integrated gradients",
            AGAINST,
            FOR,
            "Gradient × input with the gradient averaged on the line from zero embeddings to the text (Sundararajan et al. 2017),"
            f" in {MAX_STEPS} steps at most.",
            ask=integrated_gradients,
            needs="gradients",
            signed=True,
            **ODDS,
        ),
        Score(
            "gradient-shap",
            "Gradient SHAP",
            AGAINST,
            FOR,
            "Gradient × input on lines from random baselines to the text, averaged (expected gradients, Erion et al. 2021).",
            ask=gradient_shap,
            needs="gradients",
            signed=True,
            **ODDS,
        ),
        Score(
            "smoothgrad",
            "SmoothGrad",
            AGAINST,
            FOR,
            "Gradient × input with the gradient averaged over noisy copies of the embeddings (Smilkov et al. 2017).",
            ask=smoothgrad,
            needs="gradients",
            signed=True,
            **ODDS,
        ),
        Score(
            "kernel-shap",
            "KernelSHAP",
            AGAINST,
            FOR,
            "Shapley values by weighted least squares on sampled subsets of the words (Lundberg & Lee 2017), computed by the package shap.",
            ask=kernel_shap,
            package="shap",
            signed=True,
            **ODDS,
        ),
        Score(
            "lime",
            "LIME",
            AGAINST,
            FOR,
            "Weights of a linear model fitted to subsets of the words (Ribeiro et al. 2016), computed by the package lime.",
            ask=lime,
            package="lime",
            signed=True,
            **ODDS,
        ),
    )
}


def find_score(name: str) -> Score:
    """Return a score by its name."""
    if name not in SCORES:
        near = nearest(name, list(SCORES)).rstrip("; ") or f"the scores are {', '.join(SCORES)}"
        raise InputError(f"There is no score {name!r}; {near}.")
    return SCORES[name]


def available(trace: Trace, *, asking: bool = False) -> list[str]:
    """Return the names of the scores that a trace holds or can compute; with `asking`, also those that `explained` can add."""
    return [
        name
        for name, method in SCORES.items()
        if (asking or method.of is not None or name in trace.token_scores) and not _missing(trace, method, has_maps=trace.has_maps)
    ]


def usual(model: Model, trace: Trace) -> list[str]:
    """Return the scores of a comparison: without those of other packages, exact values that take more than seconds, and larger parts of a
    text that has only one of them.
    """

    def is_usual(name: str) -> bool:
        if (cut := LARGER.get(name)) is not None:
            return len(parts(model, trace, cut)) > 1
        return not SCORES[name].package and (name != "exact" or is_quick(model, trace))

    return [name for name in available(trace, asking=True) if name in trace.token_scores or is_usual(name)]


def ends(trace: Trace, name: str) -> tuple[str, str]:
    """Return the meaning of low and of high values of a score, with the class that it explains."""
    method = SCORES[name]
    if (method.low, method.high) != (AGAINST, FOR):
        return method.low, method.high
    return tuple(f"{verb} {trace.target.says()}" for verb in ("opposes", "supports"))  # type: ignore[return-value]


def _missing(trace: Trace, method: Score, *, has_maps: bool) -> str:
    """Return why a score is not available for a trace, as a sentence; "" if it is available."""
    if method.package and method.name not in trace.token_scores and not is_installed(method.package):
        return f"{method.title} needs the package {method.package}: python -m pip install 'sentviz[judges]' installs it."
    if method.unit == ODDS["unit"] and not trace.labels:
        return f"{method.title} needs a predicted class, and {trace.run} has no classification head."
    if method.needs == "gradients":
        return "" if trace.layer_ids else f"{method.title} needs gradients, and {trace.run} is a black box, which gives only probabilities."
    if method.needs == "components" and trace.lambdas.shape[1] < 2:
        return f"{method.title} needs a model with two components or more; {trace.run} has one."
    if method.needs and not has_maps:
        return f"{method.title} needs attention maps, and {trace.run} has none."
    return ""


def score(trace: Trace, name: str) -> Floats:
    """Return a score of a trace, (m,)."""
    method = find_score(name)
    if lacking := _missing(trace, method, has_maps=trace.has_maps):
        raise InputError(lacking)
    if method.of is not None:
        return method.of(trace)
    if name not in trace.token_scores:
        raise InputError(
            f"{method.title} runs the model, and this trace does not hold its result. Add it with explained(model, trace, [{name!r}])."
        )
    return trace.token_scores[name]


def deviation(trace: Trace, name: str) -> Floats:
    """Return a score minus its neutral value, (m,): 0 if it is signed, otherwise the mean over tokens that are not special."""
    values = score(trace, name)
    return values if SCORES[name].signed else values - values[~trace.specials].mean()


def spearman(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Return Spearman's rank correlation of two scores (n,); ties get their mean rank. NaN for fewer than three or for equal values."""
    if len(a) < 3:
        return float("nan")
    first, second = (ranks - ranks.mean() for ranks in (_mean_ranks(a), _mean_ranks(b)))
    length = np.sqrt((first @ first) * (second @ second))
    return float(first @ second / length) if length else float("nan")


def _mean_ranks(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(np.cumsum(counts) - (counts - 1) / 2)[places]


def agreement(trace: Trace, scores: Floats, *, signed: bool = False) -> float | None:
    """Return Spearman's rank correlation of a score with the absolute removal scores, over tokens; None if it is not defined, or if the
    trace has no removal scores.

    A `signed` score is compared with the signed removal scores.
    """
    if "removal" not in trace.token_scores:
        return None
    is_word = ~trace.specials
    removal = trace.token_scores["removal"][is_word]
    rho = spearman(scores[is_word], removal if signed else np.abs(removal))
    return None if np.isnan(rho) else rho


def completeness(trace: Trace, name: str) -> str:
    """Return a sentence about the sum of a score and the error of the sum; "" if the method has no expected sum."""
    if name not in trace.rises:
        return ""
    result = Integrated(trace.token_scores[name], trace.rises[name], 0) if name == "integrated-gradients" else None
    total, rise = _sum(trace, name), trace.rises[name]
    gap = total - rise
    if result is not None and not result.complete:
        return f"The scores sum to {signed(total)} and should sum to {signed(rise)}: they are off by {abs(gap):.2f} in all."
    return f"The scores sum to {signed(total)}, as they should (gap {abs(gap):.4f})."


def _sum(trace: Trace, name: str) -> float:
    """Return the sum of a score; each unit counts once."""
    values = trace.token_scores[name].astype(np.float64)
    first = np.unique(trace.units[name], return_index=True)[1] if name in trace.units else np.arange(len(values))
    return float(values[first].sum())


def uncertainty(trace: Trace, name: str) -> str:
    """Return a sentence about the sampling errors of a score; "" if the method has none."""
    if name not in trace.errors:
        return ""
    draws = trace.draws.get(name, 0)
    if not trace.errors[name].any() and not draws:
        return "All subsets of the words were predicted: no sampling error."
    widest = float(margins(trace, name).max(initial=0))
    return (
        f"From {draws} draws: with 95 % confidence, a word's value is off by at most {widest:.2f} (Student's t with"
        f" {draws - 1} degree{'s' * (draws != 2)} of freedom)."
    )


def margins(trace: Trace, name: str) -> Floats:
    """Return half the width of each token's 95 % t interval, (m,), by `interval_of_draws`; 0 for a score without sampling errors."""
    margin = np.zeros(len(trace.tokens), dtype=np.float32)
    if draws := trace.draws.get(name, 0):
        words = ~trace.specials
        _, first, of = np.unique(trace.units[name][words], return_index=True, return_inverse=True)
        margin[words] = interval_of_draws(trace.errors[name][words][first].astype(np.float64), draws)[of]
    return margin
