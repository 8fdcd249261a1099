"""Who computes: this process, several of them, or Ray (`sentviz.serving.corpus.on_ray`). All write the same parts."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from pathlib import Path

from sentviz.errors import InputError, SentvizError
from sentviz.io.files import hold
from sentviz.runs.store import Run
from sentviz.serving.corpus.answers import Scorer
from sentviz.serving.corpus.inputs import found, survey
from sentviz.serving.corpus.output import Job, Scored, Task, Wishes, prepared, swept

Done = Callable[[int], object]  # gets the rows of each part that is written
ENGINES = ("process", "ray")
PATIENCE = 3  # times that workers may die without a part between

_scorer: Scorer | None = None  # of a worker process


def score(
    run: Run,
    files: Sequence[str | Path],
    out: str | Path,
    *,
    text: str = "",
    pair: str = "",
    label: str = "",
    encoding: str = "utf-8-sig",
    wishes: Wishes | None = None,
    rows: int = 20_000,
    engine: str = "process",
    workers: int = 1,
    address: str = "",
    progress: Callable[[int, int], object] | None = None,
) -> Scored:
    """Answer every row of some files; where that was begun, go on.

    Args:
        files: files, folders or patterns: csv, tsv, parquet, jsonl, txt.
        out: the folder to write.
        text, pair, label, encoding: as for `sentviz.serving.corpus.inputs.survey`.
        rows: of each part.
        engine: "process" or "ray". workers: how many models answer at a time, each in one thread.
        address: of a Ray cluster; "" = this machine.
        progress: gets rows done and all rows.
    Raises:
        InputError: files that cannot be read, an output of anything else, or one that another process is writing.
        RunError: the run has no weights, or is damaged.
    """
    if engine not in ENGINES:
        raise InputError(f"There is no engine {engine!r}; there are {' and '.join(ENGINES)}.")
    if not run.has_weights:
        raise InputError(f"{run.name} ships without weights, so it cannot be asked.")
    wishes, out = wishes or Wishes(), Path(out)
    if wishes.attention and not run.capabilities.maps:
        raise InputError(f"{run.name} has no attention: there are no heads to measure.")
    sources = tuple(
        survey(name, path, text=text, pair=pair, label=label, encoding=encoding, rows=rows) for name, path in found(files).items()
    )
    job = Job(run, sources, wishes, out)
    total = sum(source.rows for source in sources)
    if not total:
        raise InputError("There is no row to score in these files.")
    out.absolute().parent.mkdir(parents=True, exist_ok=True)
    with hold(out.absolute()) as mine:
        if not mine:
            raise InputError(f"Another process is writing {out}.")
        left = prepared(job)
        done = total - sum(sources[file].pieces[piece].rows for file, piece in left)

        def tick(more: int) -> None:
            nonlocal done
            done += more
            if progress is not None:
                progress(done, total)

        tick(0)
        try:
            if left and engine == "ray":
                from sentviz.serving.corpus.on_ray import on_ray

                on_ray(job, left, workers, address, tick)
            elif left and workers > 1:
                in_processes(job, left, workers, tick)
            elif left:
                _here(job, left, tick)
        finally:
            swept(out)
    return Scored(out)


def _here(job: Job, tasks: Sequence[Task], done: Done) -> None:
    import torch

    threads = torch.get_num_threads()
    try:
        scorer = Scorer(job, job.run.digest)
        for task in tasks:
            done(scorer(task))
    finally:
        torch.set_num_threads(threads)


def in_processes(job: Job, tasks: Sequence[Task], workers: int, done: Done) -> None:
    """Score ranges in processes of their own. What a worker was at when it died is done again by another.

    Raises:
        SentvizError: as a worker raised it, or workers die again and again.
    """
    left, lost = list(tasks), 0
    before = set(multiprocessing.active_children())
    while left:
        pool = ProcessPoolExecutor(
            min(workers, len(left)), multiprocessing.get_context("spawn"), initializer=_begin, initargs=(job, job.run.digest)
        )
        try:
            futures = {pool.submit(_one, task): task for task in left}
            for future in as_completed(futures):
                done(future.result())
                left.remove(futures[future])
                lost = 0
        except BrokenProcessPool as error:
            lost += 1
            if lost > PATIENCE:
                raise SentvizError("Workers end again and again without a part between: is there memory for as many?") from error
        except BaseException:
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(job: Job, digest: str) -> None:
    """Make this process a worker: it loads the model, leaves Ctrl-C to its parent and ends with it."""
    global _scorer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _scorer = Scorer(job, digest)


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _one(task: Task) -> int:
    assert _scorer is not None
    return _scorer(task)
