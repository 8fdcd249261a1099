"""Suggest replacements for a word, with the prediction for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.data.tags import Tagger, tags_instead
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.io.lazy import pd, torch
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

CANDIDATES_PER_WORD = 8  # candidates per suggested word


def swapped(trace: Trace, token: int, word: str) -> str:
    """Return the text with another word in a token's place; a capital letter is kept."""
    if trace.specials[token] or trace.segments[token] != 0:
        raise InputError("Only a word of the first sentence can be replaced.")
    start, end = trace.offsets[token]
    return trace.text[:start] + in_case(word, trace.text[start:end]) + trace.text[end:]


def in_case(word: str, old: str) -> str:
    """Return a word, capitalised if the old word is."""
    return word.capitalize() if old[:1].isupper() and (old[1:].islower() or len(old) == 1) else word


def neighbours(model: Model, token: int, k: int = 6) -> list[tuple[str, float]]:
    """Return the k words whose embeddings are nearest to a token's, with the cosine similarity; the token itself is left out.

    Args:
        token: id in the vocabulary.
    """
    (own_vector,) = model.network.rows(torch.tensor([token])).detach().numpy()
    cosine = np.concatenate([_cosines(part.numpy(), own_vector) for part in model.network.table_parts()])
    cosine[[0, 1, 2, 3, token]] = -2
    own, known = _written(model.tokenizer, token), whole_words(model.tokenizer)
    nearest = (index for index in np.argsort(-cosine)[: 8 * k + 8].tolist() if index in known)
    return [(known[index], float(cosine[index])) for index in nearest if known[index].isascii() == own.isascii()][:k]


def _cosines(vectors: npt.NDArray[np.float32], vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the cosine of each of some vectors (N, e) and one vector (e,)."""
    lengths = (np.linalg.norm(vectors, axis=1) + 1e-9) * (np.linalg.norm(vector) + 1e-9)
    return np.asarray(vectors @ vector / lengths, np.float32)


@lru_cache(maxsize=16)
def whole_words(tokenizer: Tokenizer) -> Mapping[int, str]:
    """Return the vocabulary entries that are complete words of letters, by id."""
    spaced = "Ġ" in tokenizer or "▁" in tokenizer
    written = ((index, _written(tokenizer, index)) for index in range(tokenizer.vocab_size))
    return MappingProxyType({index: word.strip() for index, word in written if (word[0] == " ") == spaced and word.strip().isalpha()})


def _written(tokenizer: Tokenizer, index: int) -> str:
    """Return a vocabulary entry as text, with the space at the beginning of a word if the vocabulary stores it; never empty."""
    from tokenizers.decoders import ByteLevel

    entry = tokenizer.token_of(index).replace("▁", " ")
    return (ByteLevel().decode([entry]) if "Ġ" in tokenizer else entry) or "?"


def same_part_of_speech(text: str, start: int, end: int, words: Sequence[str]) -> list[str]:
    """Return the words that have the part of speech of text[start:end], in its place and alone, according to the English tagger.

    If text[start:end] has letters beyond ASCII, which the tagger does not know, all words are returned.
    """
    if not text[start:end].isascii():
        return list(words)
    own, *kinds = tags_instead(Tagger.load(), [(text, start, end, word) for word in (text[start:end], *words)])
    return list(words) if own is None else [word for word, kind in zip(words, kinds, strict=True) if kind == own]


def opposites(model: Model, lexicon: Mapping[str, float], token: str, k: int = 6) -> list[tuple[str, float]]:
    """Return words of opposite polarity from a lexicon that the model knows, strongest first; an empty list for a neutral token."""
    own = lexicon.get(token.casefold(), 0.0)
    if not own:
        return []
    known = [(word, value) for word, value in lexicon.items() if value * own < 0 and word in model.tokenizer and word.isalpha()]
    return sorted(known, key=lambda entry: (-abs(entry[1]), entry[0]))[:k]


def suggestions(model: Model, trace: Trace, token: int, lexicon: Mapping[str, float] | None = None, *, k: int = 6) -> pd.DataFrame:
    """Return replacements for a token with the predictions: word, source, near, label, probability (of the present class), text.

    The trace's intervention stays in effect, except edits of single tokens, which belong to this text.

    Frame:
        word, source, near, label, probability, text.
    """
    sources: dict[str, dict[str, float]] = {}
    encoded = model.encode(trace.text, trace.text_pair)
    if not trace.unknown[token]:
        sources["near in the embedding"] = dict(neighbours(model, int(encoded.ids[token]), CANDIDATES_PER_WORD * k))
    if lexicon:
        sources["opposite in the lexicon"] = dict(opposites(model, lexicon, trace.tokens[token], CANDIDATES_PER_WORD * k))
    start, end = (int(edge) for edge in trace.offsets[token])
    candidates = [
        (word, source, near[word])
        for source, near in sources.items()
        for word in same_part_of_speech(trace.text, start, end, list(near))[:k]
    ]
    texts: Sequence[str] = [swapped(trace, token, word) for word, _, _ in candidates]
    frame = pd.DataFrame(candidates, columns=["word", "source", "near"])
    predictions = model.predict(
        texts, None if trace.text_pair is None else [trace.text_pair] * len(texts), change=trace.change.without_tokens()
    )
    frame["label"], frame["probability"], frame["text"] = predictions["label"], predictions[trace.label], predictions["text"]
    return frame.drop_duplicates("word", ignore_index=True)
