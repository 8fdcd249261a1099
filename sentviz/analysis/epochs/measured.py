"""What is measured after an epoch: answers to a fixed sample of rows, pooled vectors, heads, and the trace of the run's example.

The sample is drawn once by seed and is the same after every epoch; ids and labels are stored, texts never. Two files an epoch:
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
from sentviz.errors import RunError
from sentviz.models.loading import load

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.data.datasets import Split
    from sentviz.models.model import Model, Progress
    from sentviz.runs.store import Run
    from sentviz.runs.trace import Trace

ROWS = 400
ROOM = 600_000  # bytes that the pooled vectors of all epochs may take together
HEADS = ("value", "low", "high")
COLUMNS = ["layer", "head", "measure", *HEADS, "n"]


@dataclass(frozen=True, eq=False)
class Measured:
    """A sample of rows after one epoch."""

    epoch: int  # counted from 1
    split: str
    seed: int  # of the sample
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
        """What is measured of heads."""
        return tuple(dict.fromkeys(self.heads["measure"]))

    @classmethod
    def load(cls, path: Path) -> Measured:
        """Read what `save` wrote.

        Raises:
            RunError: it is something else.
        """
        import pandas as pd
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                meta = json.loads((file.metadata() or {})["measured"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - safe_open is no mapping
            heads = pd.DataFrame({name: arrays.pop(f"heads.{name}") for name in COLUMNS})
            names = meta.pop("measures")
            heads["measure"] = [names[k] for k in heads["measure"]]
            fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in meta.items()} | arrays
            found = cls(**fields, heads=heads)
        except (OSError, SafetensorError, KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
            raise RunError(f"{path.name} does not hold what was measured after an epoch ({error}).") from error
        shapes = found.probabilities.shape == (len(found.ids), len(found.classes)) and found.labels.shape == (len(found.ids),)
        if not shapes or found.pooled.ndim != 2 or len(found.pooled) > len(found.ids):
            raise RunError(f"{path.name} does not hold an answer for each of its rows.")
        return found


def sample(split: Split, rows: int, seed: int) -> Split:
    """That many rows of a split, drawn by seed, in the order drawn; all of a smaller split."""
    drawn = np.random.default_rng(seed).permutation(len(split))[:rows]
    return replace(split, frame=split.frame.iloc[drawn].reset_index(drop=True))


def measure(model: Model, split: Split, *, epoch: int, seed: int = 0, room: int = ROOM) -> Measured:
    """Ask a model about the rows of a sample.

    Args:
        split: the sample, as `sample` draws it. epoch, seed: to be stored with it.
        room: bytes for pooled vectors in half precision; those of the first rows are kept.
    """
    import pandas as pd

    said = evaluate(model, split)
    heads = over_split(model, split.frame)[COLUMNS] if model.capabilities.maps else pd.DataFrame(columns=COLUMNS)
    pooled = said.pooled[: room // (2 * said.pooled.shape[1])].astype(np.float16)
    return Measured(epoch, split.split, seed, said.classes, said.ids, said.labels, said.probabilities.astype(np.float32), pooled, heads)


def asked(model: Model, text: str, pair: str | None = None) -> Trace:
    """The trace of a sentence with its maps and without states, which take the most room."""
    return model.trace(text, pair).replace(hidden=None, pooled=None)


def names(run: Run) -> list[str]:
    """The files that `files` gives of a run.

    Raises:
        RunError: it keeps no weights of single epochs.
    """
    if not run.epochs:
        raise RunError(f"{run.name} keeps no weights of single epochs; `{run.keeping}` trains one that does.")
    return [f"epochs/{epoch}.{what}.safetensors" for epoch in run.epochs for what in ("measured", "example")]


def files(
    run: Run, split: Split, example: tuple[str, str | None], *, rows: int = ROWS, seed: int = 0, progress: Progress | None = None
) -> Mapping[str, Callable[[Path], object]]:
    """Measure a run after every epoch whose weights it keeps: names of files, each with what writes it.

    Args:
        split: from which the sample is drawn; the validation split, so that the test split stays for the end.
        example: the sentence that is traced, of pairs with its second.
    Raises:
        RunError: no weights are kept, or those of an epoch are missing or damaged.
    """
    drawn = sample(split, rows, seed)
    made: list[Callable[[Path], object]] = []
    for done, epoch in enumerate(run.epochs):
        model = load(run, epoch=epoch)
        made.append(measure(model, drawn, epoch=epoch, seed=seed, room=ROOM // len(run.epochs)).save)
        made.append(asked(model, *example).save)
        if progress is not None:
            progress(done + 1, len(run.epochs))
    return dict(zip(names(run), made, strict=True))
