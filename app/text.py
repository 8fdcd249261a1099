"""Text on a page, its heading, its columns, and its theme."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import streamlit as st

from sentviz.charts import Theme
from sentviz.io.lazy import pd
from sentviz.io.numbers import written

_JOINED = re.compile(r":(?=[\w+/-]+:)|(?<!\S)[-<>~](?=(?:->|>|-|=)(?!\S))")  # start of an icon's name, or an arrow


def page_theme() -> Theme:
    """Return the visitor's theme."""
    return "dark" if st.context.theme.type == "dark" else "light"


def in_percent(frame: pd.DataFrame, *columns: str) -> Any:
    """Return a table for a page, whose shares in these columns are written in per cent."""
    return frame.style.format({name: partial(written, form=".1%") for name in columns}, na_rep="–")


def md(text: str) -> str:
    """Return a visitor's text for markdown, with every special character escaped.

    Afterwards Streamlit still replaces `:home:` by an icon and `->` by an arrow. An invisible character (word joiner) prevents this.
    """
    apart = _JOINED.sub("\\g<0>\u2060", text.replace("\n", " "))
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:&@^=])", r"\\\1", apart)


def with_code(text: str) -> str:
    """Return a sentence of the library for markdown: commands between backticks are code, all else is escaped as in `md`."""
    parts = text.replace("\n", " ").split("`")
    if len(parts) % 2 == 0 or not all(map(str.strip, parts[1::2])):
        return md(text)
    return "".join(f"`{part}`" if place % 2 else md(part) for place, part in enumerate(parts))


def marked(text: str) -> str:
    """Return plain text for markdown, in which words between two stars are bold."""
    parts = text.split("**")
    return with_code(text) if len(parts) % 2 == 0 else "**".join(part and with_code(part) for part in parts)


def intro(shows: str, cannot: str) -> None:
    """Show the introduction of a page: its content, and its limits."""
    st.caption(f"{shows} {cannot}")


def name_runs(*runs: str) -> None:
    """Name the view and its runs in the title of the browser's tab, which never shows a visitor's sentence: others may see the screen."""
    listed = runs if len(runs) < 3 else (runs[0], f"{len(runs) - 1} more")
    st.set_page_config(page_title=" · ".join(filter(None, (st.session_state["view"].title, " and ".join(listed), "sentviz"))))


def halves(name: str, *shares: float) -> list[Any]:
    """Return columns side by side, by default two equal ones; on a page narrower than 1,100 px they are stacked."""
    with st.container(key=f"halves-{name}"):
        return st.columns(list(shares) or [1.0, 1.0], gap="medium")


def paper(svg: str, millimetres: float, alt: str) -> None:
    """Show an SVG, given as base64, on white paper, `millimetres` wide; 0 uses the available width."""
    width = f"width:{millimetres:g}mm;max-width:none" if millimetres else "max-width:100%"
    st.html(
        '<div class="paper" style="overflow:auto;background:#fff;padding:4px;border-radius:4px">'
        f'<img alt="{alt}" src="data:image/svg+xml;base64,{svg}" style="{width};display:block"></div>'
    )
    st.caption(f"At true size: {millimetres:g} mm wide." if millimetres else "As on screen.")
