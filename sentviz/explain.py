"""Scores for the tokens of one sentence: what the answer leans on, and what the model looks at.

*removal* is the reference: it asks the model. The others read the attention maps; how far they agree with removal is always stated beside
them (`agreement`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.trace import Trace

if TYPE_CHECKING:
    from sentviz.model import Model

__all__ = [
    "SCORES",
    "Score",
    "agreement",
    "answer",
    "explained",
    "log_odds",
    "percent",
    "received",
    "removal",
    "without",
]

Floats = npt.NDArray[np.float32]


def log_odds(logits: npt.NDArray[np.floating[Any]], k: int) -> npt.NDArray[np.float64]:
    """log p_k / (1 - p_k) of softmaxed logits (.., K), exact far out where p rounds to 1."""
    z = np.asarray(logits, dtype=np.float64)
    others = np.delete(z, k, axis=-1)
    top = others.max(axis=-1)
    return np.asarray(z[..., k] - top - np.log(np.exp(others - top[..., None]).sum(axis=-1)))


def removal(model: Model, trace: Trace, *, lambdas: Any = None, heads_off: Collection[tuple[int, int]] = ()) -> Floats:
    """(m,) how much the log-odds of the predicted class fall when a word is left out; all words in one batch.

    Positive: the word supports the answer. Sub-words of one word are removed together and share its score; specials get 0. A text of one
    word has nothing left to compare with and gets 0.
    """
    from sentviz.text import words_of

    k = int(trace.probabilities.argmax())
    encoded = model.encode(trace.text, trace.text_pair)
    words = [word for word in words_of(trace.text, encoded, trace.text_pair) if not encoded.specials[list(word.indices)].any()]
    scores = np.zeros(len(encoded.ids), dtype=np.float32)
    if len(words) < 2:
        return scores
    rows = [np.delete(encoded.ids, list(word.indices)) for word in words]
    segments = [np.delete(encoded.segments, list(word.indices)) for word in words]
    logits, _ = model.forward(rows, model.change(lambdas, heads_off), segments=segments)
    falls = log_odds(trace.logits, k) - log_odds(logits, k)
    for word, fall in zip(words, falls, strict=True):
        scores[list(word.indices)] = fall
    return scores


def explained(model: Model, trace: Trace, **change: Any) -> Trace:
    """The trace with its removal scores."""
    return trace.replace(token_scores={**trace.token_scores, "removal": removal(model, trace, **change)})


def without(trace: Trace, token: int) -> float:
    """Probability of the predicted class when the word of a token is left out, from the stored removal scores."""
    k = int(trace.probabilities.argmax())
    return float(1 / (1 + np.exp(-(log_odds(trace.logits, k) - trace.token_scores["removal"][token]))))


def received(maps: Floats) -> Floats:
    """(L, H, n, m) -> (m,): attention that each key receives, summed over queries, averaged over layers and heads."""
    return np.asarray(maps.sum(axis=-2).mean(axis=(0, 1)), dtype=np.float32)


def _received(trace: Trace) -> Floats:
    assert trace.attention is not None
    return received(trace.attention)


def _first_layer(trace: Trace) -> Floats:
    assert trace.attention is not None
    return received(trace.attention[:1])


def _difference(trace: Trace) -> Floats:
    assert trace.components is not None
    first, rest = trace.components[:, 0], trace.components[:, 1:].mean(axis=1)
    return received(first) - received(np.asarray(rest, dtype=np.float32))


@dataclass(frozen=True)
class Score:
    """One way to score the tokens of a sentence."""

    name: str
    title: str
    low: str  # what a negative value means
    high: str
    of: Callable[[Trace], Floats]
    needs_components: bool = False


SCORES = {
    score.name: score
    for score in (
        Score(
            "removal",
            "Word removal",
            "speaks against the answer",
            "supports the answer",
            lambda trace: trace.token_scores["removal"],
        ),
        Score("received", "Attention received", "less than an even share", "more than an even share", _received),
        Score("first-layer", "First-layer importance", "less than an even share", "more than an even share", _first_layer),
        Score(
            "difference",
            "Component difference",
            "looked at by A₂ and above",
            "looked at by A₁",
            _difference,
            needs_components=True,
        ),
    )
}


def score(trace: Trace, name: str) -> Floats:
    """(m,) one score of a trace.

    Raises:
        InputError: no such score, or one that needs a second component.
    """
    if name not in SCORES:
        raise InputError(f"There is no score {name!r}; there are {', '.join(SCORES)}.")
    if SCORES[name].needs_components and trace.lambdas.shape[1] < 2:
        raise InputError(f"{SCORES[name].title} needs a model with two components or more; {trace.run} has one.")
    return SCORES[name].of(trace)


def agreement(trace: Trace, scores: Floats) -> float | None:
    """Spearman's rank correlation of a score with the size of the removal scores, over words; None where it is not defined."""
    import pandas as pd

    keep = ~trace.specials
    a, b = pd.Series(scores[keep]).rank(), pd.Series(np.abs(trace.token_scores["removal"][keep])).rank()
    if keep.sum() < 3 or a.nunique() < 2 or b.nunique() < 2:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def percent(p: float) -> str:
    """A probability in words that never claim certainty: 0.9996 is ">99%"."""
    return ">99%" if p > 0.995 else "<1%" if p < 0.005 else f"{p:.0%}"


def answer(trace: Trace) -> str:
    """The verdict in one line: "Negative, 93%. Without “waste”: 41%."; where no word moves it by a point, that is said."""
    from sentviz.text import words_of

    line = f"{trace.label.capitalize()}, {percent(trace.confidence)}."
    scores = trace.token_scores.get("removal")
    if scores is None or not scores.any():
        return line
    top = int(scores.argmax())
    left = without(trace, top)
    if left > trace.confidence - 0.01:
        return f"{line} No single word decides it."
    word = next(word for word in words_of(trace.text, trace, trace.text_pair) if top in word.indices)
    return f"{line} Without “{word.text}”: {percent(left)}."
