"""The tokenizer of a pretrained encoder: ids, offsets into the text as written, segments, specials by their name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.data.tokenizers import Bools, Encoded, Ints, Kind, Scalar, Specials, Tokenizer, _truncate
from sentviz.errors import InputError, RunError
from sentviz.io.files import read_regular
from sentviz.runs.store import most


@dataclass(frozen=True)
class Frame:
    """The specials around one text, or around and between two."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, backend: Any, *probe: str) -> Frame:
        """Read off an encoded probe of one or two texts."""
        seen = backend.encode(*probe)
        text = [i for i, where in enumerate(seen.sequence_ids) if where == 0]
        if not text:
            raise RunError("The tokenizer makes nothing of the letter a.")
        stop = [i for i, where in enumerate(seen.sequence_ids) if where is not None][-1] + 1
        second = [i for i, where in enumerate(seen.sequence_ids) if where == 1] or [stop]
        return cls(tuple(seen.ids[: text[0]]), tuple(seen.ids[text[-1] + 1 : second[0]]), tuple(seen.ids[stop:]))

    def __len__(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)

    def around(self, parts: Sequence[npt.NDArray[Scalar]], value: Any = None) -> npt.NDArray[Scalar]:
        """The parts with the specials' ids, or with a value in each special's place."""
        like = parts[0]

        def specials(ids: tuple[int, ...]) -> npt.NDArray[Scalar]:
            made = np.empty((len(ids), *like.shape[1:]), dtype=like.dtype)
            made[:] = np.array(ids, dtype=like.dtype) if value is None else value
            return made

        rows = [like, *(piece for part in parts[1:] for piece in (specials(self.between), part))]
        return np.concatenate([specials(self.before), *rows, specials(self.after)])


STRANGE = "\U00010380"  # a letter of Ugarit, which hardly a vocabulary has


class PretrainedTokenizer(Tokenizer):
    """A fast tokenizer of Hugging Face; immutable and shared like its base.

    A text that spells a special is read as plain text, unlike there. `vocab_size` is the number of rows of the model's table, which may
    hold more than the tokenizer fills.
    """

    def __init__(self, backend: Any, *, vocab_size: int, special_ids: Sequence[int], unknown: int | None) -> None:
        self._backend = type(backend).from_str(backend.to_str())
        self._backend.no_truncation()
        self._backend.no_padding()
        try:
            self._backend.encode(STRANGE)
            self._frames = Frame.of(self._backend, "a"), Frame.of(self._backend, "a", "a")
        except RunError:
            raise
        except Exception as error:  # the library raises bare Exception
            raise RunError(f"its tokenizer cannot read every text ({error}).") from error
        self._backend.encode_special_tokens = True
        self._vocab_size, self.unknown_id, self._space = vocab_size, unknown, None
        self.special_ids = tuple(sorted(set(special_ids)))
        frame = self._frames[0]
        start, stop = (ids[0] if ids else -1 for ids in (frame.before, frame.after))
        self.specials = Specials((), -1 if unknown is None else unknown, start, stop)
        self.frame_ids = tuple(sorted({i for frame in self._frames for i in (*frame.before, *frame.between, *frame.after)}))

    @classmethod
    def of_file(cls, path: Path, vocab_size: int) -> PretrainedTokenizer:
        """A tokenizer.json that says itself which entries are special and which one stands for unknown words.

        Raises:
            RunError: missing, damaged, or with other entries than rows of the model's table.
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
        return cls.read(path, vocab_size=vocab_size, special_ids=special, unknown=unknown)

    @classmethod
    def read(cls, path: Path, **settings: Any) -> PretrainedTokenizer:
        """A tokenizer.json.

        Raises:
            RunError: missing or damaged.
        """
        from tokenizers import Tokenizer as Backend

        try:
            return cls(Backend.from_str(read_regular(path, most(path.name), path.name).decode()), **settings)
        except RunError:
            raise
        except Exception as error:  # the library raises bare Exception
            raise RunError(f"{path.name} is not a tokenizer ({error}).") from error

    @property
    def kind(self) -> Kind:
        """Pairs of bytes, or pieces of words."""
        return "bpe" if type(self._backend.model).__name__ == "BPE" else "pieces"

    @property
    def vocab_size(self) -> int:
        """Rows of the model's table of words."""
        return self._vocab_size

    def token_of(self, index: int) -> str:
        """Entry of an id, spelt as in the vocabulary; "" for a row that the tokenizer does not fill.

        Raises:
            InputError: the id is out of range.
        """
        if not 0 <= index < self._vocab_size:
            raise InputError(f"The vocabulary has the entries 0 to {self._vocab_size - 1}, not {index}.")
        return self._backend.id_to_token(int(index)) or ""

    def encode_batch(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None = None,
        *,
        max_length: int | None = None,
        cls: bool = False,
    ) -> list[Encoded]:
        """Texts, or pairs, as tokens; with `cls` between the model's own specials.

        Raises:
            InputError: a text that cannot be read or leaves no token, or no room for it.
        """
        columns = self._columns(texts, text_pairs)
        frame = self._frame(len(columns), cls)
        encoded = [
            [self._placed(text, raw) for text, raw in zip(column, self._raw(column, offsets=True), strict=True)] for column in columns
        ]
        batch = []
        for i, parts in enumerate(zip(*encoded, strict=True)):
            if not all(len(ids) for ids, *_ in parts):
                raise InputError("No token remains of the text: please give at least one letter, digit or sign.")
            kept = _fit([len(ids) for ids, *_ in parts], max_length, frame)
            batch.append(self._assembled(parts, kept, [column[i] for column in columns], frame))
        return batch

    def ids_batch(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None = None,
        *,
        max_length: int | None = None,
        cls: bool = False,
    ) -> list[npt.NDArray[np.int32]]:
        """Only the ids of `encode_batch`; a text that leaves no token is its specials alone."""
        columns = self._columns(texts, text_pairs)
        frame = self._frame(len(columns), cls)
        rows = [[np.array(raw.ids, dtype=np.int32) for raw in self._raw(column, offsets=False)] for column in columns]
        batch = []
        for parts in zip(*rows, strict=True):
            kept = _fit([len(part) for part in parts], max_length, frame)
            batch.append(frame.around([part[:n] for part, n in zip(parts, kept, strict=True)]))
        return batch

    def _frame(self, texts: int, cls: bool) -> Frame:
        frame = self._frames[texts - 1]
        return frame if cls else Frame((), frame.between, ())

    def _placed(self, text: str, raw: Any) -> tuple[Ints, Ints, Bools]:
        """Ids (n,), offsets (n, 2) and blanks (n,) of one encoding; white space at the ends of a token is no part of it.

        A blank, a space that merged with nothing, begins the word behind it: it stands at that word's first letter.
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

    def _assembled(self, parts: Sequence[tuple[Ints, Ints, Bools]], kept: Sequence[int], texts: Sequence[str], frame: Frame) -> Encoded:
        ids = frame.around([part[:n] for (part, _, _), n in zip(parts, kept, strict=True)])
        offsets = frame.around([part[:n] for (_, part, _), n in zip(parts, kept, strict=True)], 0)
        blank = frame.around([part[:n] for (_, _, part), n in zip(parts, kept, strict=True)], False)
        specials: Bools = frame.around([np.zeros(n, dtype=np.bool_) for n in kept], True)
        segments = np.zeros(len(ids), dtype=np.int64)
        if len(parts) == 2:
            segments[len(frame.before) + kept[0] + len(frame.between) :] = 1
        tokens = tuple(
            str(self._backend.id_to_token(index)) if named else texts[segment][start:end]
            for index, named, segment, (start, end) in zip(
                ids.tolist(), (specials | blank).tolist(), segments.tolist(), offsets.tolist(), strict=True
            )
        )
        unknown = np.zeros(len(ids), dtype=np.bool_) if self.unknown_id is None else (ids == self.unknown_id) & ~specials
        return Encoded(ids, offsets, segments, specials, unknown, tokens, sum(len(part) for part, *_ in parts) - sum(kept))


def load_tokenizer(path: Path, vocab_size: int) -> Tokenizer:
    """A tokenizer.json of our own making or of a pretrained encoder, whose specials are added tokens.

    Raises:
        RunError: missing, damaged, or with other entries than rows of the model's table.
    """
    try:
        ours = not json.loads(path.read_bytes())["added_tokens"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        ours = True
    return Tokenizer.load(path) if ours else PretrainedTokenizer.of_file(path, vocab_size)


def _fit(lengths: list[int], max_length: int | None, frame: Frame) -> list[int]:
    """How many tokens of each text stay: as if the longer one lost its last token, again and again."""
    if max_length is None or sum(lengths) + len(frame) <= max_length:
        return lengths
    room = max_length - len(frame)
    if room < len(lengths):
        raise InputError(f"A maximum length of {max_length} tokens leaves no room for the text.")
    if not all(lengths):
        return [min(length, room) for length in lengths]
    return _truncate(lengths, room + len(lengths) - 1, False)
