"""Check the papers' numbers in tables: each one is in the paper's files, or is recomputed from the files and equal.

No column with a paper's numbers is left out: `RECOMPUTED` has a formula for each column that a table computes from printed numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sentviz.io.table import Table
from sentviz.papers.fused import study as fused
from sentviz.papers.ndt import latency
from sentviz.papers.ndt.study import DATASETS
from sentviz.papers.studies.items import makers
from sentviz.runs.registry import Paper
from sentviz.runs.store import Run

Files = Mapping[str, pd.DataFrame]  # name of a printed table -> its file
Formula = Callable[[pd.DataFrame, Files], "pd.Series[Any]"]
TOLERANCE = 1e-6
UNNAMED = {"fused/table-1": fused.ENCODERS}  # columns of printed numbers whose names and titles do not say so, by item
ABLATIONS = {  # title on the page -> row of the file
    "without aware positions": "sinusoidal PE only",
    "without gates": "no gated attention",
    "without the window": "full O(n^2) attention",
    "without layer norm": "no layer normalization",
}


def _beside_vanilla(frame: pd.DataFrame, group: str, column: str) -> pd.Series[Any]:
    """Return a column's value for the vanilla model of each row's group."""
    vanilla = frame[frame["model"] == "vanilla"].set_index(group)[column]
    return frame[group].map(vanilla)


def _times(shift: int) -> Formula:
    """Return the formula of a printed time as a multiple of vanilla's, each moved by half a second: shift is -1, 0 or 1.

    There is none if vanilla's printed total is half a second or less.
    """

    def of(frame: pd.DataFrame, files: Files) -> pd.Series[Any]:
        batches = frame["dataset"].map({title: latency.BATCHES.get(name, 0) for name, title in DATASETS.items()})
        half = 0 if not shift else shift * 500 / batches
        own, base = frame["printed_milliseconds"], _beside_vanilla(frame, "dataset", "printed_milliseconds")
        times = (own + half).clip(lower=0) / (base - half)
        return times.where(frame["model"] != "vanilla", 1.0).where((base * batches > 500) & own.notna())

    return of


def _case(encoder: str) -> Formula:
    """Return the formula of an encoder's printed gain out of domain."""

    def of(frame: pd.DataFrame, files: Files) -> pd.Series[Any]:
        wide = files["out_of_domain"].pivot(index="task", columns="variant", values=encoder)
        names = {task.title: task.printed for task in fused.TASKS}
        return frame["task"].map(names).map((wide["last_head_scaled"] - wide["baseline"]) / 100)

    return of


def _ablation(frame: pd.DataFrame, files: Files) -> pd.Series[Any]:
    accuracy = files["ablation"].set_index("variant")["sst5_accuracy_pct"]
    on_sst5 = frame["data"] == frame["data"].iloc[0]
    return frame["title"].map(ABLATIONS).map((accuracy - accuracy["full"]) / 100).where(on_sst5)


DIFFERENCE: Mapping[str, Formula] = {"difference": lambda frame, files: frame["value"] - frame["printed"]}
RECOMPUTED: dict[str, Mapping[str, Formula]] = {  # item -> column -> its formula
    **{f"ndt/table-{number}": DIFFERENCE for number in (2, 4, 6, 8)},
    "ndt/table-10": {"printed_added": lambda frame, files: frame["printed"] - _beside_vanilla(frame, "data", "printed")},
    "ndt/table-11": {"printed_value": _times(0), "printed_low": _times(-1), "printed_high": _times(1)},
    "fused/table-3": {encoder: _case(encoder) for encoder in fused.ENCODERS},
    "sentiformer/ablation": {"printed": _ablation},
    "sentiformer/throughput": {"printed_times": lambda frame, files: 8000 / frame["printed_per_second"]},
}


def printed_numbers(paper: Paper) -> set[float]:
    """Return every number in the files of a paper's printed tables, in all units in which a page writes it."""
    numbers = {
        float(value)
        for frame in printed_files(paper).values()
        for value in frame.select_dtypes("number").to_numpy().ravel()
        if np.isfinite(value)
    }
    return {round(value * factor, 6) for value in numbers for factor in (0.01, 1, 100)}


def printed_files(paper: Paper) -> dict[str, pd.DataFrame]:
    """Return the files of a paper's printed tables by name."""
    return {name: pd.read_csv(path) for name, path in paper.printed_tables().items()}


def printed_columns(table: Table, unnamed: Sequence[str] = ()) -> Iterator[str]:
    """Yield the columns of a table that hold a paper's numbers: those whose name or title says so, and the `unnamed`."""
    titles = {column.name: column.label for column in table.columns}
    for name in table.frame.select_dtypes("number"):
        words = f"{name} {titles.get(name, '')}".replace("_", " ")
        if name in unnamed or re.search(r"printed|\bpaper\b|\breported\b|\bpublished\b", words):
            yield str(name)


def _formulas(paper: Paper, item: str, frame: pd.DataFrame) -> dict[str, Formula]:
    """Return the formulas of a table's computed columns; a difference beside a printed column has one too."""
    beside = [name.removesuffix("_printed") for name in map(str, frame) if name.endswith("_printed")]
    differences: dict[str, Formula] = {
        f"{name}_difference": lambda frame, files, name=name: frame[name] - frame[f"{name}_printed"]  # type: ignore[misc]
        for name in beside
        if f"{name}_difference" in frame
    }
    return differences | {name: formula for name, formula in RECOMPUTED.get(f"{paper.name}/{item}", {}).items() if name in frame}


def number_faults(paper: Paper, runs: Sequence[Run]) -> Iterator[str]:
    """Yield each number that a table of the items shows as the paper's, and that the paper's files neither have nor give."""
    known, files = printed_numbers(paper), printed_files(paper)
    for item in paper.items():
        if not item.tables:
            continue
        for table in (part for part in makers(paper)[item.made_by](runs) if isinstance(part, Table)):
            formulas = _formulas(paper, item.id, table.frame)
            for name, formula in formulas.items():
                expected, drawn = formula(table.frame, files).to_numpy(float), table.frame[name].to_numpy(float)
                odd = ~np.isclose(drawn, expected, atol=TOLERANCE, rtol=0, equal_nan=True)
                yield from (
                    f"{item.id}: {a} in the column {name} is not {b}, which the paper's files give"
                    for a, b in zip(drawn[odd], expected[odd], strict=True)
                )
            for name in printed_columns(table, UNNAMED.get(f"{paper.name}/{item.id}", ())):
                values = [] if name in formulas else table.frame[name].dropna()
                unknown = [value for value in values if round(float(value), 6) not in known]
                yield from (f"{item.id}: {value} in the column {name} is in no file of the paper" for value in unknown)
