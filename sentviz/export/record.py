"""Store in an exported file where its figure comes from, so that the file can be checked: runs, call and numbers.

The record holds the digest of the rest of the file, so a changed byte of the picture is found. What the record itself says is
compared with the figure that its call draws again.
"""

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

from sentviz.charts.source import Call, Source
from sentviz.errors import InputError
from sentviz.io.declared import frozen
from sentviz.io.documents import parse_json
from sentviz.io.files import version
from sentviz.io.lazy import pd
from sentviz.io.typed import fitted

if TYPE_CHECKING:
    from sentviz.charts.figure import Figure

STORED_DIGITS = 7  # significant digits of each number in a record
TOLERANCE = 1e-5  # allowed difference of numbers, as a share of a column's largest: hardware differs
MAX_PACKED = 256_000  # characters of a packed frame; of a larger frame, a record holds the digest only
MAX_RECORD = 8_000_000  # characters of a record that is read
MAX_WORDS = 500_000  # characters of a record per figure, without its packed numbers
MAX_PANELS = 64  # figures of a sheet or report that are read
MAX_TABLE = 64_000_000  # characters of a frame that is read
MAX_COMPARED = 16_000_000  # characters of a frame whose cells are compared one by one
CALIBRATED = "calibrated"  # entry of a record whose figure shows calibrated probabilities


class ChangedError(InputError):
    """A file is not as it was written."""


@dataclass(frozen=True)
class Record:
    """Provenance of a figure, stored in its file.

    Attributes:
        name: name of the figure, as in its file names.
        call: call that draws the figure again; None if no call can draw it.
        runs: runs that the figure shows.
        source: the same runs as text, with the visitor's interventions.
        caption: caption of the figure; "" in files of earlier versions.
        view: page that showed the figure, as a link without host; "" outside the app.
        style: changes of the style, as text.
        version: version of sentviz.
        frame: digest of the figure's numbers.
        table: the numbers, packed; "" if they are too large.
        picture: digest of the file without this record.
        panels: records of the figures of a sheet or report. The record of a sheet itself has a name, a style and a version only.
        calibrated: whether the figure shows calibrated probabilities by default; earlier versions showed raw ones.
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
    caption: str = ""
    calibrated: bool = True

    @classmethod
    def of_sheet(cls, name: str, panels: Sequence[Record], style: str = "") -> Record:
        """Return the record of several figures in one file."""
        return cls(name, None, (), "", "", style, version(), "", "", panels=tuple(panels))

    @classmethod
    def of(cls, figure: Figure, style: str = "") -> Record:
        """Return the record of a figure drawn in a style."""
        table = packed(figure.frame)
        compressed = base64.b64encode(zlib.compress(table.encode(), 9)).decode()
        compressed = compressed if len(compressed) <= MAX_PACKED else ""
        origin = (figure.name, figure.call, figure.runs, figure.source, figure.view, style, version())
        return cls(*origin, _digest(table), compressed, caption=figure.caption)

    def text(self) -> str:
        """Return the record as JSON in ASCII without "<"."""
        return json.dumps(self._entries()).replace("<", "\\u003c")

    def _entries(self) -> dict[str, Any]:
        call = None if self.call is None else vars(self.call) | {"options": _plain(self.call.options)}
        runs = [vars(run) for run in self.runs]
        panels = {"panels": [panel._entries() for panel in self.panels]} if self.panels else {}
        kind = {"probabilities": CALIBRATED} if self.calibrated else {}
        texts = {key: getattr(self, key) for key in (*_TEXTS, *(["caption"] if self.caption else []))}
        return {"sentviz": self.version} | kind | texts | {"call": call, "runs": runs} | panels

    @classmethod
    def read(cls, text: str) -> Record:
        """Return the record that a text holds.

        Raises:
            ChangedError: its numbers do not have the digest that it names.
        """
        if len(text) > MAX_RECORD:
            raise InputError(f"its record has more than {MAX_RECORD:,} characters, more than the record of any figure")
        try:
            written = fitted(_Written, parse_json(text, "it"))
        except InputError as error:
            raise InputError(f"its record is damaged ({str(error).rstrip('.')})") from error
        panels = written.panels
        if len(panels) > MAX_PANELS:
            raise InputError(f"its record names {len(panels):,} figures, and a sheet holds {MAX_PANELS} at most")
        if len(text) - sum(len(each.table) for each in (written, *panels)) > MAX_WORDS * max(1, len(panels)):
            raise InputError(f"its record has more than {MAX_WORDS:,} characters per figure, more than the record of any figure")
        record = replace(cls._of(written), panels=tuple(map(cls._of, panels)))
        if panels and (record.call or record.runs or record.frame or record.source or any(each.panels for each in panels)):
            raise InputError("its record describes a sheet and a single figure at once")
        return record

    @classmethod
    def _of(cls, written: _Written) -> Record:
        """Return the record of one figure."""
        call = written.call and replace(written.call, options=frozen(written.call.options))
        texts = {key: getattr(written, key) for key in (*_TEXTS, "caption")}
        record = cls(call=call, runs=written.runs, version=written.sentviz, calibrated=written.probabilities == CALIBRATED, **texts)
        if record.table and _digest(unpacked(record.table)) != record.frame:
            raise ChangedError("its record was changed: the numbers in it do not have the stored digest")
        return record

    def differs(self, frame: pd.DataFrame) -> str:
        """Return how a frame differs from the record's, as half a sentence; "" if both are equal."""
        now = packed(frame)
        if self.frame == _digest(now):
            return ""
        then = unpacked(self.table) if self.table else ""
        if not then or len(then) > MAX_COMPARED:
            return "at least one number differs; the table is too large to be stored in the file, so the row and column are unknown"
        columns = cells(then)
        return difference(columns, json.loads(now)) if columns else "its record has no columns of numbers"


_TEXTS = ("name", "source", "view", "style", "frame", "table", "picture")
_Cell = str | int | float | bool | None


@dataclass(frozen=True)
class _Written:
    """The entries of a record in a file."""

    sentviz: str  # version
    name: str
    source: str
    view: str
    style: str
    frame: str
    table: str
    picture: str
    call: Call | None
    runs: tuple[Source, ...]
    panels: tuple[_Written, ...] = ()
    caption: str = ""
    probabilities: str = ""
    seal: Any = None  # earlier versions wrote a digest of the text


def packed(frame: pd.DataFrame) -> str:
    """Return the numbers and words of a frame, column by column, as text that does not depend on the machine."""
    columns = {str(name): [_cell(value) for value in frame[name].tolist()] for name in frame.columns}
    return json.dumps(columns, separators=(",", ":"))


def unpacked(table: str) -> str:
    """Return the text of `packed` from the field `table` of a record."""
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(base64.b64decode(table, validate=True), MAX_TABLE).decode()
    except (ValueError, zlib.error) as error:
        raise InputError("the numbers in its record are damaged") from error
    if reader.unconsumed_tail or not reader.eof:
        raise InputError("the numbers in its record are damaged")
    return text


def cells(text: str) -> dict[str, list[Any]]:
    """Return the columns of a text of `packed`; an empty dictionary if it holds anything but columns of numbers and words."""
    try:
        return fitted(dict[str, list[_Cell]], parse_json(text, "its record"))
    except InputError:
        return {}


def difference(then: Mapping[str, list[Any]], now: Mapping[str, list[Any]]) -> str:
    """Return how two tables differ, as half a sentence: columns, rows and the largest difference; "" if they are equal."""
    if list(then) != list(now):
        lost, new = [name for name in then if name not in now], [name for name in now if name not in then]
        return f"the file has {'the column ' + lost[0][:40] if lost else 'no column ' + new[0] if new else 'the columns in another order'}"
    differences = []
    for name, old in then.items():
        if len(old) != len(now[name]):
            return f"the file has {len(old):,} rows, and the installed runs give {len(now[name]):,}"
        rows, most = _different_rows(old, now[name])
        if rows:
            more = f", by {most:.3g} at most" if most else ""
            place = f"row {rows[0]}" if len(rows) == 1 else f"{len(rows):,} rows, first in row {rows[0]}"
            differences.append(f"column {name} in {place} ({old[rows[0] - 1]!s:.40} in the file, {now[name][rows[0] - 1]!s:.40} now){more}")
    return "; ".join(differences[:3]) + (f"; and in {len(differences) - 3} more columns" if len(differences) > 3 else "")


def _different_rows(old: list[Any], new: list[Any]) -> tuple[list[int], float]:
    """Return the rows, counted from 1, in which two columns differ, and the largest difference of their numbers."""
    numbers = [abs(value) for value in (*old, *new) if isinstance(value, int | float) and not isinstance(value, bool)]
    tolerance, rows, largest = TOLERANCE * max(numbers, default=0.0), [], 0.0
    for row, (before, after) in enumerate(zip(old, new, strict=True), 1):
        if before == after:
            continue
        try:
            gap = abs(float(before) - float(after)) if not isinstance(before, str | bool) and not isinstance(after, str | bool) else None
        except (TypeError, ValueError):
            gap = None
        if gap is None or gap > tolerance:
            rows.append(row)
            largest = max(largest, gap or 0.0)
    return rows, largest


def _cell(value: Any) -> Any:
    """Return a cell as JSON: numbers rounded to `STORED_DIGITS` digits, missing values as None."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.{STORED_DIGITS}g}") if math.isfinite(value) else None if math.isnan(value) else str(value)
    return None if value is None else str(value)


def _plain(value: Any) -> Any:
    """Return an option with lists, dictionaries and plain numbers only, as JSON needs it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
