"""List of every item of a paper, with a link to its place. Items that no section shows are drawn when they are opened."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape

import streamlit as st

from app import visit
from app.blocks.figure import show_drawn
from app.blocks.table import show_table
from app.shared import once
from app.text import md
from sentviz.charts import Figure
from sentviz.io.table import Table
from sentviz.papers.studies.compare_configurations import of_paper
from sentviz.papers.studies.items import CLAIMS, LIST, PaperItem, listed, makers, measured_items
from sentviz.runs.items import Kind, plural
from sentviz.runs.registry import LAST, Paper, find_paper
from sentviz.runs.store import Run


@once(32, "Reading the runs")
def _made(paper: str, item: str, runs: Sequence[Run]) -> list[PaperItem]:
    return makers(find_paper(paper))[item](runs)


def show(paper: Paper, runs: Sequence[Run]) -> None:
    """Show the items that are drawn on this part, then the list of all items."""
    items = {item.id: item for item in paper.items()}
    measured, able = measured_items(paper), makers(paper)
    own = bool(of_paper(paper, runs))
    drawn = [name for name, item in items.items() if item.query.get("part") == LAST and name in able]
    own_tables = [name for name in able if name not in (*items, LIST, CLAIMS) and (own or name not in measured)]
    drawn += [] if paper.page.sections else own_tables
    for i, name in enumerate(drawn):
        words = [items[name].name, items[name].title] if name in items else [f"Accuracy on {measured[name]}" if name in measured else name]
        with st.expander(md(": ".join(words)), expanded=not i, on_change="rerun", key=f"{paper.name}-{name}") as more:
            if more.open:
                _item(paper, name, items[name].why if name in items else "", runs)
    if items:
        _list(paper)
    st.caption(f"`sentviz paper {paper.name} -o DIR` writes this list, and every table and figure that is live, as files.")


def _list(paper: Paper) -> None:
    """Show every item, or those of one kind, as a table with links; texts wrap, so that no column is cut off."""
    frame = listed(paper).frame
    counts = frame["kind"].value_counts(sort=False)
    words = {"": f"All {len(frame)}"} | {kind: _counted(kind, counts[kind]) for kind in counts.index}
    kind = visit.setting(st.segmented_control, "Kind", "kind", words, required=True)
    rows = frame[frame["kind"] == kind] if kind else frame
    head = ("item", "content", "state", "shown on", "difference from the paper")
    cells = [
        (row["item"], row["content"], row["state"], _link(row["place"], row["link"]), row["why"] or "–") for row in rows.to_dict("records")
    ]
    body = "".join(f"<tr>{''.join(f'<td>{cell if i == 3 else escape(cell)}</td>' for i, cell in enumerate(row))}</tr>" for row in cells)
    st.html(f"<table class='items'><thead><tr>{''.join(f'<th>{name}</th>' for name in head)}</tr></thead><tbody>{body}</tbody></table>")


def _counted(kind: Kind, count: int) -> str:
    words = kind if count == 1 else plural(kind)
    return f"{count} {words}"


def _link(place: str, link: str) -> str:
    return f'<a href="{escape(link)}" target="_blank">{escape(place)}</a>' if link else "–"


def _item(paper: Paper, name: str, why: str, runs: Sequence[Run]) -> None:
    parts = _made(paper.name, name, runs)
    if not parts:
        st.caption("No installed run can show this item.")
    for i, part in enumerate(parts):
        key = f"{paper.name}-{name}-{i}"
        if isinstance(part, Table):
            show_table(part, key)
        else:
            show_drawn(partial(_drawn, paper.name, name, i, runs), key)
    if why:
        st.caption(md(why))


def _drawn(paper: str, name: str, place: int, runs: Sequence[Run]) -> Figure:
    figure = _made(paper, name, runs)[place]
    assert isinstance(figure, Figure)
    return figure
