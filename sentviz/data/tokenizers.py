"""Texts as tokens: checking, word-level and byte-level tokenizers."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sentviz.data.cleaning import DROPPED, cleaned, normalizer
from sentviz.errors import InputError, RunError
from sentviz.io.files import read_regular

if TYPE_CHECKING:
    import tokenizers

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
"""Entries 0 to 3 of a vocabulary, unless it is of tweets; never the outcome of a text that happens to spell them."""

MOST = 1 << 26  # bytes of a tokenizer.json
LONGEST = 1_000_000
"""Characters of a text that are tokenized at most: more than any model reads. To tokenize takes a hundred bytes of memory for each."""

WORDS = r"\w+|[^\w\s]"
_SPACE = "Ġ"  # how byte-level vocabularies spell a space
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u2800\u3164\ufe00-\ufe0f\uffa0]")  # fillers, blanks, variation selectors

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Kind = Literal["words", "bpe", "tweets", "pieces"]  # the last of pretrained encoders
Scalar = TypeVar("Scalar", bound=np.generic)


def is_blank(text: str) -> bool:
    """Whether nothing of the text can be seen: white space, control, zero-width and filler characters only."""
    if "!" <= text[:1] <= "~":  # as nearly all texts begin
        return False
    return all(unicodedata.category(c) in {"Zs", "Zl", "Zp", "Cc", "Cf"} or _INVISIBLE.match(c) for c in text)


def check_text(text: object, name: str = "text") -> str:
    """The text, unchanged, if a model can read it.

    Args:
        text: what the user gave.
        name: what the message calls it, e.g. ``"second text"``.
    Raises:
        InputError: it is no string, nothing in it can be seen, or it holds half a character (a lone surrogate).
    """
    if not isinstance(text, str):
        raise InputError(f"The {name} must be a string, not {type(text).__name__}.")
    if is_blank(text[:LONGEST]):
        raise InputError(f"The {name} is empty: please give at least one visible character.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        where = error.start + 1
        raise InputError(f"Character {where} of the {name} is only half a character (a lone surrogate).") from error
    return text


@dataclass(frozen=True)
class Specials:
    """The first entries of a vocabulary, by id; the one of padding is 0."""

    names: tuple[str, ...]
    unknown: int
    start: int
    stop: int


_USUAL = Specials(SPECIALS, unknown=1, start=2, stop=3)
_KINDS: dict[Kind, tuple[str, Specials]] = {  # the backend's model and the specials
    "words": ("WordLevel", _USUAL),
    "bpe": ("BPE", _USUAL),
    "tweets": ("BPE", Specials(("<pad>", "<s>", "</s>", "<unk>"), unknown=3, start=1, stop=2)),  # 7ess-Xin, section III-A2
}

PADDING = frozenset(specials.names[0] for _, specials in _KINDS.values())


class Tokenized(Protocol):
    """What `word_spans` reads: an `Encoded`, or a trace."""

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
    offsets: Ints  # (n, 2) characters [start, end) in text (segment 0) or text_pair (segment 1); specials (0, 0)
    segments: Ints  # (n,) 0 = text, 1 = text_pair; each [SEP] belongs to the text before it
    specials: Bools  # (n,) [CLS], [SEP]
    unknown: Bools  # (n,) not in the vocabulary
    tokens: tuple[str, ...]  # as written in the text, unknown words too; specials by their name
    dropped: int = 0  # tokens cut off at the maximum length, of the first LONGEST characters of each text
    tags: Ints | None = None  # (n,) part of speech, as places in sentviz.data.parts_of_speech.TAGS; None = not asked for

    def __len__(self) -> int:
        return len(self.ids)

    def filled(self, length: int, padding: str) -> Encoded:
        """Filled up to a length with padding, which is special."""
        more = length - len(self)
        given = {item.name: part for item in fields(self) if isinstance(part := getattr(self, item.name), np.ndarray)}
        made: dict[str, Any] = {name: np.pad(part, [(0, more)] + [(0, 0)] * (part.ndim - 1)) for name, part in given.items()}
        made["specials"][len(self) :] = True
        return replace(self, **made, tokens=(*self.tokens, *[padding] * more))

    @property
    def reading(self) -> TokenizedText:
        """What a network reads of it."""
        return TokenizedText(self.ids, self.segments, self.tags)


@dataclass(frozen=True, eq=False)
class TokenizedText:
    """One text, or pair of texts, as a network reads it: what is known of each of its n tokens. None = not asked for."""

    ids: npt.NDArray[np.integer[Any]]  # (n,) entries of the vocabulary
    segments: npt.NDArray[np.integer[Any]] | None = None  # (n,) 0 = text, 1 = text_pair
    tags: npt.NDArray[np.integer[Any]] | None = None  # (n,) part of speech
    places: npt.NDArray[np.integer[Any]] | None = None  # (n,) in the text that tokens were left out of

    def __len__(self) -> int:
        return len(self.ids)

    def filled(self, length: int) -> TokenizedText:
        """Filled up to a length with padding."""
        given = {item.name: part for item in fields(self) if (part := getattr(self, item.name)) is not None}
        return TokenizedText(**{name: np.pad(part, (0, length - len(self))) for name, part in given.items()})

    def without(self, places: Sequence[int]) -> TokenizedText:
        """The text without some tokens; what follows them moves up, and `places` says where it stood."""
        whole = self if self.places is not None else replace(self, places=np.arange(len(self)))
        given = {item.name: part for item in fields(whole) if (part := getattr(whole, item.name)) is not None}
        return TokenizedText(**{name: np.delete(part, places) for name, part in given.items()})


class Tokenizer:
    """A trained vocabulary and its rules; immutable, safe to share between threads.

    ``"words"``: lower-cased ``\\w+|[^\\w\\s]``, white space falls away, words outside the vocabulary become ``[UNK]``.
    ``"bpe"``: byte-level pairs as in GPT-2, cased, nothing is unknown; runs of white space count as one space, and a
    space that merged with nothing is no token. ``"tweets"``: the same of what `sentviz.data.cleaning` leaves of a tweet.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        """Wrap a trained backend, as the class methods do; they are the usual way in."""
        self._backend = backend
        self._space: int | None = None if self.kind == "words" else backend.token_to_id(_SPACE)
        self.specials = _KINDS[self.kind][1]

    # ---- making, storing -------------------------------------------------------------------------------------------

    @classmethod
    def train(cls, kind: str, texts: Iterable[str], *, min_count: int, vocab_size: int) -> Tokenizer:
        """A tokenizer of a kind: of words with those seen `min_count` times, else with `vocab_size` entries."""
        if kind == "words":
            return cls.train_words(texts, min_count)
        if kind == "english":
            return cls._train_bytes((cleaned(text, "english") for text in texts), vocab_size, normalizer("english"), "bpe")
        return cls.train_tweets(texts, vocab_size) if kind == "tweets" else cls.train_bpe(texts, vocab_size)

    @classmethod
    def train_words(cls, texts: Iterable[str], min_count: int = 5) -> Tokenizer:
        """All words seen at least `min_count` times, ordered by count, then alphabetically, after the four specials.

        Source: the vocabulary sizes reported for the Non-Differential Transformer are met by this rule (3,137 words
        of the 9,543 financial tweets).

        Raises:
            InputError: no word is frequent enough.
        """
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

        backend = Tokenizer(models.WordLevel(unk_token=SPECIALS[_USUAL.unknown]))
        backend.normalizer = normalizers.Lowercase()
        backend.pre_tokenizer = pre_tokenizers.Split(Regex(WORDS), behavior="removed", invert=True)
        trainer = trainers.WordLevelTrainer(vocab_size=2**31, min_frequency=min_count, special_tokens=list(SPECIALS), show_progress=False)
        made = cls(_trained(backend, texts, trainer))
        if made.vocab_size == len(SPECIALS):
            raise InputError(f"No word occurs {min_count} times in the training texts, so there is no vocabulary.")
        return made

    @classmethod
    def train_bpe(cls, texts: Iterable[str], vocab_size: int) -> Tokenizer:
        """The four specials, the 256 bytes and the most frequent merges; fewer than `vocab_size` if the texts run out.

        Raises:
            InputError: `vocab_size` has no room for specials and bytes.
        """
        from tokenizers import Regex, normalizers

        collapsed = normalizers.Sequence([normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()])
        return cls._train_bytes(texts, vocab_size, collapsed, "bpe")

    @classmethod
    def train_tweets(cls, texts: Iterable[str], vocab_size: int) -> Tokenizer:
        """`train_bpe` on cleaned tweets, with the special ids of 7ess-Xin (section III-A2): <pad> 0, <s> 1, </s> 2, <unk> 3.

        Raises:
            InputError: `vocab_size` has no room for specials and bytes.
        """
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
        """Read what `save` wrote.

        Raises:
            RunError: the file is missing, damaged, or another library's tokenizer.
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
            backend = Tokenizer.from_str(json.dumps(stored))
        except Exception as error:  # the library raises bare Exception
            reason = f"it has no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
            raise RunError(f"{path} is not a tokenizer of sentviz ({reason}).") from error
        backend.no_truncation()
        backend.no_padding()
        return cls(backend)

    def save(self, path: Path) -> None:
        """Write one JSON file, the same bytes for the same tokenizer, readable by the `tokenizers` library too."""
        Path(path).write_text(self._backend.to_str(), encoding="utf-8")

    # ---- vocabulary ------------------------------------------------------------------------------------------------

    @cached_property
    def kind(self) -> Kind:
        """By what it is made of."""
        made = type(self._backend.model).__name__, tuple(self._backend.id_to_token(i) for i in range(len(SPECIALS)))
        return next((kind for kind, (model, specials) in _KINDS.items() if (model, specials.names) == made), "words")

    @property
    def vocab_size(self) -> int:
        """Number of entries, the specials included; ids run from 0 to one less."""
        return int(self._backend.get_vocab_size(with_added_tokens=False))

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str) and self._backend.token_to_id(token) is not None

    def id_of(self, token: str) -> int:
        """Id of an entry, spelt as in the vocabulary (lower-cased word; byte-level piece; special).

        Raises:
            InputError: the vocabulary has no such entry.
        """
        if (index := self._backend.token_to_id(token)) is None:
            raise InputError(f"The vocabulary has no entry {token!r}.")
        return int(index)

    def token_of(self, index: int) -> str:
        """Entry of an id, spelt as in the vocabulary.

        Raises:
            InputError: the id is out of range.
        """
        if not 0 <= index < self.vocab_size:
            raise InputError(f"The vocabulary has the entries 0 to {self.vocab_size - 1}, not {index}.")
        return str(self._backend.id_to_token(int(index)))

    @property
    def dropped(self) -> tuple[int, ...]:
        """Ids that are never tokens of a text: the bare space of byte-level vocabularies."""
        return () if self._space is None else (self._space,)

    # ---- encoding --------------------------------------------------------------------------------------------------

    def encode(self, text: str, text_pair: str | None = None, *, max_length: int | None = None, cls: bool = False) -> Encoded:
        """One text, or a pair, as tokens.

        Args:
            text: the text.
            text_pair: a second text, set off by ``[SEP]``.
            max_length: most tokens to return, specials included; cuts the ends, of the longer text of a pair first.
            cls: ``[CLS] text [SEP]`` (``pair [SEP]``) instead of ``text`` (``[SEP] pair``).
        Raises:
            InputError: a text fails `check_text` or leaves no token, or `max_length` leaves no room for it.
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
        """`encode` for many texts at once."""
        columns = self._columns(texts, text_pairs)
        parts = [[self._pieces(text, raw) for text, raw in zip(column, self._raw(column, offsets=True), strict=True)] for column in columns]
        rows = enumerate(zip(*parts, strict=True))
        return [self._assemble(list(row), [column[i] for column in columns], max_length, cls) for i, row in rows]

    def ids_batch(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None = None,
        *,
        max_length: int | None = None,
        cls: bool = False,
    ) -> list[npt.NDArray[np.int32]]:
        """Only the ids of `encode_batch`, several times as fast: for training."""
        columns = []
        for column in self._columns(texts, text_pairs):
            rows = [np.array(raw.ids, dtype=np.int32) for raw in self._raw(column, offsets=False)]
            columns.append(rows if self._space is None else [row[row != self._space] for row in rows])
        batch = []
        for row in zip(*columns, strict=True):
            kept = self._kept([len(part) for part in row], max_length, cls)
            cut = [part[:n] for part, n in zip(row, kept, strict=True)]
            batch.append(_lay_out(cut, self.specials.start, self.specials.stop, cls))
        return batch

    def _columns(self, texts: Sequence[str], text_pairs: Sequence[str] | None) -> list[list[str]]:
        columns = [[check_text(text)[:LONGEST] for text in texts]]
        if text_pairs is not None:
            columns.append([check_text(text, "second text")[:LONGEST] for text in text_pairs])
            if len(columns[0]) != len(columns[1]):
                raise InputError(f"There are {len(columns[0])} texts but {len(columns[1])} second texts.")
        return columns

    def _raw(self, texts: list[str], *, offsets: bool) -> list[Any]:
        run = self._backend.encode_batch if offsets else self._backend.encode_batch_fast
        return list(run(texts, add_special_tokens=False))

    def _pieces(self, text: str, raw: Any) -> tuple[Ints, Ints]:
        """Ids (n,) and character offsets (n, 2) of one encoding, byte-level spaces taken off."""
        ids = np.array(raw.ids, dtype=np.int64)
        offsets = np.array(raw.offsets, dtype=np.int64).reshape(-1, 2)
        if self._space is None:
            return ids, offsets
        for i, (token, (start, end)) in enumerate(zip(raw.tokens, raw.offsets, strict=True)):
            if token[0] == _SPACE and end - start > 1 and text[start].isspace():
                offsets[i, 0] += 1
        kept = ids != self._space
        return ids[kept], offsets[kept]

    def _assemble(self, parts: list[tuple[Ints, Ints]], texts: list[str], max_length: int | None, cls: bool) -> Encoded:
        lengths, special = [len(ids) for ids, _ in parts], self.specials
        kept = self._kept(lengths, max_length, cls)
        ids = _lay_out([part[:n] for (part, _), n in zip(parts, kept, strict=True)], special.start, special.stop, cls)
        offsets = _lay_out([part[:n] for (_, part), n in zip(parts, kept, strict=True)], 0, 0, cls)
        specials = _lay_out([np.zeros(n, dtype=np.bool_) for n in kept], True, True, cls)
        segments = np.zeros(len(ids), dtype=np.int64)
        if len(parts) == 2:
            segments[cls + kept[0] + 1 :] = 1
        tokens = tuple(
            special.names[index] if mark else texts[segment][start:end]
            for index, mark, segment, (start, end) in zip(ids.tolist(), specials.tolist(), segments.tolist(), offsets.tolist(), strict=True)
        )
        return Encoded(ids, offsets, segments, specials, (ids == special.unknown) & ~specials, tokens, sum(lengths) - sum(kept))

    def _kept(self, lengths: list[int], max_length: int | None, cls: bool) -> list[int]:
        """How many tokens of each text stay.

        Raises:
            InputError: a text without tokens, or no room.
        """
        if not all(lengths):
            raise InputError(
                f"Nothing is left after cleaning: this model does not read {DROPPED[self.kind]}."
                if self.kind in DROPPED
                else "No token remains of the text: please give at least one letter, digit or sign."
            )
        return _truncate(lengths, max_length, cls)


def _trained(backend: Any, texts: Iterable[str], trainer: Any) -> Any:
    """The backend after training, with the specials as plain entries, so that no text can spell one."""
    backend.train_from_iterator(texts, trainer)
    return type(backend).from_str(json.dumps(json.loads(backend.to_str()) | {"added_tokens": []}))


def _truncate(lengths: list[int], max_length: int | None, cls: bool) -> list[int]:
    """How many tokens of each text stay: as if the longer one lost its last token, again and again."""
    if max_length is None:
        return lengths
    room = max_length - len(lengths) + 1 - 2 * cls
    if room < len(lengths):
        raise InputError(f"A maximum length of {max_length} tokens leaves no room for the text.")
    if sum(lengths) <= room:
        return lengths
    if len(lengths) == 1:
        return [room]
    first = min(lengths[0], max(room - lengths[1], room - room // 2))
    return [first, room - first]


def _lay_out(parts: Sequence[npt.NDArray[Scalar]], start: int, stop: int, cls: bool) -> npt.NDArray[Scalar]:
    """``text (stop pair)``, or with `cls` ``start text stop (pair stop)``, along axis 0; no part is empty."""
    before, after = np.full_like(parts[0][:1], start), np.full_like(parts[0][:1], stop)
    row = [parts[0], *(piece for part in parts[1:] for piece in (after, part))]
    return np.concatenate([before, *row, after] if cls else row)
