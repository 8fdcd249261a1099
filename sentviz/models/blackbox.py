"""Black boxes: any function of a list of texts that returns class probabilities, with the interface of a model.

    probabilities = predict(texts)        texts: list of n str; probabilities: (n, K), each row sums to 1

A black box has no layers, so it has no maps, states, vectors or gradients. Explanations that only predict changed texts work: word removal,
units, the smallest edit, faithfulness. Texts are cut into words and punctuation marks. If a word is removed, the white space before it is
removed, too. The function is called with at most `BATCH` texts and has `SECONDS` for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from torch import nn

from sentviz.data.labels import by_name
from sentviz.data.tags import Tagger
from sentviz.data.texts import LONGEST, Encoded, TokenizedText
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.foreign import Foreign
from sentviz.io.lazy import pd
from sentviz.models.budget import Spent
from sentviz.models.model import Model
from sentviz.models.protocol import Network
from sentviz.runs.calibration import softmax
from sentviz.runs.configs import Capabilities
from sentviz.runs.intervention import Intervention
from sentviz.runs.trace import Trace

Predict = Callable[[list[str]], Any]

BATCH, SECONDS = 256, 60.0  # texts of one call, and the time that it may take
LEAST = 1e-6  # smallest probability that counts: log-odds are between -13.8 and 13.8
OFF = 1e-3  # allowed difference of the sum of a row from 1


@dataclass(frozen=True)
class BlackBoxConfig:
    """Configuration of a black box; never stored."""

    vocab_size: int
    classes: int
    max_length: int = LONGEST
    width: int = 0  # no vectors

    KIND: ClassVar[str] = "blackbox"

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities: it predicts, and its layers cannot be read."""
        return Capabilities(0, 0, maps=False, softmax=False, silence=False)


class NoNetwork(Network):
    """The place of the network of a black box."""

    def __init__(self, config: BlackBoxConfig) -> None:
        super().__init__()
        self.config = config  # type: ignore[assignment]
        self.classifier = nn.Identity()


@dataclass(frozen=True, eq=False)
class Reading(TokenizedText):
    """A text as pieces: each word or mark with the white space before it."""

    pieces: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text that the pieces spell."""
        return "".join(self.pieces)

    def without(self, places: Sequence[int]) -> Reading:
        """Return the text without some of its words and marks; a new first word loses the white space before it."""
        gone = set(places)
        pieces = [piece for place, piece in enumerate(self.pieces) if place not in gone]
        if pieces and 0 in gone:
            pieces[0] = pieces[0].lstrip()
        return Reading(np.delete(self.ids, list(places)), pieces=tuple(pieces))


@dataclass(frozen=True, eq=False)
class Words(Encoded):
    """The words and marks of a text, with the text itself."""

    text: str = field(default="", kw_only=True)

    @property
    def reading(self) -> Reading:
        """The text as pieces."""
        ends = [*self.offsets[:-1, 1].tolist(), len(self.text)]
        return Reading(self.ids, pieces=tuple(self.text[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)))


class BlackBox(Model):
    """A function that predicts, with its class names."""

    def __init__(self, name: str, predict: Predict, labels: Sequence[str]) -> None:
        words = _english()
        super().__init__(name, NoNetwork(BlackBoxConfig(words.vocab_size, len(labels))), words, labels)
        self.function, self.foreign = predict, Foreign(name)

    @classmethod
    def of(cls, source: Any, classes: Sequence[str] = ()) -> BlackBox:
        """Return a black box of an object with `predict_proba`, such as a pipeline of scikit-learn, or of a function.

        Args:
            classes: class names in the order of its probabilities; by default its `classes_`, if these are texts.
        """
        predict = getattr(source, "predict_proba", None) or source
        if not callable(predict):
            raise InputError(
                f"A {type(source).__name__} is not a model. Give a folder, the name of a run, a model of transformers with its tokenizer,"
                " an object with predict_proba, or a function of a list of texts that returns class probabilities."
            )
        name = str(getattr(source, "__name__", type(source).__name__))
        known = getattr(source, "classes_", ())
        own = [str(each) for each in known] if all(isinstance(each, str) for each in known) else []
        if isinstance(classes, str) or len(labels := tuple(map(str, classes or own))) < 2 or len(set(labels)) < len(labels):
            raise InputError(
                f"The classes of {name} have no names. Name each of them once, in the order of its probabilities:"
                ' classes=["negative", "positive"], or --classes negative,positive.'
            )
        if own and (order := [*by_name(labels, own).values()]) != sorted(order) and -1 not in order:
            raise InputError(
                f"{name} has its classes in the order {', '.join(own)}, so {', '.join(labels)} would swap them. Remove --classes."
            )
        return cls(name, predict, labels)

    def encode(self, text: str, text_pair: str | None = None, change: Intervention | None = None) -> Words:
        """Return the words and marks of a text, complete."""
        if text_pair is not None:
            raise InputError(f"{self.name} reads single texts.")
        encoded = self.tokenizer.encode(text)
        known = np.zeros(len(encoded), dtype=np.bool_)  # a black box has no vocabulary
        return Words(encoded.ids, encoded.offsets, encoded.segments, encoded.specials, known, encoded.tokens, text=text[:LONGEST])

    def encode_all(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Encoded]:
        """Return the words and marks of every text."""
        encoded: list[Encoded] = []
        for place, text in enumerate(texts):
            try:
                encoded.append(self.encode(text, None if pairs is None else pairs[place]))
            except InputError as error:
                raise InputError(f"Text {place + 1} of {len(texts)}: {error}") from error
        return encoded

    def read(self, frame: pd.DataFrame, max_length: int = 0) -> list[TokenizedText]:
        """Return every row of a frame as pieces."""
        pairs = frame["text_pair"].tolist() if "text_pair" in frame else [None] * len(frame)
        return [self.encode(text, pair).reading for text, pair in zip(frame["text"].tolist(), pairs, strict=True)]

    def forward(
        self, rows: Sequence[TokenizedText], change: Intervention | None = None, progress: Progress | None = None, *, what: str = "texts"
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return the log-probabilities (N, K) of texts, and vectors without numbers (N, 0).

        Raises:
            Spent: as for `Model.forward`.
        """
        logits = np.full((len(rows), len(self.labels)), np.nan, dtype=np.float32)
        for start in range(0, len(rows), BATCH):
            try:
                self.check()
            except Spent as spent:
                raise Spent(spent.budget, start, len(rows), what, logits) from None
            some = [row.text for row in rows[start : start + BATCH] if isinstance(row, Reading)]
            logits[start : start + BATCH] = np.log(np.maximum(self._probabilities(some), LEAST))
            if progress is not None:
                progress(start + len(some), len(rows))
        return logits, np.empty((len(rows), 0), dtype=np.float32)

    def _probabilities(self, texts: list[str]) -> npt.NDArray[np.float64]:
        """Return the probabilities (n, K) that the function gives for some texts, after checking them."""
        shape = (len(texts), len(self.labels))
        wanted = f"must return one row per text and one probability per class, {shape}"

        def answered(texts: list[str]) -> npt.NDArray[np.float64]:
            answer = self.function(texts)
            try:
                return np.asarray(_plain(answer, self.labels, len(texts)), dtype=np.float64)
            except Exception as error:  # The conversion of another library's object may raise anything.
                raise InputError(f"{self.name} {wanted}, not a {type(answer).__name__} that is no table of numbers.") from error

        shares = self.foreign.call(answered, texts, SECONDS)
        if shares.shape != shape:
            raise InputError(f"{self.name} {wanted}, not {shares.shape}.")
        if not np.isfinite(shares).all():
            raise InputError(f"{self.name} returns NaN or infinity for {texts[int(np.argmin(np.isfinite(shares).all(axis=1)))][:40]!r}.")
        sums = shares.sum(axis=1)
        if (shares < -OFF).any() or (abs(sums - 1) > OFF).any():
            worst = int(np.argmax(abs(sums - 1)))
            raise InputError(
                f"{self.name} must return probabilities, which are 0 or more and sum to 1; for {texts[worst][:40]!r} they sum to"
                f" {sums[worst]:.4g}."
            )
        return np.asarray(shares)

    def trace(self, text: str, text_pair: str | None = None, *, change: Intervention | str | None = None, **options: Any) -> Trace:
        """Return the prediction for one text. Maps, states and vectors do not exist, so the options that select them have no effect."""
        self.check()
        intervention = self.intervention(change)
        encoded = self.encode(text, text_pair)
        logits = self.forward([encoded.reading])[0][0]
        return Trace(
            run=self.name,
            text=encoded.text,
            text_pair=None,
            tokens=encoded.tokens,
            offsets=encoded.offsets,
            segments=encoded.segments,
            specials=encoded.specials,
            unknown=encoded.unknown,
            labels=self.labels,
            logits=logits,
            probabilities=softmax(logits, self.calibration),
            calibration=self.calibration,
            lambdas=np.ones((0, 1), dtype=np.float32),
            layer_ids=(),
            head_ids=(),
            component_ids=(0,),
            query_ids=tuple(range(len(encoded))),
            change=intervention,
        )


def _plain(answer: Any, labels: Sequence[str], n: int) -> Any:
    """Return a tensor (also with gradients or on a GPU), a table, a sparse matrix, an iterator or a list in a form that numpy reads.

    The columns of a table that are named after the classes are put into the order of `labels`. Of an iterator, `n` + 1 parts are read.
    """
    if hasattr(answer, "columns") and set(labels) == set(answer.columns):
        return answer[list(labels)]
    if hasattr(answer, "detach"):
        return answer.detach().cpu().double().numpy()
    if hasattr(answer, "toarray"):
        return answer.toarray()
    if isinstance(answer, Iterator):
        answer = list(islice(answer, n + 1))
    return [_plain(part, (), len(labels)) for part in answer] if isinstance(answer, list | tuple) else answer


@lru_cache(maxsize=1)
def _english() -> Tokenizer:
    """Return a tokenizer of words and marks; its vocabulary, from which edits take words, are the words of the English tagger."""
    words = sorted(word for word in Tagger.load().words if word.isalpha())
    return Tokenizer.train_words(words, min_count=1)
