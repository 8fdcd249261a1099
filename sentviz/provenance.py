"""Where a figure comes from: which runs, drawn how, with which numbers. What its files carry, so that they can be checked."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sentviz.errors import InputError
from sentviz.runs import version

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.figures.figure import Figure

__all__ = ["Call", "ChangedError", "Record", "Source", "difference", "packed", "unpacked"]

DIGITS = 7  # of each number that a record keeps
ALIKE = 1e-5  # of the largest number of a column: what other hardware may change
MOST_PACKED = 256_000  # characters of a frame in a file; of a larger one its digest only
MOST_RECORD = 4_000_000  # characters that are read
MOST_PANELS = 26  # figures of a sheet that are read
MOST_TABLE = 64_000_000  # characters of a frame that is read


class ChangedError(InputError):
    """A file is not as it was written."""


@dataclass(frozen=True)
class Source:
    """A run that a figure is of: name, digest and seed, and of which rows, as in "test n = 872"."""

    run: str
    digest: str
    seed: int
    rows: str


@dataclass(frozen=True)
class Call:
    """How a figure is drawn again: what `sentviz.gallery.draw` takes. Its string is the lines that do so in a notebook."""

    of: str  # a run, or a data set of a study
    figure: str
    options: Mapping[str, Any]

    @property
    def drawing(self) -> str:
        """The expression alone."""
        given = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"draw({self.of!r}, {self.figure!r}{given})"

    def __str__(self) -> str:
        lines = "from sentviz.gallery import draw\n\nfigure = {}\nfigure.plot.show()  # numbers: figure.frame"
        return lines.format(self.drawing)


@dataclass(frozen=True)
class Record:
    """What a file says of the figure that it shows.

    Attributes:
        name: of the figure, as its files are called.
        call: how it is drawn again; None where no name stands for it.
        runs: what it is of. source: the same in words, with what was changed by hand.
        view: the page that showed it, as a link without host; empty outside the app.
        style: how its looks were changed, as text.
        version: of sentviz.
        frame: digest of its numbers. table: the numbers themselves, packed; empty where they are too many.
        picture: digest of the file without this record.
        panels: of a sheet, the records of its figures, which have none of the above but name, style and version.
    """

    name: str
    call: Call | None
    runs: tuple[Source, ...]
    source: str
    view: str
    style: str
    version: str
    frame: str
    table: str
    picture: str = ""
    panels: tuple[Record, ...] = ()

    @classmethod
    def of_sheet(cls, name: str, panels: Sequence[Record], style: str = "") -> Record:
        """The record of several figures on one sheet."""
        return cls(name, None, (), "", "", style, version(), "", "", panels=tuple(panels))

    @classmethod
    def of(cls, figure: Figure, style: str = "") -> Record:
        """The record of a figure, whose looks may have been changed."""
        table = packed(figure.frame)
        kept = base64.b64encode(zlib.compress(table.encode(), 9)).decode()
        kept = kept if len(kept) <= MOST_PACKED else ""
        return cls(figure.name, figure.call, figure.runs, figure.source, figure.view, style, version(), _digest(table), kept)

    def text(self) -> str:
        """As JSON, in ASCII."""
        return json.dumps(self._said())

    def _said(self) -> dict[str, Any]:
        call = None if self.call is None else vars(self.call) | {"options": _plain(self.call.options)}
        runs = [vars(one) for one in self.runs]
        panels = {"panels": [panel._said() for panel in self.panels]} if self.panels else {}
        return {"sentviz": self.version} | {key: getattr(self, key) for key in _TEXTS} | {"call": call, "runs": runs} | panels

    @classmethod
    def read(cls, text: str) -> Record:
        """A record from its text.

        Raises:
            ChangedError: its numbers are not those that it names.
            InputError: it is none.
        """
        if len(text) > MOST_RECORD:
            raise InputError(f"its record has more than {MOST_RECORD:,} characters, which no figure's has")
        try:
            said = json.loads(text)
            panels = tuple(cls._read(one) for one in said.get("panels", ())[:MOST_PANELS])
            return replace(cls._read(said), panels=panels)
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError("its record is damaged") from error

    @classmethod
    def _read(cls, said: dict[str, Any]) -> Record:
        """A record of one figure; what is wrong with it is any of the errors that `read` expects."""
        call = said["call"] and Call(str(said["call"]["of"]), str(said["call"]["figure"]), _frozen(dict(said["call"]["options"])))
        runs = tuple(Source(str(one["run"]), str(one["digest"]), int(one["seed"]), str(one["rows"])) for one in said["runs"])
        texts = {key: said[key] for key in _TEXTS}
        if not all(isinstance(value, str) for value in texts.values()):
            raise TypeError("words that are none")
        record = cls(call=call or None, runs=runs, version=str(said.get("sentviz", "")), **texts)
        if record.table and _digest(unpacked(record.table)) != record.frame:
            raise ChangedError("its record was changed: the numbers in it are not those that it names by digest")
        return record

    def differs(self, frame: pd.DataFrame) -> str:
        """Where a frame is another than the record's, as half a sentence; empty where it is the same."""
        now = packed(frame)
        if self.frame == _digest(now):
            return ""
        if not self.table:
            return "some number is another; there are too many for the file to hold them, so that it cannot be said which"
        return difference(json.loads(unpacked(self.table)), json.loads(now))


_TEXTS = ("name", "source", "view", "style", "frame", "table", "picture")


def packed(frame: pd.DataFrame) -> str:
    """The numbers and words of a frame, column by column, as text that does not depend on the machine."""
    columns = {str(name): [_cell(value) for value in frame[name].tolist()] for name in frame.columns}
    return json.dumps(columns, separators=(",", ":"))


def unpacked(table: str) -> str:
    """The text of `packed` from what a record keeps.

    Raises:
        InputError: it is none.
    """
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(base64.b64decode(table, validate=True), MOST_TABLE)
        columns = json.loads(text)
    except (ValueError, zlib.error, RecursionError) as error:
        raise InputError("the numbers in its record are damaged") from error
    if reader.unconsumed_tail or not isinstance(columns, dict) or not all(isinstance(one, list) for one in columns.values()):
        raise InputError("the numbers in its record are damaged")
    return text.decode()


def difference(then: Mapping[str, list[Any]], now: Mapping[str, list[Any]]) -> str:
    """Where two tables differ, as half a sentence: columns, rows, and the largest difference; empty where they are alike."""
    if list(then) != list(now):
        lost, new = [name for name in then if name not in now], [name for name in now if name not in then]
        return f"the file has {'the column ' + lost[0] if lost else 'no column ' + new[0] if new else 'the columns in another order'}"
    said = []
    for name, old in then.items():
        if len(old) != len(now[name]):
            return f"the file has {len(old):,} rows, and the runs here give {len(now[name]):,}"
        rows, most = _unlike(old, now[name])
        if rows:
            more = f", by {most:.3g} at most" if most else ""
            place = f"row {rows[0]}" if len(rows) == 1 else f"{len(rows):,} rows, first in row {rows[0]}"
            said.append(f"column {name} in {place} ({old[rows[0] - 1]!s:.40} in the file, {now[name][rows[0] - 1]!s:.40} here){more}")
    return "; ".join(said[:3]) + (f"; and in {len(said) - 3} more columns" if len(said) > 3 else "")


def _unlike(old: list[Any], new: list[Any]) -> tuple[list[int], float]:
    """Rows, counted from 1, in which two columns differ, and the largest difference of numbers."""
    numbers = [abs(value) for value in (*old, *new) if isinstance(value, int | float) and not isinstance(value, bool)]
    alike, rows, most = ALIKE * max(numbers, default=0.0), [], 0.0
    for row, (one, other) in enumerate(zip(old, new, strict=True), 1):
        if one == other:
            continue
        try:
            apart = abs(float(one) - float(other)) if not isinstance(one, str | bool) and not isinstance(other, str | bool) else None
        except (TypeError, ValueError):
            apart = None
        if apart is None or apart > alike:
            rows.append(row)
            most = max(most, apart or 0.0)
    return rows, most


def _cell(value: Any) -> Any:
    """A cell as JSON has it: numbers to so many digits, what is missing as nothing."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None if math.isnan(value) else str(value)
    return None if value is None else str(value)


def _plain(value: Any) -> Any:
    """An option as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def _frozen(value: Any) -> Any:
    """An option from JSON: what was several is a tuple."""
    if isinstance(value, dict):
        return {key: _frozen(one) for key, one in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _digest(table: str) -> str:
    return hashlib.sha256(table.encode()).hexdigest()[:32]
