"""The schema of a run's files: every shipped run fits it, and every way of breaking a file gives one sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from sentviz.errors import RunError
from sentviz.runs.schema import TABLES, fits_config, fits_metrics, fits_table
from sentviz.runs.store import Run, runs
from tools.damage import BROKEN, Damage, damages, visited


@pytest.fixture
def shelf(tiny_run: Path, tmp_path: Path) -> Path:
    """Copy the tiny run into a root where it may be damaged."""
    shutil.copytree(tiny_run, tmp_path / "toy" / "ndt-unit-2")
    return tmp_path


def test_every_shipped_run_is_as_declared() -> None:
    """The schema accepts every shipped run."""
    shipped = {name: run for name, run in runs().items() if "toy/" not in name}
    assert [str(error) for error in shipped.values() if isinstance(error, RunError)] == []
    for run in [run for run in shipped.values() if isinstance(run, Run)][::25]:
        run.check(*(file for file in run.config["files"] if not file.startswith("epochs/")))


def ways(shelf: Path) -> Iterator[Damage]:
    """Return every damage to the tiny run's files that a stored digest does not show."""
    yield from (damage for damage in damages(shelf, "toy/ndt-unit-2", {}) if damage.sealed)


@pytest.mark.exhaustive
def test_a_field_of_another_type_is_found_where_the_file_is_read(shelf: Path, tiny_run: Path) -> None:
    """A wrong type in any field of config.json, metrics.json or a column is refused, or read without an effect."""
    folder, refused, accepted = shelf / "toy" / "ndt-unit-2", 0, set[str]()
    whole = {file: (tiny_run / file).read_bytes() for file in ("config.json", "metrics.json", "history.parquet", "test.parquet")}
    for damage in [damage for damage in ways(shelf) if damage.file in whole]:
        damage.apply(shelf)
        try:
            run = Run.open(folder)
            run.check("metrics.json", "history.parquet", "test.parquet")
            accepted.add(f"{damage.file}: {damage.kind}")
        except RunError as error:
            assert str(error).startswith("toy/ndt-unit-2") or "is not a run" in str(error), damage
            assert "\n" not in str(error)
            refused += 1
        for file, data in whole.items():
            (folder / file).write_bytes(data)
    assert refused > 150
    free = [
        "name",
        "recipe",
        "tokenizer.",
        "data.splits",
        "best.",
        "model",
        "files",
        "dropped",
        "validation",
        "silhouette",
        "positive",
        "without calibration",
    ]
    free.append("one row")
    assert not [place for place in accepted if not any(word in place for word in free)]


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


@pytest.mark.exhaustive
def test_no_page_meets_a_traceback_and_no_innocent_run_is_hurt() -> None:
    """A sample of `python -m tools.damage`, drawn anew for each version, has no fault."""
    seen = visited(4, seed=len(BROKEN) + len(TABLES))
    assert list(seen["error"]) == [""] * len(seen)
    assert not seen[seen["down"] & (seen["focus"] != seen["run"])].shape[0]
