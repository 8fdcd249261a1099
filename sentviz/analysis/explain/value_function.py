"""The value of a text if only some of its parts are present: the cooperative game that Shapley values divide.

Absent parts are *deleted* (later tokens move up), or each of their tokens is replaced: *masked* by the mask token of the vocabulary, or
its unknown token if it has none; *padded* by the padding token, which the model then reads like a word. Special tokens are always present.

`parts` cuts a text into parts that are left out together: words, phrases, clauses or sentences.

Words are those of `spaced_words`: "well-made" is one word. Phrases are the units of `sentviz.analysis.explain.word_groups`. A sentence ends
after . ! ? or … and before a line break, but not after an abbreviation. A clause ends at a sentence's end, after , ; : and dashes, and
before a conjunction such as "but". A mark belongs to the part before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.leave_out import leaving_out, spread
from sentviz.analysis.explain.word_groups import Span, find_units, number_units, spaced_words
from sentviz.data.texts import TokenizedText, Word
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Cut = Literal["words", "phrases", "clauses", "sentences"]
CUTS: tuple[Cut, ...] = get_args(Cut)
MAX_PHRASE_WORDS = 60  # longest text that `fitting` cuts into phrases, in words
_SENTENCE_END, _CLAUSE_END = re.compile(r"[.!?…。！？]"), re.compile(r"[,;:—–、，]|^-+$")
_ABBREVIATIONS = ("mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "etc", "no", "vol")
_CONJUNCTIONS = frozenset(
    "although because but however if since though unless until when whereas while which who yet".split()  # noqa: SIM905
)
_LEAST_WORDS = 2  # words before and after a conjunction that begins a clause
Absent = Literal["deleted", "masked", "padded"]
Measure = Literal["log-odds", "probability"]
ABSENT: tuple[Absent, ...] = get_args(Absent)
MEASURES: tuple[Measure, ...] = get_args(Measure)
MASKS, PADS = ("[MASK]", "<mask>"), ("[PAD]", "<pad>")

Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Valued = Callable[[Bools], Doubles]  # coalitions (N, n) -> their values (N,)


def parts(model: Model, trace: Trace, by: Cut) -> tuple[Word, ...]:
    """Return the parts of a text in order, with all tokens of each; special tokens belong to no part. Phrases run the model."""
    if by not in CUTS:
        raise InputError(f"A text is cut by {', '.join(CUTS)}, not by {by!r}.")
    words = spaced_words(trace)
    if by == "words" or not words:
        return words
    return _slices(trace, words, find_units(model, trace).spans) if by == "phrases" else cut_at_marks(trace, by)


def cut_at_marks(trace: Trace, by: Cut) -> tuple[Word, ...]:
    """Return the clauses or sentences of a text in order, with all tokens of each."""
    words = spaced_words(trace)
    starts = [i for i in range(1, len(words)) if _begins(trace, words, i, by)]
    return _slices(trace, words, list(pairwise([0, *starts, len(words)]))) if words else ()


def fitting(model: Model, trace: Trace, most: int) -> tuple[Cut, tuple[Word, ...]]:
    """Return the finest cut of a text with at most `most` parts, and the parts; neighbouring parts are joined if even sentences are more.

    A text of up to MAX_PHRASE_WORDS words is cut into phrases if its words are too many.
    """
    words = spaced_words(trace)
    if len(words) <= most:
        return "words", words
    if len(words) <= MAX_PHRASE_WORDS:
        return "phrases", joined(trace, parts(model, trace, "phrases"), most)
    clauses, sentences = parts(model, trace, "clauses"), parts(model, trace, "sentences")
    if len(clauses) <= most:
        return ("clauses", clauses) if len(clauses) > 1 else ("phrases", joined(trace, words, most))
    return "sentences" if len(sentences) > 1 else "clauses", joined(trace, sentences if len(sentences) > 1 else clauses, most)


def joined(trace: Trace, pieces: Sequence[Word], most: int) -> tuple[Word, ...]:
    """Join neighbouring parts of one text until there are at most `most`: always the two that are shortest together."""
    groups = [list(piece.indices) for piece in pieces]
    while len(groups) > most:
        lengths = [
            len(left) + len(right) if trace.segments[left[0]] == trace.segments[right[0]] else np.inf for left, right in pairwise(groups)
        ]
        if not lengths or not np.isfinite(min(lengths)):
            raise InputError(f"These texts cannot be joined to {most} part{'s' * (most != 1)}.")
        at = int(np.argmin(lengths))
        groups[at : at + 2] = [groups[at] + groups[at + 1]]
    return tuple(Word(_written(trace, group), tuple(group)) for group in groups)


@dataclass(frozen=True, eq=False)
class PartRemoval:
    """The effect of leaving out each part of a text."""

    parts: tuple[Word, ...]
    scores: npt.NDArray[np.float32]  # (m,) fall of the log-odds without the token's part; 0 for special tokens
    places: npt.NDArray[np.int64]  # (m,) number of the token's part; each special token has a separate number


def part_removal(model: Model, trace: Trace, by: Cut) -> PartRemoval:
    """Return the fall of the log-odds of the trace's target without each part, all in one forward call; 0 if the text has one part."""
    pieces = parts(model, trace, by)
    falls = np.zeros(len(pieces))
    if len(pieces) > 1:
        falls = trace.value - trace.value_of(leaving_out(model, trace, [piece.indices for piece in pieces], by))
    return PartRemoval(pieces, spread(pieces, falls, len(trace.tokens)), numbered(trace, pieces))


def numbered(trace: Trace, pieces: Sequence[Word]) -> npt.NDArray[np.int64]:
    """Return the number of each token's part in text order, (m,); each token in no part has a separate number."""
    places = np.full(len(trace.tokens), -1, dtype=np.int64)
    for i, piece in enumerate(pieces):
        places[list(piece.indices)] = i
    return number_units(places)


def _begins(trace: Trace, words: Sequence[Word], i: int, by: Cut) -> bool:
    """Return whether word i begins a sentence, or a clause."""
    before, word = words[i - 1], words[i]
    segment = int(trace.segments[word.indices[0]])
    if segment != trace.segments[before.indices[0]]:
        return True
    if not any(letter.isalnum() for letter in word.text):
        return False  # a mark, for example a closing quote
    text = (trace.text, trace.text_pair or "")[segment]
    start, end = int(trace.offsets[before.indices[-1], 1]), int(trace.offsets[word.indices[0], 0])
    gap = text[start:end]
    if "\n" in gap or "<br" in gap:
        return True
    last = next((each.text for each in words[max(0, i - 3) : i][::-1] if each.text.strip("\"'”’»)]")), "")
    if _SENTENCE_END.search(last) and gap and not _is_abbreviation(words, i, last):
        return True
    if by == "sentences":
        return False
    if _CLAUSE_END.search(last) and not any(letter.isalnum() for letter in last):
        return True
    sides = words[max(0, i - _LEAST_WORDS) : i], words[i + 1 : i + 1 + _LEAST_WORDS]
    letters = [sum(any(letter.isalnum() for letter in each.text) for each in side) for side in sides]
    return word.text.casefold() in _CONJUNCTIONS and min(letters) >= _LEAST_WORDS


def _is_abbreviation(words: Sequence[Word], i: int, mark: str) -> bool:
    """Return whether the full stop before word i ends an abbreviation or an initial, not a sentence."""
    if mark != "." or i < 2 or words[i - 1].text != ".":
        return False
    name = words[i - 2].text
    return name.casefold() in _ABBREVIATIONS or (len(name) == 1 and name.isupper() and name != "I")


def _slices(trace: Trace, words: Sequence[Word], spans: Sequence[Span]) -> tuple[Word, ...]:
    groups = [[i for word in words[slice(*span)] for i in word.indices] for span in spans]
    return tuple(Word(_written(trace, group), tuple(group)) for group in groups)


def _written(trace: Trace, group: Sequence[int]) -> str:
    text = (trace.text, trace.text_pair or "")[int(trace.segments[group[0]])]
    return text[int(trace.offsets[group[0], 0]) : int(trace.offsets[group[-1], 1])]


def filler(model: Model, absent: Absent) -> int:
    """Return the id of the token in the place of absent tokens: of the first such name in the vocabulary, else the unknown token's."""
    names = MASKS if absent == "masked" else PADS
    known = next((name for name in names if name in model.tokenizer), "")
    return model.tokenizer.id_of(known) if known else model.tokenizer.specials.unknown


@dataclass(eq=False)
class Game:
    """The parts of a text as players; calling it gives the values of coalitions. It predicts equal texts once."""

    model: Model
    trace: Trace
    players: Sequence[Word]
    absent: Absent = "deleted"
    measure: Measure = "log-odds"  # value of a text for the trace's target; the probability is calibrated
    passes: int = field(default=0, init=False)  # texts that were predicted

    def __post_init__(self) -> None:
        trace, model = self.trace, self.model
        if self.absent not in ABSENT:
            raise InputError(f"Absent words are {', '.join(ABSENT)}, not {self.absent!r}.")
        if self.measure not in MEASURES:
            raise InputError(f"The value of a text is its {' or its '.join(MEASURES)}, not {self.measure!r}.")
        if not trace.labels:
            raise InputError(f"Shapley values need a predicted class, and {trace.run} has no classification head.")
        if self.absent != "deleted" and not trace.layer_ids:
            raise InputError(f"{trace.run} is a black box, so absent words can only be deleted.")
        if not self.players:
            raise InputError("The model reads no word of this text, so there is nothing to explain.")
        self._reading = model.encode(trace.text, trace.text_pair, trace.change).reading
        self._change = model.intervention(trace.change)
        self._filler = -1 if self.absent == "deleted" else filler(model, self.absent)
        self._known: dict[bytes, float] = {}

    @property
    def replaced_by(self) -> str:
        """The token in the place of absent tokens; "" if they are deleted."""
        return "" if self._filler < 0 else self.model.tokenizer.token_of(self._filler)

    def reading(self, present: Bools) -> TokenizedText:
        """Return the text with only some players, (n,) bool."""
        gone = [i for player, is_present in zip(self.players, present.tolist(), strict=True) if not is_present for i in player.indices]
        if not gone:
            return self._reading
        if self._filler < 0:
            return self._reading.without(gone)
        ids = self._reading.ids.copy()
        ids[gone] = self._filler
        return replace(self._reading, ids=ids)

    def __call__(self, present: Bools, progress: Progress | None = None) -> Doubles:
        """Return the value of each coalition, (N,): log-odds of the target before calibration, or its probability.

        Args:
            present: (N, n) True for the players that are present.
            progress: called with the numbers of finished and of all new texts after each batch.
        """
        readings = [self.reading(row) for row in np.asarray(present, dtype=bool)]
        keys = [self._key(reading) for reading in readings]
        new = {key: reading for key, reading in zip(keys, readings, strict=True) if key not in self._known}
        if new:
            logits = self.model.forward(list(new.values()), self._change, progress)[0]
            self._known |= dict(zip(new, self._valued(logits).tolist(), strict=True))
            self.passes += len(new)
        return np.array([self._known[key] for key in keys])

    def _valued(self, logits: npt.NDArray[np.float32]) -> Doubles:
        return self.trace.value_of(logits) if self.measure == "log-odds" else self.trace.share_of(logits)

    def _key(self, reading: TokenizedText) -> bytes:
        """Return what decides the prediction of a reading; original places count only under an intervention."""
        arrays = (reading.ids, reading.segments, reading.tags, reading.places if self.trace.change else None)
        return b"|".join(b"" if array is None else np.asarray(array, dtype=np.int64).tobytes() for array in arrays)
