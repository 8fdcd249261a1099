"""What if another word stood here? Suggestions for one token, each asked of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sentviz.data.tags import Tagger, tags_instead
from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.data.tokenizers import Tokenizer
    from sentviz.models.model import Model

WIDER = 8  # words that are looked at for each that is proposed


def swapped(trace: Trace, token: int, word: str) -> str:
    """The text with one token written otherwise, capital letter kept."""
    if trace.specials[token] or trace.segments[token] != 0:
        raise InputError("Only a word of the sentence itself can be exchanged.")
    start, end = trace.offsets[token]
    return trace.text[:start] + in_case(word, trace.text[start:end]) + trace.text[end:]


def in_case(word: str, old: str) -> str:
    """A word with a capital letter where the old one has it."""
    return word.capitalize() if old[:1].isupper() and (old[1:].islower() or len(old) == 1) else word


def neighbours(model: Model, token: int, k: int = 6) -> list[tuple[str, float]]:
    """The k words of the vocabulary whose embeddings are nearest to a token's (cosine), words only, the token itself left out.

    Args:
        token: id in the vocabulary.
    """
    table = model.network.table.detach().numpy()
    lengths = np.linalg.norm(table, axis=1) + 1e-9
    cosine = table @ table[token] / (lengths * lengths[token])
    cosine[[0, 1, 2, 3, token]] = -2
    own, known = _written(model.tokenizer, token), whole_words(model.tokenizer)
    nearest = (index for index in np.argsort(-cosine)[: 8 * k + 8].tolist() if index in known)
    return [(known[index], float(cosine[index])) for index in nearest if known[index].isascii() == own.isascii()][:k]


@lru_cache(maxsize=16)
def whole_words(tokenizer: Tokenizer) -> Mapping[int, str]:
    """The entries of a vocabulary that are a word of letters by themselves, by id."""
    spaced = "Ġ" in tokenizer or "▁" in tokenizer
    written = ((index, _written(tokenizer, index)) for index in range(tokenizer.vocab_size))
    return MappingProxyType({index: word.strip() for index, word in written if (word[0] == " ") == spaced and word.strip().isalpha()})


def _written(tokenizer: Tokenizer, index: int) -> str:
    """A vocabulary entry in letters, with the space that a word begins with where the vocabulary has it; never empty."""
    from tokenizers.decoders import ByteLevel

    entry = tokenizer.token_of(index).replace("▁", " ")
    return (ByteLevel().decode([entry]) if "Ġ" in tokenizer else entry) or "?"


def of_a_kind(text: str, start: int, end: int, words: Sequence[str]) -> list[str]:
    """Those of some words that are of the same part of speech as text[start:end], in its place and alone, as the English tagger tells.

    All of them where the word has other than Latin letters, of which the tagger knows nothing.
    """
    if not text[start:end].isascii():
        return list(words)
    own, *kinds = tags_instead(Tagger.load(), [(text, start, end, word) for word in (text[start:end], *words)])
    return list(words) if own is None else [word for word, kind in zip(words, kinds, strict=True) if kind == own]


def opposites(model: Model, lexicon: Mapping[str, float], token: str, k: int = 6) -> list[tuple[str, float]]:
    """Words of a polarity lexicon on the other side of a token's, strongest first, known to the model; none for a neutral token."""
    own = lexicon.get(token.casefold(), 0.0)
    if not own:
        return []
    known = [(word, value) for word, value in lexicon.items() if value * own < 0 and word in model.tokenizer and word.isalpha()]
    return sorted(known, key=lambda entry: (-abs(entry[1]), entry[0]))[:k]


def suggestions(
    model: Model, trace: Trace, token: int, lexicon: Mapping[str, float] | None = None, *, k: int = 6, **change: Any
) -> pd.DataFrame:
    """Words of the same kind to put in a token's place, with what the model would say: word, source, near, label, probability.

    Raises:
        InputError: the token is no word of the sentence.
    """
    import pandas as pd

    found: dict[str, dict[str, float]] = {}
    encoded = model.encode(trace.text, trace.text_pair)
    if not trace.unknown[token]:
        found["near in the embedding"] = dict(neighbours(model, int(encoded.ids[token]), WIDER * k))
    if lexicon:
        found["opposite in the lexicon"] = dict(opposites(model, lexicon, trace.tokens[token], WIDER * k))
    start, end = (int(edge) for edge in trace.offsets[token])
    candidates = [
        (word, source, near[word]) for source, near in found.items() for word in of_a_kind(trace.text, start, end, list(near))[:k]
    ]
    texts: Sequence[str] = [swapped(trace, token, word) for word, _, _ in candidates]
    frame = pd.DataFrame(candidates, columns=["word", "source", "near"])
    said = model.predict(texts, None if trace.text_pair is None else [trace.text_pair] * len(texts), **change)
    frame["label"], frame["probability"], frame["text"] = said["label"], said[trace.label], said["text"]
    return frame.drop_duplicates("word", ignore_index=True)
