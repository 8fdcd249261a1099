"""A table of texts from a file's bytes: CSV in any usual encoding and separator, or parquet. Strict limits, checked while reading.

`python -m sentviz.testset.table` reads one from standard input and writes it to standard output (`arguments`, `sentviz.testset.upload`).
"""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING

from sentviz.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["REFUSED", "Limits", "arguments", "parsed", "separator"]

ENCODINGS = ("utf-8-sig", "cp949", "cp1252")
SEPARATORS = ",;\t|"
LINES = 50  # of a file, that tell its separator
REFUSED = 3  # exit status where a sentence says why
BATCH = 100  # rows of a parquet file read at a time


@dataclass(frozen=True)
class Limits:
    """What a visitor's file may be and cost."""

    size: int = 50 * 2**20  # bytes of the file
    rows: int = 50_000  # that are read; a remark says where there are more
    columns: int = 200
    content: int = 250 * 2**20  # bytes of what stands in those rows
    seconds: float = 20.0
    memory: int = 2 * 2**30  # bytes of the process that reads it


def parsed(data: bytes, name: str, limits: Limits) -> tuple[pd.DataFrame, list[str]]:
    """The rows of a file, at most `limits.rows`, and remarks on how it was read. Takes what the file asks of time and memory.

    Raises:
        InputError: empty, too many columns or too much in them, or neither a CSV nor a parquet file.
    """
    if not data.strip():
        raise InputError(f"{name} is empty.")
    frame, remarks = _parquet(data, name, limits) if data[:4] == b"PAR1" else _csv(data, name, limits)
    _few_columns(len(frame.columns), name, limits)
    if frame.empty:
        raise InputError(f"{name} has a header but no rows.")
    frame.columns = [str(column) for column in frame.columns]
    if len(twice := frame.columns[frame.columns.duplicated()]):
        raise InputError(f"{name} has several columns named {twice[0]!r}; give each a name of its own.")
    if len(frame) > limits.rows:
        remarks.append(f"Only the first {limits.rows:,} rows are read.")
        frame = frame.head(limits.rows)
    return frame, remarks


def _parquet(data: bytes, name: str, limits: Limits) -> tuple[pd.DataFrame, list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        _few_columns(len(file.schema_arrow.names), name, limits)
        batches, rows, content = [], 0, 0
        for batch in file.iter_batches(BATCH):
            batches.append(batch)
            rows, content = rows + batch.num_rows, content + batch.nbytes
            if content > limits.content:
                raise InputError(_too_much(name, limits))
            if rows > limits.rows:
                break
        table = pa.Table.from_batches(batches, file.schema_arrow)
        table.validate(full=True)
        return table.to_pandas(ignore_metadata=True), []
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        said = "a text in it is not UTF-8" if "utf" in str(error).casefold() else (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{name} is a damaged parquet file ({said}).") from error


def _csv(data: bytes, name: str, limits: Limits) -> tuple[pd.DataFrame, list[str]]:
    import pandas as pd

    text, encoding = _decoded(data, name)
    remarks = []
    if encoding != "utf-8-sig":
        remarks.append(f"{name} is not UTF-8; it was read as {encoding}. If letters look wrong, save it as UTF-8.")
    mark, columns = separator(text)
    _few_columns(columns, name, limits)
    try:
        frame = pd.read_csv(io.StringIO(text), sep=mark, nrows=limits.rows + 1, dtype=str, keep_default_na=False, index_col=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise InputError(f"{name} cannot be read as a table with a header line ({str(error).splitlines()[0]}).") from error
    return frame, remarks


def separator(text: str) -> tuple[str, int]:
    """The separator under which the first lines fall into most columns, the same in all of them, and how many the header has then."""
    found = {}
    for mark in SEPARATORS:
        try:
            counts = [len(row) for row in islice(csv.reader(io.StringIO(text, newline=""), delimiter=mark), LINES) if row]
        except csv.Error:
            counts = []
        if counts:
            found[mark] = sum(count == counts[0] for count in counts) / len(counts) * (counts[0] > 1), counts[0]
    mark = max(found, key=found.__getitem__, default=",")
    return (mark, found[mark][1]) if found.get(mark, (0, 0))[0] else (",", found.get(",", (0, 1))[1])


def _few_columns(count: int, name: str, limits: Limits) -> None:
    if count > limits.columns:
        raise InputError(f"{name} has {count:,} columns; files of at most {limits.columns:,} are read: keep those of texts and labels.")


def _too_much(name: str, limits: Limits) -> str:
    return f"{name} holds more than {limits.content // 2**20:,} MB of text in its first {limits.rows:,} rows: read it in parts."


def _decoded(data: bytes, name: str) -> tuple[str, str]:
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
        beyond = [letter for letter in text if letter > "\x7f"]
        if encoding == "cp949" and 2 * sum("\uac00" <= letter <= "\ud7a3" for letter in beyond) < len(beyond):
            continue
        return text, encoding
    raise InputError(f"{name} is not a table of text: save it as CSV (UTF-8) or parquet.")


def _limited(limits: Limits) -> None:
    """The process ends rather than take more of the machine than it may."""
    try:
        import resource
    except ImportError:  # not on Windows, where the one that waits for it ends it
        return
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    seconds = int(limits.seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _stream(frame: pd.DataFrame, remarks: list[str]) -> pa.Table:
    import pyarrow as pa

    frame = frame.apply(lambda column: column.astype(str) if column.dtype == object else column)
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata({"remarks": json.dumps(remarks)})


def main(name: str, limits: Limits) -> int:
    """From standard input to standard output: an Arrow stream with its remarks, or one sentence and `REFUSED`."""
    _limited(limits)
    import pyarrow as pa

    try:
        table = _stream(*parsed(sys.stdin.buffer.read(), name, limits))
    except InputError as error:
        sys.stdout.buffer.write(str(error).encode())
        return REFUSED
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as writer:
        writer.write_table(table)
    return 0


def arguments(name: str, limits: Limits) -> list[str]:
    """The command that reads a file of this name."""
    return [sys.executable, "-m", "sentviz.testset.table", json.dumps({"name": name, "limits": asdict(limits)})]


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    sys.exit(main(asked["name"], Limits(**asked["limits"])))
