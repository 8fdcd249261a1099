"""The hardmax paper's runs: every seed by dimension, and their accuracies beside the public code's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from sentviz.papers.studies.collected import configurations
from sentviz.papers.studies.means import means
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

DATASET = "imdb"
PUBLIC = {2: 0.791, 4: 0.823, 8: 0.8505, 16: 0.882}  # best test accuracy of the authors' public code by d


def trained(runs: Iterable[Run]) -> dict[int, list[Run]]:
    """The softmax-trained hardmax runs by d, all seeds in order."""
    every = list(runs)
    widths = sorted({run.shape.width for run in every if run.configuration == f"hardmax-d{getattr(run.shape, 'width', '')}"})
    by_model = configurations(every, DATASET, [f"hardmax-d{d}" for d in widths])
    return {d: by_model[f"hardmax-d{d}"] for d in widths if f"hardmax-d{d}" in by_model}


def surveyed(runs: Iterable[Run], d: int = 2) -> list[Run]:
    """Return the seeds of one dimension that have weights and whose leaders were counted over the test split."""
    from sentviz.analysis.testset.leaders import FILE

    return [run for run in trained(runs).get(d, []) if run.has_weights and FILE in run.config["files"]]


def beside(runs: Iterable[Run]) -> pd.DataFrame:
    """Mean accuracy by d beside the public code's: d, model, value, low, high, n, seeds, printed; only what is here."""
    import pandas as pd

    rows = [
        {"d": d, "model": f"d = {d}", **means(seeds)["accuracy"], "printed": PUBLIC.get(d, np.nan)} for d, seeds in trained(runs).items()
    ]
    return pd.DataFrame(rows, columns=["d", "model", "value", "low", "high", "n", "seeds", "printed"])


def points(runs: Iterable[Run]) -> pd.DataFrame:
    """Every run by itself: model, seed, value."""
    import pandas as pd

    rows = [
        (f"d = {d}", run.config["recipe"]["seed"], run.metrics()["test"]["accuracy"]["value"])
        for d, seeds in trained(runs).items()
        for run in seeds
    ]
    return pd.DataFrame(rows, columns=["model", "seed", "value"])
