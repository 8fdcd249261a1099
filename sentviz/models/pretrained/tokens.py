"""Tokenizers of pretrained encoders, with offsets into the original text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sentviz.data.texts import LONGEST, Bools, Frame, Ints
from sentviz.data.tokenizers import READER, Kind, Specials, Tokenizer, check_growth
from sentviz.errors import InputError, RunError
from sentviz.io.files import read_regular
from sentviz.io.foreign import Foreign, contained
from sentviz.runs.run_files import most

STRANGE = "\U00010380"  # a Ugaritic letter, which is in hardly any vocabulary


class PretrainedTokenizer(Tokenizer):
    """A fast tokenizer of Hugging Face; immutable, safe to share between threads.

    `vocab_size` is the number of rows of the model's embedding table, which may be larger than the tokenizer's vocabulary. A special token
    that a text spells, such as [SEP], is one token, as in Hugging Face's library. With `split_special_tokens` it is read as plain text:
    Hugging Face's setting of this name, which runs trained here on a pretrained encoder have. Such a token has offsets in the text, and
    counts as a token of the text: only those that the tokenizer puts around a text are marked as special. A text that is too long is cut
    at the side that Hugging Face's setting `truncation_side` names, by default at its end.
    """

    allows_empty = True

    def __init__(
        self,
        backend: Any,
        *,
        vocab_size: int,
        special_ids: Sequence[int],
        unknown: int | None,
        split_special_tokens: bool = False,
        truncation_side: str = "right",
    ) -> None:
        try:
            with contained(READER):
                self._backend, self._foreign = type(backend).from_str(backend.to_str()), Foreign(READER)
                self._backend.no_truncation()
                self._backend.no_padding()
                check_growth(self._backend)
                self._backend.encode(STRANGE)
                self.truncation_side = "left" if truncation_side == "left" else "right"
                frames = Frame.of(self._backend, "a"), Frame.of(self._backend, "a", "a")
                self._frames = [replace(frame, drops_start=self.truncation_side == "left") for frame in frames]
        except RunError:
            raise
        except Exception as error:  # the library raises bare Exception
            raise RunError(f"its tokenizer cannot read every text ({error}).") from error
        self._backend.encode_special_tokens = self.split_special_tokens = split_special_tokens
        self._vocab_size, self.unknown_id, self._space = vocab_size, unknown, None
        self.special_ids = tuple(sorted(set(special_ids)))
        frame = self._frames[0]
        start, stop = (ids[0] if ids else -1 for ids in (frame.before, frame.after))
        self.specials = Specials((), -1 if unknown is None else unknown, start, stop)

    @classmethod
    def of_file(cls, path: Path, vocab_size: int, *, split_special_tokens: bool = True, **settings: Any) -> PretrainedTokenizer:
        """Read a tokenizer.json that states its special entries and its entry for unknown words. Special tokens are split by default;
        `settings` are further arguments of the constructor.

        Raises:
            RunError: it is missing or damaged, or has more entries than the model's embedding table has rows.
        """
        try:
            stored = json.loads(read_regular(path, most(path.name), path.name))
            special = [int(entry["id"]) for entry in stored["added_tokens"] if entry["special"]]
            words = stored["model"]
            unknown = words["unk_id"] if "unk_id" in words else words["vocab"].get(words.get("unk_token"))
            size = max(len(words["vocab"]), 1 + max(special, default=0))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RunError(f"{path.name} is not a tokenizer ({type(error).__name__}: {error}).") from error
        if size > vocab_size:
            raise RunError(f"{path.name} knows {size:,} tokens, the model {vocab_size:,}; they do not belong together.")
        settings |= {"special_ids": special, "unknown": unknown, "split_special_tokens": split_special_tokens}
        return cls.read(path, vocab_size=vocab_size, **settings)

    @classmethod
    def read(cls, path: Path, **settings: Any) -> PretrainedTokenizer:
        """Read a tokenizer.json; `settings` are the keyword arguments of the constructor.

        Raises:
            RunError: it is missing or damaged.
        """
        from tokenizers import Tokenizer as Backend

        try:
            with contained(READER):
                backend = Backend.from_str(read_regular(path, most(path.name), path.name).decode())
            return cls(backend, **settings)
        except RunError:
            raise
        except Exception as error:  # the library raises bare Exception
            raise RunError(f"{path.name} is not a tokenizer ({error}).") from error

    @property
    def kind(self) -> Kind:
        """The kind: "bpe" for byte pairs, else "pieces"."""
        return "bpe" if type(self._backend.model).__name__ == "BPE" else "pieces"

    @property
    def vocab_size(self) -> int:
        """Number of rows of the model's embedding table."""
        return self._vocab_size

    def token_of(self, index: int) -> str:
        """Return the entry of an id, spelt as in the vocabulary; "" for a row without an entry."""
        if not 0 <= index < self._vocab_size:
            raise InputError(f"The vocabulary has the entries 0 to {self._vocab_size - 1}, not {index}.")
        return self._backend.id_to_token(int(index)) or ""

    def _columns(self, texts: Sequence[str], text_pairs: Sequence[str] | None) -> list[list[str]]:
        if self.truncation_side == "left" and max(map(len, [*texts, *(text_pairs or ())]), default=0) > LONGEST:
            raise InputError(f"This model reads the end of a long text, which is not reached in more than {LONGEST:,} characters.")
        return super()._columns(texts, text_pairs)

    def _frame(self, texts: int, cls: bool) -> Frame:
        frame = self._frames[texts - 1]
        return frame if cls else replace(frame, before=(), after=())

    def _pieces(self, text: str, raw: Any) -> tuple[Ints, Ints, Bools]:
        """Return ids (n,), offsets (n, 2) and whether each token is white space (n,). Offsets leave out white space at a token's ends.

        A white-space token belongs to the word after it: its offsets are those of that word's first letter.
        """
        offsets = np.array(raw.offsets, dtype=np.int64).reshape(-1, 2)
        blank = np.zeros(len(offsets), dtype=np.bool_)
        for i, (start, end) in reversed(list(enumerate(raw.offsets))):
            piece = text[start:end]
            if word := piece.strip():
                start += piece.index(word)
                offsets[i] = start, start + len(word)
            else:
                blank[i] = True
                if i + 1 < len(offsets):
                    offsets[i] = offsets[i + 1, 0] + np.array([0, 1])
        return np.array(raw.ids, dtype=np.int64), offsets, blank


def load_tokenizer(path: Path, vocab_size: int, *, split_special_tokens: bool = True, truncation_side: str = "right") -> Tokenizer:
    """Read a tokenizer.json of sentviz or of a pretrained encoder; the special entries of the latter are added tokens.

    Args:
        split_special_tokens, truncation_side: as for `PretrainedTokenizer`; the tokenizers of sentviz have the default values.

    Raises:
        RunError: it is missing or damaged, or has more entries than the model's embedding table has rows.
    """
    try:
        ours = not json.loads(read_regular(path, most(path.name), path.name))["added_tokens"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        ours = True
    if ours:
        return Tokenizer.load(path)
    return PretrainedTokenizer.of_file(path, vocab_size, split_special_tokens=split_special_tokens, truncation_side=truncation_side)
