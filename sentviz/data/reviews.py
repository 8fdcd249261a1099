"""The tokenizer of the hardmax classifier: cleaned words of its vocabulary, at most 128 per review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.data.texts import Bools, Ints
from sentviz.data.tokenizers import SPECIALS, Tokenizer
from sentviz.errors import InputError

_WORD = r"[^\W\d_]+(?:'[^\W\d_]+)*"
_UNK = SPECIALS.index("[UNK]")


STOP_WORDS = """
a an the this that these those i me my myself we us our ours you your yours he him his she her hers it its itself they them their theirs
who whom whose which what one oneself there here
of in on at by for with from to into onto about over under between among through during against within along across behind beyond
before after around upon toward towards up down out off than as like
and or but if while although though because since until unless whether yet when where how why
am is are was were be been being have has had having do does did doing will would shall should can could may might must
s d ll m re ve
"""


def stop_words() -> frozenset[str]:
    """Return function words with their contractions, and single letters; negations and intensifiers are not included."""
    words = STOP_WORDS.split()
    ends = ("'s", "'m", "'d", "'re", "'ve", "'ll")
    return frozenset([*words, *(f"{word}{end}" for word in words for end in ends), *ascii_lowercase])


class WordsTokenizer(Tokenizer):
    """A word-level tokenizer that drops unknown words and stop words.

    Words are runs of letters, with apostrophes inside, in lower case. HTML tags and digits are dropped; with `cleaning`, stop words and
    the possessive 's are dropped as well.
    """

    @classmethod
    def fit(cls, texts: Iterable[str], *, min_count: int = 5, most: int = 0, cleaning: bool = True) -> WordsTokenizer:
        """Build a vocabulary of the words seen at least `min_count` times, at most `most` (0: all), by count, then alphabetically."""
        empty = cls(_backend({}, cleaning))
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(empty._split(text))
        stopped = stop_words() if cleaning else frozenset()
        words = sorted(
            (word for word, count in counts.items() if count >= min_count and word not in stopped), key=lambda w: (-counts[w], w)
        )
        if not words:
            raise InputError(f"No word occurs {min_count} times in the training texts, so there is no vocabulary.")
        words = words[: most or len(words)]
        return cls(_backend({word: i for i, word in enumerate([*SPECIALS, *words])}, cleaning))

    def ids_batch(
        self, texts: Sequence[str], text_pairs: Sequence[str] | None = None, *, max_length: int | None = None, cls: bool = False
    ) -> list[npt.NDArray[np.int32]]:
        """Return the ids of the known words of each text, cut at `max_length`; an empty array for a text without known words."""
        if text_pairs is not None or cls:
            raise InputError("The hardmax classifier reads single texts.")
        rows = [np.array(raw.ids, dtype=np.int32) for raw in self._raw(self._columns(texts, None)[0], offsets=False)]
        return [row[row != _UNK][:max_length] for row in rows]

    @property
    def dropped(self) -> tuple[int, ...]:
        """Ids that never appear in a text: the id of unknown words."""
        return (_UNK,)

    def unknown(self, text: str) -> tuple[str, ...]:
        """Return the words of a text that are not tokens, including stop words, in order, as written."""
        raw = self._raw(self._columns([text], None)[0], offsets=True)[0]
        return tuple(text[start:end] for index, (start, end) in zip(raw.ids, raw.offsets, strict=True) if index == _UNK)

    def _pieces(self, text: str, raw: Any) -> tuple[Ints, Ints, Bools]:
        ids, offsets, blank = super()._pieces(text, raw)
        known = ids != _UNK
        if not known.any():
            raise InputError(NO_WORD)
        return ids[known], offsets[known], blank[known]

    def _split(self, text: str) -> list[str]:
        backend = self._backend
        return [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))]


NO_WORD = "None of the words of this text is in the model's vocabulary (stop-words are not): please use at least one common word."


def _backend(vocabulary: dict[str, int], cleaning: bool) -> Any:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    backend = Tokenizer(models.WordLevel(vocabulary or {name: i for i, name in enumerate(SPECIALS)}, unk_token=SPECIALS[_UNK]))
    steps = [normalizers.Replace(Regex("<[^>]{1,20}>"), " "), normalizers.Replace("’", "'"), normalizers.Lowercase()]
    if cleaning:
        steps.append(normalizers.Replace(Regex(r"'s\b"), ""))
    backend.normalizer = normalizers.Sequence(steps)
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(_WORD), behavior="removed", invert=True)
    return backend
