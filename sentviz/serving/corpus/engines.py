"""Backends for corpus scoring: this process, several processes, or Ray. All write the same bytes.

Ray runs on this machine or on a cluster whose machines share the files (extra: ray). Only ranges and numbers of written rows travel: each
process loads the model once, reads the rows and writes the parts. A part is written completely or not at all, so a range that is repeated
after a crash replaces only its own part.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sentviz.errors import InputError, SentvizError
from sentviz.io.files import hold
from sentviz.io.lazy import torch
from sentviz.runs.store import Run
from sentviz.serving.corpus.answers import Scorer
from sentviz.serving.corpus.inputs import Source, survey_files
from sentviz.serving.corpus.output import OutputOptions, Scored, ScoringJob, Task, prepare, remove_unfinished

RowsDone = Callable[[int], object]  # called with the number of rows of each part that was written
ENGINES = ("process", "ray")
MAX_CRASHES = 3  # worker crashes allowed in a row, without a finished part between them
CRASHES = "The workers crash repeatedly. Use fewer --workers if the memory is full."

_scorer: Scorer | None = None  # scorer of this worker process


def score(
    run: Run,
    files: Sequence[str | Path],
    out: str | Path,
    *,
    text: str = "",
    pair: str = "",
    label: str = "",
    encoding: str = "",
    rows: int = 20_000,
    **settings: Any,
) -> Scored:
    """Predict every row of some files, or continue with the rows that are missing.

    Args:
        files: files, folders or patterns, in any format of `sentviz.data.formats`.
        text, pair, label, encoding, rows: as for `sentviz.serving.corpus.inputs.survey`.
        out, settings: as for `score_sources`.
    Raises:
        InputError, RunError: as `score_sources`, or files cannot be read.
    """
    _check(run, **settings)
    return score_sources(run, survey_files(files, text=text, pair=pair, label=label, encoding=encoding, rows=rows), out, **settings)


def _check(run: Run, *, options: OutputOptions | None = None, engine: str = "process", **_: Any) -> None:
    """Check what can be checked before files are read."""
    if engine not in ENGINES:
        raise InputError(f"There is no engine {engine!r}. The engines are {' and '.join(ENGINES)}.")
    if not run.has_weights:
        raise InputError(f"{run.name} is stored without weights, so it cannot make predictions.")
    if options is not None and options.attention and not run.capabilities.maps:
        raise InputError(f"{run.name} has no attention heads to measure. Remove --attention.")


def score_sources(
    run: Run,
    sources: Sequence[Source],
    out: str | Path,
    *,
    options: OutputOptions | None = None,
    engine: str = "process",
    workers: int = 1,
    address: str = "",
    progress: Callable[[int, int], object] | None = None,
) -> Scored:
    """Predict every row of some surveyed files, or continue with the rows that are missing.

    Args:
        out: folder to write.
        options: optional outputs for each row.
        engine: "process" or "ray".
        workers: number of models that run in parallel, each in one thread.
        address: address of a Ray cluster; "" = this machine.
        progress: called with the number of finished rows and of all rows.
    Raises:
        RunError: the run has no weights, or is damaged.
    """
    _check(run, options=options, engine=engine)
    options, out = options or OutputOptions(), Path(out)
    job = ScoringJob(run, tuple(sources), options, out)
    total = sum(source.rows for source in sources)
    if not total:
        raise InputError("These files have no row to score.")
    out.absolute().parent.mkdir(parents=True, exist_ok=True)
    with hold(out.absolute()) as mine:
        if not mine:
            raise InputError(f"Another process is writing {out}. Wait until it ends, or choose another name.")
        left = prepare(job)
        done = total - sum(sources[file].pieces[piece].rows for file, piece in left)

        def rows_done(more: int) -> None:
            nonlocal done
            done += more
            if progress is not None:
                progress(done, total)

        rows_done(0)
        try:
            if left and engine == "ray":
                score_on_ray(job, left, workers, address, rows_done)
            elif left and workers > 1:
                score_in_processes(job, left, workers, rows_done)
            elif left:
                _in_this_process(job, left, rows_done)
        finally:
            remove_unfinished(out)
    return Scored(out)


def _in_this_process(job: ScoringJob, tasks: Sequence[Task], done: RowsDone) -> None:
    threads = torch.get_num_threads()
    try:
        scorer = Scorer(job, job.run.digest)
        for task in tasks:
            done(scorer(task))
    finally:
        torch.set_num_threads(threads)


def score_in_processes(job: ScoringJob, tasks: Sequence[Task], workers: int, done: RowsDone) -> None:
    """Score ranges in separate processes. If a worker crashes, a new one scores its ranges again.

    Raises:
        SentvizError: the error of a worker, or workers crash repeatedly.
    """
    left, lost = list(tasks), 0
    before = set(multiprocessing.active_children())
    while left:
        pool = ProcessPoolExecutor(
            min(workers, len(left)), multiprocessing.get_context("spawn"), initializer=_start_worker, initargs=(job, job.run.digest)
        )
        try:
            futures = {pool.submit(_score_range, task): task for task in left}
            for future in as_completed(futures):
                done(future.result())
                left.remove(futures[future])
                lost = 0
        except BrokenProcessPool as error:
            lost += 1
            if lost > MAX_CRASHES:
                raise SentvizError(CRASHES) from error
        except BaseException:
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _start_worker(job: ScoringJob, digest: str) -> None:
    """Make this process a worker: load the model, ignore Ctrl-C, and end when the parent process ends."""
    global _scorer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()
    _scorer = Scorer(job, digest)


def _exit_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _score_range(task: Task) -> int:
    assert _scorer is not None
    return _scorer(task)


def _score_on_ray(job: ScoringJob, digest: str, task: Task) -> int:
    """Score a range in a process of Ray, which loads the model for its first range."""
    global _scorer
    _scorer = _scorer or Scorer(job, digest)
    return _scorer(task)


def score_on_ray(job: ScoringJob, tasks: Sequence[Task], workers: int, address: str, done: RowsDone) -> None:
    """Score `workers` ranges at a time with Ray, on this machine or on a cluster. Ray repeats a range whose process is lost.

    Raises:
        SentvizError: the error of a worker, or workers crash repeatedly.
    """
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
        shared, score_range = ray.put(job), ray.remote(num_cpus=1, max_retries=MAX_CRASHES)(_score_on_ray)
        left, running = iter(tasks), list[Any]()
        while True:
            running += [score_range.remote(shared, job.run.digest, task) for task in islice(left, workers - len(running))]
            if not running:
                break
            finished, running = ray.wait(running)
            done(ray.get(finished[0]))
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise SentvizError(CRASHES) from error
    finally:
        ray.shutdown()
