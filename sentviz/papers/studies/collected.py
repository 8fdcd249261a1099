"""What every study needs: its runs by configuration, their metrics over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sentviz.papers.studies.means import means
from sentviz.runs.presets import split
from sentviz.runs.registry import Paper
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

Configurations = Mapping[str, Sequence[Run]]  # preset -> its runs, seeds in order


def configurations(runs: Iterable[Run], dataset: str, models: Sequence[str]) -> dict[str, list[Run]]:
    """The runs of a data set by preset, in the order of `models`, seeds in order.

    Runs of other recipes have other names than a study's (`<data set>/<preset>`, with `-s1` for seed 1) and are left out.
    """
    found: dict[str, list[Run]] = {}
    here = [run for run in runs if run.config["data"]["name"] == dataset]
    for model in models:
        those = {run.config["recipe"]["seed"]: run for run in here if run.configuration == model and run.of_a_study}
        if those:
            found[model] = [those[seed] for seed in sorted(those)]
    return found


def of_paper(paper: Paper, runs: Iterable[Run]) -> list[Run]:
    """The runs of a paper's studies; of a paper without studies those of its presets."""
    here = list(runs)
    if not paper.studies:
        return [run for run in here if paper.preset(split(run.configuration)[0])]
    found = [
        run
        for study in paper.studies.values()
        for dataset in study.datasets
        for seeds in configurations(here, dataset, study.models).values()
        for run in seeds
    ]
    return list({run.name: run for run in found}.values())


def summary(here: Configurations, split: str = "test") -> pd.DataFrame:
    """A row per configuration and metric: model, metric, value, low, high, n, seeds (`sentviz.papers.studies.means`)."""
    import pandas as pd

    rows = [{"model": model, "metric": metric} | value for model, seeds in here.items() for metric, value in means(seeds, split).items()]
    return pd.DataFrame(rows, columns=["model", "metric", "value", "low", "high", "n", "seeds"])


def points(here: Configurations, metric: str, split: str = "test") -> pd.DataFrame:
    """Every run by itself: model, seed, value."""
    import pandas as pd

    rows = [
        (model, run.config["recipe"]["seed"], run.metrics()[split][metric]["value"])
        for model, seeds in here.items()
        for run in seeds
        if metric in run.metrics().get(split, {})
    ]
    return pd.DataFrame(rows, columns=["model", "seed", "value"])
