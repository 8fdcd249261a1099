"""Files of texts, and any range of their rows without what stands before it.

`survey` reads a file once: its digest, how it is read, and where each range of rows begins. `rows_of` reads one range. What cannot be read
of a row is a problem of that row. Lines of txt and jsonl files are rows, blank ones too; blank lines of csv and tsv files are not.
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
from sentviz.data.texts import LONGEST as TEXT
from sentviz.data.upload import guess
from sentviz.errors import InputError
from sentviz.io.files import open_regular

if TYPE_CHECKING:
    import pandas as pd

KINDS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "txt"}
MOST = 1 << 38  # bytes of a file
LONGEST = 1 << 26  # bytes of a line
CONTENT = 1 << 30  # bytes of texts that are read at a time
BATCH = 1_000  # rows of a parquet file that are read at a time
HEAD = 50  # rows from which the column of the texts is guessed

LINE = ""  # the column of a text that is its whole line

Fields = Mapping[str, Any]  # what stands in a row, by column


@dataclass(frozen=True)
class Piece:
    """A range of the rows of a file."""

    first: int  # row, from 0
    rows: int
    start: int  # bytes; of a parquet file rows
    end: int


class Record(NamedTuple):
    """A row as it is read."""

    fields: Fields
    problem: str  # why it cannot be read; "" = none
    end: int  # byte of the file


@dataclass(frozen=True)
class Source:
    """A file of texts and how it is read. Everything but `path` is the same wherever the file lies."""

    path: Path
    name: str
    size: int  # bytes
    digest: str  # of SHA-256, twelve hex digits
    kind: str  # of `KINDS`
    text: str = LINE  # column
    pair: str = ""  # column of second texts; "" = none
    label: str = ""  # column of labels; "" = none
    header: tuple[str, ...] = ()  # of csv
    separator: str = ""
    encoding: str = ""
    pieces: tuple[Piece, ...] = ()

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(piece.rows for piece in self.pieces)


def found(files: Sequence[str | Path]) -> dict[str, Path]:
    """What is meant by files, folders (all that can be read below them) and patterns: paths by names that tell them apart, in order.

    Raises:
        InputError: nothing there, or a file of another kind.
    """
    paths: set[Path] = set()
    for given in map(str, files):
        path = Path(given)
        if path.is_dir():
            some = [one for one in path.rglob("*") if one.is_file() and one.suffix.lower() in KINDS]
        else:
            some = [one for one in ([path] if path.exists() else map(Path, glob(given, recursive=True))) if one.is_file()]  # noqa: PTH207
        if not some:
            raise InputError(f"There is no file {given} that can be read; files end with {', '.join(KINDS)}.")
        if odd := [one.name for one in some if one.suffix.lower() not in KINDS]:
            raise InputError(f"{min(odd)} is of no kind that can be read: files end with {', '.join(KINDS)}.")
        paths |= {one.resolve() for one in some}
    above = Path(os.path.commonpath([path.parent for path in paths]))
    return {path.relative_to(above).as_posix(): path for path in sorted(paths)}


def survey(
    name: str, path: Path, *, text: str = "", pair: str = "", label: str = "", encoding: str = "utf-8-sig", rows: int = 20_000
) -> Source:
    """Read a file once: its digest, its columns, and where each range of so many rows begins.

    Args:
        text: column of the texts, by default guessed from its name and content. pair, label: of second texts and labels, if there are any.
        encoding: of text files; one whose line ends are those of ASCII.
    Raises:
        InputError: a damaged parquet file, a column that is not there, or an encoding that cannot be read by lines.
    """
    with open_regular(path, MOST, name) as file:
        digest, size = hashlib.file_digest(file, "sha256").hexdigest()[:12], path.stat().st_size
    source = Source(path, name, size, digest, KINDS[path.suffix.lower()])
    wanted = (text, pair, label)
    if source.kind == "parquet":
        return _parquet(source, wanted, rows)
    source, start = _opened(source, encoding)
    if source.kind != "txt":
        head = list(islice(_records(source, start, size), HEAD))
        names = source.header or [key for key in dict.fromkeys(key for record in head for key in record.fields) if key != LINE]
        source = _with_columns(source, wanted, names, head)
    pieces, first, count, begun, end = [], 0, 0, start, start
    for end in _ends(source, start):
        count += 1
        if count == rows or end - begun > CONTENT:
            pieces.append(Piece(first, count, begun, end))
            first, count, begun = first + count, 0, end
    return replace(source, pieces=(*pieces, *([Piece(first, count, begun, end)] if count else [])))


def rows_of(source: Source, piece: Piece) -> pd.DataFrame:
    """The rows of one range: text, of pairs text_pair, label (None = none), problem ("" = none).

    Raises:
        InputError: the file is damaged.
    """
    import pandas as pd

    records = _parquet_rows(source, piece) if source.kind == "parquet" else list(_records(source, piece.start, piece.end))
    columns: dict[str, list[Any]] = {"text": [record.fields.get(source.text, record.fields.get(LINE)) for record in records]}
    columns |= {
        role: [record.fields.get(column) for record in records]
        for role, column in (("text_pair", source.pair), ("label", source.label))
        if column
    }
    columns["problem"] = [_problem(source, record, text) for record, text in zip(records, columns["text"], strict=True)]
    return pd.DataFrame(columns, dtype=object)


def _problem(source: Source, record: Record, text: Any) -> str:
    """Why a row cannot be read, as far as its file tells; "" = no reason."""
    if record.problem:
        return record.problem
    if source.text not in record.fields and LINE not in record.fields:
        return f"The row has no {source.text!r}."
    if source.encoding and isinstance(text, str) and any("\udc80" <= letter <= "\udcff" for letter in text):
        return f"The row is not in {source.encoding.removesuffix('-sig')}."
    return ""


def _with_columns(source: Source, wanted: tuple[str, str, str], names: Sequence[str], head: Sequence[Record]) -> Source:
    """The source with its columns, checked; the texts' guessed where it is not named."""
    import pandas as pd

    if any(name != _legible(name) for name in names):
        raise InputError(f"The name of a column of {source.name} is not in {source.encoding}: name the file's encoding with --encoding.")
    for column in filter(None, wanted):
        if column not in names:
            raise InputError(f"{source.name} has no column {column!r}; it has {', '.join(names) or 'none'}.")
    text, pair, label = wanted
    if not text and names:
        cells = [[_legible(record.fields.get(name) or "") for name in names] for record in head]
        frame = pd.DataFrame(cells, columns=list(names), dtype=object)
        text = guess(frame) if head else names[0]
    return replace(source, text=text, pair=pair, label=label)


def _legible(cell: Any) -> Any:
    """A cell without halves of characters, which no table holds."""
    return cell.encode("utf-8", "replace").decode() if isinstance(cell, str) else cell


# ---- files of lines


def _opened(source: Source, encoding: str) -> tuple[Source, int]:
    """The source with how it is read, and where its rows begin."""
    with source.path.open("rb") as file:
        beginning = file.read(1 << 16)
    try:
        if beginning[:2] in (b"\xff\xfe", b"\xfe\xff") or "\n".encode(encoding)[-1:] != b"\n":
            raise InputError(f"{source.name} is in an encoding that cannot be read by lines: save it as UTF-8.")
    except LookupError:
        raise InputError(f"There is no encoding {encoding!r}; usual ones are utf-8, cp949 and cp1252.") from None
    source = replace(source, encoding=encoding)
    if source.kind != "csv":
        return source, 0
    whole = beginning[: beginning.rfind(b"\n") + 1] or beginning
    mark = "\t" if source.path.suffix.lower() == ".tsv" else separator(whole.decode(encoding, "replace"))[0]
    source = replace(source, separator=mark)
    for record, end in _split(source, 0, source.size):
        names = tuple(record) if isinstance(record, list) else ()
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{source.name} has several columns named {twice!r}; give each a name of its own.")
        return replace(source, header=names), end
    return source, source.size


def _records(source: Source, start: int, end: int) -> Iterator[Record]:
    """Each row of a range of bytes."""
    if source.kind == "csv":
        for record, at in _split(source, start, end):
            problem = record if isinstance(record, str) else ""
            yield Record({} if problem else dict(zip(source.header, record, strict=False)), problem, at)
        return
    for line, at in _lines(source, start, end):
        fields, problem = _json(line) if source.kind == "jsonl" else ({LINE: line}, "")
        yield Record(fields, problem, at)


def _ends(source: Source, start: int) -> Iterator[int]:
    """Where each row ends."""
    return (at for _, at in (_split if source.kind == "csv" else _lines)(source, start, source.size))


def _json(line: str) -> tuple[Fields, str]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}, "The line is not JSON."
    return {LINE: value} if isinstance(value, str) else value if isinstance(value, dict) else {}, ""


def _lines(source: Source, start: int, end: int) -> Iterator[tuple[str, int]]:
    """Each line of a range of bytes without its end, and where it ends; bytes that are no letters become halves of characters."""
    with source.path.open("rb") as file:
        file.seek(start)
        while start < end and (line := file.readline(LONGEST + 1)):
            if len(line) > LONGEST:
                raise InputError(f"{source.name} has a line of more than {LONGEST >> 20} MB after byte {start:,}, which is no text.")
            start += len(line)
            yield line.decode(source.encoding, "surrogateescape").rstrip("\r\n"), start


def _split(source: Source, start: int, end: int) -> Iterator[tuple[list[str] | str, int]]:
    """The cells of each record of a range of bytes, or why they cannot be had, and where the record ends."""
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


# ---- parquet


def _parquet(source: Source, wanted: tuple[str, str, str], rows: int) -> Source:
    import pyarrow as pa

    try:
        with _tables(source) as file:
            names, n = list(file.schema_arrow.names), file.metadata.num_rows
            head = next(file.iter_batches(rows_at_once(file, HEAD)), None)
            source = _with_columns(source, wanted, names, [Record(row, "", 0) for row in (_cells(source, [_cut(head)]) if head else [])])
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{source.name} is a damaged parquet file ({(str(error).splitlines() or ['?'])[0]}).") from error
    return replace(source, pieces=tuple(Piece(i, min(rows, n - i), i, min(i + rows, n)) for i in range(0, n, rows)))


def _parquet_rows(source: Source, piece: Piece) -> list[Record]:
    """The rows of a range, out of those row groups that hold some of them."""
    import pyarrow as pa

    columns = list(filter(None, (source.text, source.pair, source.label)))
    try:
        with _tables(source) as file:
            groups: list[int] = []
            before = first = 0
            for group in range(file.metadata.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                if before < piece.end and before + size > piece.start:
                    first = before if not groups else first
                    groups.append(group)
                before += size
            at, parts = first, []
            for batch in file.iter_batches(rows_at_once(file, BATCH), row_groups=groups, columns=columns):
                low, high = max(piece.start - at, 0), min(piece.end - at, len(batch))
                parts += [_cut(batch.slice(low, high - low))] if low < high else []
                at += len(batch)
                if at >= piece.end:
                    break
            rows = _cells(source, parts)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{source.name} is a damaged parquet file ({(str(error).splitlines() or ['?'])[0]}).") from error
    return [Record(row, "", 0) for row in rows]


def _tables(source: Source) -> Any:
    """Open the parquet file so that a text is held once, however many rows have it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(source.path)
    texts = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]
    return pq.ParquetFile(source.path, read_dictionary=texts)


def _cut(batch: Any) -> Any:
    """The rows with their texts cut where the tokenizers stop to read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def short(column: Any) -> Any:
        if not pa.types.is_dictionary(column.type):
            return column
        return pa.DictionaryArray.from_arrays(column.indices, pc.utf8_slice_codeunits(column.dictionary, 0, TEXT))

    return pa.RecordBatch.from_arrays([short(column) for column in batch.columns], names=batch.schema.names)


def _cells(source: Source, batches: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the rows of some batches.

    Raises:
        InputError: their texts have more than `CONTENT` bytes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = [column for batch in batches for column in batch.columns if pa.types.is_dictionary(column.type)]
    if sum(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0 for column in columns) > CONTENT:
        raise InputError(
            f"{source.name} holds more than {CONTENT >> 20} MB of text in one range of rows; fewer --rows make smaller ranges."
        )
    return [row for batch in batches for row in batch.to_pylist()]
