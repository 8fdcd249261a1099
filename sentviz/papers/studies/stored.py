"""Measurements that an experiment makes once and that ship with a paper as CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.spreadsheet import read_csv


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
