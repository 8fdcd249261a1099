"""One row of a list: its text, the reason for its prediction, a visitor's own label and note, and the way to the next mistake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.text import md
from sentviz.analysis.explain.headline import headline
from sentviz.analysis.testset.rows import Rows
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.runs.store import Run

NOTE = 500  # characters of a note
OWN_COLUMNS = ("your label", "your note")
LOSS = (
    "Cross-entropy in nats of the calibrated probability. Stored probabilities have five decimals, so the largest losses are lower limits."
)


@dataclass(frozen=True)
class Remark:
    """A label and a note of a visitor for one row."""

    label: str = ""  # a class; "" = none
    note: str = ""


def _remarks(rows: Rows) -> dict[str, Remark]:
    """Return what this visit says of these rows, by id; it belongs to the rows and not to the model that predicted them."""
    of = rows.file[:1] or (rows.source.data,)
    remarks: dict[Any, dict[str, Remark]] = st.session_state.setdefault("row-remarks", {})
    return remarks.setdefault((*of, rows.over), {})


def own_columns(rows: Rows) -> dict[str, list[str]]:
    """Return the columns `OWN_COLUMNS` of a visitor's labels and notes; {} if there are none for these rows."""
    remarks = _remarks(rows)
    each = [remarks.get(name, Remark()) for name in rows.frame["id"].astype(str)]
    if not any(remark.label or remark.note for remark in each):
        return {}
    return dict(zip(OWN_COLUMNS, ([remark.label for remark in each], [remark.note for remark in each]), strict=True))


def open_row(rows: Rows, place: int, move: Callable[[int], None], below: Callable[[str], None] | None = None) -> None:
    """Draw a row with its reason, buttons to other mistakes and to Sentence, and fields for an own label and note.

    Args:
        place: of the row in the order of the list.
        move: opens the row at another place.
        below: draws more about the row; it gets the row's id.
    """
    row = rows.frame.iloc[place]
    with st.container(border=True, key="one-row"):
        _head(rows, row, place, move)
        if not rows.has_text:
            st.caption("The text of this row is not installed, so the model cannot read it.")
        for name in ("text", "text_pair"):
            if name in row:
                st.text(str(row[name]))
        if row.get("reason"):
            st.markdown(f":material/flag: {md(row['reason'])}")
        if row.get("other_text"):
            st.caption("The other text")
            st.text(str(row["other_text"]))
        reader, above = _reader(rows), st.container()
        _remark(rows, str(row["id"]))
        if rows.has_text:
            _to_explore(rows, row, reader)
        if below is not None:
            below(str(row["id"]))
        if rows.has_text and reader is not None:
            with above:  # last, because finding a reason takes seconds with a large model
                _reason(rows, row, reader)


def _head(rows: Rows, row: pd.Series[Any], place: int, move: Callable[[int], None]) -> None:
    """Draw label and prediction, and the buttons to the mistakes before and after; of rows without labels, to the rows."""
    label = f"labelled {rows.classes[row['label']]}, " if row["label"] >= 0 else ""
    sure = "" if np.isnan(row["confidence"]) else f" ({percent(row['confidence'], 0)})"
    wrong = (rows.labels >= 0) & ~rows.frame["right"].to_numpy(bool)
    stops, what = (np.flatnonzero(wrong), "mistake") if rows.labelled and "reason" not in rows.frame else (np.arange(len(rows)), "row")
    before, after = stops[stops < place], stops[stops > place]
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        words = f"**{md(label)}predicted {md(rows.classes[row['predicted']])}**{sure} · {md(row['id'])}"
        if has_loss := rows.labelled and rows.source.gives == "probabilities" and not np.isnan(row["loss"]):
            words += f" · loss {row['loss']:.2f}"
        st.markdown(words, width="stretch", help=LOSS if has_loss and rows.over not in ("demo", "mine") else None)
        for name, icon, places in (("Previous", "chevron_left", before[-1:]), ("Next", "chevron_right", after[:1])):
            st.button(
                f"{name} {what}",
                icon=f":material/{icon}:",
                type="tertiary",
                key=f"row-{name.lower()}",
                disabled=not len(places),
                on_click=move,
                args=tuple(map(int, places)),
            )
        if len(at := np.flatnonzero(stops == place)):
            st.caption(f"{int(at[0]) + 1:,} of {len(stops):,}", width="content")


def _reader(rows: Rows) -> Run | None:
    """Return the run that can read the rows: their own, or for a visitor's file the run in focus; None if it has no weights."""
    reader = cache.runs().get(visit.focus().run) if rows.over == "mine" else rows.source.ask
    return reader if reader is not None and reader.has_weights else None


def _in_focus(rows: Rows, row: pd.Series[Any]) -> dict[str, str]:
    """Return the fields of the focus that name the row: a row of a visitor's file is named by its text."""
    return {"text": str(row["text"]), "pair": str(row.get("text_pair", ""))} if rows.over == "mine" else {"row": str(row["id"])}


@boundary("row")
def _reason(rows: Rows, row: pd.Series[Any], reader: Run) -> None:
    """Draw the run's prediction with its reason."""
    focus = visit.focus().with_(run=reader.name, **_in_focus(rows, row)).as_trained()
    seen = answers.reasoned(focus)
    by = "" if rows.source.run is not None else f"{reader.name}: "
    st.markdown(f":material/lightbulb: {md(by + headline(seen))}")


def _remark(rows: Rows, name: str) -> None:
    """Draw the fields for a visitor's own label and note of the row."""
    remarks = _remarks(rows)
    known, key = remarks.get(name, Remark()), f"{rows.over}-{name}"

    def take() -> None:
        label, note = st.session_state[f"own-label-{key}"], st.session_state[f"own-note-{key}"]
        remarks[name] = Remark(label or "", note.strip())

    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        options = ["", *rows.classes]
        at = options.index(known.label) if known.label in options else 0
        how: dict[str, Any] = {"on_change": take}
        st.selectbox("Your label", options, at, key=f"own-label-{key}", format_func=lambda x: x or "as it is", width=180, **how)
        st.text_input("Your note", known.note, NOTE, key=f"own-note-{key}", width=420, **how)
        if count := sum(bool(remark.label or remark.note) for remark in remarks.values()):
            st.caption(f"{count:,} row{'s' * (count != 1)} with your label or note. The CSV of the list has them.", width="content")


@boundary()
def _to_explore(rows: Rows, row: pd.Series[Any], reader: Run | None) -> None:
    """Draw the buttons that open the row in Sentence, and follow them."""
    if reader is None:
        lacks = "has predictions but no model" if rows.source.run is None else "ships without weights"
        st.caption(f"{md(rows.source.name)} {lacks}; choose another model above to open the row in Sentence.")
        return
    with st.container(horizontal=True, gap="small"):
        of_other = "" if rows.source.run is not None else f", as {reader.name} reads it"
        look = st.button(f"Open in Sentence{of_other}", icon=":material/psychology_alt:", key="drawer-open")
        edit = st.button("Edit next to the original", icon=":material/edit:", key="drawer-edit")
    if edit:
        st.session_state["pinned"] = answers.trace(visit.focus().with_(**_in_focus(rows, row)).as_trained())
    if look or edit:
        st.session_state["own_label"] = (str(row["text"]), rows.classes[row["label"]]) if row["label"] >= 0 else ("", "")
        visit.go(**_in_focus(rows, row))
        st.switch_page("views/sentence/explore.py")
