"""The schema of a run's files: every shipped run fits it, and every way of breaking a file gives one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from sentviz.errors import RunError
from sentviz.runs.schema import TABLES, fits_config, fits_metrics, fits_table
from sentviz.runs.store import Run, runs


def test_every_shipped_run_is_as_declared() -> None:
    """The schema accepts every shipped run."""
    shipped = {name: run for name, run in runs().items() if "toy/" not in name}
    assert [str(error) for error in shipped.values() if isinstance(error, RunError)] == []
    for run in [run for run in shipped.values() if isinstance(run, Run)][::25]:
        run.check(*(file for file in run.config["files"] if not file.startswith("epochs/")))


@pytest.mark.parametrize("file", sorted(TABLES))
def test_a_table_needs_each_of_its_columns(file: str) -> None:
    kinds: dict[str, Callable[[], object]] = {"i": lambda: 1, "f": lambda: 0.5, "s": lambda: "a", "b": lambda: True}
    columns = TABLES[file] | ({"no": "f", "yes": "f"} if file == "test.parquet" else {})
    frame = pd.DataFrame({name: [kinds[kind]()] for name, kind in columns.items()})
    fits_table(frame, file, ("no", "yes"))
    for name, kind in columns.items():
        with pytest.raises(ValueError, match=f"no column '{name}'"):
            fits_table(frame.drop(columns=name), file, ("no", "yes"))
        with pytest.raises(ValueError, match=f"column '{name}' must hold"):
            fits_table(frame.assign(**{name: [None if kind == "s" else "x"]}), file, ("no", "yes"))
    with pytest.raises(ValueError, match="no rows"):
        fits_table(frame.head(0), file, ("no", "yes"))


def test_what_does_not_fit_is_named(tiny_run: Path) -> None:
    config = json.loads((tiny_run / "config.json").read_text())
    metrics = json.loads((tiny_run / "metrics.json").read_text())
    with pytest.raises(ValueError, match=r"data\.splits\.train\.n must be a whole number, not 'many'"):
        fits_config(config | {"data": {"name": "toy", "splits": {"train": {"n": "many", "digest": ""}}}})
    with pytest.raises(ValueError, match=r"test\.confusion must have 2 rows of 2 counts"):
        fits_metrics(metrics | {"test": metrics["test"] | {"confusion": [[1]]}}, 2)
