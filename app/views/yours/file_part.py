"""A visitor's own file: how it is understood, the choices that change it, and the test set pages for this visit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from app import visit
from app.blocks.my_file import read_bytes, read_once
from app.server.headers import own_machine
from app.text import md
from app.views.yours import library_part
from sentviz.analysis.testset.predictions_file import described
from sentviz.data.columns import guess
from sentviz.data.labels import canonical, in_order
from sentviz.data.predictions import NO_MODEL, recognise
from sentviz.data.texts import is_blank
from sentviz.data.understanding import MOST_CLASSES, NAMELESS, SHARES, SPLITS, Choices, Understood, understand, usual_names
from sentviz.data.upload import TextTable
from sentviz.data.user_datasets import from_file
from sentviz.errors import SentvizError
from sentviz.io.lazy import pd

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

FILE, LAST = "yours-file", "yours-last"  # in the session's state: the table with remarks; id of the last file and why it was refused
MOST_PASTED = 1_000_000  # characters of pasted lines
EXAMPLE = Path(__file__).with_name("example.csv")
BY_SHARES = ""  # choice of no column for the splits


def refused(file: UploadedFile) -> str:
    """Read a chosen file once; return why it cannot be read, or "" if it was read."""
    return read_once(file, LAST, _keep)


def example() -> None:
    """Draw the button that reads twenty hotel reviews, an example for visitors without a file."""
    help = "Twenty short hotel reviews of our own with labels, to see what happens with a file of yours."
    if st.button("Try with 20 hotel reviews", icon=":material/hotel:", type="tertiary", key="yours-example", help=help):
        data = EXAMPLE.read_bytes()
        read_bytes(f"example {hashlib.sha256(data).hexdigest()}", "hotel-reviews.csv", lambda: data, LAST, _keep)


def pasted() -> str:
    """Draw the field for lines; return why they cannot be read, or "" if there are none yet or they were read.

    Each line is a text. With a tab in each line, as copied from a spreadsheet, the lines are rows of a table.
    """
    st.text_area(
        "Lines",
        key="yours-lines",
        height=180,
        max_chars=MOST_PASTED,
        placeholder="One text per line. Rows copied from a spreadsheet keep their columns.",
        label_visibility="collapsed",
    )
    st.button("Read the lines", key="yours-read", icon=":material/playlist_add_check:")  # leaving the field reads them, too
    text = str(st.session_state.get("yours-lines") or "")
    if is_blank(text):
        return ""
    lines = [line for line in text.splitlines() if not is_blank(line)]
    kind = "tsv" if all("\t" in line for line in lines) else "txt"
    data = "\n".join(lines).encode(errors="replace")
    return read_bytes(hashlib.sha256(data).hexdigest(), f"lines.{kind}", lambda: data, LAST, _keep)


def _keep(table: TextTable, remarks: list[str]) -> None:
    st.session_state[FILE] = table, remarks


def chosen_columns(table: TextTable, proposed: Understood | None, *, divided: bool) -> Choices:
    """Draw the choice of columns, with the proposed ones at first; the rows of a data set for training are also divided."""
    columns = [str(column) for column in table.frame.columns]
    first = guess(table.frame, labels=True)
    defaults = (proposed.text, proposed.label, proposed.split) if proposed else (guess(table.frame), first, BY_SHARES)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        text = _column(table, "Texts", columns, defaults[0])
        label = _column(table, "Labels", ["", *columns], defaults[1], "none")
        if not label:  # rows without labels cannot become a data set, so they need no splits
            return Choices(text)
        if not divided:
            return Choices(text, label, defaults[2])
        split = _column(table, "Splits", ["", *columns], defaults[2], "divide the rows")
        if split != BY_SHARES:
            return Choices(text, label, split)
        key, usual = f"yours-shares-{table.digest}", ", ".join(map(str, SHARES))
        percent = st.text_input("Train, validation, test (%)", usual, key=key, width=220)
    return Choices(text, label, shares=tuple(int(part) if part.strip().isdecimal() else 0 for part in percent.split(",")))


def _column(table: TextTable, title: str, options: list[str], default: str, none: str = "") -> str:
    key = f"yours-{title}-{table.digest}"
    return str(st.selectbox(title, options, options.index(default), key=key, width=220, format_func=lambda name: name or none))


def named_classes(table: TextTable, label: str) -> dict[str, str]:
    """Draw a table of the labels with a name for each; return the names if one was changed, otherwise {}. An empty name leaves rows out."""
    counts = table.frame[label].map(canonical).value_counts()
    usual = usual_names(in_order([value for value in counts.index if value]), label)
    if not usual:
        return {}
    names = pd.DataFrame({"label": [*usual], "class": [*usual.values()], "rows": [int(counts[value]) for value in usual]})
    key = f"yours-classes-{table.digest}-{label}"
    columns = {"class": st.column_config.TextColumn("class", help="The name of the class. Rows with an empty name are left out.")}
    edited = st.data_editor(names, key=key, hide_index=True, disabled=["label", "rows"], column_config=columns, height="content")
    titles = {value: str(title or "").strip() for value, title in zip(edited["label"], edited["class"], strict=True)}
    return {} if titles == usual else {value: title for value, title in titles.items() if title}


def with_choices(table: TextTable, choices: Choices) -> TextTable:
    """Return the table for the test set pages: with the chosen columns and, in place of the labels, the chosen names of the classes."""
    frame, digest, titles = table.frame, table.digest, choices.classes
    if isinstance(titles, Mapping) and titles:
        frame = frame.assign(**{choices.label: [titles.get(canonical(value), "") for value in frame[choices.label]]})
        digest = hashlib.sha256(f"{digest} {titles}".encode()).hexdigest()[:16]
    return TextTable(table.name, frame, choices.text, choices.label, digest)


def _counts(of: Understood, *, divided: bool) -> None:
    """Show the rows of each class, by split if they are divided, and what was left out."""
    counts = pd.DataFrame({split: [int((of.parts[split]["label"] == k).sum()) for k in range(len(of.labels))] for split in SPLITS})
    counts = counts if divided else pd.DataFrame({"rows": counts.sum(axis=1)})
    counts.insert(0, "class", of.labels)
    st.dataframe(counts, hide_index=True, height="content")
    out, *remarks = (f"{NAMELESS}; change them in the table." if line.startswith(NAMELESS) else line for line in of.sentences[3:])
    st.caption("  \n".join(md(line) for line in ([f"Splits {of.division}."] if divided else []) + [out, *remarks]))


def _understood(table: TextTable, choices: Choices, *, divided: bool) -> tuple[Choices, Understood | None]:
    """Draw the classes, and how the table is understood; return the choices with the names of the classes, and None if they do not fit."""
    left, right = st.columns(2, gap="medium")
    with left:
        classes = named_classes(table, choices.label) if table.frame[choices.label].nunique() <= MOST_CLASSES else {}
    choices = replace(choices, classes=classes)
    try:
        key = (table.digest, repr(choices))
        understood = visit.keep_result("yours-understood", key, lambda: understand(table.frame, table.name, choices))
    except SentvizError as error:
        if divided:
            right.info(md(f"The mistakes can be shown, but these rows cannot be saved as a data set. {error}"), icon=":material/info:")
        return choices, None
    with right:
        _counts(understood, divided=divided)
    return choices, understood


def _predictions(frame: pd.DataFrame, choices: Choices) -> list[str]:
    """Return the columns of each model whose predictions a table has, after the name of the model."""
    models = recognise(frame, choices.label, choices.text)
    return [", ".join(of.columns) if of.model == NO_MODEL else described(of) for of in models]


def show(table: TextTable, notes: list[str], wish: str) -> None:
    """Show how a file is understood, the choices that change it, and the button that does what the visitor wishes.

    Args:
        wish: "judge", "compare" or "train".
    """
    divided = wish == "train"
    proposed: Understood | None
    try:
        proposed = visit.keep_result("yours-proposed", table.digest, lambda: understand(table.frame, table.name))
    except SentvizError:
        proposed = None
    st.markdown(f"**{md(table.name)}**: {len(table.frame):,} rows. {md(' '.join(notes))}")
    choices = chosen_columns(table, proposed, divided=divided)
    answers = visit.keep_result("yours-answers", (table.digest, choices.text, choices.label), lambda: _predictions(table.frame, choices))
    if answers:
        st.caption(f"Predictions in the file: {md('; '.join(answers))}. The next page asks whether they are judged, or those of a model.")
    understood = None
    if choices.label:
        choices, understood = _understood(table, choices, divided=divided)
    else:
        st.info("Without labels, a model can predict the rows, but the file cannot become a data set.", icon=":material/label_off:")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        if wish != "train":
            look = "Compare the models" if wish == "compare" else "Show the mistakes" if choices.label else "Show the predictions"
            if st.button(look, type="primary", icon=":material/grid_view:", key="yours-look"):
                st.session_state["mine"] = with_choices(table, choices)
                st.session_state["mine-remarks"] = notes
                visit.go(over="mine")
                st.switch_page(f"views/testset/{'comparison' if wish == 'compare' else 'confusion'}.py")
            return
        if not choices.label:
            return
        if own_machine(st.context.ip_address, st.context.headers):
            library_part.save(table.name, understood, notes, from_file(table.name))
        else:
            st.caption("A file can be saved only in a browser on the machine that runs this server.")
