"""Runs compared on the rows they were tested on: two runs, many comparisons at once, and a verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from sentviz.analysis.evaluation import RESAMPLES
from sentviz.analysis.testset.operating import Paired, agreement
from sentviz.errors import InputError, RunError
from sentviz.runs.store import Run

Bools = npt.NDArray[np.bool_]


def right(run: Run, split: str = "test") -> pd.Series[bool]:
    """Whether each row of a split was answered correctly; index: the row's id, in the run's order.

    Raises:
        InputError: the run was not tested on the split.
        RunError: its predictions are missing or damaged.
    """
    return _answers(run, split)["right"]


def paired(a: Run, b: Run, split: str = "test", *, seed: int = 0, resamples: int = RESAMPLES) -> Paired:
    """Two runs on the same rows, in whatever order each has them, as `agreement` compares them.

    Raises:
        InputError: the runs were not tested on the same rows, or not on the split.
        RunError: predictions are missing or damaged.
    """
    return agreement(*aligned([a, b], split).T, seed=seed, resamples=resamples)


def _answers(run: Run, split: str) -> pd.DataFrame:
    """label and right, by id."""
    frame = run.frame("test.parquet")
    frame = frame[frame["split"] == split].set_index("id")
    if frame.empty:
        raise InputError(f"{run.name} was not tested on {split!r}.")
    if not frame.index.is_unique:
        raise RunError(f"{run.name}: test.parquet has rows of {split} twice.")
    predicted = frame[list(run.labels)].to_numpy().argmax(axis=1)
    return frame[["label"]].assign(right=frame["label"].to_numpy() == predicted)


@lru_cache(maxsize=1024)
def _kept(run: Run, digest: str, split: str) -> tuple[bytes, Bools]:
    """A name for the rows, ids and labels in their order, and whether each was answered correctly; read once for what `digest` names."""
    answers = _answers(run, split)
    named = "\n".join(answers.index.astype(str).to_numpy(object)).encode() + answers["label"].to_numpy(np.int64).tobytes()
    right = answers["right"].to_numpy(bool, copy=True)
    right.setflags(write=False)
    return hashlib.blake2b(named, digest_size=16).digest(), right


def aligned(runs: Sequence[Run], split: str) -> Bools:
    """(N, runs) whether a row was answered correctly; rows in the order of the first run.

    Raises:
        InputError: the runs were not tested on the same rows, or not on the split.
        RunError: predictions are missing or damaged.
    """
    kept = [_kept(run, run.digest, split) for run in runs]
    if len({rows for rows, _ in kept}) == 1:
        return np.stack([right for _, right in kept], axis=1)
    first, *others = (_answers(run, split) for run in runs)
    columns = [first["right"].to_numpy(bool)]
    for run, answers in zip(runs[1:], others, strict=True):
        if (found := in_order(first, answers)) is None:
            raise InputError(f"{runs[0].name} and {run.name} were not tested on the same rows of {split}.")
        columns.append(found["right"].to_numpy(bool))
    return np.stack(columns, axis=1)


def in_order(first: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame | None:
    """Another run's rows (index: id; a column label) in the order of the first's; None unless both hold the same rows and labels."""
    if not other.index.equals(first.index):
        if len(other) != len(first) or not first.index.isin(other.index).all():
            return None
        other = other.reindex(first.index)
    return other if (other["label"].to_numpy() == first["label"].to_numpy()).all() else None
