"""A table of the library on a page, with its caption and its numbers as a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from app.blocks.files import csv_button
from app.text import page_theme, with_code
from sentviz.charts import palette
from sentviz.charts.colours import blend, ink_on
from sentviz.charts.text import text_columns
from sentviz.io.lazy import pd
from sentviz.io.table import Column, Table

LETTER, PADDING, WIDEST = 7, 24, 320  # pixels: a letter of a table, the space beside a text, and the widest column of texts
OF_TITLE = 6.5, 18  # pixels: a letter of a column's title, and the space beside the title


def show_table(table: Table, key: str) -> None:
    """Draw a table whose columns sort by their numbers, with its caption and its numbers as a CSV file."""
    frame, columns = table.laid_out()
    numbers = pd.DataFrame({column.name: column.numbers(frame) for column in columns})
    style = numbers.style
    for column in columns:
        texts = column.texts(frame)
        if column.best:
            largest = numbers[column.name].max()
            texts = [f"★ {text}" if value == largest else text for value, text in zip(numbers[column.name], texts, strict=True)]
        by_value = dict(zip(numbers[column.name], texts, strict=True))
        style.format(partial(_cell_text, by_value), subset=[column.name])
        for place, (value, text) in enumerate(zip(numbers[column.name], texts, strict=True)):
            if pd.notna(value) and by_value[value] != text:  # two rows with the same number and different intervals
                style.format(partial(_cell_text, {value: text}), subset=([place], [column.name]))
        if column.full_shade:
            style.apply(_shades, subset=[column.name], full=column.full_shade, stops=palette(page_theme()).signed)
    config = {}
    for place, column in enumerate(columns):
        is_text = not pd.api.types.is_numeric_dtype(numbers[column.name])
        config[column.name] = st.column_config.Column(
            column.label,
            help=column.help or None,
            width=_width(column, frame, is_text=is_text, first=not place),
            pinned=True if is_text and not place else None,
        )
    st.dataframe(style, hide_index=True, height="content", key=key, placeholder="–", column_config=config)
    with st.container(horizontal=True, gap="small", wrap=False):
        st.caption(with_code(table.caption), width="stretch")
        csv_button(table.frame, table.name, f"{key}-csv")


def text_room(texts: Iterable[str]) -> int:
    """Return the pixels that a column needs for its longest text; the browser's own measure leaves out texts much longer than most."""
    return min(LETTER * max(map(text_columns, texts)) + PADDING, WIDEST)


def _width(column: Column, frame: pd.DataFrame, *, is_text: bool, first: bool) -> int | None:
    """Return the width of a column in pixels; None if the browser's own measure is good: for numbers, and for long texts."""
    if column.width:
        letter, padding = OF_TITLE
        return max(column.width, round(letter * text_columns(column.label)) + padding)
    room = text_room([column.label, *column.texts(frame)])
    return room if is_text and (first or room < WIDEST) else None


def _cell_text(texts: Mapping[Any, str], value: Any) -> str:
    return "–" if pd.isna(value) else texts[value]


def _shades(cells: pd.Series[Any], full: float, stops: Sequence[str]) -> list[str]:
    """Return the style of signed numbers: the colour is full at `full`, and neutral at 0."""
    colours = [None if pd.isna(cell) else blend(stops, [0.5 + 0.5 * max(-1.0, min(1.0, cell / full))])[0] for cell in cells]
    return ["" if colour is None else f"background-color: {colour}; color: {ink_on(colour)}" for colour in colours]
