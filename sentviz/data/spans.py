"""Join the tokens of a text to words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sentviz.data.texts import Tokenized
from sentviz.data.tokenizers import WORDS


@dataclass(frozen=True)
class Word:
    """A word, punctuation mark or special token, with its tokens."""

    text: str
    indices: tuple[int, ...]  # ascending positions among the tokens


def word_spans(text: str, encoded: Tokenized, text_pair: str | None = None) -> tuple[Word, ...]:
    """Join tokens to words, in order; every token belongs to exactly one word.

    A word is a run of letters, digits, marks and underscores. Any other visible character is a word by itself, unless a token covers
    several of them. Tokens of a word-level tokenizer are words already; special tokens are never joined.

    Args:
        text: the text that was encoded.
        encoded: its tokens.
        text_pair: the second text of a pair.
    """
    from tokenizers import Regex, pre_tokenizers

    split = pre_tokenizers.Split(Regex(WORDS), behavior="removed", invert=True)
    texts = (text, text_pair or "")
    offsets, segments = np.asarray(encoded.offsets), np.asarray(encoded.segments)
    first, last = np.zeros((2, len(offsets)), dtype=np.int64)  # words that hold each token's first and last character
    for segment, segment_text in enumerate(texts):
        starts = np.array([start for _, (start, _) in split.pre_tokenize_str(segment_text)], dtype=np.int64)
        in_segment = segments == segment
        first[in_segment] = starts.searchsorted(offsets[in_segment, 0], side="right")
        last[in_segment] = starts.searchsorted(offsets[in_segment, 1] - 1, side="right")
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
