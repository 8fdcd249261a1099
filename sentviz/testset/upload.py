"""A visitor's own table of texts: a CSV or parquet file, from its bytes."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np

from sentviz.errors import InputError
from sentviz.text import is_blank

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BYTES", "ROWS", "guess", "labelled", "read_table"]

BYTES = 200 * 2**20
ROWS = 50_000
ENCODINGS = ("utf-8-sig", "cp949", "cp1252")
TEXT_NAMES = ("text", "sentence", "review", "document", "comment", "content", "tweet", "body", "message")
LABEL_NAMES = ("label", "sentiment", "polarity", "class", "target", "rating", "stars", "y")


def read_table(data: bytes, name: str) -> tuple[pd.DataFrame, list[str]]:
    """The rows of a file, at most `ROWS`, and remarks on how it was read.

    Raises:
        InputError: too large, empty, or neither a CSV nor a parquet file.
    """
    import pandas as pd

    if len(data) > BYTES:
        raise InputError(f"{name} has {len(data) / 2**20:,.0f} MB; files of at most {BYTES // 2**20} MB are read.")
    if not data.strip():
        raise InputError(f"{name} is empty.")
    remarks: list[str] = []
    if data[:4] == b"PAR1":
        try:
            frame = pd.read_parquet(io.BytesIO(data))
        except (OSError, ValueError) as error:
            raise InputError(f"{name} is a damaged parquet file ({error}).") from error
    else:
        text, encoding = _decoded(data, name)
        if encoding != "utf-8-sig":
            remarks.append(f"{name} is not UTF-8; it was read as {encoding}. If letters look wrong, save it as UTF-8.")
        try:
            mark = csv.Sniffer().sniff(text[:20_000], delimiters=",;\t|").delimiter
        except csv.Error:
            mark = ","
        try:
            frame = pd.read_csv(io.StringIO(text), sep=mark, nrows=ROWS + 1, dtype=str, keep_default_na=False)
        except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
            raise InputError(f"{name} cannot be read as a table with a header line ({str(error).splitlines()[0]}).") from error
    if frame.empty:
        raise InputError(f"{name} has a header but no rows.")
    if len(frame) > ROWS:
        remarks.append(f"Only the first {ROWS:,} rows are read.")
        frame = frame.head(ROWS)
    frame.columns = [str(column) for column in frame.columns]
    return frame, remarks


def guess(frame: pd.DataFrame, labels: bool = False) -> str:
    """The column that holds the texts, or the labels: by its usual names, else the one with the longest entries; "" for no labels."""
    columns = [str(column) for column in frame.columns]
    names = {column.casefold().strip(): column for column in columns}
    found = next((names[name] for name in (LABEL_NAMES if labels else TEXT_NAMES) if name in names), "")
    if found or labels:
        return found
    return max(columns, key=lambda column: frame[column].astype(str).str.len().mean())


def labelled(frame: pd.DataFrame, text: str, label: str, classes: tuple[str, ...]) -> tuple[pd.DataFrame, list[str]]:
    """Rows to ask about: id (the place in the file, from 1), text, label (class, -1 = none), and remarks on what was left out.

    A label is a class's name, upper or lower case, or its number from 0.

    Raises:
        InputError: a column that is not there, or no readable text.
    """
    import pandas as pd

    for column in filter(None, (text, label)):
        if column not in frame:
            raise InputError(f"The file has no column {column!r}; it has {', '.join(map(str, frame.columns))}.")
    texts = frame[text].astype("string").fillna("").astype(str)
    kept = np.array([not is_blank(entry) for entry in texts], dtype=bool)
    if not kept.any():
        raise InputError(f"No row has a text in the column {text!r}.")
    codes = {name.casefold(): k for k, name in enumerate(classes)} | {
        form.format(k): k for k in range(len(classes)) for form in ("{}", "{}.0")
    }
    labels = [codes.get(str(entry).casefold().strip(), -1) for entry in frame[label]] if label else [-1] * len(frame)
    made = pd.DataFrame({"id": [str(i + 1) for i in range(len(frame))], "text": texts.to_numpy(), "label": labels})[kept]
    remarks = [f"{int((~kept).sum()):,} rows without a text are left out."] if not kept.all() else []
    if label and (unknown := int((made["label"] < 0).sum())):
        remarks.append(
            f"{unknown:,} labels are none of {', '.join(classes)} (nor 0 to {len(classes) - 1}); those rows count as unlabelled."
        )
    return made.reset_index(drop=True), remarks


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
