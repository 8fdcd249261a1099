"""The tables of a paper, declared in ``tables.toml`` of its folder: what each says, its columns, and what gives its frame.

    [gain-statistics]                                   # as pages and items name it; `name` is that of its files, if it is another one
    frame = ".tables:statistics"
    title = "Mean and spread of the gains"
    words = "Gains of {n} runs."                        # the caption; names in braces are values
    columns.mean = { title = "mean, ours", form = ".2f", interval = ["low", "high"] }

A frame is a `Stored` measurement, or a function of `runs`, `dataset` (or "all"), both or neither. It returns a frame, or a frame and values
for title, words and name; the other values are those of the frame's first row. Where a table is too special, it returns a `Table`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from sentviz.errors import SentvizError
from sentviz.io.declared import declared, in_file, read_declared
from sentviz.io.lazy import pd
from sentviz.io.table import Column, Table
from sentviz.io.typed import Misfit
from sentviz.papers.studies.compare_configurations import SEEDS_IN_WORDS
from sentviz.papers.studies.stored import Stored
from sentviz.runs.registry import Paper, pointer_in
from sentviz.runs.store import Run

VERDICTS = {"better": "▲ better", "worse": "▼ worse", "cannot be told": "? cannot be told"}
SENTENCES = {"seeds_in_words": SEEDS_IN_WORDS}  # in captions of several tables

Frame = pd.DataFrame | tuple[pd.DataFrame, Mapping[str, Any]] | Table
"""A frame, a frame and values, or a whole table."""
TableMaker = Callable[[Sequence[Run], str], Table]
"""A function of runs and a data set, or "all". Raises InputError, with the command that helps, if runs or measurements are missing."""


@dataclass(frozen=True)
class DeclaredTable:
    """A table as it is declared; the fields are those of `Table`."""

    key: str  # in the file, where pages and items name it
    file: Path
    frame: str
    title: str = ""
    name: str = ""
    words: str = ""
    groups: str = ""
    keys: tuple[str, ...] = ("model",)
    columns: tuple[Column, ...] = ()

    def __call__(self, runs: Sequence[Run], dataset: str) -> Table:
        """Return the table.

        Raises:
            SentvizError: the frame cannot be loaded, or lacks a column or a value that the file names.
        """
        try:
            source: Stored | Callable[..., Any] = resolve_name(self.frame)
        except Exception as error:
            raise self.fault(f"{self.frame} cannot be loaded: {' '.join(str(error).split())}", "frame") from error
        if isinstance(source, Stored):
            result: Any = source.require(runs)
        else:
            takes = signature(source).parameters
            result = source(**{name: value for name, value in (("runs", runs), ("dataset", dataset)) if name in takes})
        if isinstance(result, Table):
            return result
        frame, more = result if isinstance(result, tuple) else (result, {})
        values = {**SENTENCES, **({} if frame.empty else frame.iloc[0].to_dict()), "dataset": dataset, **more}
        columns = [column for column in self.columns if column.name in frame or not column.optional]
        if lacking := [column.name for column in columns if column.name not in frame]:
            raise self.fault(f"the frame has no column {lacking[0]!r}", "columns", lacking[0])
        try:
            name, title, words = (text.format(**values).strip() for text in (self.name, self.title, self.words))
        except (LookupError, AttributeError, ValueError) as error:
            raise self.fault(f"the braces of the table {self.key!r} cannot be filled: {error}", "words") from error
        return Table(name, title, frame, words, columns, self.groups, self.keys)

    def fault(self, why: str, *keys: str) -> SentvizError:
        """Return what is wrong with the table as a sentence with file and line."""
        return in_file(Misfit((self.key, *keys), why), self.file)


def tables_of(paper: Paper) -> Mapping[str, TableMaker]:
    """Return what makes each table of a paper, by name: declared ones, then those of Python.

    Raises:
        SentvizError: the paper's tables cannot be loaded.
    """
    own: Mapping[str, TableMaker] = paper.load("tables", {})
    return {**_declared(paper.folder), **own}


@cache
def _declared(folder: Path) -> dict[str, DeclaredTable]:
    path = folder / "tables.toml"

    def read(content: dict[str, Any]) -> dict[str, DeclaredTable]:
        tables = {}
        for name, entry in content.items():
            if not isinstance(entry, dict):
                raise Misfit((name,), f"{name!r} must be a table")
            columns = tuple(_column(name, column, settings) for column, settings in entry.pop("columns", {}).items())
            table = declared(DeclaredTable, {"name": name} | entry, (name,), columns=columns, key=name, file=path)
            tables[name] = replace(table, frame=pointer_in(folder, table.frame))
        return tables

    return read_declared(path, read) if path.is_file() else {}


def _column(table: str, name: str, settings: Mapping[str, Any]) -> Column:
    """Return a column; verdicts are written in their usual words."""
    column = declared(Column, settings, (table, "columns", name), name=name)
    return replace(column, words=VERDICTS) if name == "verdict" and not column.words else column
