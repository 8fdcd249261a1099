"""The course of a training run: what was measured after each epoch, together, and which rows were learned and forgotten on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.embeddings.projection import align, project
from sentviz.analysis.epochs.measured import Measured, asked
from sentviz.analysis.evaluation import confusion
from sentviz.errors import InputError, RunError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.models.model import Model
    from sentviz.runs.store import Run

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

KINDS = ("learned again", "forgotten", "learned", "right throughout", "never right")
"""What became of a row, those that changed most first."""
PICTURES = {"joint": "one projection for all epochs", "aligned": "each epoch's own, turned onto the one before"}


@dataclass(frozen=True, eq=False)
class Course:
    """The same rows after every epoch, E of them."""

    measured: tuple[Measured, ...]  # by epoch
    problems: tuple[str, ...] = field(default=())  # a sentence for each epoch that is missing or damaged

    @property
    def epochs(self) -> tuple[int, ...]:
        """Counted from 1."""
        return tuple(one.epoch for one in self.measured)

    @property
    def first(self) -> Measured:
        """The first epoch at hand: its rows and classes are those of all."""
        return self.measured[0]

    @cached_property
    def probabilities(self) -> Floats:
        """(E, N, K)."""
        return np.stack([one.probabilities for one in self.measured]).astype(np.float64)

    @property
    def said(self) -> Ints:
        """(E, N) the most probable class."""
        return np.asarray(self.probabilities.argmax(axis=2))

    @property
    def right(self) -> Bools:
        """(E, N)."""
        return np.asarray(self.said == self.first.labels)

    @property
    def counts(self) -> Ints:
        """(E, K, K) rows = label, columns = prediction."""
        classes = len(self.first.classes)
        return np.stack([confusion(self.first.labels, said, classes) for said in self.said])

    @property
    def vectors(self) -> Floats:
        """(E, m, d) pooled vectors of the first m rows."""
        return np.stack([one.pooled for one in self.measured]).astype(np.float64)

    @property
    def heads(self) -> pd.DataFrame:
        """epoch, layer, head (-1 = mean over heads), measure, value, low, high, n."""
        import pandas as pd

        return pd.concat([one.heads.assign(epoch=one.epoch) for one in self.measured], ignore_index=True)


@dataclass(frozen=True, eq=False)
class Events:
    """What became of N rows over E epochs; Toneva et al. 2019, "An empirical study of example forgetting", section 2.

    A row is forgotten where it is right after an epoch and wrong after the next one. Toneva et al. look at training rows whenever a batch
    holds them, and we at validation rows after each epoch: what happens in between is not seen.
    """

    learned: Ints  # (N,) place of the first epoch after which the row is right; -1 = never
    forgotten: Ints  # (N,) how often it turned from right to wrong
    again: Ints  # (N,) how often it turned right after it had been forgotten
    kinds: tuple[str, ...]  # (N,) of `KINDS`


def events(right: npt.ArrayLike) -> Events:
    """Learning and forgetting events of (E, N) whether each row is right after each epoch.

    Raises:
        InputError: no epoch.
    """
    table = np.asarray(right, dtype=bool)
    if table.ndim != 2 or not len(table):
        raise InputError("Forgetting needs rows that were asked after at least one epoch.")
    ever, always = table.any(axis=0), table.all(axis=0)
    lost, gained = table[:-1] & ~table[1:], ~table[:-1] & table[1:]
    forgotten = lost.sum(axis=0)
    again = gained.sum(axis=0) - (ever & ~table[0])  # the first time is learning
    kinds = np.select(
        [~ever, always, forgotten == 0, table[-1]], ["never right", "right throughout", "learned", "learned again"], "forgotten"
    )
    return Events(np.where(ever, table.argmax(axis=0), -1), forgotten, again, tuple(kinds.tolist()))


def pictures(vectors: npt.ArrayLike, how: str = "joint") -> Floats:
    """(E, m, 2) places of the same rows after each epoch, from their vectors (E, m, d), by PCA.

    Args:
        how: of `PICTURES`: "joint", on the principal axes of all epochs together, so that distances mean the same in every one; "aligned",
            each epoch on its own axes, turned, moved and scaled onto the epoch before (`sentviz.analysis.embeddings.projection.align`).
    Raises:
        InputError: another way, or vectors without numbers.
    """
    x = np.asarray(vectors, dtype=np.float64)
    if how not in PICTURES:
        raise InputError(f"Pictures of epochs are {' or '.join(PICTURES)}, not {how!r}.")
    if how == "joint":
        return project(x.reshape(-1, x.shape[-1])).raw.reshape(*x.shape[:2], 2)
    found = [project(x[0]).raw]
    for rows in x[1:]:
        raw = project(rows).raw
        found.append(align(raw, found[-1])(raw))
    return np.stack(found)


def missing(run: Run) -> str:
    """Why a run has no course, with the command that makes one; empty where it has."""
    if run.measured:
        return ""
    if run.epochs:
        return f"The epochs of {run.name} are not measured yet: `sentviz epochs {run.name}` measures them."
    return f"The weights of single epochs of {run.name} were not kept: `{run.keeping}` trains one that keeps and measures them."


def course(run: Run) -> Course:
    """What was measured of a run after its epochs; an epoch whose file is missing or damaged is left out and named.

    Raises:
        RunError: nothing was measured, or nothing of it can be read.
    """
    if why := missing(run):
        raise RunError(why)
    found: list[Measured] = []
    problems: list[str] = []
    for epoch in run.measured:
        try:
            one = Measured.load(run.path(f"epochs/{epoch}.measured.safetensors"))
            if found and (one.ids != found[0].ids or one.classes != found[0].classes or len(one.pooled) != len(found[0].pooled)):
                raise RunError(f"{run.name}: epoch {epoch} was measured on other rows; `sentviz epochs {run.name}` measures all anew.")
            found.append(one)
        except RunError as error:
            problems.append(str(error))
    if not found:
        raise RunError(problems[0])
    return Course(tuple(found), tuple(problems))


def examples(run: Run) -> tuple[dict[int, Trace], tuple[str, ...]]:
    """The stored trace of the run's example after each measured epoch, and a sentence for each that is missing or damaged."""
    return _each(run.measured, lambda epoch: Trace.load(run.path(f"epochs/{epoch}.example.safetensors")))


def asked_of(
    run: Run, text: str, pair: str | None = None, model: Callable[[int], Model] | None = None
) -> tuple[dict[int, Trace], tuple[str, ...]]:
    """A sentence asked of the run with the weights after each epoch that it keeps, as `examples`.

    Args:
        model: the model after an epoch, where one is at hand; loaded unless given.
    Raises:
        InputError: a text that cannot be read.
    """
    from sentviz.models.loading import load

    if not run.epochs:
        return {}, (
            f"{run.name} ships without the weights of its epochs: its example is shown. `{run.keeping}` trains one that keeps them.",
        )
    at = model or (lambda epoch: load(run, epoch=epoch))
    return _each(run.epochs, lambda epoch: asked(at(epoch), text, pair))


def _each(epochs: tuple[int, ...], trace: Callable[[int], Trace]) -> tuple[dict[int, Trace], tuple[str, ...]]:
    found: dict[int, Trace] = {}
    problems: list[str] = []
    for epoch in epochs:
        try:
            found[epoch] = trace(epoch)
        except RunError as error:
            problems.append(str(error))
    return found, tuple(problems)
