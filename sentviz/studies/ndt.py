"""The NDT study: what the paper prints beside what the runs here measure."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentviz.presets import NDT_FAMILIES
from sentviz.runs import Run
from sentviz.studies import printed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["METRICS", "beside", "items", "parameters"]

# our metric -> (printed table, its column, factor to our unit)
METRICS = {
    "accuracy": ("ndt_classification", "accuracy_pct", 0.01),
    "f1_weighted": ("ndt_classification", "f1", 1.0),
    "f1_macro": ("ndt_classification", "f1", 1.0),
    "precision_weighted": ("ndt_classification", "precision", 1.0),
    "auc": ("ndt_classification", "auc", 1.0),
    "silhouette": ("ndt_silhouette", "silhouette", 1.0),
}


def items() -> list[dict[str, str]]:
    """Every printed table and figure: printed, metric, view, state."""
    source = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    found: list[dict[str, str]] = tomllib.loads(source)["item"]
    return found


def beside(runs: Iterable[Run], dataset: str, metric: str) -> pd.DataFrame:
    """A row per configuration: model, printed, and value, low, high, n, run, seed of each run here; NaN where there is none.

    Raises:
        KeyError: a metric that the paper does not print.
    """
    import pandas as pd

    table, column, factor = METRICS[metric]
    frame = printed.table(table)
    frame = frame[frame["dataset"] == {"yelp_full": "yelp"}.get(dataset, dataset)]
    wanted = dict(zip(frame["model"], frame[column].astype(float) * factor, strict=True))
    rows: list[dict[str, Any]] = []
    measured: dict[str, list[Run]] = {}
    for one in runs:
        if one.config["data"]["name"] == dataset:
            measured.setdefault(one.config["preset"], []).append(one)
    for model in NDT_FAMILIES:
        for run in measured.get(model, ()) or (None,):
            row: dict[str, Any] = {"model": model, "printed": wanted.get(model)}
            if run is not None and metric in run.metrics()["test"]:
                value = run.metrics()["test"][metric]
                n = value.get("n", run.metrics()["test"]["n"])
                row |= {"value": value["value"], "low": value["low"], "high": value["high"], "n": n}
                row |= {"run": run.name, "seed": run.config["recipe"]["seed"]}
            rows.append(row)
    columns = ["model", "printed", "value", "low", "high", "n", "run", "seed"]
    return pd.DataFrame(rows, columns=columns).astype({"printed": float, "value": float, "low": float, "high": float})


def parameters(runs: Iterable[Run], dataset: str) -> pd.DataFrame:
    """Printed parameters (millions) beside those of the runs here, whose vocabularies differ by a few words: model, printed, value."""
    import pandas as pd

    frame = printed.table("ndt_parameters")
    frame = frame[frame["dataset"] == {"yelp_full": "yelp"}.get(dataset, dataset)]
    wanted = {(row["family"], int(row["components"])): float(row["parameters_millions"]) for row in frame.to_dict("records")}
    rows = []
    for run in runs:
        if run.config["data"]["name"] == dataset and run.config["recipe"]["seed"] == 0:
            family = run.config["preset"].split("-")[0]
            key = ("ndt" if family == "ndt" else run.config["preset"], run.config["model"]["components"])
            row = {"model": run.config["preset"], "printed": wanted.get(key), "value": run.config["parameters"] / 1e6}
            rows.append(row | {"vocabulary": run.config["model"]["vocab_size"]})
    return pd.DataFrame(rows, columns=["model", "printed", "value", "vocabulary"])
