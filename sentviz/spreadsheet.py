"""Tables as CSV files that a spreadsheet opens as what they are: text stays text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_csv"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def as_csv(frame: pd.DataFrame) -> bytes:
    """UTF-8 with a byte order mark; cells and names that a spreadsheet would run as formulas begin with an apostrophe."""
    import pandas as pd

    safe = frame.copy()
    for place in range(safe.shape[1]):
        if not pd.api.types.is_numeric_dtype(safe.dtypes.iloc[place]):
            safe.isetitem(place, [_no_formula(cell) for cell in safe.iloc[:, place]])
    safe.columns = pd.Index([_no_formula(name) for name in safe.columns])
    return safe.to_csv(index=False, lineterminator="\r\n").encode("utf-8-sig", errors="replace")


def _no_formula(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA) else cell
