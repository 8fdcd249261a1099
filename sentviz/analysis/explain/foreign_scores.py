"""Scores that another program gave the words of a text: read as they are returned, and fitted to the words of a trace by offsets.

`read_scores` takes the results of Captum (a tensor), SHAP (`Explanation`), LIME (`Explanation`), Interpreto (`AttributionOutput`) and
InterpKit (a dictionary), pairs, a dictionary, and plain numbers. It knows the results by what they have and imports none of the packages.
`fit` gives each word the sum of its pieces' scores. A piece of several words is divided by letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, AnyStr

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.leave_out import words
from sentviz.data.texts import Word
from sentviz.errors import InputError
from sentviz.runs.trace import Trace

Doubles = npt.NDArray[np.float64]
Offsets = npt.NDArray[np.int64]

MOST_PIECES = 20_000
LARGEST = 1e30  # absolute value of a score; sums of its squares are finite in float64
LEAST_WIDTH = 16  # columns of a table that can be the width of an embedding, which are summed; fewer are classes
LEAST_SHARE = 0.5  # smallest share of pieces that must be found in the text
PIECES = ("tokens", "words", "pieces", "elements", "data")  # names of the pieces in a dictionary
VALUES = ("scores", "values", "attributions", "weights")  # and of their scores
FORMS = (
    "Give a list of [word, score] pairs, a number for each word or token, or a dictionary of tokens and scores (and offsets, if you have"
    " them)."
)
_MARKS = re.compile(r"^[▁Ġ]+|\s*##|</w>$|@@$")  # marks of tokenizers for the beginning or the middle of a word
_UNKNOWN = re.compile(r"^(?:\[UNK\]|<unk>)$", re.IGNORECASE)  # piece of a word that its tokenizer does not know
_BYTE = re.compile(r"^<0x([0-9A-Fa-f]{2})>$")  # piece of a single byte
_VISIBLE = (*range(33, 127), *range(161, 173), *range(174, 256))  # bytes that byte-level tokenizers write as the letter of this number
_OF_BYTES = {chr(byte): byte for byte in _VISIBLE} | {chr(256 + k): byte for k, byte in enumerate(sorted({*range(256)} - {*_VISIBLE}))}
_SPECIAL = re.compile(r"^(?:\[[A-Z]{2,5}\d*\]|<[^<>\s]{1,16}>|<\|[^|]{1,24}\|>|\s*)$")


@dataclass(frozen=True, eq=False)
class Given:
    """Scores of another explanation, before they are fitted to a text."""

    values: Doubles  # (n,)
    pieces: tuple[str, ...] = ()  # n pieces of text; empty: one score for each word or token of the model
    offsets: Offsets | None = None  # (n, 2) first and last + 1 character of each piece
    ordered: bool = True  # False: a piece stands for all places at which it occurs (LIME's bag of words)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Scores of the words of a text, and what did not fit."""

    words: tuple[Word, ...]
    values: Doubles  # (number of words,)
    notes: tuple[str, ...]


def read_scores(scores: object, k: int, classes: int) -> Given:
    """Return the scores in any of the known forms.

    Args:
        k: class whose scores are taken if the result has one column or list for each class.
        classes: number of classes of the model.
    """
    result = _read(scores, k, classes)
    if len(result.values) > MOST_PIECES:
        raise InputError(f"These are {len(result.values):,} scores, and at most {MOST_PIECES:,} are read.")
    if not len(result.values):
        raise InputError(f"There is no score. {FORMS}")
    if bad := [at for at, value in enumerate(result.values) if not abs(value) <= LARGEST]:
        name = f" ({result.pieces[bad[0]][:40]!r})" if result.pieces else ""
        raise InputError(f"Score {bad[0] + 1} of {len(result.values)}{name} is not a finite number up to {LARGEST:g}.")
    if result.pieces and len(result.pieces) != len(result.values):
        raise InputError(f"There are {len(result.pieces)} words or tokens and {len(result.values)} scores.")
    if result.offsets is not None and result.offsets.shape != (len(result.values), 2):
        raise InputError(f"The offsets must be {len(result.values)} pairs of a first and a last place, one for each score.")
    return result


def fit(trace: Trace, result: Given) -> Fitted:
    """Return one score for each word of a trace."""
    text_words = words(trace)
    if (not result.pieces and result.offsets is None) or _are_own(trace, text_words, result.pieces):
        return Fitted(text_words, *_of_numbers(trace, text_words, result.values))
    text = " ".join(filter(None, (trace.text, trace.text_pair)))
    special = np.array([bool(_SPECIAL.match(piece)) and piece not in text for piece in result.pieces], dtype=bool)
    spans, bag, notes = _spans(text, result, special)
    values, covered = np.zeros(len(text_words)), np.zeros(len(text_words), dtype=bool)
    starts, stops = _places(trace, text_words)
    beyond = 0
    for value, span in zip(result.values, spans, strict=True):
        shares = sum((_letters(text, starts, stops, *part) for part in span), np.zeros(len(text_words)))
        if span and not shares.any():
            beyond += text[span[0][0] : span[0][1]].strip() != ""
        if shares.any():
            values += value * (shares > 0 if bag else shares / shares.sum())
            covered |= shares > 0
    if beyond:
        notes.append(f"{_count(beyond, 'piece')} of the text stand{'s' * (beyond == 1)} beyond what {trace.run} reads.")
    if missing := int((~covered).sum()):
        verbs = ("has", "counts") if missing == 1 else ("have", "count")
        notes.append(f"{missing} of {len(text_words)} words {verbs[0]} no score and {verbs[1]} as 0.")
    return Fitted(text_words, values, (*notes, *_left_over(result.values[special] if len(special) else np.zeros(0))))


# ---- the forms


def _read(scores: Any, k: int, classes: int) -> Given:
    if isinstance(scores, str | bytes):
        raise InputError(f"Scores cannot be a text. {FORMS}")
    if hasattr(scores, "attributions") and hasattr(scores, "elements"):  # Interpreto's AttributionOutput
        return Given(_row(scores.attributions, k, classes, classes_first=True), _texts(scores.elements))
    if hasattr(scores, "as_list") and hasattr(scores, "local_exp"):  # LIME's Explanation
        if k not in scores.local_exp:
            raise InputError(
                f"LIME explained the classes {', '.join(map(str, sorted(scores.local_exp)))}, and not class {k}: name it in `labels`."
            )
        pairs = scores.as_list(label=k)
        return Given(_numbers([weight for _, weight in pairs]), _texts([word for word, _ in pairs]), ordered=False)
    if hasattr(scores, "data") and not callable(getattr(scores, "values", print)):  # SHAP's Explanation
        if not len(np.shape(scores.data)) or isinstance(scores.data[0], list | tuple | np.ndarray):
            raise InputError("These are SHAP values of several texts. Give those of one: explanation[0].")
        return Given(_row(scores.values, k, classes), _texts(scores.data))
    if isinstance(scores, Mapping):
        return _of_mapping(scores, k, classes)
    if isinstance(scores, Sequence) and scores and all(_is_pair(item) for item in scores):
        return Given(_row([value for _, value in scores], k, classes, n=len(scores)), _texts([piece for piece, _ in scores]))
    return Given(_row(scores, k, classes))


def _of_mapping(scores: Mapping[Any, Any], k: int, classes: int) -> Given:
    pieces = next((scores[name] for name in PIECES if isinstance(scores.get(name), Sequence | np.ndarray)), None)
    values = next((scores[name] for name in VALUES if name in scores and not isinstance(scores[name], Real)), None)
    offsets = None if (places := scores.get("offsets", scores.get("offset_mapping"))) is None else _offsets(places)
    if pieces is not None and values is not None:
        return Given(_row(values, k, classes, n=len(pieces)), _texts(pieces), offsets)
    if values is not None:
        return Given(_row(values, k, classes), (), offsets)
    if scores and all(isinstance(piece, str) and isinstance(value, Real) for piece, value in scores.items()):
        return Given(_numbers(list(scores.values())), tuple(scores), ordered=False)
    raise InputError(f"This dictionary has no tokens and scores. {FORMS}")


def _is_pair(item: object) -> bool:
    return isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str) and not isinstance(item[1], str | bytes)


def _texts(pieces: Any) -> tuple[str, ...]:
    return tuple(str(piece) for piece in pieces)


def _plain(values: Any) -> Any:
    if isinstance(values, list | tuple):
        return [_plain(value) for value in values]
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def _numbers(values: Any) -> Doubles:
    try:
        table = np.asarray(_plain(values))
        if table.dtype.kind not in "biufO":
            raise TypeError("texts, dates or complex numbers")
        return table.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"The scores are not numbers. {FORMS}") from None


def _offsets(offsets: Any) -> Offsets:
    values = _numbers(offsets)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise InputError("The offsets must be pairs of a first and a last place, one for each score.")
    return values.astype(np.int64)


def _row(values: Any, k: int, classes: int, *, classes_first: bool = False, n: int = 0) -> Doubles:
    """Return scores of one class, (n,), from (n,), (K, n) with classes first, (n, K), or (n, width), which is summed.

    Args:
        n: number of scores; 0 = unknown.
    """
    table = _numbers(values)
    while table.ndim > 1 and len(table) == 1 != n:
        table = table[0]
    if table.ndim == 2:
        by_class = table if classes_first else table.T
        if len(by_class) != classes and len(by_class) < LEAST_WIDTH:
            raise InputError(f"The scores are of {len(by_class)} classes, and the model has {classes}.")
        table = by_class[k] if len(by_class) == classes else table.sum(axis=-1)
    if table.ndim != 1:
        raise InputError(f"The scores have {table.ndim} dimensions. {FORMS}")
    return table


# ---- fitting


def _are_own(trace: Trace, text_words: Sequence[Word], pieces: Sequence[str]) -> bool:
    """Return whether pieces are the words or tokens that the model reads, with or without special tokens, however a tokenizer spells them.

    Scores of such pieces are fitted by their number, as bare numbers are.
    """
    tokens = list(zip(trace.tokens, trace.specials.tolist(), strict=True))
    ways = ([(word.text, False) for word in text_words], tokens, [token for token in tokens if not token[1]])
    return any(
        len(way) == len(pieces) and all(_spells(piece, *token) for piece, token in zip(pieces, way, strict=True)) for way in ways if way
    )


def _spells(piece: str, token: str, special: bool) -> bool:
    """Return whether a piece of any tokenizer is a token, has no letters, or is a part of letters beyond ASCII: bytes, signs of Hangul."""
    if special:
        return piece == token or bool(_SPECIAL.match(piece))
    letters, own = _letters_of(piece), _letters_of(token)
    if not letters or letters == own or _UNKNOWN.match(piece):
        return True
    try:
        letters = _letters_of(_bytes(piece).decode())
    except UnicodeDecodeError:  # a part of a letter
        return _bytes(piece).strip().lower() in token.encode().lower()
    return letters == own or (not token.isascii() and letters in own)


def _letters_of(piece: str) -> str:
    return _folded(_MARKS.sub("", piece.strip()).replace("\ufffd", "").strip())[0]


def _bytes(piece: str) -> bytes:
    """Return the bytes that a piece stands for: it spells a byte, has a letter for each byte, or is a text."""
    if byte := _BYTE.match(piece):
        return bytes([int(byte[1], 16)])
    return bytes(_OF_BYTES[letter] for letter in piece) if all(letter in _OF_BYTES for letter in piece) else piece.encode()


def _of_numbers(trace: Trace, text_words: Sequence[Word], values: Doubles) -> tuple[Doubles, tuple[str, ...]]:
    """Return word scores from bare numbers: one for each word, each token, or each token that is not special; and what no word got."""
    places = np.flatnonzero(~trace.specials)
    if len(values) == len(text_words):
        return values, ()
    if len(values) in (len(trace.tokens), len(places)):
        of_tokens = np.zeros(len(trace.tokens))
        of_tokens[places if len(values) == len(places) else slice(None)] = values
        return _by_token(text_words, of_tokens), _left_over(of_tokens[trace.specials])
    raise InputError(
        f"There are {len(values)} scores. {trace.run} reads {len(text_words)} words in {len(places)} tokens of this text"
        f" ({len(trace.tokens)} with the special ones): give one score for each, or [word, score] pairs."
    )


def _by_token(text_words: Sequence[Word], values: Doubles) -> Doubles:
    return np.array([values[list(word.indices)].sum() for word in text_words])


def _places(trace: Trace, text_words: Sequence[Word]) -> tuple[Offsets, Offsets]:
    """Return the first and last + 1 character of each word in the joined text of both segments."""
    shift = len(trace.text) + 1 if trace.text_pair else 0
    at = [(word.indices, shift * int(trace.segments[word.indices[0]] > 0)) for word in text_words]
    starts = [int(trace.offsets[indices[0], 0]) + more for indices, more in at]
    stops = [int(trace.offsets[indices[-1], 1]) + more for indices, more in at]
    return np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)


def _letters(text: str, starts: Offsets, stops: Offsets, start: int, stop: int) -> Doubles:
    """Return how many characters of [start, stop) each word has."""
    return np.asarray(np.clip(np.minimum(stops, stop) - np.maximum(starts, start), 0, None), dtype=np.float64)


def _spans(text: str, result: Given, special: npt.NDArray[np.bool_]) -> tuple[list[list[tuple[int, int]]], bool, list[str]]:
    """Return the places of each piece in the text, whether they are a bag of words, and sentences on pieces that are not in the text.

    Pieces that are not in text order, like LIME's, which are ordered by weight, are read as a bag of words.
    """
    if result.offsets is not None:
        if (wrong := (result.offsets < 0) | (result.offsets > len(text))).any():
            raise InputError(f"Offset {int(result.offsets[wrong][0])} is outside of the text, which has {len(text)} characters.")
        return [[(int(a), int(b))] if b > a else [] for a, b in result.offsets], False, []
    plain, origin = _folded(text)
    bare = ["" if skipped else _folded(_MARKS.sub("", piece.strip()))[0] for piece, skipped in zip(result.pieces, special, strict=True)]
    places, bag = _in_order(plain, bare) if result.ordered else [], not result.ordered
    if bag or not all(at or not piece for at, piece in zip(places, bare, strict=True)):
        anywhere = _occurrences(plain, bare)
        bag = bag or sum(map(bool, anywhere)) > sum(map(bool, places))
        places = anywhere if bag else places
    spans = [[(origin[start], origin[stop - 1] + 1) for start, stop in at] for at in places]
    of_bytes = _in_bytes(text, [b"" if skipped else _bytes(piece) for piece, skipped in zip(result.pieces, special, strict=True)])
    if sum(map(bool, of_bytes)) > sum(map(bool, spans)):
        spans, bag = of_bytes, False
    lost = [
        piece for piece, letters, at in zip(result.pieces, bare, spans, strict=True) if letters and not at and not _SPECIAL.match(piece)
    ]
    named = int((~special).sum())
    if not named or len(lost) > (1 - LEAST_SHARE) * named:
        raise InputError(
            f"These scores are of another text: {lost[0].strip()[:40]!r} is not in it."
            if lost
            else "These scores are of no word of the text."
        )
    some = ", ".join(repr(piece[:20]) for piece in lost[:3])
    notes = [f"{_count(len(lost), 'piece')} ({some}) {'is' if len(lost) == 1 else 'are'} not found in the text."] if lost else []
    return spans, bag, notes


def _in_order(plain: AnyStr, bare: Sequence[AnyStr]) -> list[list[tuple[int, int]]]:
    """Return the place of each piece after that of the piece before it."""
    places: list[list[tuple[int, int]]] = []
    cursor = 0
    for piece in bare:
        at = plain.find(piece, cursor) if piece else -1
        places.append([(at, at + len(piece))] if at >= 0 else [])
        cursor = at + len(piece) if at >= 0 else cursor
    return places


def _in_bytes(text: str, pieces: Sequence[bytes]) -> list[list[tuple[int, int]]]:
    """Return the letters [start, end) of each piece of bytes after the piece before it; a letter of several pieces is in all of them."""
    whole, origin = text.encode().lower(), [at for at, letter in enumerate(text) for _ in letter.encode()]
    return [[(origin[start], origin[stop - 1] + 1) for start, stop in at] for at in _in_order(whole, [p.strip().lower() for p in pieces])]


def _occurrences(plain: str, pieces: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Return all places of each piece where no letter or digit is beside it."""
    words: dict[str, list[tuple[int, int]]] = {}
    for match in re.finditer(r"\w+", plain):
        words.setdefault(match.group(), []).append(match.span())

    def places(piece: str) -> list[tuple[int, int]]:
        if re.fullmatch(r"\w+", piece):
            return words.get(piece, [])
        return [match.span() for match in re.finditer(rf"(?<!\w){re.escape(piece)}(?!\w)", plain)] if piece in plain else []

    known = {piece: places(piece) if piece else [] for piece in set(pieces)}
    return [known[piece] for piece in pieces]


def _folded(text: str) -> tuple[str, list[int]]:
    """Return the text in small letters without accents, and the place in the text of each of its characters."""
    letters, origin = [], []
    for at, letter in enumerate(text):
        for part in unicodedata.normalize("NFKD", letter).casefold():
            if not unicodedata.combining(part):
                letters.append(part)
                origin.append(at)
    return "".join(letters), origin


def _left_over(values: Doubles) -> tuple[str, ...]:
    """Return a sentence on scores of special tokens, which no word has."""
    total = float(np.abs(values).sum())
    return (f"Special tokens have scores of {total:.3g} in all, which no word gets.",) if total > 1e-6 else ()


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"
