"""CSV files: for people, with positions counted from 1 and texts that a spreadsheet never runs as formulas; for this program, unchanged.

All CSV text of the package is made here."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from sentviz.io.files import write_file
from sentviz.io.lazy import pd

PLACES = ("layer", "head", "component", "other", "position", "place", "token", "query", "key")
"""Columns of positions. Frames count them from 0, files from 1."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def from_one(frame: pd.DataFrame, from_zero: Collection[str] = ()) -> pd.DataFrame:
    """Return the frame with its `PLACES` counted from 1, as in figures; -1, which means none or all, becomes blank.

    Args:
        from_zero: columns that are not changed, because 0 has a meaning of its own, such as the embedding before the first layer.
    """
    counted = frame.copy()
    for at, name in enumerate(frame.columns):
        cells = frame.iloc[:, at]
        if name in PLACES and name not in from_zero and pd.api.types.is_integer_dtype(cells):
            counted.isetitem(at, (cells.astype("Int64") + 1).where(cells >= 0).array)
    return counted


def as_csv(frame: pd.DataFrame, *, header: bool = True) -> bytes:
    """Return CSV in UTF-8; cells and names that a spreadsheet would run as formulas begin with an apostrophe.

    Args:
        header: True = a byte order mark and the names of the columns come first; False = rows that continue a file.
    """
    safe = frame.copy()
    for place in range(safe.shape[1]):
        if not pd.api.types.is_numeric_dtype(safe.dtypes.iloc[place]):
            safe.isetitem(place, [_no_formula(cell) for cell in safe.iloc[:, place]])
    safe.columns = pd.Index([_no_formula(name) for name in safe.columns])
    text = safe.to_csv(index=False, header=header, lineterminator="\r\n")
    return text.encode("utf-8-sig" if header else "utf-8", errors="replace")


def write_csv(path: Path, frame: pd.DataFrame) -> Path:
    """Write a CSV file for people, as `as_csv` makes it, completely or not at all.

    Raises:
        SentvizError: the disk is full or the file cannot be written.
    """
    return write_file(path, as_csv(frame))


def plain_csv(frame: pd.DataFrame, float_format: str | None = None) -> bytes:
    """Return CSV in UTF-8 that is read back as it was: for tables of this program and for digests. Texts may begin with a formula."""
    return frame.to_csv(index=False, float_format=float_format, lineterminator="\n").encode(errors="replace")


def store_csv(path: Path, frame: pd.DataFrame, float_format: str | None = None) -> Path:
    """Write a table that this program reads back, as `plain_csv` makes it, completely or not at all.

    Raises:
        SentvizError: the disk is full or the file cannot be written.
    """
    return write_file(path, plain_csv(frame, float_format))


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """Read a table of this program without its first line if this is a comment, which says how an experiment measured the table.

    Args:
        options: options of `pandas.read_csv`.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        commented = file.readline().startswith("# ")
    frame: pd.DataFrame = pd.read_csv(path, skiprows=int(commented), **options)
    return frame


def _no_formula(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA) else cell
