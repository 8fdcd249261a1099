"""List of all printed tables and figures of a paper, with the place of each. Items that no section shows are drawn when they are opened."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.blocks.figure import show_drawn
from app.text import md, page_theme
from app.views.papers.blocks import show_table, text_room
from app.views.papers.shared import digests
from sentviz.figures import Figure, Theme
from sentviz.papers.studies.collected import of_paper
from sentviz.papers.studies.item_types import PaperItem, Table
from sentviz.papers.studies.items import listed, makers, measured_items
from sentviz.runs.registry import Paper, find_paper
from sentviz.runs.store import Run

LINES = 4  # lines of text that a row of the list has room for


@st.cache_data(max_entries=32, show_spinner="Reading the runs")
def _made(paper: str, item: str, theme: Theme, key: tuple[str, ...], _runs: Sequence[Run]) -> list[PaperItem]:
    return makers(find_paper(paper), theme)[item](_runs)


def show(paper: Paper, runs: Sequence[Run]) -> None:
    """Show the items that are drawn on this part, then the list of all items."""
    items = {item["id"]: item for item in paper.items()}
    measured, able = measured_items(paper), makers(paper)
    own = bool(of_paper(paper, runs))
    drawn = [name for name, item in items.items() if item.get("view") == "page" and name in able]
    drawn += [name for name in able if name not in items and name != "claims" and not paper.page.sections and (own or name not in measured)]
    for i, name in enumerate(drawn):
        item = items.get(name, {})
        ours = f"Accuracy on {measured[name]}" if name in measured else name
        title = ": ".join(filter(None, (item.get("printed", ""), item.get("title", ours))))
        with st.expander(md(title), expanded=not i, on_change="rerun", key=f"{paper.name}-{name}") as more:
            if more.open:
                _item(paper, name, item.get("why", ""), runs)
    if items:
        frame = listed(paper, runs)
        st.dataframe(
            frame,
            hide_index=True,
            placeholder="–",
            height="content",
            row_height=LINES * 21,
            key=f"{paper.name}-items",
            column_config={
                "printed": st.column_config.TextColumn("in the paper", width=120),
                "title": st.column_config.TextColumn("content", width=230),
                "here": st.column_config.TextColumn("installed configurations", width="medium"),
                "shown on": st.column_config.TextColumn(width=text_room(["shown on", *frame["shown on"]])),
                "why": st.column_config.TextColumn("difference from the paper", width=420),
            },
        )
    st.caption(f"`sentviz export --paper {paper.name} -o DIR` writes every available item as files, with a manifest.")


def _item(paper: Paper, name: str, why: str, runs: Sequence[Run]) -> None:
    parts = _made(paper.name, name, page_theme(), digests(runs), runs)
    if not parts:
        st.caption("No installed run can show this item.")
    for i, part in enumerate(parts):
        key = f"{paper.name}-{name}-{i}"
        if isinstance(part, Table):
            show_table(part, key)
        else:
            show_drawn(lambda theme, i=i: _drawn(paper, name, i, theme, runs), key)  # type: ignore[misc]
    if why:
        st.caption(md(why))


def _drawn(paper: Paper, name: str, place: int, theme: Theme, runs: Sequence[Run]) -> Figure:
    figure = _made(paper.name, name, theme, digests(runs), runs)[place]
    assert isinstance(figure, Figure)
    return figure
