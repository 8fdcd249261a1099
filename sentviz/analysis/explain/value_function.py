"""The value of a text if only some of its parts are present: the cooperative game that Shapley values divide.

Absent parts are *deleted* (later tokens move up), or each of their tokens is replaced: *masked* by the mask token of the vocabulary, or
its unknown token if it has none; *padded* by the padding token, which the model then reads like a word. Special tokens are always present.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

from sentviz.data.texts import TokenizedText, Word
from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model, Progress

Absent = Literal["deleted", "masked", "padded"]
Measure = Literal["log-odds", "probability"]
ABSENT: tuple[Absent, ...] = get_args(Absent)
MEASURES: tuple[Measure, ...] = get_args(Measure)
MASKS, PADS = ("[MASK]", "<mask>"), ("[PAD]", "<pad>")

Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Valued = Callable[[Bools], Doubles]  # coalitions (N, n) -> their values (N,)


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
