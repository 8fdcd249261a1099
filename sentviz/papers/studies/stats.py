"""Correctness of runs row by row, and the comparison of two runs on the same test rows, or of configurations over seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import RESAMPLES, why_not_learned
from sentviz.analysis.seeds import SeedComparison, SeedNoise, compare_correctness, pooled_noise
from sentviz.analysis.testset.operating import Paired, agreement
from sentviz.errors import InputError, RunError
from sentviz.io.lazy import pd
from sentviz.runs.store import Run

Bools = npt.NDArray[np.bool_]


def right(run: Run, split: str = "test") -> pd.Series[bool]:
    """Return whether each row of a split was predicted correctly; index: the row's id, in the run's order.

    Raises:
        RunError: its predictions are missing or damaged.
    """
    return _answers(run, split)["right"]


def paired(a: Run, b: Run, split: str = "test", *, seed: int = 0, resamples: int = RESAMPLES) -> Paired:
    """Compare two runs on the same rows with `agreement`; each run may have the rows in any order.

    Raises:
        RunError: predictions are missing or damaged.
    """
    return agreement(*aligned([a, b], split).T, seed=seed, resamples=resamples)


def _answers(run: Run, split: str) -> pd.DataFrame:
    """Return the columns label and right by row id."""
    frame = run.frame("test.parquet")
    frame = frame[frame["split"] == split].set_index("id")
    if frame.empty:
        raise InputError(f"{run.name} was not tested on {split!r}.")
    if not frame.index.is_unique:
        raise RunError(f"{run.name}: test.parquet has rows of {split} twice.")
    predicted = frame[list(run.labels)].to_numpy().argmax(axis=1)
    return frame[["label"]].assign(right=frame["label"].to_numpy() == predicted)


@lru_cache(maxsize=1024)
def _correctness(run: Run, digest: str, split: str) -> tuple[bytes, Bools]:
    """Return a digest of ids and labels in their order, and whether each row was predicted correctly; cached by the run's digest."""
    answers = _answers(run, split)
    named = "\n".join(answers.index.astype(str).to_numpy(object)).encode() + answers["label"].to_numpy(np.int64).tobytes()
    right = answers["right"].to_numpy(bool, copy=True)
    right.setflags(write=False)
    return hashlib.blake2b(named, digest_size=16).digest(), right


def aligned(runs: Sequence[Run], split: str) -> Bools:
    """Return whether each run predicts each row correctly, (N rows, runs) bool; rows are in the order of the first run.

    Raises:
        RunError: predictions are missing or damaged.
    """
    columns = [_correctness(run, run.digest, split) for run in runs]
    if len({rows for rows, _ in columns}) == 1:
        return np.stack([right for _, right in columns], axis=1)
    first, *rest = (_answers(run, split) for run in runs)
    ordered = [first["right"].to_numpy(bool)]
    for run, answers in zip(runs[1:], rest, strict=True):
        if (same := in_order(first, answers)) is None:
            raise InputError(f"{runs[0].name} and {run.name} were not tested on the same rows of {split}.")
        ordered.append(same["right"].to_numpy(bool))
    return np.stack(ordered, axis=1)


def in_order(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame | None:
    """Return the rows of a second run (index: id; column: label) in the order of the first; None if rows or labels differ."""
    if not second.index.equals(first.index):
        if len(second) != len(first) or not first.index.isin(second.index).all():
            return None
        second = second.reindex(first.index)
    return second if (second["label"].to_numpy() == first["label"].to_numpy()).all() else None


def seed_noise(groups: Iterable[Sequence[Run]], split: str = "test") -> SeedNoise | None:
    """Return the seed noise, pooled over configurations; None if no configuration has two seeds.

    Pooling assumes that the noise is the same for every configuration: three seeds of one configuration tell little about it. Runs that
    did not learn are left out.

    Args:
        groups: for each configuration its runs, which differ in their seeds.
    """
    learned = [[run for run in runs if not why_not_learned(run)] for runs in groups]
    return pooled_noise([aligned(runs, split) for runs in learned if len(runs) > 1])


def compare_over_seeds(
    a: Sequence[Run], b: Sequence[Run], split: str = "test", noise: SeedNoise | None = None, *, level: float = 0.95
) -> SeedComparison:
    """Compare two models by the mean accuracy of their seeds, with a t interval and a t test for other rows and other seeds.

    See `sentviz.analysis.seeds.compare_correctness`; `noise` is by default estimated from the two models.

    Raises:
        RunError: predictions are missing or damaged.
    """
    for runs in (a, b):
        if not runs or len({run.folder.resolve() for run in runs}) < len(runs):
            raise InputError("Each side needs at least one run, and no run twice.")
    both = aligned([*a, *b], split)
    return compare_correctness(both[:, : len(a)], both[:, len(a) :], noise, level)
