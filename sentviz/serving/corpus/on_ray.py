"""Score ranges of rows with Ray Data, on this machine or on a cluster whose machines share the files (extra: ray).

Ray transfers only the ranges and the numbers of written rows: each actor loads the model once, reads the rows and writes the parts. A part
is written completely or not at all, so a range that Ray repeats after a crash replaces only its own part.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from sentviz.errors import InputError, SentvizError
from sentviz.serving.corpus.answers import Scorer
from sentviz.serving.corpus.output import ScoringJob, Task


class _Actor:
    """A model in a Ray process."""

    def __init__(self, job: ScoringJob, digest: str) -> None:
        self.scorer = Scorer(job, digest)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Score the ranges of a batch. Return the number of rows of each, and the error if it could not be scored."""
        rows, problems = [], []
        for task in zip(batch["file"].tolist(), batch["range"].tolist(), strict=True):
            try:
                rows.append(self.scorer(task))
                problems.append("")
            except SentvizError as error:
                rows.append(0)
                problems.append(str(error))
        return {"rows": rows, "problem": problems}


def score_on_ray(job: ScoringJob, tasks: Sequence[Task], workers: int, address: str, rows_done: Callable[[int], object]) -> None:
    """Score ranges with `workers` actors, on this machine or on the cluster at an address."""
    try:
        import ray
    except ImportError:
        raise InputError("The engine ray needs Ray: python -m pip install 'sentviz[ray]'.") from None
    settings: dict[str, Any] = {"address": address} if address else {"address": "local", "num_cpus": workers, "include_dashboard": False}
    try:
        ray.init(**settings, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray raises many kinds of errors if it cannot start.
        raise InputError(f"Ray does not start at {address or 'this machine'} ({str(error).splitlines()[0]}).") from error
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        ranges = ray.data.from_items([{"file": file, "range": piece} for file, piece in tasks], override_num_blocks=len(tasks))
        pool = ray.data.ActorPoolStrategy(size=min(workers, len(tasks)))
        scored = ranges.map_batches(_Actor, fn_constructor_args=(job, job.run.digest), batch_size=1, compute=pool, num_cpus=1)
        for row in scored.iter_rows():
            if row["problem"]:
                raise InputError(row["problem"])
            rows_done(row["rows"])
    finally:
        ray.shutdown()
