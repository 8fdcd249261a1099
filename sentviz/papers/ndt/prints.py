"""What the NDT paper prints (arXiv 2603.20704, tables I to VIII), in our words for models."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sentviz.runs.presets import CONSTRAINT_SIGNS

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path(__file__).parent / "printed"
NAMES = {sign: name for name, sign in CONSTRAINT_SIGNS.items()}


def table(name: str) -> pd.DataFrame:
    """A printed table with a column `model`, the preset's name (constraints share a row where the paper does not tell them apart)."""
    return _read(name).copy()


@cache
def _read(name: str) -> pd.DataFrame:
    import pandas as pd

    frame = pd.read_csv(FOLDER / f"{name}.csv")
    frame["model"] = [
        f"ndt-{NAMES[row['constraint']]}-{row['components']}" if "constraint" in row and row["family"] == "ndt" else row["family"]
        for row in frame.to_dict("records")
    ]
    return frame


@cache
def _rows(name: str) -> dict[tuple[str, str], pd.DataFrame]:
    """A printed table by data set and preset."""
    return {(rows["dataset"].iloc[0], rows["model"].iloc[0]): rows for _, rows in _read(name).groupby(["dataset", "model"])}


def accuracy(dataset: str, model: str) -> float | None:
    """Printed accuracy (0..1) of a preset on a data set; None where the paper has no such row (vanilla-matched is ours)."""
    row = _rows("classification").get((dataset, model))
    return None if row is None else float(row["accuracy_pct"].iloc[0]) / 100


def lambdas(dataset: str, model: str) -> pd.DataFrame:
    """Printed final lambdas of a preset: layer and component counted from 0, value; empty where there are none."""
    found = _counted()
    return found.get((dataset, model), next(iter(found.values())).iloc[:0]).copy()


@cache
def _counted() -> dict[tuple[str, str], pd.DataFrame]:
    """The printed lambdas by data set and preset, layers and components counted from 0."""
    frame = _read("lambdas")
    frame = frame.assign(layer=frame["layer"] - 1, component=frame["component"] - 1, value=frame["lambda"])
    columns = ["layer", "component", "value"]
    return {(rows["dataset"].iloc[0], rows["model"].iloc[0]): rows[columns] for _, rows in frame.groupby(["dataset", "model"])}


def values(dataset: str, model: str) -> pd.DataFrame:
    """Accuracy and final lambdas of a preset in the columns of a history: name, layer, component, value; empty where nothing is printed."""
    import pandas as pd

    found = accuracy(dataset, model)
    rows = [] if found is None else [("accuracy", -1, -1, found)]
    rows += [("lambda", row["layer"], row["component"], row["value"]) for row in lambdas(dataset, model).to_dict("records")]
    return pd.DataFrame(rows, columns=["name", "layer", "component", "value"])
