"""Measurements that a command makes once and that ship with a paper as CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.spreadsheet import read_csv, store_csv


@dataclass(frozen=True)
class Stored:
    """A measured table: where it is stored, its columns, and the command that measures it again."""

    file: Path
    columns: Sequence[str]
    what: str  # subject of the sentence that says that nothing is measured, with its verb: "The leak is"
    command: str
    texts: Sequence[str] = ()  # columns in which an empty cell is the empty text; in others it is a missing number

    @property
    def missing(self) -> str:
        """Sentence for a table that is not measured."""
        return f"{self.what} not measured: `{self.command}` measures it."

    def read(self) -> pd.DataFrame:
        """Return the stored table; without rows if nothing is stored."""
        if not self.file.is_file():
            return pd.DataFrame(columns=list(self.columns))
        empty: dict[Any, list[str]] = {name: [""] for name in read_csv(self.file, nrows=0) if name not in self.texts}
        return read_csv(self.file, keep_default_na=False, na_values=empty)

    def require(self) -> pd.DataFrame:
        """Return the stored table."""
        frame = self.read()
        if frame.empty:
            raise InputError(self.missing)
        return frame

    def write(self, frame: pd.DataFrame, float_format: str = "%.6g") -> None:
        """Store a table in place of the old one."""
        self.file.parent.mkdir(exist_ok=True)
        store_csv(self.file, frame, float_format)

    def update(self, rows: pd.DataFrame, keys: Sequence[str], float_format: str = "%.4g") -> pd.DataFrame:
        """Store rows in place of the old rows with the same values in the columns `keys`, and return the new table."""
        old, new_keys = self.read(), set(rows[list(keys)].astype(str).itertuples(index=False, name=None))
        unchanged = old[[key not in new_keys for key in old[list(keys)].astype(str).itertuples(index=False, name=None)]]
        frame = pd.concat([part for part in (unchanged, rows) if len(part)])
        self.write(frame, float_format)
        return frame
