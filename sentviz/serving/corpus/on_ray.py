"""Ranges of rows scored by Ray Data, here or on a cluster whose machines see the same files (extra: ray).

What travels is which range is next and how many rows were written: the model is loaded once for each actor, rows are read and parts written
where they are scored, and the batches of a range are of like lengths. A part is written whole or not at all, so a range that Ray tries
again after an actor died replaces nothing but itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from sentviz.errors import InputError, SentvizError
from sentviz.serving.corpus.answers import Scorer
from sentviz.serving.corpus.output import Job, Task


class _Actor:
    """A model in a process of Ray's."""

    def __init__(self, job: Job, digest: str) -> None:
        self.scorer = Scorer(job, digest)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Score the ranges of a batch: their rows, and why one could not be scored."""
        rows, problems = [], []
        for task in zip(batch["file"].tolist(), batch["range"].tolist(), strict=True):
            try:
                rows.append(self.scorer(task))
                problems.append("")
            except SentvizError as error:
                rows.append(0)
                problems.append(str(error))
        return {"rows": rows, "problem": problems}


def on_ray(job: Job, tasks: Sequence[Task], workers: int, address: str, done: Callable[[int], object]) -> None:
    """Score ranges in so many actors, of this machine or of the cluster at an address.

    Raises:
        InputError: Ray is not installed or the cluster does not answer; as a worker raised it.
    """
    try:
        import ray
    except ImportError:
        raise InputError("The engine ray needs Ray: python -m pip install 'sentviz[ray]'.") from None
    how: dict[str, Any] = {"address": address} if address else {"address": "local", "num_cpus": workers, "include_dashboard": False}
    try:
        ray.init(**how, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # as many kinds as there are ways not to start
        raise InputError(f"Ray does not answer at {address or 'this machine'} ({str(error).splitlines()[0]}).") from error
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        ranges = ray.data.from_items([{"file": file, "range": piece} for file, piece in tasks], override_num_blocks=len(tasks))
        pool = ray.data.ActorPoolStrategy(size=min(workers, len(tasks)))
        scored = ranges.map_batches(_Actor, fn_constructor_args=(job, job.run.digest), batch_size=1, compute=pool, num_cpus=1)
        for row in scored.iter_rows():
            if row["problem"]:
                raise InputError(row["problem"])
            done(row["rows"])
    finally:
        ray.shutdown()
