"""The paper's tables: printed accuracies with measured ones, and the sizes of the models."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from sentviz.errors import InputError
from sentviz.papers.studies.compare_configurations import beside, configurations, over_seeds
from sentviz.runs.store import Run

DATASET = "sst2"
MODELS = ("example-small", "example-wide")
TRAIN = f"`sentviz study example --dataset {DATASET}` trains them."
PRINTED = pd.read_csv(Path(__file__).parent / "printed" / "accuracies.csv")


def accuracies(runs: Sequence[Run]) -> pd.DataFrame:
    """Return printed and measured accuracies: model, printed, value, low, high, n, seeds; NaN if a model has no run."""
    reported = PRINTED.set_index("model")["accuracy"]
    return beside(MODELS, reported, over_seeds(configurations(runs, DATASET, MODELS)))


def sizes(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the number of parameters of each model.

    Raises:
        InputError: there is no run.
    """
    by_model = configurations(runs, DATASET, MODELS)
    if not by_model:
        raise InputError(f"There is no run of Example: {TRAIN}")
    rows = [(model, seeds[0].config["parameters"]) for model, seeds in by_model.items()]
    return pd.DataFrame(rows, columns=["model", "parameters"])
