"""Shipped runs without weights can be checked by training them again: do they give the answers that are stored?"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sentviz.errors import InputError, RunError
from sentviz.io.lazy import pd
from sentviz.papers.studies.by_configuration import configurations
from sentviz.papers.studies.timing import threads
from sentviz.runs.registry import studies
from sentviz.runs.store import Run
from sentviz.training.recipe import Recipe


@dataclass(frozen=True)
class Checked:
    """A run's stored answers beside those of the same recipe trained again, over every split it was tested on."""

    name: str
    n: int  # rows
    differ: int  # rows with another answer
    largest: float  # difference of a probability


def drawn(runs: Iterable[Run], study: str, dataset: str, count: int, *, seed: int = 0, models: Sequence[str] = ()) -> list[Run]:
    """Some of a study's runs without weights, drawn at random.

    Args:
        models: presets in place of the study's own.
    """
    if count < 1:
        raise InputError("A check needs at least one run.")
    _, planned = studies()[study]
    names = [f"{model}-{variant}" if variant else model for model in models or planned.models for variant in planned.variants]
    able = [run for seeds in configurations(runs, dataset, names).values() for run in seeds if not run.has_weights]
    if not able:
        raise InputError(f"The study {study} on {dataset} has no installed run without weights. Only such runs need this check.")
    return random.Random(seed).sample(able, min(count, len(able)))


def checked(run: Run, out: Path) -> Checked:
    """Train a run's own recipe again, in a folder, with one thread as it was, and compare.

    Raises:
        SentvizError: it cannot be trained here, or the two were tested on other rows.
    """
    from sentviz.training import train

    with threads(1):
        return beside(run, train(Recipe.of(run.config["recipe"]), out, progress=False))


def beside(stored: Run, fresh: Run) -> Checked:
    """The answers of two runs, row by row.

    Raises:
        RunError: they were tested on other rows, or have other classes.
    """
    if stored.labels != fresh.labels:
        raise RunError(f"{stored.name} has other classes than its recipe on this machine.")
    stored_shares, fresh_shares = (_answers(run) for run in (stored, fresh))
    if not stored_shares.index.sort_values().equals(fresh_shares.index.sort_values()):
        raise RunError(f"{stored.name} was tested on other rows than its recipe on this machine.")
    a, b = stored_shares.to_numpy(float), fresh_shares.loc[stored_shares.index].to_numpy(float)
    return Checked(stored.name, len(a), int((a.argmax(axis=1) != b.argmax(axis=1)).sum()), float(abs(a - b).max()))


def _answers(run: Run) -> pd.DataFrame:
    """Probabilities by split and id."""
    return run.frame("test.parquet").set_index(["split", "id"])[list(run.labels)]
