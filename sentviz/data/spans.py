"""Words put together again from the tokens that spell them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sentviz.data.tokenizers import WORDS, Tokenized


@dataclass(frozen=True)
class Word:
    """A word, punctuation mark or special token, and the tokens that spell it."""

    text: str
    indices: tuple[int, ...]  # ascending positions among the tokens


def word_spans(text: str, encoded: Tokenized, text_pair: str | None = None) -> tuple[Word, ...]:
    """Tokens put together to words, in order; every token belongs to exactly one.

    Words are runs of letters, digits, marks and underscores; any other visible character is one of its own, unless a
    token spans several. The word-level tokenizer's tokens are words already and, like special tokens, stay alone.

    Args:
        text: the text that was encoded.
        encoded: its tokens.
        text_pair: the second text, if there was one.
    """
    from tokenizers import Regex, pre_tokenizers

    split = pre_tokenizers.Split(Regex(WORDS), behavior="removed", invert=True)
    texts = (text, text_pair or "")
    offsets, segments = np.asarray(encoded.offsets), np.asarray(encoded.segments)
    first, last = np.zeros((2, len(offsets)), dtype=np.int64)  # words that hold each token's first and last character
    for segment, whole in enumerate(texts):
        starts = np.array([start for _, (start, _) in split.pre_tokenize_str(whole)], dtype=np.int64)
        here = segments == segment
        first[here] = starts.searchsorted(offsets[here, 0], side="right")
        last[here] = starts.searchsorted(offsets[here, 1] - 1, side="right")
    alone = np.asarray(encoded.specials)
    new = (segments[1:] != segments[:-1]) | alone[1:] | alone[:-1] | (first[1:] > last[:-1])
    words = []
    for group in np.split(np.arange(len(offsets)), np.flatnonzero(new) + 1):
        indices = tuple(group.tolist())
        if alone[indices[0]]:
            words.append(Word(encoded.tokens[indices[0]], indices))
        else:
            start, end = offsets[indices[0], 0], offsets[indices[-1], 1]
            words.append(Word(texts[segments[indices[0]]][start:end], indices))
    return tuple(words)
