"""The shipped tables of `sentviz.analysis.explain.measured`: rows of a run, found by its name and digest."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.runs.store import Run

FOLDER = Path(__file__).with_name("measured")


@cache
def read_measured(name: str) -> pd.DataFrame:
    """Return a whole table by its name, for example "flips"; a shared frame that must not be changed."""
    import pandas as pd

    if (path := FOLDER / f"{name}.parquet").is_file():
        return pd.read_parquet(path)
    return pd.read_csv(FOLDER / f"{name}.csv", dtype=dict.fromkeys(("digest", "cases", "passed"), str))


def has_table(name: str) -> bool:
    """Return whether a table exists."""
    return any((FOLDER / f"{name}.{ending}").is_file() for ending in ("csv", "parquet"))


def rows_of(name: str, run: Run) -> pd.DataFrame:
    """Return the rows of a table that were measured of a run; empty if there are none."""
    table = read_measured(name)
    return table[(table["run"] == run.name) & (table["digest"] == run.digest)].drop(columns=["run", "digest"]).reset_index(drop=True)
