"""Sheets of an Excel workbook (.xlsx) and their rows, read with limits. Formulas give their stored values and are never computed."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import IO, Any, BinaryIO
from xml.etree import ElementTree

from sentviz.data.columns import LABEL_NAMES, TEXT_NAMES, usual
from sentviz.errors import InputError, nearest

MAX_XML = 1 << 29  # bytes of a sheet, unpacked
MAX_STRINGS = 1 << 28  # bytes of the texts of all sheets, unpacked
MAX_COLUMNS = 16_384  # limit of Excel for a sheet
MOST_SHEETS = 100
LISTED = 10  # sheets that a sentence names

_FAULTS = (
    *(zipfile.BadZipFile, zlib.error, ElementTree.ParseError, EOFError, OSError),
    *(LookupError, NotImplementedError, RuntimeError, StopIteration, ValueError),
)

Cell = str | float | int | None


class Workbook:
    """An Excel workbook: its sheets that have cells, in order, and their rows."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        with _one_sentence(name):
            self._book = zipfile.ZipFile(file)
            if "xl/workbook.xml" not in self._book.namelist():
                raise InputError(f"{name} is a zip file and not a table. Unpack it first.")
            sheets = [dict(sheet.items()) for sheet in _elements(self._book, "xl/workbook.xml", "sheet", name)]
            relations = [dict(relation.items()) for relation in _elements(self._book, "xl/_rels/workbook.xml.rels", "Relationship", name)]
            targets = {relation["Id"]: f"xl/{relation['Target'].lstrip('/').removeprefix('xl/')}" for relation in relations}
            ids = [next(value for key, value in sheet.items() if key.endswith("}id")) for sheet in sheets]
            self._members = {sheet.get("name", ""): targets[key] for sheet, key in zip(sheets[:MOST_SHEETS], ids, strict=False)}
            self._hidden = {sheet.get("name", "") for sheet in sheets if sheet.get("state", "visible") != "visible"}
        if not self._members:
            raise _damaged(name)

    @property
    def sheets(self) -> list[str]:
        """The names of the sheets."""
        return [*self._members]

    @cached_property
    def _strings(self) -> list[str]:
        """Texts of the cells, which the sheets share."""
        return _strings(self._book, self.name)

    def chosen(self, sheet: str = "") -> str:
        """Return the name of a sheet after a check; by default that of the visible sheet that looks most like a table of texts."""
        if not sheet:
            visible = [name for name in self.sheets if name not in self._hidden] or self.sheets
            return visible[0] if len(visible) == 1 else max(visible, key=self._likeness)
        if sheet not in self._members:
            raise InputError(
                f"{self.name} has no sheet {sheet!r}; {nearest(sheet, self.sheets)}its sheets are {', '.join(self.sheets[:LISTED])}."
            )
        return sheet

    def remarks(self, sheet: str) -> list[str]:
        """Return a remark on the sheet that is read, if there are several."""
        if len(self._members) < 2:
            return []
        more = f" and {len(self._members) - LISTED} more" if len(self._members) > LISTED else ""
        listed = ", ".join(f"“{name}”" for name in self.sheets[:LISTED]) + more
        return [f"{self.name} has the sheets {listed}; “{sheet}” is read. `sentviz data add FILE --sheet NAME` reads another one."]

    def rows(self, sheet: str, columns: int) -> Iterator[list[Cell]]:
        """Yield the rows of a sheet, without blank ones.

        Args:
            columns: maximum number of columns.
        """
        with _one_sentence(self.name):
            for row in _elements(self._book, self._members[sheet], "row", self.name):
                cells = _cells(row, self._strings, columns, self.name)
                if any(cell not in (None, "") for cell in cells):
                    yield cells

    def _likeness(self, sheet: str) -> int:
        """Return how much a sheet looks like a table of texts, from 0 to 4, by the usual names of columns and by its size."""
        if self._members[sheet] not in self._book.namelist():
            return -1
        header, *more = [*islice(self.rows(sheet, MAX_COLUMNS), 2), [], []][:2]
        names = [str(cell) for cell in header if cell is not None]
        return (2 * bool(usual(names, TEXT_NAMES)) + bool(usual(names, LABEL_NAMES)) + (len(names) > 1)) if more[0] else 0


@contextmanager
def _one_sentence(name: str) -> Iterator[None]:
    """Raise the errors of a damaged file as one sentence."""
    try:
        yield
    except _FAULTS as error:
        if isinstance(error, InputError):
            raise
        raise _damaged(name) from error


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
