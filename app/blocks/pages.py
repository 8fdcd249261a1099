"""Pages of a long table: which rows are shown, and the buttons that turn the page."""

from __future__ import annotations

from typing import Any

import streamlit as st

SIZE = 200  # rows per page


def first_row(count: int, key: str) -> int:
    """Return the place of the first row of the chosen page, counted from 0.

    Args:
        count: rows of the table.
        key: of the buttons. A table with other rows needs another key, so that it opens on its first page.
    """
    chosen: int = st.session_state.get(f"page-{key}", 0)
    return min(chosen, max(0, (count - 1) // SIZE)) * SIZE


def page_buttons(count: int, key: str) -> None:
    """Draw the buttons to the page before and the page after, and the numbers of the rows shown; nothing if one page holds all rows."""
    if count <= SIZE:
        return
    first = first_row(count, key)

    def turn(to: int) -> None:
        st.session_state[f"page-{key}"] = to // SIZE

    last = min(first + SIZE, count)
    button: dict[str, Any] = {"type": "tertiary", "on_click": turn}
    with st.container(horizontal=True, gap="small", vertical_alignment="center", width="content"):
        before, after = (first - SIZE,), (last,)
        st.button("Previous", icon=":material/chevron_left:", key=f"before-{key}", disabled=first == 0, args=before, **button)
        st.caption(f"Rows {first + 1:,} to {last:,} of {count:,}", width="content")
        st.button("Next", icon=":material/chevron_right:", key=f"after-{key}", disabled=last == count, args=after, **button)
