"""Texts that can be read, the tokens that they become, and the words that these tokens spell."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError, RunError

LONGEST = 1_000_000
"""Maximum number of characters of a text that are tokenized: more than any model reads. Tokenizing takes about 100 bytes per character."""

BREAK = "<br />"
"""A line break as reviews of data sets have it. Models read it as text; pages show it as a break."""

WORDS = r"\w+|[^\w\s]"  # pattern of a word or a mark
EXTENDS = "\u0300-\u036f\u200c\ufe00-\ufe0f\u20d0-\u20ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
"""Characters that belong to the one before: accents, variation selectors, enclosing marks, skin tones, letters of a flag's region."""
CLUSTER = re.compile(f"[\U0001f1e6-\U0001f1ff]{{2}}|\\S(?:[{EXTENDS}\u200d]|(?<=[\u200c\u200d])[^\\x00-\\x7f\\s])+")
"""Several characters that are one sign: a flag, a sign with what extends it, signs that a joiner (U+200D) connects."""
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u2800\u3164\ufe00-\ufe0f\uffa0]")  # fillers, blanks, variation selectors

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)


def is_blank(text: str) -> bool:
    """Return whether a text has no visible character: only white space, control, zero-width and filler characters."""
    if "!" <= text[:1] <= "~":  # true for nearly all texts, so the loop below rarely runs
        return False
    return all(unicodedata.category(c) in {"Zs", "Zl", "Zp", "Cc", "Cf"} or _INVISIBLE.match(c) for c in text)


def check_text(text: object, name: str = "text") -> str:
    """Return the text, unchanged, if a model can read it.

    Args:
        text: the user's input.
        name: name of the text in the error message, for example ``"second text"``.
    """
    if not isinstance(text, str):
        raise InputError(f"The {name} must be a string, not {type(text).__name__}.")
    if is_blank(text[:LONGEST]):
        raise InputError(f"The {name} is empty: please give at least one visible character.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"Character {error.start + 1} of the {name} is only half a character (a lone surrogate).") from error
    return text


def unread_note(most: int, dropped: int, *texts: str | None, start: bool = False) -> str:
    """Return a sentence on the tokens of a text, or a pair of texts, that are beyond a model's maximum length; "" if there are none."""
    if not dropped:
        return ""
    counted = max(len(text or "") for text in texts) < LONGEST
    beyond = "" if counted else f" Only the first {LONGEST:,} characters were counted."
    return f"The model reads {most:,} tokens at most; the {'first' if start else 'last'} {dropped:,} tokens were not read.{beyond}"


class Tokenized(Protocol):
    """The fields of an `Encoded` or a trace that `word_spans` reads."""

    @property
    def tokens(self) -> tuple[str, ...]: ...
    @property
    def offsets(self) -> Ints: ...
    @property
    def segments(self) -> Ints: ...
    @property
    def specials(self) -> Bools: ...


@dataclass(frozen=True, eq=False)
class Encoded:
    """One text (or pair of texts) as n tokens."""

    ids: Ints  # (n,) entries of the vocabulary
    offsets: Ints  # (n, 2) characters [start, end) in text (segment 0) or text_pair (segment 1); (0, 0) for special tokens
    segments: Ints  # (n,) 0 = text, 1 = text_pair; each [SEP] belongs to the text before it
    specials: Bools  # (n,) True for [CLS] and [SEP]
    unknown: Bools  # (n,) True for words that are not in the vocabulary
    tokens: tuple[str, ...]  # characters of the text, also for unknown words; names of special tokens
    dropped: int = 0  # tokens cut off at the maximum length, counted in the first LONGEST characters of each text
    tags: Ints | None = None  # (n,) part of speech, as places in sentviz.data.parts_of_speech.TAGS; None = not tagged

    def __len__(self) -> int:
        return len(self.ids)

    def filled(self, length: int, padding: str) -> Encoded:
        """Return the tokens, filled up to a length with padding; padding tokens count as special tokens."""
        more = length - len(self)
        arrays = {item.name: part for item in fields(self) if isinstance(part := getattr(self, item.name), np.ndarray)}
        padded: dict[str, Any] = {name: np.pad(part, [(0, more)] + [(0, 0)] * (part.ndim - 1)) for name, part in arrays.items()}
        padded["specials"][len(self) :] = True
        return replace(self, **padded, tokens=(*self.tokens, *[padding] * more))

    @property
    def reading(self) -> TokenizedText:
        """The arrays that a network reads."""
        return TokenizedText(self.ids, self.segments, self.tags)


@dataclass(frozen=True, eq=False)
class TokenizedText:
    """The arrays that a network reads of one text or pair of texts, of n tokens each. None = not needed by the network."""

    ids: npt.NDArray[np.integer[Any]]  # (n,) entries of the vocabulary
    segments: npt.NDArray[np.integer[Any]] | None = None  # (n,) 0 = text, 1 = text_pair
    tags: npt.NDArray[np.integer[Any]] | None = None  # (n,) part of speech
    places: npt.NDArray[np.integer[Any]] | None = None  # (n,) places in the original text, if tokens were left out

    def __len__(self) -> int:
        return len(self.ids)

    def _arrays(self) -> dict[str, npt.NDArray[np.integer[Any]]]:
        return {item.name: part for item in fields(self) if (part := getattr(self, item.name)) is not None}

    def filled(self, length: int) -> TokenizedText:
        """Return the arrays, filled up to a length with padding (zeros)."""
        return TokenizedText(**{name: np.pad(part, (0, length - len(self))) for name, part in self._arrays().items()})

    def without(self, places: Sequence[int]) -> TokenizedText:
        """Return the text without some tokens; the tokens after them move up, and `places` holds their original places."""
        is_left = np.ones(len(self), dtype=bool)
        is_left[list(places)] = False
        arrays = {name: part[is_left] for name, part in self._arrays().items()}
        return TokenizedText(**{"places": np.flatnonzero(is_left), **arrays})


@dataclass(frozen=True)
class Frame:
    """The ids of the special tokens before, between and after one or two texts."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    odd_to_longer: bool = False  # True = the longer of two long texts gets the odd token, as in Hugging Face; else the first
    drops_start: bool = False  # True = a text that is too long loses its start; else its end

    @classmethod
    def of(cls, backend: Any, *probe: str) -> Frame:
        """Return the frame that a backend of `tokenizers` puts around one or two short texts.

        Raises:
            RunError: the backend makes no token of the first text.
        """
        encoding = backend.encode(*probe)
        first, last = ([i for i, sequence in enumerate(encoding.sequence_ids) if sequence == index] for index in (0, len(probe) - 1))
        if not first:
            raise RunError(f"The tokenizer makes no token of the text {probe[0]!r}.")
        start, stop, end = first[-1] + 1, (last or first)[0], (last or first)[-1] + 1
        return cls(tuple(encoding.ids[: first[0]]), tuple(encoding.ids[start:stop]), tuple(encoding.ids[end:]), odd_to_longer=True)

    def __len__(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)

    def around(self, parts: Sequence[npt.NDArray[Scalar]], value: Any = None) -> npt.NDArray[Scalar]:
        """Join the arrays of one or two texts along axis 0, with the special ids, or `value` in place of each, around and between them."""
        like = parts[0]

        def specials(ids: tuple[int, ...]) -> npt.NDArray[Scalar]:
            array = np.empty((len(ids), *like.shape[1:]), dtype=like.dtype)
            array[:] = np.array(ids, dtype=like.dtype) if value is None else value
            return array

        rows = [like, *(piece for part in parts[1:] for piece in (specials(self.between), part))]
        return np.concatenate([specials(self.before), *rows, specials(self.after)])

    def fit(self, lengths: Sequence[int], max_length: int | None) -> list[slice]:
        """Return which tokens of each text are read; of a pair, the longer text is shortened first.

        Args:
            lengths: tokens of each text.
            max_length: maximum number of tokens, special tokens included; None = no limit.
        """
        counts = self._counts(lengths, max_length)
        starts = [n - count if self.drops_start else 0 for n, count in zip(lengths, counts, strict=True)]
        return [slice(start, start + count) for start, count in zip(starts, counts, strict=True)]

    def _counts(self, lengths: Sequence[int], max_length: int | None) -> list[int]:
        if max_length is None or sum(lengths) + len(self) <= max_length:
            return list(lengths)
        room = max_length - len(self)
        if room < len(lengths):
            raise InputError(f"A maximum length of {max_length} tokens leaves no room for the text.")
        if len(lengths) == 1:
            return [room]
        half = room // 2 if self.odd_to_longer and lengths[1] >= lengths[0] else room - room // 2
        first = min(lengths[0], max(room - lengths[1], half))
        return [first, room - first]


@dataclass(frozen=True)
class Word:
    """A word, punctuation mark or special token, with its tokens."""

    text: str
    indices: tuple[int, ...]  # ascending positions among the tokens


def word_spans(text: str, encoded: Tokenized, text_pair: str | None = None) -> tuple[Word, ...]:
    """Join tokens to words, in order; every token belongs to exactly one word.

    A word is a run of letters, digits, marks and underscores. Any other visible character is a word by itself, unless a token covers
    several of them. An emoji with a skin tone, a flag and other signs of several characters are one word. Special tokens are never joined.

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
        inner = {place for match in CLUSTER.finditer(segment_text) for place in range(match.start() + 1, match.end())}
        starts = np.array([start for _, (start, _) in split.pre_tokenize_str(segment_text) if start not in inner], dtype=np.int64)
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
