"""Comparison of the configurations of studies over their seeds, from stored predictions (`sentviz.analysis.seeds`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sentviz.analysis.evaluation import why_not_learned
from sentviz.analysis.seeds import SeedComparison, SeedNoise, compare_correctness, pooled_noise
from sentviz.errors import InputError
from sentviz.papers.studies.stats import aligned
from sentviz.runs.store import Run


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
