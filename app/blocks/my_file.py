"""Your file: a visitor's own table, kept in memory for one visit."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import streamlit as st

from app.server.queue import turn
from app.text import md
from sentviz.data.columns import guess
from sentviz.data.formats import KINDS
from sentviz.data.upload import TextTable, labelled, read_table
from sentviz.errors import SentvizError
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile


def unlabelled(over: str, classes: tuple[str, ...]) -> str:
    """Return the reason that no row in focus is right or wrong."""
    mine: TextTable | None = st.session_state.get("mine")
    if over == "mine" and mine is not None and mine.label:
        names = f"{', '.join(classes)} or 0 to {len(classes) - 1}"
        return f"The column “{mine.label}” has none of the model's classes: {names}."
    return "None of these rows has a label."


def _refused(file: UploadedFile) -> str:
    """Read a chosen file once; return why it cannot be read, or "" if it was read."""
    last: tuple[str, str] = st.session_state.get("mine-last", ("", ""))
    if last[0] == file.file_id:
        return last[1]
    data, why = file.getvalue(), ""
    try:
        with st.spinner("Reading your file"), turn("file"):
            frame, remarks = read_table(data, file.name)
        digest = hashlib.sha256(data).hexdigest()[:16]
        st.session_state["mine"] = TextTable(file.name, frame, guess(frame), guess(frame, labels=True), digest)
        st.session_state["mine-remarks"] = remarks
    except SentvizError as error:
        why = str(error)
    st.session_state["mine-last"] = file.file_id, why
    return why


def choose_file(run: Run) -> bool:
    """Draw the uploader and the choice of columns; return whether there is a file that the model can read."""
    with st.expander("Your file", icon=":material/upload_file:", expanded="mine" not in st.session_state):
        st.caption(
            "A CSV, Excel, JSON or parquet file with a column of texts and, optionally, labels. It stays in memory for this visit only."
        )
        file = st.file_uploader("File", type=[suffix[1:] for suffix in KINDS], key="mine-file", label_visibility="collapsed")
        if file is not None and (refused := _refused(file)):
            st.warning(md(refused), icon=":material/block:")
            return False
        mine: TextTable | None = st.session_state.get("mine")
        if mine is None:
            return False
        columns = list(mine.frame.columns)
        with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
            text = st.selectbox("Texts", columns, columns.index(mine.text), key=f"mine-text-{mine.digest}", width=240)
            options = ["", *columns]
            label = st.selectbox(
                "Labels",
                options,
                options.index(mine.label),
                key=f"mine-label-{mine.digest}",
                width=240,
                format_func=lambda name: name or "no labels",
            )
        mine = TextTable(mine.name, mine.frame, text, label, mine.digest)
        st.session_state["mine"] = mine
        try:
            remarks = [*st.session_state.get("mine-remarks", []), *labelled(mine.frame, text, label, run.labels)[1]]
        except SentvizError as error:
            st.warning(md(str(error)), icon=":material/block:")
            return False
        st.caption("  \n".join([f"{md(mine.name)}: {len(mine.frame):,} rows.", *map(md, remarks)]))
    return True
