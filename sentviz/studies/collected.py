"""What every study needs: its printed items, its runs by configuration, their metrics over seeds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentviz.runs import Run
from sentviz.studies.means import means

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Configurations", "configurations", "items", "points", "summary"]

Configurations = Mapping[str, Sequence[Run]]  # preset -> its runs, seeds in order


def items(paper: str) -> list[dict[str, Any]]:
    """Every printed table and figure of a paper (ndt, hardmax, fused).

    id, printed, title, view, runs, state (live or cannot be had), and why it differs from the print or cannot be had.
    """
    source = (Path(__file__).parents[1] / "papers" / paper / "items.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(source)["item"]
    return found


def configurations(runs: Iterable[Run], dataset: str, models: Sequence[str]) -> dict[str, list[Run]]:
    """The runs of a data set by preset, in the order of `models`, seeds in order.

    Runs of other recipes have other names than a study's (`sst2/diff`, `sst2/diff-s1`) and are left out.
    """
    found: dict[str, list[Run]] = {}
    here = [run for run in runs if run.config["data"]["name"] == dataset]
    for model in models:
        those = {run.config["recipe"]["seed"]: run for run in here if run.config["preset"] == model and _of_the_study(run)}
        if those:
            found[model] = [those[seed] for seed in sorted(those)]
    return found


def summary(here: Configurations, split: str = "test") -> pd.DataFrame:
    """A row per configuration and metric: model, metric, value, low, high, n, seeds (`sentviz.studies.means`)."""
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


def _of_the_study(run: Run) -> bool:
    seed = run.config["recipe"]["seed"]
    wanted: str = run.config["preset"] + (f"-s{seed}" if seed else "")
    return run.name.rpartition("/")[2] == wanted
