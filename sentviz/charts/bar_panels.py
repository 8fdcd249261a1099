"""Numbers of tokens as bars with their values: a row for each token, and a panel for each number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sentviz.charts.chart import Axis, Chart, Panels, Role, bars
from sentviz.charts.text import shortened
from sentviz.io.lazy import pd

REST = -1  # key of the row that combines the tokens that are not drawn
Row = tuple[str, int, float, str, Role]
"""Panel, key of the row, value, its text, and its colour."""


def names_of(tokens: Sequence[str], places: Sequence[int], further: int = 0) -> dict[int, str]:
    """Return the label of each token by its position; repeated tokens show their position.

    Args:
        tokens, places: tokens to draw, and their positions in the text, counted from 0.
        further: number of further tokens, which a last row combines; 0 for no such row.
    """
    again = {token for token in tokens if tokens.count(token) > 1}
    names = {place: shortened(token, 18) + f" ({place + 1})" * (token in again) for token, place in zip(tokens, places, strict=True)}
    return names | ({REST: f"{further:,} other keys" if further > 1 else "1 other key"} if further else {})


def bar_panels(title: str, rows: Iterable[Row], panels: Mapping[str, str], names: Mapping[int, str], chosen: int | None = None) -> Chart:
    """Return bars with their texts; the row that combines other tokens is pale.

    Args:
        panels: title of each panel by its key. names: label of each row by its key. chosen: key of the row with an outline.
    """
    table = pd.DataFrame(list(rows), columns=["panel", "key", "value", "said", "role"])
    parts = table.groupby(["role", table["key"] == REST], sort=False)
    marks = [bars(part, "value", "key", role=role, faint=is_rest, text="{said}") for (role, is_rest), part in parts]
    return Chart(title, marks, y=Axis(rows=names, chosen=chosen), panels=Panels("panel", panels, len(panels), small=True))
