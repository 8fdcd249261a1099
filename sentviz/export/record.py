"""Store in an exported file where its figure comes from, so that the file can be checked: runs, call and numbers.

The text of a record ends with a seal: the SHA-256 digest of all characters before it. The record holds the digest of the rest of the file.
So no byte of a file can change unnoticed. A text without a seal is of a file that was exported before records were sealed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.source import Call, Source
from sentviz.runs.store import version

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.figures.figure import Figure

T = TypeVar("T")

DIGITS = 7  # of each number that a record keeps
ALIKE = 1e-5  # of the largest number of a column: what other hardware may change
MOST_PACKED = 256_000  # characters of a frame in a file; of a larger one its digest only
MOST_RECORD = 8_000_000  # characters of a record that is read
MOST_WORDS = 500_000  # characters of what a record says of one figure apart from its packed numbers
MOST_PANELS = 64  # figures of a sheet or report that are read
MOST_TABLE = 64_000_000  # characters of a frame that is read
MOST_COMPARED = 16_000_000  # characters of a frame whose cells are compared one by one
MOST_DIGITS = 20  # digits of a whole number
MOST_NESTED = 8  # lists in lists in an option


class ChangedError(InputError):
    """A file is not as it was written."""


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
        panels: records of the figures of a sheet or report; its own record has a name, a style and a version only.
        sealed: whether the text that it was read from ended with its seal.
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
    sealed: bool = True

    @classmethod
    def of_sheet(cls, name: str, panels: Sequence[Record], style: str = "") -> Record:
        """Return the record of several figures in one file."""
        return cls(name, None, (), "", "", style, version(), "", "", panels=tuple(panels))

    @classmethod
    def of(cls, figure: Figure, style: str = "") -> Record:
        """The record of a figure, whose looks may have been changed."""
        table = packed(figure.frame)
        kept = base64.b64encode(zlib.compress(table.encode(), 9)).decode()
        kept = kept if len(kept) <= MOST_PACKED else ""
        return cls(figure.name, figure.call, figure.runs, figure.source, figure.view, style, version(), _digest(table), kept)

    def text(self) -> str:
        """Return the record as JSON in ASCII without "<", with its seal as the last entry."""
        body = json.dumps(self._said())[:-1].replace("<", "\\u003c")
        return body + _SEAL + _sealing(body)

    def _said(self) -> dict[str, Any]:
        call = None if self.call is None else vars(self.call) | {"options": _plain(self.call.options)}
        runs = [vars(one) for one in self.runs]
        panels = {"panels": [panel._said() for panel in self.panels]} if self.panels else {}
        return {"sentviz": self.version} | {key: getattr(self, key) for key in _TEXTS} | {"call": call, "runs": runs} | panels

    @classmethod
    def read(cls, text: str) -> Record:
        """Return the record that a text holds.

        Raises:
            ChangedError: a character of it was changed, or its numbers do not have the digest that it names.
            InputError: it is not a record, or it is larger than the record of any figure.
        """
        if len(text) > MOST_RECORD:
            raise InputError(f"its record has more than {MOST_RECORD:,} characters, which no figure's has")
        body, seal, ending = text.rpartition(_SEAL)
        try:
            if seal and ending != _sealing(body):
                raise ChangedError("its record was changed after sentviz had written it")
            entries = json.loads(body + "}" if seal else text, **_STRICT)
            panels = entries.pop("panels", [])
            if len(panels) > MOST_PANELS:
                raise InputError(f"its record names {len(panels):,} figures, and a sheet holds {MOST_PANELS} at most")
            words = len(text) - sum(len(panel["table"]) for panel in (entries, *panels))
            if words > MOST_WORDS * max(1, len(panels)):
                raise InputError(f"its record says more than {MOST_WORDS:,} characters of a figure, which no figure's does")
            whole = replace(cls._read(entries), panels=tuple(map(cls._read, panels)))
            if panels and (whole.call or whole.runs or whole.frame or whole.source):
                raise InputError("its record is of a sheet and of a figure at once")
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError("its record is damaged") from error
        return replace(whole, panels=tuple(replace(panel, sealed=bool(seal)) for panel in whole.panels), sealed=bool(seal))

    @classmethod
    def _read(cls, entries: dict[str, Any]) -> Record:
        """A record of one figure; what is wrong with it is any of the errors that `read` expects."""
        texts: dict[str, Any] = {key: _typed(entries.pop(key), str) for key in _TEXTS}
        version, call, runs = _typed(entries.pop("sentviz"), str), entries.pop("call"), _typed(entries.pop("runs"), list)
        if entries:
            raise KeyError(f"an entry {next(iter(entries))!r}, which no record has")
        if call is not None:
            options = {key: _frozen(value) for key, value in _typed(call.pop("options"), dict).items()}
            call = Call(**{key: _typed(value, str) for key, value in call.items()}, options=options)
        kinds: dict[str, Any] = {"run": str, "digest": str, "seed": int, "rows": str}
        sources = tuple(Source(**{key: _typed(value, kinds[key]) for key, value in run.items()}) for run in runs)
        record = cls(call=call, runs=sources, version=version, **texts)
        if record.table and _digest(unpacked(record.table)) != record.frame:
            raise ChangedError("its record was changed: the numbers in it are not those that it names by digest")
        return record

    def differs(self, frame: pd.DataFrame) -> str:
        """Where a frame is another than the record's, as half a sentence; empty where it is the same."""
        now = packed(frame)
        if self.frame == _digest(now):
            return ""
        then = unpacked(self.table) if self.table else ""
        if not then or len(then) > MOST_COMPARED:
            return "some number is another; there are too many for the file to hold them, so that it cannot be said which"
        columns = cells(then)
        return difference(columns, json.loads(now)) if columns else "what its record holds are no columns of numbers"


_SEAL = ', "seal": "'
_TEXTS = ("name", "source", "view", "style", "frame", "table", "picture")


def packed(frame: pd.DataFrame) -> str:
    """The numbers and words of a frame, column by column, as text that does not depend on the machine."""
    columns = {str(name): [_cell(value) for value in frame[name].tolist()] for name in frame.columns}
    return json.dumps(columns, separators=(",", ":"))


def unpacked(table: str) -> str:
    """Return the text of `packed` from what a record keeps.

    Raises:
        InputError: it is damaged, or longer than `MOST_TABLE`.
    """
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(base64.b64decode(table, validate=True), MOST_TABLE).decode()
    except (ValueError, zlib.error) as error:
        raise InputError("the numbers in its record are damaged") from error
    if reader.unconsumed_tail or not reader.eof:
        raise InputError("the numbers in its record are damaged")
    return text


def cells(text: str) -> dict[str, list[Any]]:
    """Return the columns of a text of `packed`; none where it holds anything but columns of numbers and words."""
    try:
        columns = json.loads(text, **_STRICT)
        values = [cell for column in columns.values() for cell in _typed(column, list)]
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return columns if all(cell is None or isinstance(cell, str | int | float) for cell in values) else {}


def difference(then: Mapping[str, list[Any]], now: Mapping[str, list[Any]]) -> str:
    """Where two tables differ, as half a sentence: columns, rows, and the largest difference; empty where they are alike."""
    if list(then) != list(now):
        lost, new = [name for name in then if name not in now], [name for name in now if name not in then]
        return f"the file has {'the column ' + lost[0][:40] if lost else 'no column ' + new[0] if new else 'the columns in another order'}"
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


def _frozen(value: Any, depth: int = MOST_NESTED) -> Any:
    """An option from JSON: what was several is a tuple."""
    if depth < 0:
        raise ValueError("lists in lists in lists")
    if isinstance(value, dict):
        return {key: _frozen(part, depth - 1) for key, part in value.items()}
    return tuple(_frozen(part, depth - 1) for part in value) if isinstance(value, list) else value


def _typed(value: Any, kind: type[T]) -> T:
    """A value that is of a type.

    Raises:
        TypeError: it is of another one.
    """
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{value!r:.40} in the place of a {kind.__name__}")
    return value


# ---- JSON as records have it


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise InputError(f"its record says {twice!r:.40} twice")
    return entries


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise InputError(f"its record holds a number of {len(digits):,} digits")
    return int(digits)


def _real(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise InputError(f"its record holds {digits:.40}, which is no finite number")
    return value


_STRICT: dict[str, Any] = {"object_pairs_hook": _once, "parse_int": _whole, "parse_float": _real, "parse_constant": _real}


def _sealing(body: str) -> str:
    """Return what follows `_SEAL` in a text that begins with `body`."""
    return _digest(body + "}") + '"}'


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
