"""Your file: a visitor's own table, choices in memory for one visit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import cache, visit
from app.blocks.boundary import boundary
from app.blocks.run_choice import option
from app.server.queue import turn
from app.text import md
from sentviz.analysis.testset.predictions_file import named, text_column
from sentviz.data.columns import guess
from sentviz.data.formats import KINDS
from sentviz.data.labels import AS_FOUND, SCALES, LabelsError, LeftOutError, Reading, ReadingError, ScaleError, check_complete, number
from sentviz.data.predictions import Predictions, recognise
from sentviz.data.upload import TextTable, labelled, read_table
from sentviz.errors import InputError, SentvizError
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile


def unlabelled(over: str) -> str:
    """Return the reason that no row in focus is right or wrong."""
    mine: TextTable | None = st.session_state.get("mine")
    if over == "mine" and mine is not None and mine.label:
        return f"No row has a label in the column “{mine.label}”."
    return "None of these rows has a label."


def read_once(file: UploadedFile, last_key: str, keep: Callable[[TextTable, list[str]], None]) -> str:
    """Read a chosen file once, and draw the choice of its sheet; return why it cannot be read, or "" if it was read.

    Args:
        last_key, keep: as for `read_bytes`.
    """
    first: dict[str, Any] = visit.keep_result("file-sheets", file.file_id, dict)  # the sheets, and the one that was read by default
    key = f"{last_key}-sheet-{file.file_id}"

    def keep_sheets(table: TextTable, remarks: list[str]) -> None:
        if not first:
            first.update(sheets=table.frame.attrs.get("sheets", []), sheet=table.frame.attrs.get("sheet", ""))
        keep(table, remarks)

    sheet = "" if st.session_state.get(key) == first.get("sheet") else str(st.session_state.get(key) or "")
    why = read_bytes(f"{file.file_id} {sheet}".strip(), file.name, file.getvalue, last_key, keep_sheets, sheet)
    if len(names := first.get("sheets", [])) > 1:
        st.selectbox("Sheet", names, names.index(sheet or first["sheet"]), key=key, width=240)
    return why


def read_bytes(
    key: str, name: str, data: Callable[[], bytes], last_key: str, keep: Callable[[TextTable, list[str]], None], sheet: str = ""
) -> str:
    """Read a file's bytes once for a key; return why they cannot be read, or "" if they were read.

    Args:
        last_key: name in the session's state of the last key and why its file was refused.
        keep: stores the table, whose columns are not chosen yet, and the remarks on how it was read.
        sheet: sheet of a workbook; by default the one that looks most like a table of texts.
    """
    last: tuple[str, str] = st.session_state.get(last_key, ("", ""))
    if last[0] == key:
        return last[1]
    content, why = data(), ""
    try:
        with st.spinner("Reading your file"), turn("file"):
            frame, remarks = read_table(content, name, sheet=sheet)
        keep(TextTable(name, frame, "", "", hashlib.sha256(content + sheet.encode()).hexdigest()[:16]), remarks)
    except SentvizError as error:
        why = str(error)
    st.session_state[last_key] = key, why
    return why


def _keep(table: TextTable, remarks: list[str]) -> None:
    label = guess(table.frame, labels=True)
    st.session_state["mine"] = replace(table, text=text_column(table.frame, label), label=label)
    st.session_state["mine-remarks"] = remarks


def choose_table() -> TextTable | None:
    """Draw the uploader and the choice of columns; return the table without answers, None before there is one."""
    with st.expander("Your file", icon=":material/upload_file:", expanded="mine" not in st.session_state):
        st.caption(
            "A CSV, Excel, JSON or parquet file with a column of texts and, optionally, labels, or with the predictions of other models. It"
            " stays in memory for this visit only."
        )
        file = st.file_uploader("File", type=[suffix[1:] for suffix in KINDS], key="mine-file", label_visibility="collapsed")
        if file is not None and (refused := read_once(file, "mine-last", _keep)):
            st.warning(md(refused), icon=":material/block:")
            return None
        mine: TextTable | None = st.session_state.get("mine")
        if mine is None:
            return None
        with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
            text, label = _column(mine, "text", mine.text), _column(mine, "label", mine.label)
        return TextTable(mine.name, mine.frame, text, label, mine.digest, reading=_reading(mine.digest))


def proposed(columns: TextTable) -> Sequence[Predictions]:
    """Return the predictions that a table has, by model."""
    return visit.keep_result(
        "mine-predictions", columns.key, lambda: recognise(columns.frame, columns.label, columns.text, columns.reading)
    )


def _choices(digest: str) -> dict[str, Any]:
    """Return the visitor's choices of how a file's labels are read; a page forgets the widgets of the page before."""
    choices: dict[str, Any] = visit.keep_result("mine-reading", digest, dict)
    return choices


def _reading(digest: str) -> Reading:
    """Return how a file's labels are read; labels that are not written as 1=negative are not used."""
    choices, reading = _choices(digest), AS_FOUND
    with boundary():
        reading = Reading.of((), choices.get("labels", ""), choices.get("scale", ""), choices.get("partial", False))
    return reading


def ask_reading(mine: TextTable, error: SentvizError | None = None) -> None:
    """Draw the error that a file's labels or numbers raised, the choice that decides, and the choices that were made before."""
    if error is not None:
        st.warning(md(error.what if isinstance(error, ReadingError) else str(error)), icon=":material/block:")
    choices = _choices(mine.digest)

    def take(name: str, key: str) -> None:
        choices[name] = st.session_state[key]

    labels, scale, partial = (f"mine-{name}-{mine.digest}" for name in ("labels", "scale", "partial"))
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        if isinstance(error, LabelsError) or choices.get("labels"):
            now, example = choices.get("labels", ""), "1=negative, 2=positive"
            st.text_input("Class of each label", now, placeholder=example, key=labels, on_change=take, args=("labels", labels), width=340)
        if isinstance(error, ScaleError) or choices.get("scale"):
            options = ["", *SCALES]
            at = options.index(choices.get("scale", ""))
            name = {"": "found from the file"}
            st.selectbox(
                "Scale of the numbers",
                options,
                at,
                lambda each: name.get(each, each),
                key=scale,
                on_change=take,
                args=("scale", scale),
                width=240,
            )
        if isinstance(error, LeftOutError) or choices.get("partial"):
            title = "Show the numbers of the other rows"
            st.checkbox(title, choices.get("partial", False), key=partial, on_change=take, args=("partial", partial))


def choose_file(run: Run, *, beside: bool = True) -> bool:
    """Draw the uploader and the choice of columns and answers; return whether there are rows to show.

    Args:
        beside: whether the page shows second answers.
    """
    columns = choose_table()
    if columns is None:
        return False
    proposals = proposed(columns)
    chosen = _choose_answers(columns, proposals, run, beside) if proposals else columns
    if chosen is None:
        return False
    st.session_state["mine"] = mine = chosen
    try:
        remarks = _remarks(mine, run)
    except SentvizError as error:
        ask_reading(mine, error)
        return False
    ask_reading(mine)
    notes = [*st.session_state.get("mine-remarks", []), *remarks]
    st.caption("  \n".join([f"{md(mine.name)}: {len(mine.frame):,} rows.", *map(md, notes)]))
    return True


def _column(mine: TextTable, role: str, column: str) -> str:
    """Draw the choice of the column of texts or labels; return its name, "" for none."""
    options = ["", *map(str, mine.frame.columns)]
    key, at = f"mine-{role}-{mine.digest}", options.index(column)
    return st.selectbox(f"{role.capitalize()}s", options, at, key=key, width=240, format_func=lambda name: name or f"no {role}s")


def _remarks(mine: TextTable, run: Run) -> Sequence[str]:
    """Return remarks on the rows of a table. Raises InputError if the run, or the columns of predictions, do not fit."""
    if mine.answers is not None:
        brought = cache.brought_rows(mine, mine.answers)
        brought.check_complete(mine.reading)
        return brought.remarks
    if not mine.text:
        raise InputError(f"{mine.name} has no column of texts that a model could read. Choose one above.")
    if not run.has_weights:
        raise InputError(f"{run.name} has no weights, so it cannot read your file. Choose another model above.")

    def read() -> tuple[int, list[str]]:
        rows, remarks = labelled(mine.frame, mine.text, mine.label, run.labels, mine.reading)
        return int((rows["label"] >= 0).sum()), remarks

    judged, remarks = visit.keep_result("mine-read", (mine.key, run.labels), read)
    if judged:
        check_complete(judged, len(mine.frame), mine.reading, mine.name)
    return remarks


def _choose_answers(mine: TextTable, proposals: Sequence[Predictions], run: Run, beside: bool) -> TextTable | None:
    """Draw whose answers are judged, those of the file or the model's; return the table with the choice, None before there is one."""
    place = mine.digest, mine.text, mine.label
    key = "-".join(place)
    choices: dict[str, Any] = visit.keep_result("mine-choices", place, dict)  # a page forgets the widgets of the page before
    titles = [f"{each.model}: {', '.join(each.columns)}" for each in proposals]
    options = [*range(len(proposals)), *([len(proposals)] if run.has_weights and mine.text else [])]
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        chosen = st.radio(
            "The file has predictions. Whose answers shall be judged?",
            options,
            index=choices.get("answers") if choices.get("answers") in options else None,
            key=f"mine-answers-{key}",
            format_func=lambda place: titles[place] if place < len(proposals) else f"the model chosen above, {run.name}",
        )
        choices["answers"] = chosen
        if chosen is None:
            return None
        if chosen == len(proposals):
            return mine
        answers = proposals[chosen]
        if all(number(name) is not None for name in answers.classes):
            title, example = f"Names of the classes {', '.join(answers.classes)}", "negative, positive"
            choices["names"] = st.text_input(title, choices.get("names", ""), placeholder=example, key=f"mine-names-{key}", width=240)
            with boundary():
                answers = named(answers, choices["names"].split(","))
        if not beside:
            return replace(mine, answers=answers)
        second_answers: list[Predictions | str] = [
            "",
            *(replace(each, names=answers.names) for each in proposals if each is not proposals[chosen]),
        ]
        second_answers += [name for name, model in cache.models().items() if mine.text and model.labels == answers.display]
        at, where = second_answers.index(choices["beside"]) if choices.get("beside") in second_answers else 0, f"mine-beside-{key}-{chosen}"
        choices["beside"] = st.selectbox("Beside it", second_answers, at, key=where, format_func=_title_of_second, width=360)
    return replace(mine, answers=answers, beside=choices["beside"])


def _title_of_second(choice: Predictions | str) -> str:
    if isinstance(choice, str):
        return option(choice) if choice else "no second model"
    return f"{choice.model}, from the file"
