"""A table of texts from a file's bytes: CSV in any usual encoding and separator, or parquet. Strict limits, checked while reading.

`python -m sentviz.data.table` reads one from standard input and writes it to standard output (`arguments`, `sentviz.data.upload`).
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from sentviz.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

ENCODINGS = ("utf-8-sig", "cp949", "cp1252")
SEPARATORS = ",;\t|"
NEVER = "\x1f"  # a separator that no text holds
LINES = 50  # of a file, that tell its separator and its columns
BEGINNING = 4 * 2**20  # characters in which these lines are looked for
REFUSED = 3  # exit status where a sentence says why
BATCH, LINES_READ = 100, 2_000  # rows of a parquet and of a CSV file read at a time
AT_ONCE = 16 * 2**20  # bytes of a parquet file's content read at a time, if its rows are long
LATER = 10  # how much later than answers the reader's work comes; see nice(2)
CUT = "Cut it down or save it as CSV (UTF-8)."
_TOO_LONG = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
_OPEN = re.compile(r"EOF inside string starting at row (\d+)")


@dataclass(frozen=True)
class Limits:
    """What a visitor's file may be and cost."""

    size: int = 50 * 2**20  # bytes of the file
    rows: int = 50_000  # that are read; a remark says where there are more
    columns: int = 200
    cell: int = 20_000  # characters of a cell that are read; a remark says how many cells have more
    content: int = 64 * 2**20  # bytes of what is read
    seconds: float = 10.0  # of a processor
    memory: int = 5 * 2**28  # bytes of the process that reads it


def parsed(data: bytes, name: str, limits: Limits) -> tuple[pa.Table, list[str]]:
    """The rows of a file, at most `limits.rows`, and remarks on how it was read. Takes what the file asks of time and memory.

    Cells hold numbers, or texts of at most `limits.cell` characters; whatever else a parquet file holds is read as text.

    Raises:
        InputError: empty, too many columns or too much in them, or neither a CSV nor a parquet file.
    """
    if not data.strip():
        raise InputError(f"{name} is empty.")
    kept: list[pa.Table] = []
    remarks: list[str] = []
    rows = content = shortened = 0
    for part in _parquet(data, name, limits) if data[:4] == b"PAR1" else _csv(data, name, limits, remarks):
        part = part.slice(0, limits.rows + 1 - rows)
        held, longer = _held(part, limits.cell)
        kept.append(held)
        rows, content, shortened = rows + held.num_rows, content + held.nbytes, shortened + longer
        if content > limits.content:
            raise InputError(_too_much(name, limits))
        if rows > limits.rows:
            break
    if not rows:
        raise InputError(f"{name} has a header but no rows.")
    if shortened:
        remarks.append(cut(shortened, limits.cell))
    if rows > limits.rows:
        remarks.append(f"Only the first {limits.rows:,} rows are read.")
    import pyarrow as pa  # a shape that no table has was refused before it is loaded

    return pa.concat_tables(kept, promote_options="permissive").slice(0, limits.rows), remarks


def cut(cells: int, characters: int) -> str:
    """That cells were cut, as a remark."""
    which = "1 cell has" if cells == 1 else f"{cells:,} cells have"
    return f"{which} more than {characters:,} characters; what follows those is not read."


def too_slow(name: str, limits: Limits) -> str:
    """Why the reading of a file was ended, as a sentence."""
    return f"{name} takes longer than {limits.seconds:g} seconds to read: is it a table? {CUT}"


def too_large(name: str, limits: Limits) -> str:
    """Why the reading of a file was ended, as a sentence."""
    return f"{name} takes more than {limits.memory // 2**20:,} MB of memory to read. {CUT}"


def _held(part: pa.Table, longest: int) -> tuple[pa.Table, int]:
    """Rows with numbers as they are and all else as text, cut; and how many cells were cut."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns, longer = [], 0
    for column in part.columns:
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            column = _as_text(column, longest)
            beyond = pc.sum(pc.greater(pc.utf8_length(column), longest)).as_py() or 0
            column = pc.utf8_slice_codeunits(column, 0, longest) if beyond else column
            longer += beyond
        columns.append(column)
    return pa.table(columns, names=part.column_names), longer


def _as_text(column: Any, longest: int) -> Any:
    import pyarrow as pa

    try:
        return column.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists and the like; bytes that are no text
        cells = (None if cell is None else str(cell)[: longest + 1] for cell in (one.as_py() for one in column))
        return pa.chunked_array([pa.array(cells, type=pa.large_string())])


def _parquet(data: bytes, name: str, limits: Limits) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        _headed(file.schema_arrow.names, name, limits)
        yield pa.Table.from_batches([], file.schema_arrow)
        for batch in file.iter_batches(rows_at_once(file, BATCH)):
            batch.validate(full=True)
            yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        if isinstance(error, InputError | MemoryError):
            raise
        said = "a text in it is not UTF-8" if "utf" in str(error).casefold() else (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{name} is a damaged parquet file ({said}).") from error


def rows_at_once(file: Any, most: int) -> int:
    """Rows of a parquet file to read at a time: fewer than `most` if they are long, at least one."""
    groups = (file.metadata.row_group(k) for k in range(file.metadata.num_row_groups))
    content = max(1, sum(group.total_byte_size for group in groups))
    rows: int = file.metadata.num_rows * AT_ONCE // content
    return max(1, min(most, rows))


def _csv(data: bytes, name: str, limits: Limits, remarks: list[str]) -> Iterator[pa.Table]:
    beginning, encoding = _decoded(data, name)
    if encoding != "utf-8-sig":
        remarks.append(f"{name} is not UTF-8; it was read as {encoding}. If letters look wrong, save it as UTF-8.")
    mark, rows = separator(beginning)
    header = rows[0] if rows else [""]
    _headed(header, name, limits)
    if len(header) == 1:  # a text a line, in which any sign may stand
        mark, rows = NEVER, [header]
    widest = max(rows, key=len, default=header)
    if len(widest) > limits.columns:
        raise InputError(_too_wide(name, len(header), rows.index(widest) + 1, len(widest)))
    yield from _lines(io.BytesIO(data), encoding, mark, header, len(widest), name)


def _lines(file: io.BytesIO, encoding: str, mark: str, header: Sequence[str], width: int, name: str) -> Iterator[pa.Table]:
    """The rows below the header. Fields beyond its columns have to be empty, as many programs end lines with separators."""
    import pandas as pd
    import pyarrow as pa

    names = [column or f"Unnamed: {place}" for place, column in enumerate(header)]
    beyond = [f"\0{place}" for place in range(width - len(header))]
    settings: dict[str, Any] = {"dtype": str, "keep_default_na": False, "index_col": False, "chunksize": LINES_READ}
    try:
        read = 1
        for part in pd.read_csv(file, sep=mark, encoding=encoding, header=0, names=[*names, *beyond], **settings):
            over = (part[beyond] != "").any(axis=1) if beyond else pd.Series(dtype=bool)
            if over.any():
                first = int(over.to_numpy().argmax())
                raise InputError(_too_wide(name, len(names), read + first + 1, width))
            yield pa.Table.from_pandas(part[names], preserve_index=False).replace_schema_metadata(None)
            read += len(part)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        said = str(error).splitlines()[0]
        if "out of memory" in said:
            raise MemoryError from error
        if long := _TOO_LONG.search(said):
            raise InputError(_too_wide(name, len(names), int(long[2]), int(long[3]))) from error
        if unclosed := _OPEN.search(said):
            raise InputError(f"{name} cannot be read as a table: a quotation mark in row {unclosed[1]} is never closed.") from error
        raise InputError(f"{name} cannot be read as a table with a header line ({said}).") from error


def separator(text: str) -> tuple[str, list[list[str]]]:
    """The separator under which the first lines fall into most columns, the same in all of them, and the rows that these lines are then."""
    found = {}
    usual = csv.field_size_limit(2**31 - 1)
    try:
        for mark in SEPARATORS:
            lines = islice(csv.reader(io.StringIO(text, newline=""), delimiter=mark), LINES)
            rows: list[list[str]] = []
            with suppress(csv.Error):
                rows = [row for row in lines if len(row) > 1 or "".join(row).strip()]
            if rows:
                width = len(rows[0])
                found[mark] = sum(len(row) == width for row in rows) / len(rows) * (width > 1), width, rows
    finally:
        csv.field_size_limit(usual)
    mark = max(found, key=lambda mark: found[mark][:2], default=",")
    return (mark, found[mark][2]) if found.get(mark, (0,))[0] else (",", found[","][2] if "," in found else [])


def _headed(names: Sequence[str], name: str, limits: Limits) -> None:
    if len(names) > limits.columns:
        raise InputError(
            f"{name} has {len(names):,} columns; files of at most {limits.columns:,} are read: keep those of texts and labels."
        )
    seen: set[str] = set()
    for column in filter(None, names):
        if column in seen:
            raise InputError(f"{name} has several columns named {column!r}; give each a name of its own.")
        seen.add(column)


def _too_wide(name: str, columns: int, row: int, fields: int) -> str:
    return f"Row {row:,} of {name} has {fields:,} fields and its header {columns:,}: put texts that hold a separator in quotation marks."


def _too_much(name: str, limits: Limits) -> str:
    return f"{name} holds more than {limits.content // 2**20:,} MB of text in its first {limits.rows:,} rows: read it in parts."


def _decoded(data: bytes, name: str) -> tuple[str, str]:
    """The beginning of a text file, and its encoding, which the whole file follows."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encodings: tuple[str, ...] = ("utf-16",)
    else:
        encodings = ENCODINGS
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            break
        if encoding == "cp949" and 2 * len(re.findall("[\uac00-\ud7a3]", text)) < len(re.findall("[^\0-\x7f]", text)):
            continue
        return text[:BEGINNING], encoding
    raise InputError(f"{name} is not a table of text: save it as CSV (UTF-8) or parquet.")


def _limited(limits: Limits) -> None:
    """The process ends rather than take more of the machine than it may, and lets answers go first."""
    try:
        import resource
    except ImportError:  # not on Windows, where the one that waits for it ends it
        return
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    seconds = int(limits.seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))  # SIGXCPU a second before SIGKILL
    os.nice(LATER)


def main(name: str, limits: Limits) -> int:
    """From standard input to standard output: an Arrow stream with its remarks, or one sentence and `REFUSED`."""
    _limited(limits)
    try:
        table, remarks = parsed(sys.stdin.buffer.read(), name, limits)
        _write(table.replace_schema_metadata({"remarks": json.dumps(remarks)}))
    except (InputError, MemoryError) as error:
        said = too_large(name, limits) if isinstance(error, MemoryError) else str(error)
        sys.stdout.buffer.write(said.encode("utf-8", "replace"))
        return REFUSED
    return 0


def _write(table: pa.Table) -> None:
    import pyarrow as pa

    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as writer:
        writer.write_table(table)


def arguments(name: str, limits: Limits) -> list[str]:
    """The command that reads a file of this name."""
    return [sys.executable, "-m", "sentviz.data.table", json.dumps({"name": name, "limits": asdict(limits)})]


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    sys.exit(main(asked["name"], Limits(**asked["limits"])))
