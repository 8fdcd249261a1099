"""Measurements of a training run over its epochs, and the rows that were learned and forgotten.

Measure a model after an epoch: predictions for a fixed sample of rows, pooled vectors, heads, and the trace of the run's example.

The sample is drawn once with a seed and is the same after every epoch. Ids and labels are stored, texts never. Each epoch has two files:
epochs/<number>.measured.safetensors and epochs/<number>.example.safetensors (`sentviz.runs.trace.Trace.save`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.embeddings.projection import align, project
from sentviz.analysis.evaluation import confusion, evaluate
from sentviz.analysis.maps.heads import over_split
from sentviz.data.datasets import Split
from sentviz.errors import InputError, RunError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.models.loading import load
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

ROWS = 400
ROOM = 600_000  # maximum size of the pooled vectors of all epochs together, in bytes
HEADS = ("value", "low", "high")
COLUMNS = ["layer", "head", "measure", *HEADS, "n"]


@dataclass(frozen=True, eq=False)
class Measured:
    """A sample of rows after one epoch."""

    epoch: int  # counted from 1
    split: str
    seed: int  # seed of the sample
    classes: tuple[str, ...]
    ids: tuple[str, ...]  # (N,) in the order drawn
    labels: npt.NDArray[np.int64]  # (N,)
    probabilities: npt.NDArray[np.float32]  # (N, K)
    pooled: npt.NDArray[np.float16]  # (m, d) of the first m rows
    heads: pd.DataFrame  # layer, head (-1 = mean over heads), measure, value, low, high, n; empty without attention

    def save(self, path: Path) -> None:
        """Write to one safetensors file."""
        from safetensors.numpy import save_file

        arrays: dict[str, npt.NDArray[Any]] = {"labels": self.labels, "probabilities": self.probabilities, "pooled": self.pooled}
        for name in COLUMNS:
            kind = {"layer": np.int16, "head": np.int16, "n": np.int32, "measure": np.int16}.get(name, np.float32)
            values = self.heads["measure"].map(self.measures.index) if name == "measure" else self.heads[name]
            arrays[f"heads.{name}"] = values.to_numpy(kind)
        meta = {name: getattr(self, name) for name in ("epoch", "split", "seed", "classes", "ids", "measures")}
        save_file(arrays, path, metadata={"measured": json.dumps(meta)})

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the head measures."""
        return tuple(dict.fromkeys(self.heads["measure"]))

    @classmethod
    def load(cls, path: Path) -> Measured:
        """Read what `save` wrote.

        Raises:
            RunError: the file holds something else.
        """
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                meta = json.loads((file.metadata() or {})["measured"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - safe_open is no mapping
            heads = pd.DataFrame({name: arrays.pop(f"heads.{name}") for name in COLUMNS})
            names = meta.pop("measures")
            heads["measure"] = [names[k] for k in heads["measure"]]
            fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in meta.items()} | arrays
            measured = cls(**fields, heads=heads)
        except (OSError, SafetensorError, KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
            raise RunError(f"{path.name} does not contain the measurements of an epoch ({error}).") from error
        shapes = measured.probabilities.shape == (len(measured.ids), len(measured.classes)) and measured.labels.shape == (
            len(measured.ids),
        )
        if not shapes or measured.pooled.ndim != 2 or len(measured.pooled) > len(measured.ids):
            raise RunError(f"{path.name} does not contain a prediction for each of its rows.")
        return measured


def sample(split: Split, rows: int, seed: int) -> Split:
    """Return `rows` random rows of a split in random order; all rows of a smaller split."""
    drawn = np.random.default_rng(seed).permutation(len(split))[:rows]
    return replace(split, frame=split.frame.iloc[drawn].reset_index(drop=True))


def measure_epoch(model: Model, split: Split, *, epoch: int, seed: int = 0, room: int = ROOM) -> Measured:
    """Measure a model on the rows of a sample.

    Args:
        split: result of `sample`.
        epoch, seed: numbers to store with the measurement.
        room: maximum size of the pooled vectors in half precision, in bytes; the vectors of the first rows are stored.
    """
    evaluation = evaluate(model, split)
    heads = over_split(model, split.frame)[COLUMNS] if model.capabilities.maps else pd.DataFrame(columns=COLUMNS)
    pooled = evaluation.pooled[: room // (2 * evaluation.pooled.shape[1])].astype(np.float16)
    return Measured(
        epoch,
        split.split,
        seed,
        evaluation.classes,
        evaluation.ids,
        evaluation.labels,
        evaluation.probabilities.astype(np.float32),
        pooled,
        heads,
    )


def trace_of_text(model: Model, text: str, pair: str | None = None) -> Trace:
    """Return the trace of a sentence with its maps and without hidden states, which use the most memory."""
    return model.trace(text, pair).replace(hidden=None, pooled=None)


def names(run: Run) -> list[str]:
    """Return the names of the files that `files` returns for a run.

    Raises:
        RunError: the run has no weights of single epochs.
    """
    if not run.epochs:
        raise RunError(f"{run.name} has no weights of single epochs. `{run.keeping}` trains a run that keeps them.")
    return [f"epochs/{epoch}.{what}.safetensors" for epoch in run.epochs for what in ("measured", "example")]


def files(
    run: Run, split: Split, example: tuple[str, str | None], *, rows: int = ROWS, seed: int = 0, progress: Progress | None = None
) -> Mapping[str, Callable[[Path], object]]:
    """Measure a run after every epoch with stored weights. Return the names of files, each with the function that writes it.

    Args:
        split: split from which the sample is drawn; use the validation split, so that the test split is not used during training.
        example: sentence to trace, and its second sentence for pairs.
        rows: rows of the sample.
        seed: seed of the sample.
    Raises:
        RunError: no weights are stored, or those of an epoch are missing or damaged.
    """
    drawn = sample(split, rows, seed)
    writers: list[Callable[[Path], object]] = []
    for done, epoch in enumerate(run.epochs):
        model = load(run, epoch=epoch)
        writers.append(measure_epoch(model, drawn, epoch=epoch, seed=seed, room=ROOM // len(run.epochs)).save)
        writers.append(trace_of_text(model, *example).save)
        if progress is not None:
            progress(done + 1, len(run.epochs))
    return dict(zip(names(run), writers, strict=True))


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

KINDS = ("learned again", "forgotten", "learned", "right throughout", "never right")
"""Kinds of rows by their course; the kinds with the most changes come first."""
PICTURES = {"joint": "one projection for all epochs", "aligned": "one projection per epoch, aligned with the epoch before"}


@dataclass(frozen=True, eq=False)
class EpochSeries:
    """Measurements of the same rows after each of E epochs."""

    measured: tuple[Measured, ...]  # measurements in the order of epochs
    problems: tuple[str, ...] = field(default=())  # a sentence for each epoch that is missing or damaged

    @property
    def epochs(self) -> tuple[int, ...]:
        """Numbers of the epochs, counted from 1."""
        return tuple(item.epoch for item in self.measured)

    @property
    def first(self) -> Measured:
        """First available epoch; its rows and classes are those of all epochs."""
        return self.measured[0]

    @cached_property
    def probabilities(self) -> Floats:
        """Class probabilities, (E, N, K) float64."""
        return np.stack([item.probabilities for item in self.measured]).astype(np.float64)

    @property
    def predicted(self) -> Ints:
        """Most probable class, (E, N)."""
        return np.asarray(self.probabilities.argmax(axis=2))

    @property
    def right(self) -> Bools:
        """True if the prediction is right, (E, N) bool."""
        return np.asarray(self.predicted == self.first.labels)

    @property
    def counts(self) -> Ints:
        """Confusion matrices, (E, K, K); rows = label, columns = prediction."""
        classes = len(self.first.classes)
        return np.stack([confusion(self.first.labels, predicted, classes) for predicted in self.predicted])

    @property
    def vectors(self) -> Floats:
        """Pooled vectors of the first m rows, (E, m, d) float64."""
        return np.stack([item.pooled for item in self.measured]).astype(np.float64)

    @property
    def heads(self) -> pd.DataFrame:
        """Frame of head measures: epoch, layer, head (-1 = mean over heads), measure, value, low, high, n."""
        return pd.concat([item.heads.assign(epoch=item.epoch) for item in self.measured], ignore_index=True)


@dataclass(frozen=True, eq=False)
class ForgettingEvents:
    """Learning and forgetting events of N rows; Toneva et al. 2019, "An empirical study of example forgetting", section 2.

    A row is forgotten if it is right after an epoch and wrong after the next. Toneva et al. evaluate training rows whenever a batch holds
    them; here, validation rows are evaluated after each epoch, so changes within an epoch are not counted.
    """

    learned: Ints  # (N,) position of the first epoch after which the row is right; -1 = never
    forgotten: Ints  # (N,) number of changes from right to wrong
    again: Ints  # (N,) number of changes to right after the row had been forgotten
    kinds: tuple[str, ...]  # (N,) values of `KINDS`


def events(right: npt.ArrayLike) -> ForgettingEvents:
    """Return learning and forgetting events.

    Args:
        right: whether each row is right after each epoch, (E, N) bool.
    """
    table = np.asarray(right, dtype=bool)
    if table.ndim != 2 or not len(table):
        raise InputError("Forgetting events need predictions after at least one epoch.")
    ever, always = table.any(axis=0), table.all(axis=0)
    lost, gained = table[:-1] & ~table[1:], ~table[:-1] & table[1:]
    forgotten = lost.sum(axis=0)
    again = gained.sum(axis=0) - (ever & ~table[0])  # The first change to right is learning.
    kinds = np.select(
        [~ever, always, forgotten == 0, table[-1]], ["never right", "right throughout", "learned", "learned again"], "forgotten"
    )
    return ForgettingEvents(np.where(ever, table.argmax(axis=0), -1), forgotten, again, tuple(kinds.tolist()))


def pictures(vectors: npt.ArrayLike, how: str = "joint") -> Floats:
    """Return the positions of the same rows after each epoch, (E, m, 2), from their vectors (E, m, d), by PCA.

    Args:
        how: value of `PICTURES`: "joint" = one projection for all epochs, so that distances are comparable; "aligned" = one projection per
            epoch, rotated, moved and scaled onto the epoch before (`sentviz.analysis.embeddings.projection.align`).
    """
    x = np.asarray(vectors, dtype=np.float64)
    if how not in PICTURES:
        raise InputError(f"The projection of epochs is {' or '.join(PICTURES)}, not {how!r}.")
    if how == "joint":
        return project(x.reshape(-1, x.shape[-1])).raw.reshape(*x.shape[:2], 2)
    placed = [project(x[0]).raw]
    for rows in x[1:]:
        raw = project(rows).raw
        placed.append(align(raw, placed[-1])(raw))
    return np.stack(placed)


def missing(run: Run) -> str:
    """Return why a run has no measured epochs, with the command that measures them; "" if it has some."""
    if run.measured:
        return ""
    if run.epochs:
        return f"The epochs of {run.name} are not measured yet: `sentviz epochs {run.name}` measures them."
    return f"{run.name} was trained without keeping the weights of each epoch. `{run.keeping}` trains a run that keeps and measures them."


def epoch_series(run: Run) -> EpochSeries:
    """Return the measured epochs of a run. An epoch whose file is missing or damaged is left out and named in `problems`.

    Raises:
        RunError: no epoch was measured, or no file can be read.
    """
    if why := missing(run):
        raise RunError(why)
    loaded: list[Measured] = []
    problems: list[str] = []
    for epoch in run.measured:
        try:
            item = Measured.load(run.path(f"epochs/{epoch}.measured.safetensors"))
            if loaded and (item.ids != loaded[0].ids or item.classes != loaded[0].classes or len(item.pooled) != len(loaded[0].pooled)):
                raise RunError(
                    f"{run.name}: epoch {epoch} was measured on other rows. `sentviz epochs {run.name}` measures all epochs again."
                )
            loaded.append(item)
        except RunError as error:
            problems.append(str(error))
    if not loaded:
        raise RunError(problems[0])
    return EpochSeries(tuple(loaded), tuple(problems))


def examples(run: Run) -> tuple[dict[int, Trace], tuple[str, ...]]:
    """Return the stored trace of the run's example after each measured epoch, and a sentence for each missing or damaged one.

    All probabilities are at the run's temperature, so that the last epoch agrees with the run.
    """
    return _each(run.measured, lambda epoch: Trace.load(run.path(f"epochs/{epoch}.example.safetensors")).calibrated(run.calibration))


def source_in_words(run: Run, seen: EpochSeries) -> str:
    """Return the run, the rows and the epochs of a series, and what it means that a row is forgotten."""
    return (
        f"{run.name} (seed {run.config['recipe']['seed']}, digest {run.digest}); {len(seen.first.ids):,} rows of {seen.first.split}, "
        f"drawn with seed {seen.first.seed}, predicted after epochs {', '.join(map(str, seen.epochs))}. "
        "A row is forgotten if it is right after one epoch and wrong after the next (Toneva et al. 2019)."
    )


def asked_of(
    run: Run, text: str, pair: str | None = None, model: Callable[[int], Model] | None = None
) -> tuple[dict[int, Trace], tuple[str, ...]]:
    """Trace a sentence with the weights of each stored epoch; the result is like that of `examples`.

    Args:
        model: returns the model of an epoch; by default it is loaded.
    """
    from sentviz.models.loading import load

    if not run.epochs:
        return {}, (
            f"{run.name} ships without the weights of its epochs, so its example is shown. `{run.keeping}` trains a run that keeps them.",
        )
    at = model or (lambda epoch: load(run, epoch=epoch))
    return _each(run.epochs, lambda epoch: trace_of_text(at(epoch), text, pair))


def _each(epochs: tuple[int, ...], trace: Callable[[int], Trace]) -> tuple[dict[int, Trace], tuple[str, ...]]:
    traces: dict[int, Trace] = {}
    problems: list[str] = []
    for epoch in epochs:
        try:
            traces[epoch] = trace(epoch)
        except RunError as error:
            problems.append(str(error))
    return traces, tuple(problems)
