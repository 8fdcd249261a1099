"""Where a figure of many runs comes from, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sentviz.figures.figure import Figure
from sentviz.runs import Run
from sentviz.testset.rows import OVER

__all__ = ["sourced"]

NAMED = 8  # runs that a caption names one by one


def sourced(figure: Figure, runs: Iterable[Run], split: str = "test") -> Figure:
    """The figure with where it comes from: each run where they are few, else how many, their seeds and one digest of them all."""
    import hashlib

    from sentviz.gallery import signed

    here = list({run.name: run for run in runs}.values())
    if not here:
        return figure
    if len(here) <= NAMED:
        return signed(figure, *here, split=split)
    seeds = sorted({run.config["recipe"]["seed"] for run in here})
    digest = hashlib.sha256("".join(sorted(run.digest for run in here)).encode()).hexdigest()[:12]
    sizes = sorted({run.metrics()[split]["n"] for run in here if split in run.metrics()})
    words = f"{len(here)} runs of {', '.join(dict.fromkeys(run.config['data']['name'] for run in here))}"
    rest = f"seeds {', '.join(map(str, seeds))}; {OVER.get(split, split)} n = {', '.join(f'{n:,}' for n in sizes)}; digest of all {digest}."
    return replace(figure, source=f"{words}; {rest}")
