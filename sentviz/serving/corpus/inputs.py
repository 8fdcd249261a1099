"""Read any range of rows of a file of texts, without the rows before the range.

`survey` reads a file once: its digest, its format, and where each range of rows begins. `rows_of` reads one range. A row that cannot be
read has a text in the column `problem`. In txt and jsonl files, blank lines are rows; in csv and tsv files they are not.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sentviz.data.table import rows_at_once, separator
from sentviz.data.texts import LONGEST as MAX_TEXT
from sentviz.data.upload import guess
from sentviz.errors import InputError
from sentviz.io.files import open_regular

if TYPE_CHECKING:
    import pandas as pd

KINDS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "txt"}
MAX_FILE = 1 << 38  # size of a file in bytes
MAX_LINE = 1 << 26  # length of a line in bytes
MAX_CONTENT = 1 << 30  # bytes of the texts in one range of rows
PARQUET_BATCH = 1_000  # rows of a parquet file that are read at once
HEAD_ROWS = 50  # first rows, from which the column of the texts is guessed

WHOLE_LINE = ""  # name of the column if each line is a text

Fields = Mapping[str, Any]  # values of a row, by column


@dataclass(frozen=True)
class RowRange:
    """A range of the rows of a file."""

    first: int  # number of the first row, from 0
    rows: int  # number of rows
    start: int  # position in bytes; in a parquet file, number of the first row
    end: int  # position after the range, in the same unit


class Record(NamedTuple):
    """A row of a file."""

    fields: Fields
    problem: str  # reason why the row cannot be read; "" = it can be read
    end: int  # position in the file after the row, in bytes


@dataclass(frozen=True)
class Source:
    """A file of texts and its format. All fields except `path` are independent of the file's folder."""

    path: Path
    name: str
    size: int  # bytes
    digest: str  # first twelve hex digits of SHA-256
    kind: str  # value of `KINDS`
    text: str = WHOLE_LINE  # column of the texts
    pair: str = ""  # column of the second texts; "" = no such column
    label: str = ""  # column of the labels; "" = no such column
    header: tuple[str, ...] = ()  # column names of a csv file
    separator: str = ""  # character between the cells of a csv file
    encoding: str = ""  # encoding of a text file
    pieces: tuple[RowRange, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(piece.rows for piece in self.pieces)


def find_files(files: Sequence[str | Path]) -> dict[str, Path]:
    """Return the paths of files, of all supported files below folders, and of patterns, sorted, by their path below the common folder.

    Raises:
        InputError: there is no supported file, or a file has another type.
    """
    paths: set[Path] = set()
    for name in map(str, files):
        path = Path(name)
        if path.is_dir():
            matches = [match for match in path.rglob("*") if match.is_file() and match.suffix.lower() in KINDS]
        else:
            candidates = [path] if path.exists() else map(Path, glob(name, recursive=True))  # noqa: PTH207
            matches = [match for match in candidates if match.is_file()]
        if not matches:
            raise InputError(f"There is no file {name} that can be read. Supported files end with {', '.join(KINDS)}.")
        if unsupported := [match.name for match in matches if match.suffix.lower() not in KINDS]:
            raise InputError(f"{min(unsupported)} has an unsupported type. Supported files end with {', '.join(KINDS)}.")
        paths |= {match.resolve() for match in matches}
    above = Path(os.path.commonpath([path.parent for path in paths]))
    return {path.relative_to(above).as_posix(): path for path in sorted(paths)}


def survey(
    name: str, path: Path, *, text: str = "", pair: str = "", label: str = "", encoding: str = "utf-8-sig", rows: int = 20_000
) -> Source:
    """Read a file once: its digest, its columns, and where each range of `rows` rows begins.

    Args:
        text: column of the texts; by default guessed from names and content.
        pair: column of the second texts; "" = no such column.
        label: column of the labels; "" = no such column.
        encoding: encoding of a text file; its line ends must be those of ASCII.
        rows: rows per range.
    Raises:
        InputError: a parquet file is damaged, a column is missing, or the encoding cannot be read line by line.
    """
    with open_regular(path, MAX_FILE, name) as file:
        digest, size = hashlib.file_digest(file, "sha256").hexdigest()[:12], path.stat().st_size
    source = Source(path, name, size, digest, KINDS[path.suffix.lower()])
    columns = (text, pair, label)
    if source.kind == "parquet":
        return _survey_parquet(source, columns, rows)
    source, start = _detect_format(source, encoding)
    if source.kind != "txt":
        head = list(islice(_records(source, start, size), HEAD_ROWS))
        names = source.header or [key for key in dict.fromkeys(key for record in head for key in record.fields) if key != WHOLE_LINE]
        source = _set_columns(source, columns, names, head)
    pieces, first, count, start_of_piece, end = [], 0, 0, start, start
    for end in _row_ends(source, start):
        count += 1
        if count == rows or end - start_of_piece > MAX_CONTENT:
            pieces.append(RowRange(first, count, start_of_piece, end))
            first, count, start_of_piece = first + count, 0, end
    return replace(source, pieces=(*pieces, *([RowRange(first, count, start_of_piece, end)] if count else [])))


def rows_of(source: Source, piece: RowRange) -> pd.DataFrame:
    """Return the rows of one range: text, text_pair (for pairs), label (None = no label), problem ("" = no problem).

    Raises:
        InputError: the file is damaged.
    """
    import pandas as pd

    records = _parquet_rows(source, piece) if source.kind == "parquet" else list(_records(source, piece.start, piece.end))
    columns: dict[str, list[Any]] = {"text": [record.fields.get(source.text, record.fields.get(WHOLE_LINE)) for record in records]}
    columns |= {
        role: [record.fields.get(column) for record in records]
        for role, column in (("text_pair", source.pair), ("label", source.label))
        if column
    }
    columns["problem"] = [_problem(source, record, text) for record, text in zip(records, columns["text"], strict=True)]
    return pd.DataFrame(columns, dtype=object)


def _problem(source: Source, record: Record, text: Any) -> str:
    """Return why a row of the file cannot be read; "" if it can be read."""
    if record.problem:
        return record.problem
    if source.text not in record.fields and WHOLE_LINE not in record.fields:
        return f"The row has no column {source.text!r}."
    if source.encoding and isinstance(text, str) and any("\udc80" <= letter <= "\udcff" for letter in text):
        return f"The row is not in the encoding {source.encoding.removesuffix('-sig')}."
    return ""


def _set_columns(source: Source, columns: tuple[str, str, str], names: Sequence[str], head: Sequence[Record]) -> Source:
    """Return the source with its columns after a check; the column of the texts is guessed if it is not named."""
    import pandas as pd

    if any(name != _without_surrogates(name) for name in names):
        raise InputError(f"A column name of {source.name} is not in {source.encoding}. Name the file's encoding with --encoding.")
    for column in filter(None, columns):
        if column not in names:
            raise InputError(f"{source.name} has no column {column!r}. Its columns are {', '.join(names) or 'empty'}.")
    text, pair, label = columns
    if not text and names:
        cells = [[_without_surrogates(record.fields.get(name) or "") for name in names] for record in head]
        frame = pd.DataFrame(cells, columns=list(names), dtype=object)
        text = guess(frame) if head else names[0]
    return replace(source, text=text, pair=pair, label=label)


def _without_surrogates(cell: Any) -> Any:
    """Return a cell without unpaired surrogates, which tables cannot hold."""
    return cell.encode("utf-8", "replace").decode() if isinstance(cell, str) else cell


def _detect_format(source: Source, encoding: str) -> tuple[Source, int]:
    """Return the source with encoding, separator and header, and the position in bytes of its first row."""
    with source.path.open("rb") as file:
        beginning = file.read(1 << 16)
    try:
        if beginning[:2] in (b"\xff\xfe", b"\xfe\xff") or "\n".encode(encoding)[-1:] != b"\n":
            raise InputError(f"{source.name} is in an encoding that cannot be read line by line. Save it as UTF-8.")
    except LookupError:
        raise InputError(f"There is no encoding {encoding!r}. Common encodings are utf-8, cp949 and cp1252.") from None
    source = replace(source, encoding=encoding)
    if source.kind != "csv":
        return source, 0
    lines = beginning[: beginning.rfind(b"\n") + 1] or beginning
    mark = "\t" if source.path.suffix.lower() == ".tsv" else separator(lines.decode(encoding, "replace"))[0]
    source = replace(source, separator=mark)
    for record, end in _csv_records(source, 0, source.size):
        names = tuple(record) if isinstance(record, list) else ()
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{source.name} has several columns named {twice!r}. Rename them so that all names differ.")
        return replace(source, header=names), end
    return source, source.size


def _records(source: Source, start: int, end: int) -> Iterator[Record]:
    """Yield each row of a range of bytes."""
    if source.kind == "csv":
        for record, at in _csv_records(source, start, end):
            problem = record if isinstance(record, str) else ""
            yield Record({} if problem else dict(zip(source.header, record, strict=False)), problem, at)
        return
    for line, at in _lines(source, start, end):
        fields, problem = _json(line) if source.kind == "jsonl" else ({WHOLE_LINE: line}, "")
        yield Record(fields, problem, at)


def _row_ends(source: Source, start: int) -> Iterator[int]:
    """Yield the end of each row, in bytes."""
    return (at for _, at in (_csv_records if source.kind == "csv" else _lines)(source, start, source.size))


def _json(line: str) -> tuple[Fields, str]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}, "The line is not JSON."
    return {WHOLE_LINE: value} if isinstance(value, str) else value if isinstance(value, dict) else {}, ""


def _lines(source: Source, start: int, end: int) -> Iterator[tuple[str, int]]:
    """Yield each line of a range of bytes without its line end, and the position after it. Invalid bytes become surrogates."""
    with source.path.open("rb") as file:
        file.seek(start)
        while start < end and (line := file.readline(MAX_LINE + 1)):
            if len(line) > MAX_LINE:
                raise InputError(f"{source.name} has a line of more than {MAX_LINE >> 20} MB after byte {start:,}, so it is not a text.")
            start += len(line)
            yield line.decode(source.encoding, "surrogateescape").rstrip("\r\n"), start


def _csv_records(source: Source, start: int, end: int) -> Iterator[tuple[list[str] | str, int]]:
    """Yield the cells of each record of a range of bytes, or why they cannot be read, and the position after the record."""
    at = start

    def lines() -> Iterator[str]:
        nonlocal at
        for line, at in _lines(source, start, end):  # noqa: B007
            yield line.replace("\r", " ") + "\n"

    reader = csv.reader(lines(), delimiter=source.separator)
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"The row cannot be read as CSV ({error}).", at
            continue
        if record:
            yield record, at


def _survey_parquet(source: Source, columns: tuple[str, str, str], rows: int) -> Source:
    import pyarrow as pa

    try:
        with _open_parquet(source) as file:
            names, n = list(file.schema_arrow.names), file.metadata.num_rows
            head = next(file.iter_batches(rows_at_once(file, HEAD_ROWS)), None)
            source = _set_columns(
                source, columns, names, [Record(row, "", 0) for row in (_cells(source, [_cut_texts(head)]) if head else [])]
            )
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{source.name} is a damaged parquet file ({(str(error).splitlines() or ['?'])[0]}).") from error
    return replace(source, pieces=tuple(RowRange(i, min(rows, n - i), i, min(i + rows, n)) for i in range(0, n, rows)))


def _parquet_rows(source: Source, piece: RowRange) -> list[Record]:
    """Return the rows of a range; only the row groups that hold some of them are read."""
    import pyarrow as pa

    columns = list(filter(None, (source.text, source.pair, source.label)))
    try:
        with _open_parquet(source) as file:
            groups: list[int] = []
            before = first = 0
            for group in range(file.metadata.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                if before < piece.end and before + size > piece.start:
                    first = before if not groups else first
                    groups.append(group)
                before += size
            at, parts = first, []
            for batch in file.iter_batches(rows_at_once(file, PARQUET_BATCH), row_groups=groups, columns=columns):
                low, high = max(piece.start - at, 0), min(piece.end - at, len(batch))
                parts += [_cut_texts(batch.slice(low, high - low))] if low < high else []
                at += len(batch)
                if at >= piece.end:
                    break
            rows = _cells(source, parts)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{source.name} is a damaged parquet file ({(str(error).splitlines() or ['?'])[0]}).") from error
    return [Record(row, "", 0) for row in rows]


def _open_parquet(source: Source) -> Any:
    """Open the parquet file so that equal texts of several rows use memory once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(source.path)
    texts = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]
    return pq.ParquetFile(source.path, read_dictionary=texts)


def _cut_texts(batch: Any) -> Any:
    """Return the rows with texts cut to the length that tokenizers read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def short(column: Any) -> Any:
        if not pa.types.is_dictionary(column.type):
            return column
        return pa.DictionaryArray.from_arrays(column.indices, pc.utf8_slice_codeunits(column.dictionary, 0, MAX_TEXT))

    return pa.RecordBatch.from_arrays([short(column) for column in batch.columns], names=batch.schema.names)


def _cells(source: Source, batches: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the rows of some batches.

    Raises:
        InputError: the texts have more than `MAX_CONTENT` bytes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = [column for batch in batches for column in batch.columns if pa.types.is_dictionary(column.type)]
    if sum(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0 for column in columns) > MAX_CONTENT:
        raise InputError(f"{source.name} holds more than {MAX_CONTENT >> 20} MB of text in one range of rows. Use a smaller --rows.")
    return [row for batch in batches for row in batch.to_pylist()]
