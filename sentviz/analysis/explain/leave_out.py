"""Word removal: the model asked again without a word. The reference for every other explanation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.data.texts import Word
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float32]


def log_odds(logits: npt.NDArray[np.floating[Any]], k: int) -> npt.NDArray[np.float64]:
    """log p_k / (1 - p_k) of softmaxed logits (.., K), exact far out where p rounds to 1."""
    z = np.asarray(logits, dtype=np.float64)
    others = np.delete(z, k, axis=-1)
    top = others.max(axis=-1)
    return np.asarray(z[..., k] - top - np.log(np.exp(others - top[..., None]).sum(axis=-1)))


def words(trace: Trace) -> tuple[Word, ...]:
    """The words that can be left out of a text: all but specials, in order."""
    from sentviz.data.texts import word_spans

    return tuple(word for word in word_spans(trace.text, trace, trace.text_pair) if not trace.specials[list(word.indices)].any())


def leaving_out(
    model: Model,
    trace: Trace,
    removed: Iterable[Sequence[int]],
    **change: Any,
) -> Floats:
    """Logits (N, K) of the text without the tokens of each of N sets; what follows a token moves up. One forward call."""
    changed = model.change(**change)
    reading = model.encode(trace.text, trace.text_pair, changed).reading
    return model.forward([reading.without(list(some)) for some in removed], changed)[0]


def removal(model: Model, trace: Trace, **change: Any) -> Floats:
    """(m,) how much the log-odds of the predicted class fall when a word is left out; all words in one batch.

    Positive: the word supports the answer. Sub-words of one word are removed together and share its score; specials get 0. A text of one
    word has nothing left to compare with and gets 0.
    """
    k, those = int(trace.probabilities.argmax()), words(trace)
    scores = np.zeros(len(trace.tokens), dtype=np.float32)
    if len(those) < 2:
        return scores
    falls = log_odds(trace.logits, k) - log_odds(leaving_out(model, trace, [word.indices for word in those], **change), k)
    for word, fall in zip(those, falls, strict=True):
        scores[list(word.indices)] = fall
    return scores
