"""Decide claims over several comparisons, differences or cases, join findings on parts, and name what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from typing import TypeVar

from sentviz.analysis.claim import LEVEL, Finding, Verdict, decide, equivalent, not_testable, p_of_margin, strictest_finding
from sentviz.errors import InputError
from sentviz.io.lazy import stats
from sentviz.papers.studies.compare_configurations import Comparison, corrected, seeded

Needed = TypeVar("Needed", bound=Sized)
NOT_INSTALLED = not_testable("the runs are not installed")
ONE_SEED = "one seed; other seeds are unknown"


def needed(value: Needed, missing: str = NOT_INSTALLED.evidence, *, least: int = 1) -> Needed:
    """Return what a test needs. If it has fewer than `least` parts, the claim, or this part of it, cannot be judged.

    Raises:
        InputError: something is missing; the test's finding says so (`sentviz.analysis.claim.tried`).
    """
    if len(value) < least:
        raise InputError(missing)
    return value


def seeds_in_words(number: int) -> str:
    """Return a number of seeds in words, and what one seed does not tell."""
    return f"{number} seeds" if number > 1 else ONE_SEED


def over_parts(parts: Mapping[str, Finding]) -> Finding:
    """Return the finding on all parts (`strictest_finding`); the only part keeps its own finding."""
    return strictest_finding(parts) if len(parts) > 1 else next(iter(parts.values()))


def every_better(
    adjusted: Iterable[float], words: Iterable[str], tests: Iterable[str], *, complete: bool = True
) -> tuple[Verdict, float | None]:
    """Return verdict and p of a claim that every comparison is better, from each comparison's adjusted p, its word and its test.

    A comparison that is worse refutes it. If some comparisons are missing, it cannot hold. It holds at the largest p, and fails at the
    smallest p of those that are worse; p is None if it is not decided.
    """
    results = list(zip(adjusted, words, strict=True))
    seen = {word for _, word in results}
    verdict = seeded(decide(seen == {"better"} and complete, "worse" in seen), tests)
    if verdict == "holds":
        return verdict, max(p for p, _ in results)
    return verdict, min((p for p, word in results if word == "worse"), default=None)


def all_better(comparisons: Mapping[str, Comparison], *, complete: bool = True) -> tuple[Verdict, float | None]:
    """Return `every_better` of comparisons, after Holm's correction over all of them."""
    results = corrected(comparisons)
    adjusted, words = [p for p, _ in results.values()], [word for _, word in results.values()]
    return every_better(adjusted, words, [pair.test for pair in comparisons.values()], complete=complete)


def inside_margin(
    ends: Iterable[tuple[float, float, float]], margin: float, *, coverage: float = 0.95
) -> tuple[list[bool | None], float | None]:
    """Return whether each difference is smaller than a margin (`equivalent`), and the p of the claim that all are.

    If some lie beyond the margin, this p is their smallest times the number of differences (Bonferroni), else the largest. It is None
    without any difference.

    Args:
        ends: value, low and high of each difference.
        coverage: of the intervals.
    """
    every = list(ends)
    inside = [equivalent(low, high, margin) for _, low, high in every]
    levels = [p_of_margin(value, low, high, margin, coverage=coverage) for value, low, high in every]
    beyond = [len(levels) * p for p, small in zip(levels, inside, strict=True) if small is False]
    return inside, min(1.0, min(beyond)) if beyond else max(levels, default=None)


def too_few(number: int) -> bool:
    """Return whether this number of cases is too small for `more_than_half`, whatever it counts."""
    return bool(stats.binomtest(0, number).pvalue > LEVEL)


def more_than_half(count: int, number: int) -> tuple[Verdict, float, tuple[float, float, float]]:
    """Test by the exact binomial test whether more than half of some cases are as claimed: verdict, p, and the share with its interval."""
    test = stats.binomtest(count, number)
    low, high = map(float, test.proportion_ci())
    clear = test.pvalue <= LEVEL
    verdict = decide(clear and 2 * count > number, clear and 2 * count < number)
    return verdict, float(test.pvalue), (count / number, low, high)
