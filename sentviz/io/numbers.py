"""The one style of numbers in words: 93.6 % [93.2, 94.0], +1.20 points [−0.30, +2.70], 1,821, p = 0.012.

A minus is a true minus, thousands have commas, a per cent sign follows a non-breaking space, and an interval is in brackets after the unit.
Files for machines (CSV, JSON) keep plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any, SupportsFloat, SupportsInt

MINUS = "−"
PERCENT = "\N{NO-BREAK SPACE}%"
Ends = Sequence[SupportsFloat]
"""The lower and the upper end of an interval, in the unit of its value."""


def written(value: Any, form: str = "") -> str:
    """Return a value in a format of Python such as ".1%" or "+.2f", in the style; a text stays as it is."""
    return value if isinstance(value, str) else format(value, form).replace("-", MINUS).replace("%", PERCENT)


def number(value: SupportsFloat, digits: int = 2, ends: Ends | None = None, unit: str = "") -> str:
    """Return a number with its unit, and its interval if `ends` are given: 0.50 [−0.10, 1.10]. One that is rounded to 0 has no sign."""
    text = written(float(value), f",.{digits}f")
    return (text if text.strip("−0.,") else text.lstrip(MINUS)) + unit + _interval(number, digits, ends)


def signed(value: SupportsFloat, digits: int = 2, ends: Ends | None = None, unit: str = "") -> str:
    """Return a number with its sign and unit, and its interval if `ends` are given: +0.50 [−0.10, +1.10]."""
    return written(float(value), f"+,.{digits}f") + unit + _interval(signed, digits, ends)


def percent(share: SupportsFloat, digits: int = 1, ends: Ends | None = None, write: Callable[..., str] = number) -> str:
    """Return a share, 0 to 1, in per cent: 93.6 %, or 93.6 % [93.2, 94.0] with `ends`; `write` is `signed` for differences."""
    return write(100 * float(share), digits, _hundredfold(ends), PERCENT)


def in_points(difference: SupportsFloat, ends: Ends | None = None, digits: int = 2, write: Callable[..., str] = signed) -> str:
    """Return a difference of shares in percentage points: +2.10 points, or +2.10 points [+0.81, +3.40] with `ends`."""
    return write(100 * float(difference), digits, _hundredfold(ends), " points")


def probability(p: float) -> str:
    """Return a probability in whole per cent that never claims certainty: 0.9996 gives ">99 %"."""
    return f">{percent(0.99, 0)}" if p > 0.995 else f"<{percent(0.01, 0)}" if p < 0.005 else percent(p, 0)


def p_value(p: float, name: str = "p") -> str:
    """Return the p of a test with its name: "p = 0.012", "p after Holm < 0.0001"."""
    return f"{name} = {p:.2g}" if p >= 1e-4 else f"{name} < 0.0001"


def count(n: SupportsInt) -> str:
    """Return a count, with commas between thousands."""
    return f"{int(n):,}"


def rounded(values: Any) -> Any:
    """Return nested lists of an array's numbers with six significant digits, for JSON; None for NaN and infinite values."""
    if values.ndim:
        return [rounded(row) for row in values]
    return float(f"{float(values):.6g}") if isfinite(values) else None


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: lists, dictionaries with texts as keys, and numbers of Python; None for NaN and infinity."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)


def span(values: Iterable[Any], write: Callable[[Any], str] = count) -> str:
    """Return the smallest and the largest of some values: "1 to 3", or "3" if they are written alike."""
    known = list(values)
    low, high = write(min(known)), write(max(known))
    return low if low == high else f"{low} to {high}"


def _interval(write: Callable[..., str], digits: int, ends: Ends | None) -> str:
    return "" if ends is None else f" [{', '.join(write(end, digits) for end in ends)}]"


def _hundredfold(ends: Ends | None) -> Ends | None:
    return None if ends is None else [100 * float(end) for end in ends]
