"""The paper's tables: printed accuracies with measured ones, and the sizes of the models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from sentviz.errors import InputError
from sentviz.papers.studies.compare_configurations import configurations, summary
from sentviz.runs.store import Run

DATASET = "sst2"
MODELS = ("example-small", "example-wide")
TRAIN = f"`sentviz study example --dataset {DATASET}` trains them."
PRINTED = pd.read_csv(Path(__file__).parent / "printed" / "accuracies.csv")


def printed(dataset: str, preset: str) -> pd.DataFrame:
    """Return the printed values of a preset on a data set: name, layer, component, value, as in a history."""
    rows = PRINTED[(PRINTED["data"] == dataset) & (PRINTED["model"] == preset)]
    return pd.DataFrame({"name": "accuracy", "layer": -1, "component": -1, "value": rows["accuracy"]})


def accuracies(runs: Sequence[Run]) -> pd.DataFrame:
    """Return printed and measured accuracies: model, printed, value, low, high, n, seeds; NaN if a model has no run."""
    measured = summary(configurations(runs, DATASET, MODELS))
    measured = measured[measured["metric"] == "accuracy"].drop(columns="metric")
    frame = PRINTED.rename(columns={"accuracy": "printed"})[["model", "printed"]].merge(measured, on="model", how="left")
    return frame.astype(dict.fromkeys(("printed", "value", "low", "high", "n", "seeds"), float))


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
