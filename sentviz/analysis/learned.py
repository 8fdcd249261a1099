"""Runs that did not learn: they are not more often right than always predicting the most frequent class, so they settle no claim."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sentviz.analysis.evaluation import wilson
from sentviz.errors import RunError
from sentviz.runs.store import Run


def why_not_learned(run: Run) -> str:
    """Return the numbers that show that a run did not learn; "" if it learned, or if its metrics cannot be read.

    A run learned if the 95 % Wilson interval of its accuracy lies above the share of the most frequent class of the same rows. These are
    the validation rows, or the test rows if the run stores no confusion matrix of the validation rows.
    """
    try:
        metrics = run.metrics()
    except RunError:
        return ""
    split = "validation" if "confusion" in metrics.get("validation", {}) else "test"
    if split not in metrics:  # a model without test rows
        return ""
    counts = np.array(metrics[split]["confusion"])
    right, n, most = np.trace(counts), counts.sum(), counts.sum(axis=1).max()
    low, high = map(float, wilson(right, n))
    if low > most / n:
        return ""
    return f"{run.name} {right / n:.1%} [{low:.1%}, {high:.1%}] on {split} (most frequent class {most / n:.1%})"


def not_learned(runs: Iterable[Run]) -> dict[str, str]:
    """Return `why_not_learned` of the runs that did not learn, by name."""
    return {run.name: why for run in runs if (why := why_not_learned(run))}


def not_learned_in_words(runs: Iterable[Run]) -> str:
    """Return which runs did not learn, with their learning rates and numbers; "" if all learned."""
    every = list(runs)
    failed = not_learned(every)
    rates = {run.config["recipe"].get("learning_rate") for run in every if run.name in failed} - {None}
    trained = f" at learning rate {' or '.join(f'{rate:g}' for rate in sorted(rates))}" if rates else ""
    return f"the run{'s' * (len(failed) > 1)} did not learn{trained}: {', '.join(failed.values())}" if failed else ""


def not_learned_sentence(runs: Iterable[Run]) -> str:
    """Return `not_learned_in_words` as a sentence."""
    words = not_learned_in_words(runs)
    return words and f"{words[0].upper()}{words[1:]}."
