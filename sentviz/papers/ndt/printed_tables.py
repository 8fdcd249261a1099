"""Numbers reported by the NDT paper (arXiv 2603.20704, tables I to VIII), with our names of models."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sentviz.io.lazy import pd
from sentviz.runs.presets import CONSTRAINT_SIGNS
from sentviz.runs.printed import printed

FOLDER = Path(__file__).parent / "printed"
NAMES = {sign: name for name, sign in CONSTRAINT_SIGNS.items()}


def preset(row: Mapping[Any, Any]) -> str:
    """Return the preset of a row; constraints share a row where the paper does not tell them apart."""
    return f"ndt-{NAMES[row['constraint']]}-{row['components']}" if "constraint" in row and row["family"] == "ndt" else row["family"]


def table(name: str) -> pd.DataFrame:
    """Return a printed table with a column `model`, the preset's name."""
    return _read(name).copy()


@cache
def _read(name: str) -> pd.DataFrame:
    frame = pd.read_csv(FOLDER / f"{name}.csv")
    return frame.assign(model=[preset(row) for row in frame.to_dict("records")])


def value(dataset: str, model: str, metric: str) -> float:
    """Return a reported number of a preset on a data set, of accuracy as a share; NaN if the paper has no such row."""
    frame = printed(dataset, model)
    values = frame.loc[frame["name"] == metric, "value"]
    return float("nan") if values.empty else float(values.iloc[0])


def lambdas(dataset: str, model: str) -> pd.DataFrame:
    """Return the reported final lambdas of a preset: layer and component (counted from 0), value; empty if none are reported."""
    frame = printed(dataset, model)
    return frame.loc[frame["name"] == "lambda", ["layer", "component", "value"]].reset_index(drop=True)
