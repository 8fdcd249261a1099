"""Scores for the tokens of one sentence: what the answer leans on, and what the model looks at.

One registry, `SCORES`. Some methods read the trace; others ask the model, and `explained` keeps their result in the trace. *removal* is the
reference; how far another agrees with it is always stated beside it (`agreement`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.flow import attention_flow, rollout, value_weighted, value_zeroing
from sentviz.analysis.explain.gradients import MOST, Integrated, gradient_x_input, integrate
from sentviz.analysis.explain.leave_out import removal
from sentviz.analysis.explain.units import LONGEST, Units, find_units
from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float32]


def explained(model: Model, trace: Trace, names: Iterable[str] = ("removal",), **change: Any) -> Trace:
    """The trace with the scores of those methods that ask the model; those that read the trace need nothing.

    Args:
        names: methods of `SCORES`.
        change: lambdas and heads_off, the same that the trace was made with.
    Raises:
        InputError: no such method, or one that needs attention of a model that has none.
    """
    asking = {name: ask for name in names if (ask := _method(name).ask) is not None}
    if not model.capabilities.maps and (refused := next((SCORES[name] for name in asking if SCORES[name].needs), None)):
        raise InputError(f"{refused.title} is read off attention maps, and there are none of {trace.run} here.")
    asked = {name: ask(model, trace, **change) for name, ask in asking.items()}
    rises = {name: one.rise for name, one in asked.items() if isinstance(one, Integrated)}
    units = {name: one.places for name, one in asked.items() if isinstance(one, Units)}
    scores = {name: one.scores if isinstance(one, Integrated | Units) else one for name, one in asked.items()}
    return trace.replace(token_scores={**trace.token_scores, **scores}, rises={**trace.rises, **rises}, units={**trace.units, **units})


def received(trace: Trace, component: int | str = "effective", layers: int = 0) -> Floats:
    """(m,) attention that each key receives, summed over queries, averaged over heads and layers; of the first `layers`, or of all."""
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
    """One way to score the tokens of a sentence: it reads the trace (`of`), or asks the model (`ask`)."""

    name: str
    title: str
    low: str  # what a value below the neutral one means
    high: str
    about: str = ""  # what is computed, its source, what is done where it is not defined
    of: Callable[[Trace], Floats] | None = None  # trace -> (m,)
    ask: Callable[..., Floats | Integrated | Units] | None = None  # (model, trace, lambdas=, heads_off=) -> (m,)
    needs: Literal["", "maps", "components"] = ""
    signed: bool = False  # neutral is 0; otherwise an even share, the mean over the tokens
    unit: str = "even shares"
    full: float = 8.0  # the strongest colour, the same in every sentence
    knee: float = 0.25  # from here on colours grow with the logarithm


FOR, AGAINST = "supports the answer", "speaks against the answer"
ODDS: dict[str, Any] = {"unit": "log-odds", "full": 16.0, "knee": 0.5}
MORE, LESS = "more than an even share", "less than an even share"

SCORES = {
    score.name: score
    for score in (
        Score(
            "removal",
            "Word removal",
            AGAINST,
            FOR,
            "Score: fall of the answer's log-odds when the word is left out.",
            ask=removal,
            signed=True,
            **ODDS,
        ),
        Score(
            "units",
            "Unit removal",
            AGAINST,
            FOR,
            f"Up to {LONGEST} words are one unit where leaving them out together differs from the sum of leaving out each."
            " Score: fall of the answer's log-odds when the unit is left out.",
            ask=find_units,
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
            "Length of what a token adds to each other, ‖Σ A V W‖ over heads, summed, averaged over layers (Kobayashi et al. 2020).",
            ask=value_weighted,
            needs="maps",
        ),
        Score(
            "value-zeroing",
            "Value zeroing",
            LESS,
            MORE,
            "How far a layer's outputs turn when the token's value vectors are zero, rolled out over layers (Mohebbi et al. 2023).",
            ask=value_zeroing,
            needs="maps",
        ),
        Score(
            "gradient",
            "Gradient × input",
            AGAINST,
            FOR,
            "Gradient of the answer's log-odds along the token's embedding, times the embedding.",
            ask=gradient_x_input,
            signed=True,
            **ODDS,
        ),
        Score(
            "integrated-gradients",
            "Integrated gradients",
            AGAINST,
            FOR,
            "The same, averaged on the way from [PAD] in every word's place to the text (Sundararajan et al. 2017), in as many steps as it"
            f" needs, {MOST} at most.",
            ask=integrate,
            signed=True,
            **ODDS,
        ),
    )
}


def _method(name: str) -> Score:
    if name not in SCORES:
        raise InputError(f"There is no score {name!r}; there are {', '.join(SCORES)}.")
    return SCORES[name]


def available(trace: Trace, *, asking: bool = False) -> list[str]:
    """Names of the scores that a trace can give now; with `asking`, those as well that `explained` can add to it."""
    return [
        name for name, how in SCORES.items() if (asking or how.of is not None or name in trace.token_scores) and not _lacking(trace, how)
    ]


def _lacking(trace: Trace, how: Score) -> str:
    """Why a score cannot be had of a trace's model, in a sentence; "" where it can."""
    if how.needs == "components" and trace.lambdas.shape[1] < 2:
        return f"{how.title} needs a model with two components or more; {trace.run} has one."
    if how.needs and not trace.has_maps:
        return f"{how.title} is read off attention maps, and there are none of {trace.run} here."
    return ""


def score(trace: Trace, name: str) -> Floats:
    """(m,) one score of a trace.

    Raises:
        InputError: no such score, one that the model cannot give, or one that it was not asked for.
    """
    how = _method(name)
    if lacking := _lacking(trace, how):
        raise InputError(lacking)
    if how.of is not None:
        return how.of(trace)
    if name not in trace.token_scores:
        raise InputError(
            f"{how.title} asks the model, and this trace does not hold its answer; explained(model, trace, [{name!r}]) adds it."
        )
    return trace.token_scores[name]


def deviation(trace: Trace, name: str) -> Floats:
    """(m,) a score as it is coloured: from 0 where it is signed, else from an even share, the mean over tokens that are not special.

    Raises:
        InputError: as for `score`.
    """
    values = score(trace, name)
    return values if SCORES[name].signed else values - values[~trace.specials].mean()


def spearman(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Rank correlation of two scores (n,), ties sharing their mean rank; NaN with fewer than three values or all alike."""
    import pandas as pd

    first, second = pd.Series(a).rank(), pd.Series(b).rank()
    if len(a) < 3 or first.nunique() < 2 or second.nunique() < 2:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def agreement(trace: Trace, scores: Floats, *, signed: bool = False) -> float | None:
    """Spearman's rank correlation of a score with the size of the removal scores, over tokens; None where it is not defined.

    Of a `signed` score with the removal scores themselves.
    """
    keep = ~trace.specials
    removal = trace.token_scores["removal"][keep]
    rho = spearman(scores[keep], removal if signed else np.abs(removal))
    return None if np.isnan(rho) else rho


def incomplete(trace: Trace, name: str) -> str:
    """How far a score's sum is from what it should be, in a sentence; "" where it is near enough or should be nothing of the kind."""
    if name not in trace.rises:
        return ""
    one = Integrated(trace.token_scores[name], trace.rises[name], 0)
    said = f"The scores sum to {one.gap + one.rise:+.2f} and should sum to {one.rise:+.2f}: they are off by {abs(one.gap):.2f} in all."
    return "" if one.complete else said.replace("-", "−")


def percent(p: float) -> str:
    """A probability in words that never claim certainty: 0.9996 is ">99%"."""
    return ">99%" if p > 0.995 else "<1%" if p < 0.005 else f"{p:.0%}"
