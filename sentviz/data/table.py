"""Read a table of texts from a file's bytes: CSV in any usual encoding and separator, or parquet. Limits are checked while reading.

`python -m sentviz.data.table` reads a file from standard input and writes the table to standard output (see `arguments`).
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
NEVER = "\x1f"  # a separator that no text contains
LINES = 50  # lines from which the separator and the columns are guessed
BEGINNING = 4 * 2**20  # characters in which these lines are searched
REFUSED = 3  # exit status if the output is an error message
BATCH, LINES_READ = 100, 2_000  # rows read at a time from a parquet file and from a CSV file
AT_ONCE = 16 * 2**20  # bytes of a parquet file's content read at a time, if its rows are long
NICENESS = 10  # added to the process's niceness, so that predictions run first; see nice(2)
CUT = "Cut it down or save it as CSV (UTF-8)."
_TOO_LONG = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
_OPEN = re.compile(r"EOF inside string starting at row (\d+)")


@dataclass(frozen=True)
class Limits:
    """Limits on a visitor's file and on the work of reading it."""

    size: int = 50 * 2**20  # bytes of the file
    rows: int = 50_000  # rows that are read; a remark says if there are more
    columns: int = 200
    cell: int = 20_000  # characters of a cell that are read; a remark says how many cells are longer
    content: int = 64 * 2**20  # bytes of the table in memory
    seconds: float = 10.0  # processor time
    memory: int = 5 * 2**28  # bytes of memory of the reading process


def parsed(data: bytes, name: str, limits: Limits) -> tuple[pa.Table, list[str]]:
    """Return the rows of a file, at most `limits.rows`, and remarks on how it was read. Time and memory are not limited here.

    Cells are numbers, or texts of at most `limits.cell` characters; any other type of a parquet file is read as text.

    Raises:
        InputError: the file is empty, has too many columns or too much content, or is neither a CSV nor a parquet file.
    """
    if not data.strip():
        raise InputError(f"{name} is empty.")
    tables: list[pa.Table] = []
    remarks: list[str] = []
    rows = content = shortened = 0
    for part in _parquet(data, name, limits) if data[:4] == b"PAR1" else _csv(data, name, limits, remarks):
        part = part.slice(0, limits.rows + 1 - rows)
        table, too_long = _limited_cells(part, limits.cell)
        tables.append(table)
        rows, content, shortened = rows + table.num_rows, content + table.nbytes, shortened + too_long
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

    return pa.concat_tables(tables, promote_options="permissive").slice(0, limits.rows), remarks


def cut(cells: int, characters: int) -> str:
    """Return a remark on cells that were cut."""
    which = "1 cell has" if cells == 1 else f"{cells:,} cells have"
    return f"{which} more than {characters:,} characters; only these are read."


def too_slow(name: str, limits: Limits) -> str:
    """Return the message for a file that takes too long to read."""
    return f"{name} takes longer than {limits.seconds:g} seconds to read. Check that it is a table. {CUT}"


def too_large(name: str, limits: Limits) -> str:
    """Return the message for a file that takes too much memory to read."""
    return f"{name} takes more than {limits.memory // 2**20:,} MB of memory to read. {CUT}"


def _limited_cells(part: pa.Table, longest: int) -> tuple[pa.Table, int]:
    """Return rows with numbers unchanged and every other type as text, cut at `longest` characters, and the number of cells cut."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns, too_long = [], 0
    for column in part.columns:
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            column = _as_text(column, longest)
            beyond = pc.sum(pc.greater(pc.utf8_length(column), longest)).as_py() or 0
            column = pc.utf8_slice_codeunits(column, 0, longest) if beyond else column
            too_long += beyond
        columns.append(column)
    return pa.table(columns, names=part.column_names), too_long


def _as_text(column: Any, longest: int) -> Any:
    import pyarrow as pa

    try:
        return column.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists and other nested types; bytes that are not UTF-8
        cells = (None if cell is None else str(cell)[: longest + 1] for cell in (value.as_py() for value in column))
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
        reason = "a text in it is not UTF-8" if "utf" in str(error).casefold() else (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{name} is a damaged parquet file ({reason}).") from error


def rows_at_once(file: Any, most: int) -> int:
    """Return how many rows of a parquet file to read at a time: at most `most`, fewer if the rows are long, at least one."""
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
    if len(header) == 1:  # one text per line, which may contain any separator
        mark, rows = NEVER, [header]
    widest = max(rows, key=len, default=header)
    if len(widest) > limits.columns:
        raise InputError(_too_wide(name, len(header), rows.index(widest) + 1, len(widest)))
    yield from _lines(io.BytesIO(data), encoding, mark, header, len(widest), name)


def _lines(file: io.BytesIO, encoding: str, mark: str, header: Sequence[str], width: int, name: str) -> Iterator[pa.Table]:
    """Yield the rows below the header. Fields beyond the header's columns must be empty: many programs end lines with separators."""
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
        reason = str(error).splitlines()[0]
        if "out of memory" in reason:
            raise MemoryError from error
        if long := _TOO_LONG.search(reason):
            raise InputError(_too_wide(name, len(names), int(long[2]), int(long[3]))) from error
        if unclosed := _OPEN.search(reason):
            raise InputError(f"{name} cannot be read as a table: a quotation mark in row {unclosed[1]} is never closed.") from error
        raise InputError(f"{name} cannot be read as a table with a header line ({reason}).") from error


def separator(text: str) -> tuple[str, list[list[str]]]:
    """Return the separator that splits the first lines into the most columns, the same number in each, and the lines as rows."""
    by_mark: dict[str, tuple[float, int, list[list[str]]]] = {}
    usual = csv.field_size_limit(2**31 - 1)
    try:
        for mark in SEPARATORS:
            lines = islice(csv.reader(io.StringIO(text, newline=""), delimiter=mark), LINES)
            rows: list[list[str]] = []
            with suppress(csv.Error):
                rows = [row for row in lines if len(row) > 1 or "".join(row).strip()]
            if rows:
                width = len(rows[0])
                by_mark[mark] = sum(len(row) == width for row in rows) / len(rows) * (width > 1), width, rows
    finally:
        csv.field_size_limit(usual)
    mark = max(by_mark, key=lambda mark: by_mark[mark][:2], default=",")
    return (mark, by_mark[mark][2]) if by_mark.get(mark, (0,))[0] else (",", by_mark[","][2] if "," in by_mark else [])


def _headed(names: Sequence[str], name: str, limits: Limits) -> None:
    if len(names) > limits.columns:
        raise InputError(
            f"{name} has {len(names):,} columns; at most {limits.columns:,} are read. Keep only the columns of texts and labels."
        )
    seen: set[str] = set()
    for column in filter(None, names):
        if column in seen:
            raise InputError(f"{name} has several columns named {column!r}; give each column a different name.")
        seen.add(column)


def _too_wide(name: str, columns: int, row: int, fields: int) -> str:
    return f"Row {row:,} of {name} has {fields:,} fields, but its header {columns:,}. Put texts with a separator in quotation marks."


def _too_much(name: str, limits: Limits) -> str:
    return f"{name} has more than {limits.content // 2**20:,} MB of text in its first {limits.rows:,} rows. Split it into smaller files."


def _decoded(data: bytes, name: str) -> tuple[str, str]:
    """Return the beginning of a text file, and the encoding of the complete file."""
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
    raise InputError(f"{name} is not a table of text. Save it as CSV (UTF-8) or parquet.")


def _limited(limits: Limits) -> None:
    """Limit this process's memory and processor time, and lower its priority."""
    try:
        import resource
    except ImportError:  # Windows has no such limits; there the parent process ends this one after `WAIT`
        return
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    seconds = int(limits.seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))  # SIGXCPU a second before SIGKILL
    os.nice(NICENESS)


def main(name: str, limits: Limits) -> int:
    """Read a file from standard input and write an Arrow stream with remarks, or an error, to standard output. Return the exit status."""
    _limited(limits)
    try:
        table, remarks = parsed(sys.stdin.buffer.read(), name, limits)
        _write(table.replace_schema_metadata({"remarks": json.dumps(remarks)}))
    except (InputError, MemoryError) as error:
        message = too_large(name, limits) if isinstance(error, MemoryError) else str(error)
        sys.stdout.buffer.write(message.encode("utf-8", "replace"))
        return REFUSED
    return 0


def _write(table: pa.Table) -> None:
    import pyarrow as pa

    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as writer:
        writer.write_table(table)


def arguments(name: str, limits: Limits) -> list[str]:
    """Return the command that reads a file of this name from standard input."""
    return [sys.executable, "-m", "sentviz.data.table", json.dumps({"name": name, "limits": asdict(limits)})]


if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    sys.exit(main(request["name"], Limits(**request["limits"])))
