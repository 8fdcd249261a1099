"""Interleaved timing, so that what disturbs one candidate disturbs the others as well."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

from sentviz.papers.studies.timing import interleaved


def ratios(
    candidates: Mapping[str, Callable[[], object]], *, rounds: int = 15, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Median seconds of each candidate over rounds that run all of them in turn, after one warm-up each."""
    seconds = interleaved(candidates, rounds, clock=clock)
    return {name: statistics.median(values.tolist()) for name, values in seconds.items()}


def say(title: str, seconds: Mapping[str, float], *bases: str) -> None:
    """One line a candidate: milliseconds, and its ratio to each base."""
    print(f"\n{title}")  # noqa: T201
    for name, value in seconds.items():
        beside = "  ".join(f"{value / seconds[base]:5.2f} x {base}" for base in bases)
        print(f"  {name:<28}{value * 1e3:>10.1f} ms  {beside}")  # noqa: T201
