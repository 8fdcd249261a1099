"""Runs of a study by configuration, and their metrics over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sentviz.io.lazy import pd
from sentviz.papers.studies.means import means
from sentviz.runs.presets import split
from sentviz.runs.registry import Paper
from sentviz.runs.store import Run

Configurations = Mapping[str, Sequence[Run]]  # preset -> its runs, seeds in order


def configurations(runs: Iterable[Run], dataset: str, models: Sequence[str]) -> dict[str, list[Run]]:
    """Return the runs of a data set by preset, in the order of `models`, seeds in order.

    A study names its runs `<data set>/<preset>`, with `-s1` for seed 1. Runs with other names are left out.
    """
    by_model: dict[str, list[Run]] = {}
    on_dataset = [run for run in runs if run.config["data"]["name"] == dataset]
    for model in models:
        by_seed = {run.config["recipe"]["seed"]: run for run in on_dataset if run.configuration == model and run.of_a_study}
        if by_seed:
            by_model[model] = [by_seed[seed] for seed in sorted(by_seed)]
    return by_model


def of_paper(paper: Paper, runs: Iterable[Run]) -> list[Run]:
    """Return the runs of a paper's studies; for a paper without studies, the runs of its presets."""
    available = list(runs)
    if not paper.studies:
        return [run for run in available if paper.preset(split(run.configuration)[0])]
    of_studies = [
        run
        for study in paper.studies.values()
        for dataset in study.datasets
        for seeds in configurations(available, dataset, study.models).values()
        for run in seeds
    ]
    return list({run.name: run for run in of_studies}.values())


def summary(by_model: Configurations, split: str = "test") -> pd.DataFrame:
    """Return a row per configuration and metric: model, metric, value, low, high, n, seeds (`sentviz.papers.studies.means`)."""
    rows = [
        {"model": model, "metric": metric} | value for model, seeds in by_model.items() for metric, value in means(seeds, split).items()
    ]
    return pd.DataFrame(rows, columns=["model", "metric", "value", "low", "high", "n", "seeds"])


def points(by_model: Configurations, metric: str, split: str = "test") -> pd.DataFrame:
    """Return a row per run: model, seed, value."""
    rows = [
        (model, run.config["recipe"]["seed"], run.metrics()[split][metric]["value"])
        for model, seeds in by_model.items()
        for run in seeds
        if metric in run.metrics().get(split, {})
    ]
    return pd.DataFrame(rows, columns=["model", "seed", "value"])
