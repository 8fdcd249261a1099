"""Read a table of texts from a file's bytes, in any format of `sentviz.data.formats`. Limits are checked while reading.

`python -m sentviz.data.table` reads a file from standard input and writes the table to standard output (see `arguments`).
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any

from sentviz.data.excel import Workbook
from sentviz.data.formats import BY_LINES, HALF, Format, Record, check_names, detect, fields_of, nested, records, shapes
from sentviz.errors import InputError
from sentviz.io.documents import parse_json
from sentviz.io.lazy import pa, pc, pq

REFUSED = 3  # exit status if the output is an error message
BATCH, LINES_READ = 100, 2_000  # rows read at a time from a parquet file and from other files
AT_ONCE = 16 * 2**20  # bytes of a parquet file's content read at a time, if its rows are long
NICENESS = 10  # added to the process's niceness, so that predictions run first; see nice(2)
CUT = "Cut it down or save it as CSV (UTF-8)."


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


def parsed(data: bytes, name: str, limits: Limits, sheet: str = "") -> tuple[pa.Table, list[str]]:
    """Return the rows of a file, at most `limits.rows`, and remarks on how it was read. Time and memory are not limited here.

    The metadata of the table names the sheets of a workbook and the one that was read: {"sheets": ..., "sheet": ...}, in JSON.

    Args:
        sheet: sheet of a workbook; by default the one that looks most like a table of texts.
    Cells are numbers, or texts of at most `limits.cell` characters; any other type of a parquet file is read as text.
    """
    file = io.BytesIO(data)
    form = detect(file, name, PurePath(name).suffix.lower())
    sheets: list[str] = []
    if form.kind == "excel":
        book = Workbook(file, name)
        sheet, sheets = book.chosen(sheet), book.sheets
    elif sheet:
        raise InputError(f"{name} is not an Excel file, so it has no sheet {sheet!r}.")
    tables: list[pa.Table] = []
    remarks = [*form.remarks]
    rows = content = shortened = 0
    for part in _parquet(data, name, limits, remarks) if form.kind == "parquet" else _parts(file, form, name, limits, remarks, sheet):
        part = part.slice(0, limits.rows + 1 - rows)
        table, too_long = _limited_cells(part, limits.cell)
        tables.append(table)
        rows, content, shortened = rows + table.num_rows, content + table.nbytes, shortened + too_long
        if content > limits.content:
            raise InputError(_too_much(name, limits))
        if rows > limits.rows:
            break
    if not rows:
        raise InputError(" ".join([f"{name} has a header but no rows.", *remarks]))
    if shortened:
        remarks.append(cut(shortened, limits.cell))
    if rows > limits.rows:
        remarks.append(f"Only the first {limits.rows:,} rows are read.")
    table = _joined(tables).slice(0, limits.rows)
    parents = [name for name in table.column_names if any(column.startswith(f"{name}.") for column in table.column_names)]
    table = table.drop_columns([name for name in parents if table[name].null_count == len(table)])
    return table.replace_schema_metadata({"sheets": json.dumps(sheets), "sheet": json.dumps(sheet)}), remarks


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Return all parts as one table; a column that holds numbers in one part and texts in another one holds texts."""
    texts = {name for part in tables for name, kind in zip(part.column_names, part.schema.types, strict=True) if kind == pa.large_string()}
    parts = [
        pa.table(
            [_as_text(column, 1 << 30) if name in texts else column for name, column in zip(part.column_names, part.columns, strict=True)],
            part.column_names,
        )
        for part in tables
    ]
    return pa.concat_tables(parts, promote_options="permissive")


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
    try:
        return column.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists and other nested types; bytes that are not UTF-8
        cells = (None if cell is None else str(cell)[: longest + 1] for cell in (value.as_py() for value in column))
        return pa.chunked_array([pa.array(cells, type=pa.large_string())])


def _parquet(data: bytes, name: str, limits: Limits, remarks: list[str]) -> Iterator[pa.Table]:
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        schema = flat([], file.schema_arrow)
        remarks += shapes_of(file.schema_arrow)
        _limit_columns(schema.column_names, name, limits)
        yield schema
        for batch in file.iter_batches(rows_at_once(file, BATCH)):
            batch.validate(full=True)
            yield flat([batch])
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        if isinstance(error, InputError | MemoryError):
            raise
        reason = "a text in it is not UTF-8" if "utf" in str(error).casefold() else (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{name} is a damaged parquet file ({reason}).") from error


def flat(batches: Sequence[Any], schema: Any = None) -> pa.Table:
    """Return rows of a parquet file with the fields of structs as columns: the field text of the column review is review.text."""
    table = pa.Table.from_batches(batches, schema)
    while any(pa.types.is_struct(kind) for kind in table.schema.types):
        table = table.flatten()
    return table


def shapes_of(schema: Any) -> list[str]:
    """Return remarks on the columns of a parquet file that are structs or lists."""
    own, columns = set(schema.names), flat([], schema).schema
    lists = [field.name for field in columns if pa.types.is_list(field.type) or pa.types.is_large_list(field.type)]
    return shapes([name for name in columns.names if name not in own], lists)


def rows_at_once(file: Any, most: int) -> int:
    """Return how many rows of a parquet file to read at a time: at most `most`, fewer if the rows are long, at least one."""
    groups = (file.metadata.row_group(k) for k in range(file.metadata.num_row_groups))
    content = max(1, sum(group.total_byte_size for group in groups))
    rows: int = file.metadata.num_rows * AT_ONCE // content
    return max(1, min(most, rows))


def _parts(file: io.BytesIO, form: Format, name: str, limits: Limits, remarks: list[str], sheet: str) -> Iterator[pa.Table]:
    """Yield the rows of a file that is not parquet. A row that cannot be read is blank, so that row numbers are those of the file."""
    _limit_columns(form.header, name, limits)
    rows = iter(all_records(file, form, name, limits.columns, remarks, sheet))
    names = dict.fromkeys(form.header)
    problems: list[str] = []
    while part := list(islice(rows, LINES_READ)):
        why = [record.problem or misread(record.fields.values()) for record in part]
        problems += filter(None, why)
        fields = [{} if reason else record.fields for record, reason in zip(part, why, strict=True)]
        names |= dict.fromkeys(key for row in fields for key in row)
        _limit_columns([*names], name, limits)
        columns = {key or "text": [row.get(key) for row in fields] for key in names}
        yield pa.table({key: _column(cells, missing="" if form.kind == "csv" else None) for key, cells in columns.items()})
    if problems:
        remarks.append(f"Rows that cannot be read and are left out: {len(problems):,}. The first problem: {problems[0]}")


def all_records(file: Any, form: Format, name: str, columns: int, remarks: list[str], sheet: str = "") -> Iterator[Record]:
    """Yield every row of a file that is not parquet.

    Args:
        columns: maximum number of columns of a workbook. remarks: list to which remarks on how the file is read are added.
        sheet: sheet of a workbook; by default the one that looks most like a table of texts.
    """
    if form.kind in BY_LINES:
        yield from records(file, form, form.start, 1 << 62, name)
    elif form.kind == "json":
        file.seek(form.start)
        rows_of_file = _json_rows(file.read().decode(form.encoding, "replace"), name)
        remarks += nested(rows_of_file)
        yield from (Record(*fields_of(row), 0) for row in rows_of_file)
    else:
        book = Workbook(file, name)
        remarks += book.remarks(sheet := book.chosen(sheet))
        rows = book.rows(sheet, columns)
        head = ["" if cell is None else str(cell) for cell in next(rows, [])]
        header = [cell or f"column {place + 1}" for place, cell in enumerate(head)]
        check_names(header, name)
        for cells in rows:
            yield Record(dict(zip(header, [*cells, *[None] * (len(header) - len(cells))], strict=False)), "", 0)


def misread(cells: Any) -> str:
    """Return why the cells of a row cannot be read; "" if they can: bytes that are not in the file's encoding became half characters."""
    odd = any(isinstance(cell, str) and not cell.isascii() and HALF.search(cell) for cell in cells)
    return "The row is not in the encoding of the file." if odd else ""


def _json_rows(text: str, name: str) -> list[Any]:
    """Return the rows of a JSON file: a list, or the first list that an object holds."""
    value = parse_json(text, name, gaps=True)
    if isinstance(value, dict):
        value = next((each for each in value.values() if isinstance(each, list)), None)
    if not isinstance(value, list):
        raise InputError(f"{name} holds no list of rows. Save it as JSON lines or CSV.")
    return value


def _column(cells: Sequence[Any], missing: Any) -> Any:
    """Return cells as numbers if all of them are, otherwise as texts."""
    if all(cell is None or isinstance(cell, int | float) for cell in cells) and missing is None:
        try:
            return pa.array(cells)
        except (pa.ArrowInvalid, OverflowError):
            pass
    texts = [missing if cell is None else cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False) for cell in cells]
    return pa.array([None if text is None else text.encode("utf-8", "replace").decode() for text in texts], type=pa.large_string())


def _limit_columns(names: Sequence[str], name: str, limits: Limits) -> None:
    if len(names) > limits.columns:
        raise InputError(
            f"{name} has {len(names):,} columns; at most {limits.columns:,} are read. Keep only the columns of texts and labels."
        )
    check_names(names, name)


def _too_much(name: str, limits: Limits) -> str:
    return f"{name} has more than {limits.content // 2**20:,} MB of text in its first {limits.rows:,} rows. Split it into smaller files."


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


def main(name: str, limits: Limits, sheet: str) -> int:
    """Read a file from standard input and write an Arrow stream with remarks, or an error, to standard output. Return the exit status."""
    _limited(limits)
    try:
        table, remarks = parsed(sys.stdin.buffer.read(), name, limits, sheet)
        _write(table.replace_schema_metadata({**table.schema.metadata, "remarks": json.dumps(remarks)}))
    except (InputError, MemoryError) as error:
        message = too_large(name, limits) if isinstance(error, MemoryError) else str(error)
        sys.stdout.buffer.write(message.encode("utf-8", "replace"))
        return REFUSED
    return 0


def _write(table: pa.Table) -> None:
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as writer:
        writer.write_table(table)


def arguments(name: str, limits: Limits, sheet: str = "") -> list[str]:
    """Return the command that reads a file of this name from standard input."""
    return [sys.executable, "-m", "sentviz.data.table", json.dumps({"name": name, "limits": asdict(limits), "sheet": sheet})]


if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    sys.exit(main(request["name"], Limits(**request["limits"]), request["sheet"]))
