"""The shipped tables of `sentviz.analysis.explain.measured`: rows of a run, found by its name and digest."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sentviz.io.files import replacing
from sentviz.io.lazy import np, pd
from sentviz.io.spreadsheet import read_csv
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt

    Places = Mapping[tuple[str, str], npt.NDArray[np.intp]]

FOLDER = Path(__file__).with_name("measured")


@cache
def read_measured(name: str) -> pd.DataFrame:
    """Return a whole table by its name, for example "flips"; a shared frame that must not be changed."""
    if (path := FOLDER / f"{name}.parquet").is_file():
        return pd.read_parquet(path)
    return read_csv(FOLDER / f"{name}.csv", dtype=dict.fromkeys(("digest", "cases", "passed"), str))


def has_table(name: str) -> bool:
    """Return whether a table exists."""
    return any((FOLDER / f"{name}.{ending}").is_file() for ending in ("csv", "parquet"))


def rows_of(name: str, run: Run) -> pd.DataFrame:
    """Return the rows of a table that were measured of a run; empty if there are none."""
    table = read_measured(name)
    places = _places(name, table).get((run.name, run.digest), ())
    return table.iloc[list(places)].drop(columns=["run", "digest"]).reset_index(drop=True)


def has_rows(name: str, run: Run) -> bool:
    """Return whether a table was measured of a run."""
    return (run.name, run.digest) in _places(name, read_measured(name))


_found: dict[str, tuple[pd.DataFrame, Places]] = {}


def _places(name: str, table: pd.DataFrame) -> Places:
    """Return the places of the rows of each run and digest, which are found once for a table."""
    if name not in _found or _found[name][0] is not table:
        _found[name] = table, cast("Places", table.groupby(["run", "digest"], sort=False).indices)
    return _found[name][1]


def store(name: str, run: Run, rows: pd.DataFrame) -> None:
    """Replace the rows of a run in a shipped table, which is created if it does not exist; numbers are rounded to four decimals."""

    rows = rows.assign(run=run.name, digest=run.digest)
    known = read_measured(name) if has_table(name) else rows.iloc[:0]
    table = pd.concat([known[known["run"] != run.name], rows], ignore_index=True).sort_values("run", kind="stable", ignore_index=True)
    decimals = table.select_dtypes("number").columns
    table[decimals] = table[decimals].round(4)
    with replacing(FOLDER / f"{name}.parquet") as path:
        table.astype(dict.fromkeys(table.select_dtypes("float").columns, "float32")).to_parquet(path, index=False)
    read_measured.cache_clear()


def measure_named(name: str, measure: Callable[[Run], pd.DataFrame], runs: Iterable[str]) -> None:
    """Measure runs by their names, and store the rows of each in a table when it is finished: `store`."""
    import time

    import click

    from sentviz.runs.store import find

    for run in map(find, runs):
        begin = time.process_time()
        rows = measure(run)
        store(name, run, rows)
        click.echo(f"{run.name}: {len(rows)} rows, {time.process_time() - begin:.0f} CPU seconds")
