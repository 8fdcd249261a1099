"""Files of a run: what breaks their schema is one sentence, and runs that were written anew keep their digests of before."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from sentviz.errors import RunError
from sentviz.runs.run_files import RENEWED
from sentviz.runs.schema import TABLES, fits_config, fits_metrics, fits_table
from sentviz.runs.store import Run, find, runs
from sentviz.runs.writing import attach
from sentviz.training.recipe import Recipe
from tests.kit import refused

RUN = "sst2/ndt-unit-2"


def changes() -> dict[str, str]:
    """Return the digest before by the digest now."""
    with RENEWED.open(encoding="utf-8") as file:
        return {row["now"]: row["before"] for row in csv.DictReader(file)}


def test_a_run_is_found_by_both_digests() -> None:
    run = find(RUN)
    before, shorter = changes()[run.digest], Run(run.name, run.folder, max_length=16)
    assert run.had_digest(before) and run.had_digest(run.digest) and shorter.had_digest(shorter.digest)
    assert not (run.had_digest("0" * 12) or find("sst2/vanilla-matched").had_digest(before) or shorter.had_digest(before))


def test_what_was_measured_before_is_still_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    run = find(RUN)
    assert run.beside.name == run.digest
    older = tmp_path / "measured" / changes()[run.digest]
    older.mkdir(parents=True)
    assert find(RUN).beside == older
    changed = attach(find(RUN), "heads.parquet", run.history().head(3))
    assert (older / "heads.parquet").is_file() and changed.path("heads.parquet").parent == older


def test_a_teacher_keeps_the_digest_of_the_recipe() -> None:
    run = find(RUN)
    before = changes()[run.digest]
    pinned = Recipe(dataset="sst2", model="vanilla", teacher=f"{RUN}@{before}").pinned()
    assert pinned.teacher == f"{RUN}@{before}"
    assert Recipe(dataset="sst2", model="vanilla", teacher=RUN).pinned().teacher == f"{RUN}@{run.digest}"


def test_every_shipped_run_is_as_declared() -> None:
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
        refused(ValueError, f"no column '{name}'", fits_table, frame.drop(columns=name), file, ("no", "yes"))
        with pytest.raises(ValueError, match=f"column '{name}' must hold"):
            fits_table(frame.assign(**{name: [None if kind == "s" else "x"]}), file, ("no", "yes"))
    refused(ValueError, "no rows", fits_table, frame.head(0), file, ("no", "yes"))


def test_what_does_not_fit_is_named(tiny_run: Path) -> None:
    config = json.loads((tiny_run / "config.json").read_text())
    metrics = json.loads((tiny_run / "metrics.json").read_text())
    with pytest.raises(ValueError, match=r"data\.splits\.train\.n must be a whole number, not 'many'"):
        fits_config(config | {"data": {"name": "toy", "splits": {"train": {"n": "many", "digest": ""}}}})
    with pytest.raises(ValueError, match=r"test\.confusion must have 2 rows of 2 counts"):
        fits_metrics(metrics | {"test": metrics["test"] | {"confusion": [[1]]}}, 2)
