"""Word removal: predict again without a word. All other explanations are compared with it."""

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
    """Return log p_k / (1 - p_k) for the softmax p of logits (.., K), also exact if p rounds to 1."""
    z = np.asarray(logits, dtype=np.float64)
    rest = np.delete(z, k, axis=-1)
    top = rest.max(axis=-1)
    return np.asarray(z[..., k] - top - np.log(np.exp(rest - top[..., None]).sum(axis=-1)))


def words(trace: Trace) -> tuple[Word, ...]:
    """Return the words of a text in order, without special tokens."""
    from sentviz.data.texts import word_spans

    return tuple(word for word in word_spans(trace.text, trace, trace.text_pair) if not trace.specials[list(word.indices)].any())


def leaving_out(model: Model, trace: Trace, removed: Iterable[Sequence[int]]) -> Floats:
    """Return the logits (N, K) of the text without the tokens of each of N sets, in one forward call. Later tokens move up."""
    reading = model.encode(trace.text, trace.text_pair, trace.change).reading
    return model.forward([reading.without(list(places)) for places in removed], model.intervention(trace.change))[0]


def removal(model: Model, trace: Trace) -> Floats:
    """Return the fall of the predicted class's log-odds if a word is left out, (m,); all words in one batch.

    Positive values support the prediction. Sub-words of a word are removed together and share its score. Special tokens get 0, and so does
    the only word of a text.
    """
    k, text_words = int(trace.probabilities.argmax()), words(trace)
    scores = np.zeros(len(trace.tokens), dtype=np.float32)
    if len(text_words) < 2:
        return scores
    falls = log_odds(trace.logits, k) - log_odds(leaving_out(model, trace, [word.indices for word in text_words]), k)
    for word, fall in zip(text_words, falls, strict=True):
        scores[list(word.indices)] = fall
    return scores
