"""A table for people: a frame with its caption and the format of each column, for pages, LaTeX, HTML and notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sentviz.io.lazy import pd
from sentviz.io.numbers import written


@dataclass(frozen=True)
class Column:
    """Format of one column of a table on a page, in LaTeX and in HTML. CSV files keep the frame's numbers."""

    name: str  # in the frame
    title: str = ""  # default: the name
    form: str = ""  # format of numbers; default: integers in groups of three digits, three decimals for other numbers
    interval: tuple[str, str] | None = None  # columns of the lower and upper end, written in brackets after the number
    percent: bool = False  # True: shares are written times 100
    words: Mapping[Any, str] = field(default_factory=dict)  # value -> text that is written instead
    best: bool = False  # True: a star marks the largest value on a page
    full_shade: float = 0.0  # difference, as written, at which a signed number has the full colour; 0 for no colour
    help: str = ""  # tooltip of the column's title
    width: int | None = None  # pixels on a page; None: as the content needs
    optional: bool = False  # True: a group without any value has no such column

    @property
    def label(self) -> str:
        """Title of the column."""
        return self.title or self.name

    def numbers(self, frame: pd.DataFrame) -> pd.Series[Any]:
        """Return the column as it is sorted: shares in percent, words in place of values."""
        values = frame[self.name]
        if self.words:
            return values.map(self.words).fillna(values)
        return 100 * values if self.percent else values

    def texts(self, frame: pd.DataFrame) -> list[str]:
        """Return each value as it is written, "–" for a missing one."""
        values = self.numbers(frame)
        form = self.form or (",.0f" if pd.api.types.is_integer_dtype(values) else ".3f")
        factor = 100 if self.percent else 1
        texts = [self._written(value, form) for value in values]
        if self.interval is None:
            return texts
        ends = [[self._written(factor * value, form) for value in frame[name]] for name in self.interval]
        known = frame[self.interval[0]].notna() & values.notna()
        return [f"{text} [{low}, {high}]" if has else text for text, low, high, has in zip(texts, *ends, known, strict=True)]

    @staticmethod
    def _written(value: Any, form: str) -> str:
        if pd.isna(value):
            return "–"
        return written(value, form.strip("{:}")) if pd.api.types.is_number(value) else str(value)


@dataclass(frozen=True, eq=False)
class Table:
    """A frame with its caption and the columns that are written."""

    name: str  # safe file name without suffix
    title: str
    frame: pd.DataFrame
    caption: str
    columns: Sequence[Column] = ()  # written columns; default: all columns of the frame
    groups: str = ""  # column of the frame, each of whose values has the columns once, next to each other
    keys: Sequence[str] = ("model",)  # columns that name a row of a table with groups

    def laid_out(self) -> tuple[pd.DataFrame, list[Column]]:
        """Return the frame and the columns as they are written: with groups, one row per key and one set of columns per group."""
        columns = list(self.columns) or [Column(str(name)) for name in self.frame]
        if not self.groups:
            return self.frame.reset_index(drop=True), columns
        keys = list(self.keys)
        named = {column.name: column for column in columns if column.name in keys}
        numbers = [column for column in columns if column.name not in keys]
        parts, spread = [], [named.get(key, Column(key)) for key in keys]
        for group, rows in self.frame.groupby(self.groups, sort=False):
            names = {name: f"{group}, {name}" for name in self.frame if name not in (*keys, self.groups)}
            parts.append(rows.set_index(keys).rename(columns=names)[list(names.values())])
            for column in numbers:
                if column.optional and rows[column.name].isna().all():
                    continue
                ends = column.interval and (names[column.interval[0]], names[column.interval[1]])
                title = f"{group}, {column.label}" if len(numbers) > 1 else str(group)
                counts = not column.form and pd.api.types.is_integer_dtype(rows[column.name])  # before a missing row makes them decimals
                form = ",.0f" if counts else column.form
                spread.append(replace(column, name=names[column.name], title=title, interval=ends, form=form))
        order = self.frame[keys].drop_duplicates(ignore_index=True)
        return order.merge(pd.concat(parts, axis=1).reset_index(), on=keys, how="left"), spread

    def written(self) -> pd.DataFrame:
        """Return the table as text, with the titles of its columns."""
        frame, columns = self.laid_out()
        return pd.DataFrame({column.label: column.texts(frame) for column in columns})
