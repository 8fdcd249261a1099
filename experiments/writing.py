"""Store measured tables. Their first line is a comment that says how they were measured."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from sentviz.io.files import write_file
from sentviz.io.spreadsheet import plain_csv
from sentviz.papers.studies.stored import Stored
from sentviz.papers.studies.timing import hardware

PACKAGES = ("sentviz", "torch", "numpy", "pandas")


def origin() -> str:
    """Return the first line of a table: # command; hardware; versions."""
    command = shlex.join(["python", "-m", "experiments", *sys.argv[1:]])
    versions = ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in PACKAGES)])
    return f"# {command}; {hardware()}; {versions}".replace("\n", " ") + "\n"


def write(table: Stored | Path, frame: pd.DataFrame, float_format: str | None = "%.6g") -> None:
    """Store a table in place of the old one."""
    file = table if isinstance(table, Path) else table.file
    file.parent.mkdir(exist_ok=True)
    write_file(file, origin().encode() + plain_csv(frame, float_format))


def update(table: Stored, rows: pd.DataFrame, keys: Sequence[str], float_format: str = "%.4g") -> pd.DataFrame:
    """Store rows in place of the old rows with the same values in the columns `keys`, and return the new table."""
    old, new_keys = table.read(), set(rows[list(keys)].astype(str).itertuples(index=False, name=None))
    unchanged = old[[key not in new_keys for key in old[list(keys)].astype(str).itertuples(index=False, name=None)]]
    frame = pd.concat([part for part in (unchanged, rows) if len(part)])
    write(table, frame, float_format)
    return frame
