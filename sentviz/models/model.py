"""A loaded run: predict and trace. Read-only, so that one cached model serves many visitors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sentviz.data.tags import Tagger, tags_of
from sentviz.data.texts import Encoded, TokenizedText, unread_note
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError, RunError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.models.batches import ENOUGH_TOKENS, by_length, collate, device_of, digest_of, portions, read, tokens_per_batch
from sentviz.models.budget import Spent
from sentviz.models.protocol import Capture, Inputs, InterventionTensors, Network, Output, Site
from sentviz.models.tracing import Axes, trace_of
from sentviz.models.weights import load_weights, normalize_polarities
from sentviz.runs.calibration import softmax
from sentviz.runs.configs import Capabilities, ModelConfig
from sentviz.runs.intervention import UNCHANGED, Intervention, read_change
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

N = TypeVar("N", bound=Network)
Floats = npt.NDArray[np.float32]
PADDED = 0.2  # largest share of padding in a row of `Model.forward` whose batch has enough tokens already
NO_CLASSES = "{} has no classification head, so it predicts no class. It gives maps, states and vectors; head=... of sentviz.load adds one."
SMALLER = 4  # factor by which batches of work that gives way are smaller: that work holds their memory while others work
WORDLESS = "The model knows none of the words of this text, so its prediction is that for a text without words."


class Model:
    """A network with its tokenizer and labels. Every method is pure: nothing of a call stays on the model."""

    TOKENIZER: ClassVar[type[Tokenizer]] = Tokenizer  # reads the `tokenizer.json` of its runs

    def __init__(
        self,
        name: str,
        network: Network,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        *,
        calibration: float = 1.0,
        cls: bool = False,
        tagger: Tagger | None = None,
    ) -> None:
        if network.config.vocab_size != tokenizer.vocab_size:
            raise RunError(
                f"{name}: the tokenizer knows {tokenizer.vocab_size:,} tokens, the model {network.config.vocab_size:,};"
                " they do not belong together."
            )
        if network.capabilities.tags and tagger is None:
            raise RunError(f"{name} reads tags, and its tagger is missing.")
        self.name, self.tokenizer, self.labels, self.tagger = name, tokenizer, tuple(labels), tagger
        self.network = network.eval().requires_grad_(False)
        self.calibration, self.cls = calibration, cls
        self.check: Callable[[], object] = lambda: None  # called before and inside each batch; see `stoppable`
        self.batches: dict[bytes, tuple[Floats, Floats]] | None = None  # finished batches of `forward`; see `stoppable`
        self.tell: Callable[[int, int, str], object] = lambda done, total, what: None  # called after each batch; see `stoppable`

    @property
    def config(self) -> ModelConfig:
        """The network's configuration."""
        return self.network.config

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the model."""
        return self.network.capabilities

    def stoppable(
        self,
        check: Callable[[], object],
        batches: dict[bytes, tuple[Floats, Floats]] | None = None,
        tell: Callable[[int, int, str], object] = lambda done, total, what: None,
    ) -> Self:
        """Return this model for one piece of work that can be stopped, with the same network and tokenizer. `self` is unchanged.

        Args:
            check: called before each batch of predictions, traces and scores, and in each layer; an exception that it raises ends the work.
            batches: receives the results of each batch of `forward`, by a digest. Batches that it holds are not computed again. All
                batches are smaller than without it, so logits may differ in their last digits.
            tell: called after each batch of `forward` with the numbers of finished and of all texts, and the name of the texts.
        """
        model = copy(self)
        model.check, model.batches, model.tell = check, batches, tell
        return model

    def calibrated(self, temperature: float) -> Self:
        """Return this model with probabilities at a temperature, with the same network and tokenizer; 1 gives the raw ones."""
        model = copy(self)
        model.calibration = temperature
        return model

    def encode(self, text: str, text_pair: str | None = None, change: Intervention | None = None) -> Encoded:
        """Return the tokens of a text, cut at the model's maximum length, with padding if the model reads padding."""
        encoded = self.tokenizer.encode(text, text_pair, max_length=self.config.max_length, cls=self.cls)
        encoded = self._tagged([encoded], [text], None if text_pair is None else [text_pair])[0]
        length = self._filled(change)
        return encoded.filled(length, self.tokenizer.token_of(0)) if length else encoded

    def _filled(self, change: Intervention | InterventionTensors | None) -> int:
        """Return the number of tokens to which padding that is read fills every text; 0 if padding is masked."""
        padded = self.capabilities.padded or (change is not None and change.strength.get("mask") == 0)
        return self.config.max_length if padded else 0

    def _tagged(self, encoded: list[Encoded], texts: Sequence[str], pairs: Sequence[str] | None) -> list[Encoded]:
        """Return the texts with the tags of their tokens if the model reads tags, otherwise unchanged."""
        if self.tagger is None:
            return encoded
        columns = [texts] if pairs is None else [texts, pairs]
        tags = tags_of(self.tagger, encoded, list(zip(*columns, strict=True)))
        return [replace(text, tags=of_text) for text, of_text in zip(encoded, tags, strict=True)]

    def inputs(self, encoded: Encoded) -> Inputs:
        """Return one text as the network takes it."""
        return collate([encoded.reading])

    def batch(self, rows: Sequence[TokenizedText], change: InterventionTensors | None = None) -> Inputs:
        """Return several texts as the network takes them."""
        return collate(rows, device_of(self.network), filled=self._filled(change))

    def on(self, device: str | torch.device) -> Self:
        """Move the network to a device and return this model. Only `forward` and `predict` without interventions compute on a GPU."""
        self.network.to(device)
        return self

    def intervention(self, change: Intervention | str | None = None, **arguments: Any) -> Intervention:
        """Return an intervention that this model can apply.

        Args:
            change: an intervention, or its text, as in `head:1.4=0~term:gate=0.5`.
            arguments: the same, as in earlier versions: see `Intervention.from_arguments`. They are added to `change`.
        """
        intervention = read_change(change)
        if arguments:
            intervention = intervention.with_(*Intervention.from_arguments(self.capabilities, **arguments).edits)
        intervention.check(self.capabilities, self.config.max_length, self.name)
        return intervention

    def applied(self, change: Intervention | None) -> InterventionTensors:
        """Return an intervention as the network takes it."""
        change = change or UNCHANGED
        donor = change.donor
        tensors = InterventionTensors.from_intervention(change, self.lambdas, lambda: self.recorded(*donor)[0] if donor else {})
        return replace(tensors, check=self.check)

    def recorded(
        self, text: str, text_pair: str | None = None, change: Intervention | None = None, *, gradients: bool = False
    ) -> tuple[dict[Site, Tensor], Tensor]:
        """Return the vectors of every site for one text, (1, .., n, size), and the logits (1, K).

        Args:
            gradients: keep what torch needs for gradients of the logits with respect to the vectors.
        """
        self.check()
        record: dict[Site, Tensor] = {}
        changed = replace(self.applied(change), record=record)
        with torch.inference_mode(False), torch.set_grad_enabled(gradients):
            inputs = self.network.ready(self.inputs(self.encode(text, text_pair, change)))
            x = changed.put("state", 0, self.network.embed(inputs).detach().requires_grad_(gradients))
            for layer in range(self.capabilities.layers):
                x = changed.put("state", layer + 1, self.network.step(layer, x, inputs, None, changed)[0])
            logits: Tensor = self.network.classifier(self.network.pool(x, inputs.mask))
        return record, logits

    def read(self, frame: pd.DataFrame, max_length: int = 0) -> list[TokenizedText]:
        """Return every row of a frame as token ids, which `forward` takes; at most `max_length` of them if it is not 0."""
        has, longest = self.capabilities, min(max_length or self.config.max_length, self.config.max_length)
        rows: list[TokenizedText] = []
        for part in portions(frame):
            self.check()
            rows += read(self.tokenizer, part, max_length=longest, cls=self.cls, segments=has.pairs, tagger=self.tagger)
        length = self._filled(None)
        return [row.filled(length) for row in rows] if length else rows

    def sift(self, frame: pd.DataFrame) -> tuple[list[TokenizedText | None], dict[int, str]]:
        """Return every row as `read` does, None for rows that cannot be read, and the reasons by row number."""
        rows: list[TokenizedText | None] = []
        why: dict[int, str] = {}
        for part in portions(frame):
            some, reasons = self._sifted(part)
            why |= {len(rows) + place: reason for place, reason in reasons.items()}
            rows += some
        return rows, why

    def _sifted(self, frame: pd.DataFrame) -> tuple[list[TokenizedText | None], dict[int, str]]:
        try:
            return list(self.read(frame)), {}
        except InputError as error:
            if len(frame) == 1:
                return [None], {0: str(error)}
        half = len(frame) // 2
        (rows, why), (more, too) = self._sifted(frame.iloc[:half]), self._sifted(frame.iloc[half:])
        return rows + more, why | {half + place: reason for place, reason in too.items()}

    def lambdas(self) -> npt.NDArray[np.float32]:
        """Return the learned mixing weights, (L, C)."""
        with torch.inference_mode():
            return np.asarray(self.network.lambdas().cpu().numpy(), dtype=np.float32)

    def forward(
        self, rows: Sequence[TokenizedText], change: Intervention | None = None, progress: Progress | None = None, *, what: str = "texts"
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return logits (N, K) and pooled vectors (N, d) of texts, batched by length.

        Args:
            rows: texts as `read` returns them.
            change: an intervention that `intervention` returned.
            progress: called with the numbers of finished and of all texts after each batch.
            what: name of the rows in the message of `Spent`.
        Raises:
            Spent: the time of a `Budget` is over. The error holds the logits of finished rows.
        """
        applied = self.applied(change)
        logits = np.full((len(rows), self.config.classes), np.nan, dtype=np.float32)
        pooled = np.empty((len(rows), self.config.pooled_width), dtype=np.float32)
        done, length, room = 0, self._filled(change), tokens_per_batch(self.network)
        if self.batches is not None:
            room = min(room, max(ENOUGH_TOKENS, room // SMALLER))
        try:
            for batch in by_length([length or len(row) for row in rows], room, padded=PADDED):
                logits[batch], pooled[batch] = self._outcome([rows[i] for i in batch], change, applied)
                done += len(batch)
                self.tell(done, len(rows), what)
                if progress is not None:
                    progress(done, len(rows))
        except Spent as spent:
            raise Spent(spent.budget, done, len(rows), what, logits) from None
        return logits, pooled

    def _outcome(
        self, rows: Sequence[TokenizedText], change: Intervention | None, applied: InterventionTensors
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return logits and pooled vectors of one batch, computed unless `batches` holds them."""
        key = b"" if self.batches is None else digest_of(rows, (change or UNCHANGED).text())
        if self.batches is not None and key in self.batches:
            return self.batches[key]
        self.check()
        with torch.inference_mode():
            out = self.outputs(rows, applied)
        logits, pooled = out.logits.float().cpu().numpy(), out.pooled.float().cpu().numpy()
        if self.batches is not None:
            self.batches[key] = logits.copy(), pooled.copy()  # a view would keep the states of all tokens
        return logits, pooled

    def outputs(self, rows: Sequence[TokenizedText], change: InterventionTensors | None) -> Output:
        """Return the output of one batch of `forward`."""
        out: Output = self.network(self.batch(rows, change), change=change)
        return out

    def encode_all(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Encoded]:
        """Return the tokens of every text or pair of texts."""
        texts, pairs = list(texts), None if pairs is None else _as_many(list(pairs), list(texts))
        encoded: list[Encoded] = []
        for place, text in enumerate(texts):
            self.check()
            try:
                pair = None if pairs is None else pairs[place]
                encoded.append(self.tokenizer.encode(text, pair, max_length=self.config.max_length, cls=self.cls))
            except InputError as error:
                raise InputError(f"Text {place + 1} of {len(texts)}: {error}") from error
        return self._tagged(encoded, texts, pairs)

    def predict(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        *,
        progress: Progress | bool = False,
        change: Intervention | str | None = None,
        **arguments: Any,
    ) -> pd.DataFrame:
        """Predictions as a frame: `text`, `label` (the class name), one calibrated probability per class, and `remark`.

        A text that cannot be read has no answer (None, NaN) but a remark that says why; it holds up no other.

        Args:
            texts: any number of texts, each cut at the model's maximum length. Its remark says so; `frame.attrs["truncated"]` counts them.
            pairs: as many second texts, for models that read pairs.
            progress: True shows a bar for long lists; a function gets (done, total).
            change, arguments: what is changed in the model, as `intervention` takes it.
        """
        if not self.capabilities.predicts:
            raise InputError(NO_CLASSES.format(self.name))
        if isinstance(texts, str) or isinstance(pairs, str):
            raise InputError("predict takes a list of texts. Put a single text in brackets.")
        table = pd.DataFrame({"text": pd.Series(list(texts), dtype=object)})
        if pairs is not None:
            table["text_pair"] = _as_many(list(pairs), table["text"])
        intervention = self.intervention(change, **arguments)
        rows, why = self.sift(table)
        is_readable = np.array([row is not None for row in rows], dtype=bool)
        with _reported(progress, int(is_readable.sum())) as report:
            logits, _ = self.forward([row for row in rows if row is not None], intervention, report)
        probabilities = np.full((len(rows), len(self.labels)), np.nan, dtype=np.float32)
        probabilities[is_readable] = softmax(logits, self.calibration)
        predicted = [
            self.labels[shares.argmax()] if readable else None for shares, readable in zip(probabilities, is_readable, strict=True)
        ]
        frame = pd.DataFrame({"text": table["text"], "label": pd.Series(predicted, dtype=object)})
        for k, label in enumerate(self.labels):
            frame[label] = probabilities[:, k]
        frame["remark"], unread = self.remarks(table, rows, why)
        frame.attrs["truncated"] = int((unread > 0).sum())
        return frame

    def remarks(
        self, frame: pd.DataFrame, rows: Sequence[TokenizedText | None], why: Mapping[int, str]
    ) -> tuple[list[str], npt.NDArray[np.int64]]:
        """Return a remark on each row, "" if there is nothing to remark, and how many of its tokens are not read, (N,).

        Args:
            frame: text and perhaps text_pair of each row. rows, why: what `sift` returned for them.
        """
        most, unread = self.config.max_length, np.zeros(len(rows), dtype=np.int64)
        start = self.tokenizer.truncation_side == "left"
        full = [place for place, row in enumerate(rows) if row is not None and len(row) == most]
        for part in portions(frame.iloc[full]):
            texts, pairs = part["text"].tolist(), part["text_pair"].tolist() if "text_pair" in part else None
            lengths = np.array([len(ids) for ids in self.tokenizer.ids_batch(texts, pairs, cls=self.cls)])
            places, full = full[: len(part)], full[len(part) :]
            unread[places] = np.maximum(lengths - most, 0)
        texts_of_rows = frame[["text", *(["text_pair"] if "text_pair" in frame else [])]].itertuples(index=False)
        return [
            why.get(place) or (WORDLESS if row is not None and not len(row) else unread_note(most, int(unread[place]), *texts, start=start))
            for place, (row, texts) in enumerate(zip(rows, texts_of_rows, strict=True))
        ], unread

    def trace(
        self,
        text: str,
        text_pair: str | None = None,
        *,
        layers: Sequence[int] = (),
        heads: Sequence[int] = (),
        components: Sequence[int] = (),
        queries: Sequence[int] = (),
        maps: bool = True,
        scores: bool = False,
        projections: bool = False,
        change: Intervention | str | None = None,
        **arguments: Any,
    ) -> Trace:
        """Return everything that the model computes for one text.

        Args:
            layers, heads, components, queries: which ones to keep, counted from 0; empty means all.
            maps: keep attention maps, n x m numbers for each. scores: also scores before softmax and each bias by name.
            projections: keep Q, K, V and the layers' terms, from which the trace makes any part of a map when it is asked.
            change, arguments: what is changed in the model, as `intervention` takes it; the trace keeps it as `Trace.change`.
        """
        self.check()
        intervention = self.intervention(change, **arguments)
        encoded = self.encode(text, text_pair, intervention)
        changed = self.applied(intervention)
        intervention.check(self.capabilities, len(encoded.ids), self.name)
        capture = Capture(tuple(layers), tuple(heads), tuple(components), tuple(queries), maps, scores, projections)
        axes = Axes.of(capture, self.capabilities, len(encoded.ids))
        with torch.inference_mode():
            inputs = self.network.ready(self.inputs(encoded))
            out: Output = self.network(inputs, capture, changed)
        return trace_of(self, (text, text_pair), encoded, intervention, changed, axes, out, inputs.polarity)

    def traces(self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, change: Intervention | str | None = None) -> list[Trace]:
        """Return a trace of each text with projections and without maps, all texts in one batch; maps are computed when they are asked for.

        Args:
            texts, pairs: as `predict` takes them.
            change: as `trace` takes it.
        """
        self.check()
        intervention = self.intervention(change)
        changed, capture = self.applied(intervention), Capture(maps=False, projections=True)
        encoded = self.encode_all(texts, pairs)
        if length := self._filled(intervention):
            encoded = [each.filled(length, self.tokenizer.token_of(0)) for each in encoded]
        if not all(len(each.ids) for each in encoded):
            raise InputError("A text has no tokens. Read it alone, with `trace`.")
        for each in encoded:
            intervention.check(self.capabilities, len(each.ids), self.name)
        with torch.inference_mode():
            inputs = self.network.ready(self.batch([each.reading for each in encoded], changed))
            out: Output = self.network(inputs, capture, changed)
        axes = [Axes.of(capture, self.capabilities, len(each.ids)) for each in encoded]
        both = list(zip(texts, [None] * len(texts) if pairs is None else pairs, strict=True))
        return [
            trace_of(self, both[place], each, intervention, changed, axes[place], out, inputs.polarity, place)
            for place, each in enumerate(encoded)
        ]


def _as_many(pairs: list[str], texts: Sequence[str] | pd.Series[Any]) -> list[str]:
    if len(pairs) != len(texts):
        raise InputError(f"There are {len(texts):,} texts and {len(pairs):,} second texts; pairs need the same number of both.")
    return pairs


def filled(make: Callable[[], N], run: Run) -> N:
    """Return the network of a run's shape that `make` makes, with the weights of the run in it.

    Raises:
        RunError: damaged, or of another shape than the configuration says.
    """
    try:
        network = load_weights(make, run.path(run.weights))
    except RunError as error:
        raise error if str(error).startswith(run.name) else RunError(f"{run.name}: {error}") from error
    normalize_polarities(network)
    return network


@contextmanager
def _reported(progress: Progress | bool, total: int) -> Iterator[Progress | None]:
    """Give the function that reports progress: the caller's, that of a bar on the terminal for True, or None for False."""
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield None
    else:
        from tqdm import tqdm

        with tqdm(total=total, unit="text", delay=1) as bar:

            def update(done: int, _: int) -> None:
                bar.update(done - bar.n)

            yield update
