"""Measure the directions of runs on the test split, and store what `sentviz.analysis.causal.direction_tables` measures.

`python -m experiments general directions_runs RUN ...` stores the table `directions` in the folder of `sentviz.analysis.explain.stored`;
each run is stored when it is finished. The table holds numbers and no texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from sentviz.analysis.causal.direction_tables import TABLE, over_split
from sentviz.analysis.explain.stored import measure_named
from sentviz.data.datasets import rows_of_recipe
from sentviz.models.loading import load
from sentviz.runs.store import Run

SEED = 0


def measure(run: Run, seed: int = SEED) -> pd.DataFrame:
    """Measure the directions of a run on the test rows of its data set.

    Raises:
        DataMissingError: the rows are not installed. InputError: as `sentviz.analysis.causal.directions.directions`.
    """
    return over_split(load(run), rows_of_recipe(run.config["recipe"], "test").frame, seed=seed)


def main(arguments: Sequence[str]) -> None:
    """Measure the named runs."""
    measure_named(TABLE, measure, arguments)
