"""Read any range of rows of a file of texts, without the rows before the range.

`survey` reads a file once: its digest, its format, and where each range of rows begins. `rows_of` reads one range. A row that cannot be
read has a text in the column `problem`. In txt and jsonl files, blank lines are rows; in csv and tsv files they are not.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from glob import glob
from itertools import islice
from pathlib import Path
from typing import Any

from sentviz.data.columns import check_columns, guess
from sentviz.data.formats import BY_LINES, HALF, KINDS, WHOLE_LINE, Format, Record, check_names, detect, fields_of, records
from sentviz.data.table import all_records, flat, rows_at_once, shapes_of
from sentviz.data.texts import LONGEST as MAX_TEXT
from sentviz.errors import InputError
from sentviz.io.files import open_regular
from sentviz.io.lazy import pa, pc, pd, pq

MAX_FILE = 1 << 38  # size of a file in bytes
MAX_IN_MEMORY = 1 << 29  # size of a file that is read completely: Excel or JSON that is not in lines
MAX_COLUMNS = 16_384
MAX_CONTENT = 1 << 30  # bytes of the texts in one range of rows
MAX_LABELS = 1_000  # different labels that are counted
PARQUET_BATCH = 1_000  # rows of a parquet file that are read at once
HEAD_ROWS = 50  # first rows, from which the column of the texts is guessed


@dataclass(frozen=True)
class RowRange:
    """A range of the rows of a file."""

    first: int  # number of the first row, from 0
    rows: int  # number of rows
    start: int  # position in bytes; in a parquet file, number of the first row
    end: int  # position after the range, in the same unit


@dataclass(frozen=True)
class Source:
    """A file of texts and its format. All fields except `path` are independent of the file's folder."""

    path: Path
    name: str
    size: int  # bytes
    digest: str  # first twelve hex digits of SHA-256
    format: Format
    text: str = WHOLE_LINE  # column of the texts
    pair: str = ""  # column of the second texts; "" = no such column
    label: str = ""  # column of the labels; "" = no such column
    pieces: tuple[RowRange, ...] = ()
    labels: Mapping[str, int] = field(default_factory=dict)  # rows with each label, at most `MAX_LABELS` of them

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(piece.rows for piece in self.pieces)


def find_files(files: Sequence[str | Path]) -> dict[str, Path]:
    """Return the paths of files, of all supported files below folders, and of patterns, sorted, by their path below the common folder."""
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


def survey_files(
    files: Sequence[str | Path], *, text: str = "", pair: str = "", label: str = "", encoding: str = "", rows: int = 20_000
) -> tuple[Source, ...]:
    """Survey files, folders and patterns; see `find_files` and `survey`."""
    return tuple(
        survey(name, path, text=text, pair=pair, label=label, encoding=encoding, rows=rows) for name, path in find_files(files).items()
    )


def survey(name: str, path: Path, *, text: str = "", pair: str = "", label: str = "", encoding: str = "", rows: int = 20_000) -> Source:
    """Read a file once: its digest, its columns, and where each range of `rows` rows begins.

    Args:
        text: column of the texts; by default guessed from names and content.
        pair: column of the second texts; "" = no such column.
        label: column of the labels; "" = no such column.
        encoding: encoding of a text file; "" = found from its bytes.
        rows: rows per range.
    """
    with open_regular(path, MAX_FILE, name) as file:
        digest, size = hashlib.file_digest(file, "sha256").hexdigest()[:12], path.stat().st_size
        form = detect(file, name, path.suffix.lower(), encoding)
        source, columns = Source(path, name, size, digest, form), (text, pair, label)
        if form.kind == "parquet":
            return _survey_parquet(source, columns, rows)
        if form.kind not in BY_LINES:
            return _survey_in_memory(source, columns, rows)
        check_names(form.header, name)
        if form.kind != "txt":
            head = list(islice(records(file, form, form.start, size, name), HEAD_ROWS))
            source = _set_columns(source, columns, form.header or _names(head), head)
        elif named := next(filter(None, columns), ""):
            raise InputError(f"{name} has one text per line, and no column {named!r}.")
        pieces, first, count, start, end = [], 0, 0, form.start, form.start
        labels: Counter[str] = Counter()
        for record in records(file, form, form.start, size, name):
            count, end = count + 1, record.end
            _count(labels, record.fields.get(label) if label else None)
            if count == rows or end - start > MAX_CONTENT:
                pieces.append(RowRange(first, count, start, end))
                first, count, start = first + count, 0, end
    return replace(source, pieces=(*pieces, *([RowRange(first, count, start, end)] if count else [])), labels=dict(labels))


def _count(labels: Counter[str], label: Any) -> None:
    if label not in (None, "") and (len(labels) < MAX_LABELS or str(label) in labels):
        labels[str(label)] += 1


def _names(head: Iterable[Record]) -> list[str]:
    return [key for key in dict.fromkeys(key for record in head for key in record.fields) if key != WHOLE_LINE]


def rows_of(source: Source, piece: RowRange) -> pd.DataFrame:
    """Return the rows of one range: text, text_pair (for pairs), label (None = no label), problem ("" = no problem)."""
    rows = _records(source, piece, tuple(filter(None, (source.text, source.pair, source.label))))
    columns: dict[str, list[Any]] = {"text": [record.fields.get(source.text, record.fields.get(WHOLE_LINE)) for record in rows]}
    columns |= {
        role: [record.fields.get(column) for record in rows]
        for role, column in (("text_pair", source.pair), ("label", source.label))
        if column
    }
    columns["problem"] = [_problem(source, record, text) for record, text in zip(rows, columns["text"], strict=True)]
    return pd.DataFrame(columns, dtype=object)


def _problem(source: Source, record: Record, text: Any) -> str:
    """Return why a row of the file cannot be read; "" if it can be read."""
    if record.problem:
        return record.problem
    if source.text not in record.fields and WHOLE_LINE not in record.fields:
        return f"The row has no column {source.text!r}."
    if source.format.encoding and isinstance(text, str) and not text.isascii() and HALF.search(text):
        return f"The row is not in the encoding {source.format.encoding}."
    return ""


def _set_columns(source: Source, columns: tuple[str, str, str], names: Sequence[str], head: Sequence[Record]) -> Source:
    """Return the source with its columns after a check; the column of the texts is guessed if it is not named."""
    if len(names) > MAX_COLUMNS:
        raise InputError(f"{source.name} has {len(names):,} columns; at most {MAX_COLUMNS:,} are read.")
    check_names(names, source.name)
    check_columns(columns, names, source.name)
    text, pair, label = columns
    if not text and names:
        cells = [[_without_surrogates(record.fields.get(name) or "") for name in names] for record in head]
        frame = pd.DataFrame(cells, columns=list(names), dtype=object)
        text = guess(frame) if head else names[0]
    return replace(source, text=text, pair=pair, label=label)


def _without_surrogates(cell: Any) -> Any:
    """Return a cell without unpaired surrogates, which tables cannot hold."""
    return cell.encode("utf-8", "replace").decode() if isinstance(cell, str) else cell


def all_fields(source: Source, piece: RowRange) -> list[dict[str, Any]]:
    """Return the cells of every column of one range of rows; in a txt file, the column "text"."""
    return [{name or "text": cell for name, cell in record.fields.items()} for record in _records(source, piece)]


def _records(source: Source, piece: RowRange, columns: tuple[str, ...] = ()) -> Sequence[Record]:
    """Return one range of rows; of a parquet file only some columns, or all."""
    if source.format.kind == "parquet":
        return _parquet_rows(source, piece, columns)
    if source.format.kind not in BY_LINES:
        return _all(source.path, source.name, replace(source.format, remarks=()), source.digest)[0][piece.start : piece.end]
    with source.path.open("rb") as file:
        return list(records(file, source.format, piece.start, piece.end, source.name))


@lru_cache(maxsize=1)
def _all(path: Path, name: str, form: Format, digest: str) -> tuple[list[Record], list[str]]:
    """Return all rows of a file that cannot be read by ranges, and remarks. `digest` tells two contents of one path apart."""
    remarks: list[str] = []
    with open_regular(path, MAX_IN_MEMORY, name) as file:
        return list(all_records(file, form, name, MAX_COLUMNS, remarks)), remarks


def _survey_in_memory(source: Source, columns: tuple[str, str, str], rows: int) -> Source:
    all_rows, remarks = _all(source.path, source.name, replace(source.format, remarks=()), source.digest)
    labels: Counter[str] = Counter()
    for record in all_rows:
        _count(labels, record.fields.get(columns[2]) if columns[2] else None)
    n = len(all_rows)
    pieces = tuple(RowRange(i, min(rows, n - i), i, min(i + rows, n)) for i in range(0, n, rows))
    source = replace(source, format=replace(source.format, remarks=(*source.format.remarks, *remarks)), pieces=pieces, labels=dict(labels))
    return _set_columns(source, columns, _names(all_rows), all_rows[:HEAD_ROWS])


def _survey_parquet(source: Source, columns: tuple[str, str, str], rows: int) -> Source:
    try:
        with _open_parquet(source) as file:
            names, n = flat([], file.schema_arrow).column_names, file.metadata.num_rows
            remarks = (*source.format.remarks, *shapes_of(file.schema_arrow))
            source = replace(source, format=replace(source.format, remarks=remarks))
            head = next(file.iter_batches(rows_at_once(file, HEAD_ROWS)), None)
            source = _set_columns(
                source, columns, names, [Record(row, "", 0) for row in (_cells(source, [_cut_texts(head)]) if head else [])]
            )
            labels: Counter[str] = Counter()
            for batch in file.iter_batches(rows_at_once(file, PARQUET_BATCH), columns=[source.label]) if source.label else ():
                for label in batch.column(0).to_pylist():
                    _count(labels, label)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{source.name} is a damaged parquet file ({(str(error).splitlines() or ['?'])[0]}).") from error
    return replace(source, labels=dict(labels), pieces=tuple(RowRange(i, min(rows, n - i), i, min(i + rows, n)) for i in range(0, n, rows)))


def _parquet_rows(source: Source, piece: RowRange, columns: tuple[str, ...]) -> list[Record]:
    """Return the rows of a range, with some or all columns; only the row groups that hold some of them are read."""
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
            for batch in file.iter_batches(rows_at_once(file, PARQUET_BATCH), row_groups=groups, columns=list(columns) or None):
                low, high = max(piece.start - at, 0), min(piece.end - at, len(batch))
                parts += [_cut_texts(batch.slice(low, high - low))] if low < high else []
                at += len(batch)
                if at >= piece.end:
                    break
            rows = _cells(source, parts)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{source.name} is a damaged parquet file ({(str(error).splitlines() or ['?'])[0]}).") from error
    return [Record(row, "", 0) for row in rows]


def _open_parquet(source: Source) -> Any:
    """Open the parquet file so that equal texts of several rows use memory once."""
    schema = pq.read_schema(source.path)
    texts = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]
    return pq.ParquetFile(source.path, read_dictionary=texts)


def _cut_texts(batch: Any) -> Any:
    """Return the rows with texts cut to the length that tokenizers read."""

    def short(column: Any) -> Any:
        if not pa.types.is_dictionary(column.type):
            return column
        return pa.DictionaryArray.from_arrays(column.indices, pc.utf8_slice_codeunits(column.dictionary, 0, MAX_TEXT))

    return pa.RecordBatch.from_arrays([short(column) for column in batch.columns], names=batch.schema.names)


def _cells(source: Source, batches: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the rows of some batches."""
    columns = [column for batch in batches for column in batch.columns if pa.types.is_dictionary(column.type)]
    if sum(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0 for column in columns) > MAX_CONTENT:
        raise InputError(f"{source.name} holds more than {MAX_CONTENT >> 20} MB of text in one range of rows. Use a smaller --rows.")
    return [dict(fields_of(row)[0]) for batch in batches for row in batch.to_pylist()]
