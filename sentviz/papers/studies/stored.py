"""Measurements that an experiment makes once and that ship with a paper as CSV files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.spreadsheet import read_csv
from sentviz.runs.store import Run


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
        return read_csv(self.file, keep_default_na=False, na_values=empty, dtype={"digest": str})

    def require(self, runs: Iterable[Run] = ()) -> pd.DataFrame:
        """Return the stored table.

        Args:
            runs: none of them may have another digest than the rows of its name, if the table has digests.
        """
        frame = self.read()
        if frame.empty:
            raise InputError(self.missing)
        if "digest" in frame:
            measured = dict(frame[["run", "digest"]].drop_duplicates().to_numpy().tolist())
            changed = [run.name for run in runs if run.name in measured and not run.had_digest(measured[run.name])]
            if changed:
                raise InputError(f"{' and '.join(changed)} changed after the measurement: `{self.command}` measures again.")
        return frame
