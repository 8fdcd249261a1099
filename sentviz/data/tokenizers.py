"""Word-level and byte-level tokenizers: training, storing, encoding."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.data.cleaning import DROPPED, cleaned, normalizer
from sentviz.data.texts import LONGEST, WORDS, Bools, Encoded, Frame, Ints, TokenizedText, check_text
from sentviz.errors import InputError, RunError
from sentviz.io.files import read_regular
from sentviz.io.foreign import Foreign, contained

if TYPE_CHECKING:
    import tokenizers

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
"""Entries 0 to 3 of every vocabulary except that of tweets. A text that spells one of them never gets its id."""

MOST = 1 << 26  # maximum bytes of a tokenizer.json
SECONDS, SLOWEST = 5.0, 10_000  # seconds that a call may take, and further ones: letters per second; usual are 1,000,000
READER = "The tokenizer of this model"
GROWTH = 1 << 10  # maximum factor by which the replacements of a tokenizer.json may lengthen a text

_SPACE = "Ġ"  # a space in byte-level vocabularies

Kind = Literal["words", "bpe", "tweets", "pieces"]  # "pieces": pretrained encoders only


@dataclass(frozen=True)
class Specials:
    """The first entries of a vocabulary, by id; padding has id 0."""

    names: tuple[str, ...]
    unknown: int
    start: int
    stop: int


_USUAL = Specials(SPECIALS, unknown=1, start=2, stop=3)
_KINDS: dict[Kind, tuple[str, Specials]] = {  # kind -> the backend's model type, the special entries
    "words": ("WordLevel", _USUAL),
    "bpe": ("BPE", _USUAL),
    "tweets": ("BPE", Specials(("<pad>", "<s>", "</s>", "<unk>"), unknown=3, start=1, stop=2)),  # 7ess-Xin, section III-A2
}

PADDING = frozenset(specials.names[0] for _, specials in _KINDS.values())


def check_growth(backend: tokenizers.Tokenizer) -> None:
    """Check that the replacements of a tokenizer, applied one after the other, cannot make a text enormous.

    Raises:
        ValueError: a text could become more than `GROWTH` times as long.
    """
    growth, steps = 1, [json.loads(backend.normalizer.__getstate__()) if backend.normalizer else {}]
    while steps:
        step = steps.pop()
        steps += step.get("normalizers", ())
        growth *= 1 + len(step.get("content", step.get("prepend", "")))
    if growth > GROWTH:
        raise ValueError(f"its replacements can make a text {growth:,} times as long, more than {GROWTH:,} times")


class Tokenizer:
    """A trained vocabulary with its rules; immutable, safe to share between threads.

    ``"words"``: lower-cased ``\\w+|[^\\w\\s]``; white space is dropped and words outside the vocabulary become ``[UNK]``.
    ``"bpe"``: byte-level pairs as in GPT-2, case-sensitive, without unknown tokens. A run of white space counts as one space, and a space
    that merged with no letter is dropped. ``"tweets"``: the same, applied to a tweet after `sentviz.data.cleaning`.
    """

    allows_empty = False  # `ids_batch` accepts a text without tokens
    split_special_tokens = True  # a text that spells a special token is plain text
    truncation_side: Literal["left", "right"] = "right"  # side at which a text that is too long is cut

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        """Wrap a trained backend. Use the class methods to train or load a tokenizer."""
        self._backend, self._foreign = backend, Foreign(READER)
        self._space: int | None = None if self.kind == "words" else backend.token_to_id(_SPACE)
        self.specials = _KINDS[self.kind][1]
        self.special_ids = tuple(range(len(self.specials.names)))

    # ---- training, storing -----------------------------------------------------------------------------------------

    @classmethod
    def train(cls, kind: str, texts: Iterable[str], *, min_count: int, vocab_size: int) -> Tokenizer:
        """Train a tokenizer of a kind: "words" keeps words seen `min_count` times, the other kinds have `vocab_size` entries."""
        if kind == "words":
            return cls.train_words(texts, min_count)
        if kind == "english":
            return cls._train_bytes((cleaned(text, "english") for text in texts), vocab_size, normalizer("english"), "bpe")
        return cls.train_tweets(texts, vocab_size) if kind == "tweets" else cls.train_bpe(texts, vocab_size)

    @classmethod
    def train_words(cls, texts: Iterable[str], min_count: int = 5) -> Tokenizer:
        """Train on words: the four special entries, then all words seen `min_count` times, ordered by count, then alphabetically.

        Source: this rule gives the vocabulary sizes reported for the Non-Differential Transformer (3,137 words for the 9,543 financial
        tweets).
        """
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

        backend = Tokenizer(models.WordLevel(unk_token=SPECIALS[_USUAL.unknown]))
        backend.normalizer = normalizers.Lowercase()
        backend.pre_tokenizer = pre_tokenizers.Split(Regex(WORDS), behavior="removed", invert=True)
        trainer = trainers.WordLevelTrainer(vocab_size=2**31, min_frequency=min_count, special_tokens=list(SPECIALS), show_progress=False)
        tokenizer = cls(_trained(backend, texts, trainer))
        if tokenizer.vocab_size == len(SPECIALS):
            raise InputError(f"No word occurs {min_count} times in the training texts, so there is no vocabulary.")
        return tokenizer

    @classmethod
    def train_bpe(cls, texts: Iterable[str], vocab_size: int) -> Tokenizer:
        """Train on byte pairs: the four special entries, the 256 bytes, then the most frequent merges.

        The vocabulary is smaller than `vocab_size` if the texts have too few different pairs.
        """
        from tokenizers import Regex, normalizers

        collapsed = normalizers.Sequence([normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()])
        return cls._train_bytes(texts, vocab_size, collapsed, "bpe")

    @classmethod
    def train_tweets(cls, texts: Iterable[str], vocab_size: int) -> Tokenizer:
        """Train on byte pairs of cleaned tweets, with the special ids of 7ess-Xin (section III-A2): <pad> 0, <s> 1, </s> 2, <unk> 3."""
        return cls._train_bytes((cleaned(text, "tweets") for text in texts), vocab_size, normalizer("tweets"), "tweets")

    @classmethod
    def _train_bytes(cls, texts: Iterable[str], vocab_size: int, normalizer: Any, kind: Kind) -> Tokenizer:
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers

        alphabet, names = sorted(pre_tokenizers.ByteLevel.alphabet()), list(_KINDS[kind][1].names)
        if vocab_size < (least := len(names) + len(alphabet)):
            raise InputError(f"A byte-level vocabulary needs at least {least} entries, not {vocab_size}.")
        backend = Tokenizer(models.BPE())
        backend.normalizer = normalizer
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=names, initial_alphabet=alphabet, show_progress=False)
        return cls(_trained(backend, texts, trainer))

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Read a tokenizer that `save` wrote.

        Raises:
            RunError: the file is missing, damaged, was not written by sentviz, or could make texts enormous.
        """
        from tokenizers import Tokenizer

        path = Path(path)
        try:
            stored = json.loads(read_regular(path, MOST, path.name))
            schemes = [specials.names for model, specials in _KINDS.values() if model == stored["model"]["type"]]
            if not schemes:
                raise ValueError(f"its model is {stored['model']['type']}")
            entries = sorted(stored["model"]["vocab"].items(), key=lambda entry: entry[1])
            if [index for _, index in entries] != list(range(len(entries))):
                raise ValueError("its vocabulary has gaps")
            if tuple(token for token, _ in entries[: len(SPECIALS)]) not in schemes or stored["added_tokens"]:
                raise ValueError(f"its vocabulary does not begin with {', '.join(SPECIALS)}")
            with contained(READER):
                backend = Tokenizer.from_str(json.dumps(stored))
            check_growth(backend)
        except Exception as error:  # the library raises bare Exception
            reason = f"it has no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
            raise RunError(f"{path} is not a tokenizer of sentviz ({reason}).") from error
        backend.no_truncation()
        backend.no_padding()
        return cls(backend)

    def save(self, path: Path) -> None:
        """Write one JSON file, which the `tokenizers` library can read too. Equal tokenizers give equal bytes."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def to_json(self) -> str:
        """Return the content of the file that `save` writes."""
        return str(self._backend.to_str())

    # ---- vocabulary ------------------------------------------------------------------------------------------------

    @cached_property
    def kind(self) -> Kind:
        """The kind, from the backend's model type and special entries."""
        parts = type(self._backend.model).__name__, tuple(self._backend.id_to_token(i) for i in range(len(SPECIALS)))
        return next((kind for kind, (model, specials) in _KINDS.items() if (model, specials.names) == parts), "words")

    @property
    def vocab_size(self) -> int:
        """Number of entries, including special ones; ids are 0 to `vocab_size` - 1."""
        return int(self._backend.get_vocab_size(with_added_tokens=False))

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str) and self._backend.token_to_id(token) is not None

    def id_of(self, token: str) -> int:
        """Return the id of an entry, spelt as in the vocabulary: a lower-cased word, a byte-level piece or a special entry."""
        if (index := self._backend.token_to_id(token)) is None:
            raise InputError(f"The vocabulary has no entry {token!r}.")
        return int(index)

    def token_of(self, index: int) -> str:
        """Return the entry of an id, spelt as in the vocabulary."""
        if not 0 <= index < self.vocab_size:
            raise InputError(f"The vocabulary has the entries 0 to {self.vocab_size - 1}, not {index}.")
        return str(self._backend.id_to_token(int(index)))

    @property
    def dropped(self) -> tuple[int, ...]:
        """Ids that never appear in a text: the single space of byte-level vocabularies."""
        return () if self._space is None else (self._space,)

    # ---- encoding --------------------------------------------------------------------------------------------------

    def encode(self, text: str, text_pair: str | None = None, *, max_length: int | None = None, cls: bool = False) -> Encoded:
        """Return the tokens of a text or pair of texts.

        Args:
            text: the text.
            text_pair: a second text, separated by ``[SEP]``.
            max_length: maximum number of tokens, special ones included. Longer texts lose their end, or
                their start if `truncation_side` is "left"; of a pair, the longer text first.
            cls: return ``[CLS] text [SEP]`` (``pair [SEP]``) instead of ``text`` (``[SEP] pair``).
        """
        pairs = None if text_pair is None else [text_pair]
        return self.encode_batch([text], pairs, max_length=max_length, cls=cls)[0]

    def encode_batch(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None = None,
        *,
        max_length: int | None = None,
        cls: bool = False,
    ) -> list[Encoded]:
        """Return the tokens of many texts or pairs, as `encode` does for one."""
        columns = self._columns(texts, text_pairs)
        frame = self._frame(len(columns), cls)
        raws = [self._raw(column, offsets=True) for column in columns]
        encoded = [list(map(self._pieces, column, encodings)) for column, encodings in zip(columns, raws, strict=True)]
        batch = []
        for i, parts in enumerate(zip(*encoded, strict=True)):
            self._require_tokens([len(ids) for ids, *_ in parts])
            batch.append(self._assemble(parts, [column[i] for column in columns], max_length, frame))
        return batch

    def ids_batch(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None = None,
        *,
        max_length: int | None = None,
        cls: bool = False,
    ) -> list[npt.NDArray[np.int32]]:
        """Return only the ids of `encode_batch`, several times as fast: for training."""
        columns = []
        for column in self._columns(texts, text_pairs):
            rows = [np.array(raw.ids, dtype=np.int32) for raw in self._raw(column, offsets=False)]
            columns.append(rows if self._space is None else [row[row != self._space] for row in rows])
        frame = self._frame(len(columns), cls)
        batch = []
        for parts in zip(*columns, strict=True):
            lengths = [len(part) for part in parts]
            if not self.allows_empty:
                self._require_tokens(lengths)
            batch.append(frame.around([part[span] for part, span in zip(parts, frame.fit(lengths, max_length), strict=True)]))
        return batch

    def specials_of(self, row: TokenizedText, *, cls: bool) -> Bools:
        """Return which tokens were put around a text or pair, (n,); the row of a pair needs its segments. Tokens of a text never count."""
        second = int(np.argmax(row.segments)) if row.segments is not None and np.any(row.segments) else 0
        frame, specials = self._frame(2 if second else 1, cls), np.zeros(len(row), dtype=np.bool_)
        specials[: len(frame.before)] = specials[len(row) - len(frame.after) :] = True
        specials[second - len(frame.between) * bool(second) : second] = True
        return specials

    def _frame(self, texts: int, cls: bool) -> Frame:
        """Return the special ids around one text or two."""
        start, stop = (self.specials.start,), (self.specials.stop,)
        return Frame(start if cls else (), stop if texts == 2 else (), stop if cls else ())

    def _columns(self, texts: Sequence[str], text_pairs: Sequence[str] | None) -> list[list[str]]:
        columns = [[check_text(text)[:LONGEST] for text in texts]]
        if text_pairs is not None:
            columns.append([check_text(text, "second text")[:LONGEST] for text in text_pairs])
            if len(columns[0]) != len(columns[1]):
                raise InputError(f"There are {len(columns[0])} texts but {len(columns[1])} second texts.")
        return columns

    def _raw(self, texts: list[str], *, offsets: bool) -> list[Any]:
        run = self._backend.encode_batch if offsets else self._backend.encode_batch_fast  # `encode` would hold Python's lock
        encode = partial(run, add_special_tokens=False)
        return list(self._foreign.call(encode, texts, SECONDS + sum(map(len, texts)) / SLOWEST))

    def _pieces(self, text: str, raw: Any) -> tuple[Ints, Ints, Bools]:
        """Return ids (n,), character offsets (n, 2) and whether each token is white space (n,), without byte-level spaces."""
        ids = np.array(raw.ids, dtype=np.int64)
        offsets = np.array(raw.offsets, dtype=np.int64).reshape(-1, 2)
        if self._space is not None:
            for i, (token, (start, end)) in enumerate(zip(raw.tokens, raw.offsets, strict=True)):
                if token[0] == _SPACE and end - start > 1 and text[start].isspace():
                    offsets[i, 0] += 1
            visible = ids != self._space
            ids, offsets = ids[visible], offsets[visible]
        return ids, offsets, np.zeros(len(ids), dtype=np.bool_)

    def _assemble(self, parts: Sequence[tuple[Ints, Ints, Bools]], texts: Sequence[str], max_length: int | None, frame: Frame) -> Encoded:
        """Join the tokens of one or two texts, as `_pieces` returns them, with the special tokens."""
        lengths = [len(ids) for ids, *_ in parts]
        read = frame.fit(lengths, max_length)
        counts = [span.stop - span.start for span in read]
        ids = frame.around([part[span] for (part, _, _), span in zip(parts, read, strict=True)])
        offsets = frame.around([part[span] for (_, part, _), span in zip(parts, read, strict=True)], 0)
        blank = frame.around([part[span] for (_, _, part), span in zip(parts, read, strict=True)], False)
        specials = frame.around([np.zeros(n, dtype=np.bool_) for n in counts], True)
        segments = np.zeros(len(ids), dtype=np.int64)
        if len(parts) == 2:
            segments[len(frame.before) + counts[0] + len(frame.between) :] = 1
        by_name = (specials | blank).tolist()
        tokens = tuple(
            str(self._backend.id_to_token(index)) if named else texts[segment][start:end]
            for index, named, segment, (start, end) in zip(ids.tolist(), by_name, segments.tolist(), offsets.tolist(), strict=True)
        )
        return Encoded(ids, offsets, segments, specials, (ids == self.specials.unknown) & ~specials, tokens, sum(lengths) - sum(counts))

    def _require_tokens(self, lengths: Sequence[int]) -> None:
        """Check that each text has a token."""
        if not all(lengths):
            raise InputError(
                f"Nothing is left after cleaning: this model does not read {DROPPED[self.kind]}."
                if self.kind in DROPPED
                else "No token remains of the text: please give at least one letter, digit or sign."
            )


def _trained(backend: Any, texts: Iterable[str], trainer: Any) -> Any:
    """Train a backend and return it with the special entries as ordinary ones, so that no text can spell a special token."""
    backend.train_from_iterator(texts, trainer)
    return type(backend).from_str(json.dumps(json.loads(backend.to_str()) | {"added_tokens": []}))
