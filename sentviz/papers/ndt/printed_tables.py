"""Numbers reported by the NDT paper (arXiv 2603.20704, tables I to VIII), with our names of models."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sentviz.io.lazy import pd
from sentviz.runs.presets import CONSTRAINT_SIGNS

FOLDER = Path(__file__).parent / "printed"
NAMES = {sign: name for name, sign in CONSTRAINT_SIGNS.items()}


def table(name: str) -> pd.DataFrame:
    """A printed table with a column `model`, the preset's name (constraints share a row where the paper does not tell them apart)."""
    return _read(name).copy()


@cache
def _read(name: str) -> pd.DataFrame:
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
    """Return the reported accuracy (0 to 1) of a preset on a data set; None if the paper has no such row, as for vanilla-matched."""
    row = _rows("classification").get((dataset, model))
    return None if row is None else float(row["accuracy_pct"].iloc[0]) / 100


def auc(dataset: str, model: str) -> float:
    """Return the reported AUC of a preset on a data set; NaN if the paper has no such row."""
    row = _rows("classification").get((dataset, model))
    return float("nan") if row is None else float(row["auc"].iloc[0])


def silhouette(dataset: str, model: str) -> float:
    """Return the reported silhouette of a preset on a data set; NaN if the paper has no such row."""
    row = _rows("silhouette").get((dataset, model))
    return float("nan") if row is None else float(row["silhouette"].iloc[0])


def lambdas(dataset: str, model: str) -> pd.DataFrame:
    """Return the reported final lambdas of a preset: layer and component (counted from 0), value; empty if none are reported."""
    by_preset = _counted()
    return by_preset.get((dataset, model), next(iter(by_preset.values())).iloc[:0]).copy()


@cache
def _counted() -> dict[tuple[str, str], pd.DataFrame]:
    """The printed lambdas by data set and preset, layers and components counted from 0."""
    frame = _read("lambdas")
    frame = frame.assign(layer=frame["layer"] - 1, component=frame["component"] - 1, value=frame["lambda"])
    columns = ["layer", "component", "value"]
    return {(rows["dataset"].iloc[0], rows["model"].iloc[0]): rows[columns] for _, rows in frame.groupby(["dataset", "model"])}


def values(dataset: str, model: str) -> pd.DataFrame:
    """Return reported accuracy and final lambdas of a preset, with columns of a history; empty if nothing is reported.

    Columns: name, layer, component, value.
    """
    share = accuracy(dataset, model)
    rows = [] if share is None else [("accuracy", -1, -1, share)]
    rows += [("lambda", row["layer"], row["component"], row["value"]) for row in lambdas(dataset, model).to_dict("records")]
    return pd.DataFrame(rows, columns=["name", "layer", "component", "value"])
