"""Rows of the first sheet of an Excel workbook (.xlsx), read with limits. Formulas give their stored values and are never computed."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, BinaryIO
from xml.etree import ElementTree

from sentviz.errors import InputError

MAX_XML = 1 << 29  # bytes of a sheet, unpacked
MAX_STRINGS = 1 << 28  # bytes of the texts of all sheets, unpacked

_FAULTS = (
    *(zipfile.BadZipFile, zlib.error, ElementTree.ParseError, EOFError, OSError),
    *(LookupError, NotImplementedError, RuntimeError, StopIteration, ValueError),
)

Cell = str | float | int | None


def rows_of_sheet(file: BinaryIO, name: str, columns: int) -> tuple[Iterator[list[Cell]], list[str]]:
    """Return the rows of the first sheet, without blank ones, and remarks.

    Args:
        columns: maximum number of columns.
    Raises:
        InputError: the file is damaged, unpacks to more than the limits, or has more columns.
    """
    try:
        book = zipfile.ZipFile(file)
        if "xl/workbook.xml" not in book.namelist():
            raise InputError(f"{name} is a zip file and not a table. Unpack it first.")
        sheets = [dict(sheet.items()) for sheet in _elements(book, "xl/workbook.xml", "sheet", name)]
        relations = [dict(relation.items()) for relation in _elements(book, "xl/_rels/workbook.xml.rels", "Relationship", name)]
        first = next(value for key, value in sheets[0].items() if key.endswith("}id"))
        target = next(relation["Target"] for relation in relations if relation["Id"] == first).lstrip("/").removeprefix("xl/")
        strings = _strings(book, name)
        remarks = [f"Only the first sheet of {name}, “{sheets[0].get('name')}”, is read."] if len(sheets) > 1 else []
    except _FAULTS as error:
        if isinstance(error, InputError):
            raise
        raise _damaged(name) from error

    def rows() -> Iterator[list[Cell]]:
        try:
            for row in _elements(book, f"xl/{target}", "row", name):
                cells = _cells(row, strings, columns, name)
                if any(cell not in (None, "") for cell in cells):
                    yield cells
        except _FAULTS as error:
            if isinstance(error, InputError):
                raise
            raise _damaged(name) from error

    return rows(), remarks


def _damaged(name: str) -> InputError:
    return InputError(f"{name} is a damaged Excel file. Save it again, or as CSV (UTF-8).")


def _opened(book: zipfile.ZipFile, member: str, most: int, name: str) -> IO[bytes]:
    if book.getinfo(member).file_size > most:  # zipfile never gives more bytes than it states
        raise InputError(f"{name} unpacks to more than {most >> 20:,} MB. Cut it down or save it as CSV (UTF-8).")
    return book.open(member)


def _elements(book: zipfile.ZipFile, member: str, tag: str, name: str, most: int = MAX_XML) -> Iterator[Any]:
    """Yield each complete element with a tag; elements that were yielded are emptied."""
    with _opened(book, member, most, name) as opened:
        if b"<!DOCTYPE" in opened.read(4096):  # a document type could define entities that grow
            raise _damaged(name)
    with _opened(book, member, most, name) as opened:
        parents: list[Any] = []
        for event, element in ElementTree.iterparse(opened, events=("start", "end")):
            if event == "start":
                parents.append(element)
                continue
            parents.pop()
            if element.tag.rpartition("}")[2] == tag:
                yield element
                element.clear()
                if parents:
                    parents[-1].remove(element)


def _strings(book: zipfile.ZipFile, name: str) -> list[str]:
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    return [_text(entry) for entry in _elements(book, "xl/sharedStrings.xml", "si", name, MAX_STRINGS)]


def _text(entry: Any) -> str:
    """Return a text without its phonetic guide."""
    return "".join(part.text or "" for part in [*entry.findall("{*}t"), *entry.findall("{*}r/{*}t")])


def _cells(row: Any, strings: list[str], columns: int, name: str) -> list[Cell]:
    cells: list[Cell] = []
    place = -1
    for cell in row.findall("{*}c"):
        place = _column(cell.get("r", "")) if cell.get("r") else place + 1
        value = _value(cell, strings)
        if value is None:
            continue
        if place >= columns:
            raise InputError(f"{name} has more than {columns:,} columns. Keep only the columns of texts and labels.")
        cells += [None] * (place + 1 - len(cells))
        cells[place] = value
    return cells


def _column(reference: str) -> int:
    """Return the place of a cell such as AB12 in its row, from 0."""
    letters = re.match("[A-Z]{1,3}", reference)
    place = 0
    for letter in letters[0] if letters else "A":
        place = 26 * place + ord(letter) - 64
    return place - 1


def _value(cell: Any, strings: list[str]) -> Cell:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        inline = cell.find("{*}is")
        return None if inline is None else _text(inline)
    stored = cell.find("{*}v")
    if stored is None or stored.text is None:
        return None
    if kind == "s":
        return strings[int(stored.text)]
    if kind == "n":
        number = float(stored.text)
        return int(number) if number.is_integer() and abs(number) < 1 << 53 else number
    return bool(int(stored.text)) if kind == "b" else str(stored.text)
