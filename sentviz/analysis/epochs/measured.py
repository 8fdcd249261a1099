"""Measure a model after an epoch: predictions for a fixed sample of rows, pooled vectors, heads, and the trace of the run's example.

The sample is drawn once with a seed and is the same after every epoch. Ids and labels are stored, texts never. Each epoch has two files:
epochs/<number>.measured.safetensors and epochs/<number>.example.safetensors (`sentviz.runs.trace.Trace.save`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import evaluate
from sentviz.analysis.maps.heads import over_split
from sentviz.data.datasets import Split
from sentviz.errors import RunError
from sentviz.io.lazy import pd
from sentviz.models.loading import load
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model, Progress

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


def measure(model: Model, split: Split, *, epoch: int, seed: int = 0, room: int = ROOM) -> Measured:
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
        writers.append(measure(model, drawn, epoch=epoch, seed=seed, room=ROOM // len(run.epochs)).save)
        writers.append(trace_of_text(model, *example).save)
        if progress is not None:
            progress(done + 1, len(run.epochs))
    return dict(zip(names(run), writers, strict=True))
