"""The format of a file of texts, found from its content, and its rows in order: CSV, JSON lines, one text per line, JSON, Excel, parquet.

The app reads a visitor's file and the commands read files of any size with these functions, so both understand a file in the same way.
Nothing here loads pandas or NumPy.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

from sentviz.data.columns import TEXT_NAMES, USUAL_NAMES
from sentviz.errors import InputError
from sentviz.io.documents import parse_json

KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "txt",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".xlsx": "excel",
    ".parquet": "parquet",
}
BY_LINES = ("csv", "jsonl", "txt")  # kinds of which any range of lines can be read
ENCODINGS = ("utf-8", "cp949", "cp1252")
MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}  # first bytes that name an encoding
SEPARATORS = ",;\t|"
NEVER = "\x1f"  # a separator that no text contains
NAMED = 8  # columns that a remark names
LINES = 50  # lines from which the separator and the header are guessed
BEGINNING = 1 << 22  # bytes in which these lines are searched
BLOCK = 1 << 20  # bytes read at a time
MAX_LINE = 1 << 26  # length of a row in bytes
MAX_NAME = 60  # characters of a column name; a longer cell in the first line is content
WHOLE_LINE = ""  # name of the column if each line is a text
_END = "\x1e"  # line after the last one; a cell that contains it has an open quote
HALF = re.compile("[\ud800-\udfff]")  # half a character

Fields = Mapping[str, Any]  # values of a row, by column

csv.field_size_limit(2**31 - 1)  # rows are limited to MAX_LINE here, and cells where they are used


@dataclass(frozen=True)
class Format:
    """The format of the rows of a file."""

    kind: str  # value of `KINDS`
    encoding: str = ""  # encoding of a text file
    line_end: str = "\n"
    separator: str = ""  # character between the cells of a csv file
    header: tuple[str, ...] = ()  # column names of a csv file
    start: int = 0  # position of the first row in bytes
    first: int = 1  # number of the first row in the file; 2 = the row above it holds the column names
    remarks: tuple[str, ...] = ()  # sentences on how the file is read


class Record(NamedTuple):
    """A row of a file."""

    fields: Fields
    problem: str  # reason why the row cannot be read; "" = it can be read
    end: int  # position in the file after the row, in bytes


# ---- the format


def detect(file: BinaryIO, name: str, suffix: str, encoding: str = "") -> Format:
    """Return the format of a file, by its content and its suffix.

    Args:
        encoding: encoding of a text file; "" = found from its bytes.
    """
    file.seek(0)
    beginning = file.read(BEGINNING)
    if not beginning.strip():
        raise InputError(f"{name} is empty.")
    if beginning[:4] == b"PAR1" or suffix == ".parquet":
        return Format("parquet")
    if beginning[:4] == b"PK\x03\x04":
        return Format("excel")
    if beginning[:4] == b"\xd0\xcf\x11\xe0":
        raise InputError(f"{name} is an old Excel file (.xls). Save it as .xlsx or CSV (UTF-8).")
    if beginning[:2] == b"\x1f\x8b":
        raise InputError(f"{name} is a compressed file. Unpack it first.")
    mark = next((mark for mark in MARKS if beginning.startswith(mark)), b"")
    chosen = _named(encoding) if encoding else ""
    detected = MARKS.get(mark) or chosen or _encoding(file, name)
    text = codecs.getincrementaldecoder(detected)(_errors(detected)).decode(beginning[len(mark) :])
    if mark and "\0" in text:
        raise _no_table(name)
    line_end = "\r" if "\r" in text and "\n" not in text else "\n"
    remarks = () if encoding or detected == "utf-8" else (_read_as(name, detected),)
    form = Format("txt", detected, line_end, start=len(mark), remarks=remarks)
    kind = KINDS.get(suffix, "jsonl" if _is_object(text) else "csv")
    if kind in ("json", "jsonl"):
        by_lines = kind == "jsonl" or (_is_object(text) and "\n" in text.strip())
        lines = islice((line for line in text.split(line_end) if line.strip()), LINES if by_lines else 0)
        shapes = nested(value for value, problem in map(_value, lines) if not problem)
        return replace(form, kind="jsonl" if by_lines else "json", remarks=(*remarks, *shapes))
    if kind == "csv" and len(beginning) == BEGINNING and line_end not in text:
        raise InputError(f"The first line of {name} has more than {BEGINNING >> 20} MB, so it holds no names of columns.")
    mark_, rows = ("\t", _rows(text, "\t")) if suffix == ".tsv" else separator(text)
    header = rows[0] if rows else [""]
    if kind == "txt" and not {cell.casefold().strip() for cell in header} & {*TEXT_NAMES}:
        return form
    form = replace(form, kind="csv", separator=mark_ if len(header) > 1 else NEVER)  # one text per line may contain any separator
    if has_header(rows):
        names = tuple(cell or f"column {place + 1}" for place, cell in enumerate(header))
        start = next((end for _, end in _csv_records(file, form, form.start, 1 << 62, name)), form.start)
        return replace(form, header=names, start=start, first=2)
    names = tuple(f"column {place + 1}" for place in range(len(header)))
    called = f"its columns are called {names[0]} to {names[-1]}" if len(names) > 1 else f"its column is called {names[0]}"
    return replace(form, header=names, remarks=(*remarks, f"{name} has no line of column names; {called}."))


def check_names(names: Sequence[str], name: str) -> None:
    """Check the names of columns."""
    if any(HALF.search(column) for column in names):
        raise InputError(f"A column name of {name} is not in the encoding of the file. Save the file as UTF-8.")
    seen: set[str] = set()
    for column in names:
        if column in seen:
            raise InputError(f"{name} has several columns named {column!r}. Rename them so that all names differ.")
        seen.add(column)


def separator(text: str) -> tuple[str, list[list[str]]]:
    """Return the separator that splits the first lines into the most columns, the same number in each, and the lines as rows."""
    by_mark: dict[str, tuple[float, int, list[list[str]]]] = {}
    for mark in SEPARATORS:
        if rows := _rows(text, mark):
            width = len(rows[0])
            by_mark[mark] = sum(len(row) == width for row in rows) / len(rows) * (width > 1), width, rows
    mark = max(by_mark, key=lambda mark: by_mark[mark][:2], default=",")
    return (mark, by_mark[mark][2]) if by_mark.get(mark, (0,))[0] else (",", by_mark[","][2] if "," in by_mark else [])


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of some rows holds the names of columns; False only if its cells look like those below them."""
    if len(rows) < 2 or any(cell.casefold().strip() in USUAL_NAMES or not cell.strip() for cell in rows[0]):
        return True
    if len(rows[0]) < 2:
        return not _is_sentence(rows[0][0])
    content = False
    for place, cell in enumerate(rows[0]):
        below = [row[place].strip() for row in rows[1:] if len(row) > place]
        if not below:
            continue
        if all(map(_is_number, below)):
            if not _is_number(cell):
                return True
            content = True
        elif cell.strip() in below and len(set(below)) <= max(2, len(below) // 2):
            content = True
        content |= _is_sentence(cell)
    return content is False


def _is_sentence(cell: str) -> bool:
    return len(cell) > MAX_NAME or (" " in cell.strip() and cell.rstrip("\"' ")[-1:] in (".", "!", "?"))


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"\s*[-+]?\d+([.,]\d+)?\s*", cell))


def _is_object(text: str) -> bool:
    return text.lstrip().startswith("{") and bool(_json(text.lstrip().partition("\n")[0])[0])


def _rows(text: str, mark: str) -> list[list[str]]:
    """Return the first rows of a text as CSV, without blank ones."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        for row in islice(csv.reader(io.StringIO(text, newline=""), delimiter=mark), LINES):
            rows += [row] if len(row) > 1 or "".join(row).strip() else []
    return rows


def _named(encoding: str) -> str:
    """Return the name of an encoding whose lines can be told apart."""
    try:
        form = codecs.lookup(encoding).name.removesuffix("-sig")
        form = {"utf-16": "utf-16-le"}.get(form, form)
        width = len("a".encode(form))
        if width != (2 if form.startswith("utf-16") else 1) or "\n".encode(form)[-width:] != "\n".encode(form):
            raise InputError(f"Files in the encoding {encoding} cannot be read line by line. Save the file as UTF-8.")
    except (LookupError, AttributeError):
        raise InputError(f"There is no encoding {encoding!r}. Common encodings are utf-8, cp949 and cp1252.") from None
    return form


def _encoding(file: BinaryIO, name: str) -> str:
    """Return the first of the usual encodings that fits every byte of a file."""
    for encoding in ENCODINGS:
        file.seek(0)
        decoder, hangul, foreign = codecs.getincrementaldecoder(encoding)(), 0, 0
        try:
            while block := file.read(BLOCK):
                if b"\0" in block:
                    raise _no_table(name)
                text = decoder.decode(block)
                if encoding == "cp949":
                    hangul += len(re.findall("[\uac00-\ud7a3]", text))
                    foreign += len(re.findall("[^\0-\x7f]", text))
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            continue
        if 2 * hangul >= foreign or encoding != "cp949":
            return encoding
    raise _no_table(name)


def _no_table(name: str) -> InputError:
    return InputError(f"{name} is not a table of text. Save it as CSV (UTF-8) or parquet.")


def _read_as(name: str, encoding: str) -> str:
    return f"{name} is not UTF-8; it was read as {encoding}. If letters look wrong, save it as UTF-8."


# ---- rows


def records(file: BinaryIO, form: Format, start: int, end: int, name: str) -> Iterator[Record]:
    """Yield each row of a range of bytes of a file that is read by lines."""
    if form.kind == "csv":
        for row, (cells, at) in enumerate(_csv_records(file, form, start, end, name), form.first):
            if len(cells) > len(form.header) and any(cells[len(form.header) :]):
                raise InputError(too_wide(name, len(form.header), row, len(cells)))
            yield Record(dict(zip(form.header, cells, strict=False)), "", at)
        return
    for line, at in _lines(file, form, start, end, name):
        fields, problem = _json(line) if form.kind == "jsonl" else ({WHOLE_LINE: line}, "")
        yield Record(fields, problem, at)


def too_wide(name: str, columns: int, row: int, fields: int) -> str:
    """Return the message for a row that has more fields than the header."""
    return f"Row {row:,} of {name} has {fields:,} fields, but its header {columns:,}. Put texts with a separator in quotation marks."


def _json(line: str) -> tuple[Fields, str]:
    value, problem = _value(line)
    return ({}, problem) if problem else fields_of(value)


def _value(line: str) -> tuple[Any, str]:
    try:
        return parse_json(line, "The line", gaps=True), ""
    except InputError as error:
        return None, "The line is not JSON." if isinstance(error.__cause__, json.JSONDecodeError) else str(error)


def fields_of(value: Any) -> tuple[Fields, str]:
    """Return a value of a JSON file as the cells of a row, and why it cannot be one; "" if it can.

    An object inside the row becomes columns: {"review": {"text": "..."}} has the column review.text.
    """
    if not isinstance(value, dict):
        return {WHOLE_LINE: value} if isinstance(value, str) else {}, ""
    if not any(isinstance(cell, dict) for cell in value.values()):
        return value, ""
    flat = list(_flat(value))
    fields = dict(flat)
    return (fields, "") if len(fields) == len(flat) else ({}, "The row has two values for one column, an entry a.b and an entry b in a.")


def _flat(value: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, cell in value.items():
        if isinstance(cell, dict):
            yield from _flat(cell, f"{above}{name}.")
        else:
            yield above + name, cell


def nested(values: Iterable[Any]) -> list[str]:
    """Return remarks on rows of a JSON file: which columns come from objects inside the rows, and which hold lists."""
    inside: dict[str, None] = {}
    lists: dict[str, None] = {}
    for value in values:
        for name, cell in _flat(value) if isinstance(value, dict) else ():
            inside |= {name: None} if name not in value else {}
            lists |= {name: None} if isinstance(cell, list) else {}
    return shapes(list(inside), list(lists))


def shapes(inside: Sequence[str], lists: Sequence[str]) -> list[str]:
    """Return remarks on columns that come from inside other ones, and on columns of lists."""

    def listed(names: Sequence[str]) -> str:
        return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")

    remarks = [f"Entries inside other entries became columns: {listed(inside)}."] if inside else []
    return [*remarks, f"Columns of lists are read as texts: {listed(lists)}."] if lists else remarks


def _csv_records(file: BinaryIO, form: Format, start: int, end: int, name: str) -> Iterator[tuple[list[str], int]]:
    """Yield the cells of each record of a range of bytes, and the position after the record."""
    at = begin = start
    row = form.first

    def lines() -> Iterator[str]:
        nonlocal at
        for line, at in _lines(file, form, start, end, name):
            if at - begin > MAX_LINE:
                raise _unclosed(name, row)
            yield line.replace("\r", " ") + "\n"
        yield _END

    for record in csv.reader(lines(), delimiter=form.separator):
        if record and record[-1].endswith(_END):
            if len(record) > 1 or record[0] != _END:
                raise _unclosed(name, row)
            return
        if record:
            yield record, at
            row += 1
        begin = at


def _unclosed(name: str, row: int) -> InputError:
    return InputError(f"{name} cannot be read as a table: a quotation mark in row {row:,} is never closed.")


def _lines(file: BinaryIO, form: Format, start: int, end: int, name: str) -> Iterator[tuple[str, int]]:
    """Yield each line of a range of bytes without its line end, and the position after it. Invalid bytes become surrogates."""
    mark = form.line_end.encode(form.encoding)
    file.seek(start)
    buffer, cursor, at = b"", 0, start
    while at < end:
        place = buffer.find(mark, cursor)
        while place >= 0 and place % len(mark):  # half of one character and half of the next
            place = buffer.find(mark, place + 1)
        if (len(buffer) if place < 0 else place) - cursor > MAX_LINE:
            raise InputError(f"{name} has a line of more than {MAX_LINE >> 20} MB after byte {at:,}, so it is not a text.")
        if place < 0 and (more := file.read(BLOCK)):
            buffer, cursor = buffer[cursor:] + more, 0
            continue
        stop = len(buffer) if place < 0 else place
        line, after = buffer[cursor:stop], stop + len(mark) * (place >= 0)
        if after == cursor:
            return
        cursor, at = after, at + after - cursor
        yield line.decode(form.encoding, _errors(form.encoding)).rstrip("\r"), at


def _errors(encoding: str) -> str:
    """Return how invalid bytes are decoded: as half characters, which `HALF` finds, if the encoding allows it."""
    return "replace" if encoding.startswith("utf-16") else "surrogateescape"
