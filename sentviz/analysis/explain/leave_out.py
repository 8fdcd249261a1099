"""Word removal: predict again without a word. All other explanations are compared with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.data.texts import Word, word_spans
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float32]


def words(trace: Trace) -> tuple[Word, ...]:
    """Return the words of a text in order, without special tokens."""
    return tuple(word for word in word_spans(trace.text, trace, trace.text_pair) if not trace.specials[list(word.indices)].any())


def leaving_out(model: Model, trace: Trace, removed: Iterable[Sequence[int]], what: str = "shortened texts") -> Floats:
    """Return the logits (N, K) of the text without the tokens of each of N sets, in one forward call. Later tokens move up.

    Args:
        what: name of the sets in the message of `Spent`.
    """
    reading = model.encode(trace.text, trace.text_pair, trace.change).reading
    return model.forward([reading.without(list(places)) for places in removed], model.intervention(trace.change), what=what)[0]


def removal(model: Model, trace: Trace) -> Floats:
    """Return the fall of the log-odds of the trace's target if a word is left out, (m,); all words in one batch.

    Positive values support the target, by default the prediction. Sub-words of a word are removed together and share its score. Special
    tokens get 0, and so does the only word of a text.
    """
    text_words = words(trace)
    falls = np.zeros(len(text_words))
    if len(text_words) > 1:
        falls = trace.value - trace.value_of(leaving_out(model, trace, [word.indices for word in text_words], "words"))
    return spread(text_words, falls, len(trace.tokens))


def spread(pieces: Sequence[Word], values: npt.NDArray[np.float64], tokens: int) -> npt.NDArray[np.float32]:
    """Return the value of each token's part, (m,); 0 for tokens in no part."""
    scores = np.zeros(tokens, dtype=np.float32)
    for piece, value in zip(pieces, values, strict=True):
        scores[list(piece.indices)] = value
    return scores
