"""Numbers that papers print, as rows of the frame of results: each paper declares in ``paper.toml`` how its files in ``printed`` are read.

[printed.results]                                   # printed/results.csv
datasets = ["sentiment140"]                         # of all its rows; without it, the column `dataset` says it
models = { BiLSTM = "bilstm" }                      # the paper's names -> presets; without it, the names are presets
columns.accuracy_pct = { metric = "accuracy", percent = true }
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from sentviz.errors import InputError, SentvizError
from sentviz.io.lazy import pd
from sentviz.runs.registry import Paper, PrintedTable, papers
from sentviz.runs.sections import resolved

_NAMES, _PLACES = ("paper", "table", "dataset", "configuration", "metric"), ("layer", "component")
_TYPES = dict.fromkeys(_NAMES, "str") | dict.fromkeys(_PLACES, "int64") | {"value": "float64"}
COLUMNS = list(_TYPES)


def printed_results(paper: Paper) -> pd.DataFrame:
    """Return a row for each printed number that a run of a preset could have, with the columns `COLUMNS`.

    Layers and components are counted from 0; -1 means that the number has none, as in a history. The first table with a number counts.
    """
    return _of_paper(paper).copy()


def printed(dataset: str, preset: str) -> pd.DataFrame:
    """Return the values that the papers report for a preset on a data set: paper, name, layer, component, value.

    Layers and components are counted from 0; -1 means that the value has none. "accuracy" is a share (0 to 1). A paper whose printed
    tables cannot be read is left out; its page says what is wrong.
    """
    every = _by_preset(tuple(papers().values()))
    return every[dataset, preset].copy() if (dataset, preset) in every else pd.DataFrame(columns=_AS_IN_A_HISTORY)


_AS_IN_A_HISTORY = ["paper", "name", "layer", "component", "value"]


@cache
def _by_preset(every: tuple[Paper, ...]) -> dict[tuple[str, str], pd.DataFrame]:
    frames = [_typed([])]
    for paper in every:
        with suppress(SentvizError):
            frames.append(_of_paper(paper).assign(paper=paper.short))
    frame = pd.concat(frames, ignore_index=True).rename(columns={"metric": "name"})
    groups = frame.groupby(["dataset", "configuration"], sort=False)
    return {(str(key[0]), str(key[1])): rows[_AS_IN_A_HISTORY].reset_index(drop=True) for key, rows in groups}


@cache
def _of_paper(paper: Paper) -> pd.DataFrame:
    rows = [row for name, table in paper.printed.items() for row in _rows(paper, name, table)]
    keys = [name for name in COLUMNS if name not in ("paper", "table", "value")]
    return _typed(rows).dropna(subset="value").drop_duplicates(keys, ignore_index=True)


def _typed(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS).astype(_TYPES)


def _rows(paper: Paper, name: str, table: PrintedTable) -> Iterator[tuple[Any, ...]]:
    if name not in (files := paper.printed_tables()):
        raise InputError(f"paper.toml of {paper.short} declares the printed table {name!r}; there is no file printed/{name}.csv.")
    frame = pd.read_csv(files[name])
    needed = [*table.columns, *(() if ":" in table.model else (table.model,))]
    needed += ["dataset"] * (not table.datasets and not all(of.datasets for of in table.columns.values()))
    if lacking := [column for column in needed if column not in frame]:
        raise InputError(f"printed/{name}.csv of {paper.short} has no column {lacking[0]!r}, which its paper.toml names.")
    for column in table.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            raise InputError(f"The column {column!r} of printed/{name}.csv of {paper.short} does not hold numbers alone.")
    for row in frame.to_dict("records"):
        model = resolved(table.model)(row) if ":" in table.model else row[table.model]
        preset = table.models.get(model) if table.models else model
        if preset is None:
            continue
        places = [int(row.get(axis, 0)) - 1 for axis in ("layer", "component")]
        for column, of in table.columns.items():
            for dataset in of.datasets or table.datasets or (row["dataset"],):
                value = float(row[column]) / 100 if of.percent else float(row[column])
                yield paper.name, name, dataset, preset, of.metric or column, *places, value
