"""Timing for studies: candidates in turn within one process, ratios with intervals, and the machine that was measured."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from sentviz.analysis.evaluation import Floats, bounds
from sentviz.io.lazy import pd, torch


def interleaved(
    candidates: Mapping[str, Callable[[], object]], rounds: int, *, seed: int = 0, clock: Callable[[], float] = time.thread_time
) -> dict[str, Floats]:
    """Return the seconds of each candidate, (rounds,). A round runs all candidates in random order, after one warm-up each.

    Args:
        clock: returns seconds; by default the processor time of this thread, which other processes disturb less than wall time.
    """
    rng, names = np.random.default_rng(seed), list(candidates)
    for run in candidates.values():
        run()
    seconds = {name: np.empty(rounds) for name in names}
    for i in range(rounds):
        for name in (names[j] for j in rng.permutation(len(names))):
            start = clock()
            candidates[name]()
            seconds[name][i] = clock() - start
    return seconds


def median(values: Floats, seed: int = 0) -> tuple[float, float, float]:
    """Return the median of the rounds, (rounds,), with a 95 % bootstrap interval over them."""
    rng = np.random.default_rng(seed)
    draws = np.median(values[rng.integers(0, len(values), size=(2_000, len(values)))], axis=1)
    return float(np.median(values)), *bounds(draws)


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Set the number of torch's threads while the block runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def hardware() -> str:
    """Return the processor's name as the system gives it, and its number of cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())
    return f"{name or platform.machine()}, {os.cpu_count()} cores"


TEXTS = ("dataset", "model", "of", "note", "hardware", "torch")  # columns of timing tables that hold texts


def with_machine(frame: pd.DataFrame) -> pd.DataFrame:
    """Return measured rows with the machine and the version of torch."""
    return frame.assign(hardware=hardware(), torch=torch.__version__)
