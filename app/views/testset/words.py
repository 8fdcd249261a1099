"""The words of right and wrong answers: which belong to a cell of the confusion matrix, which are frequent in it."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import streamlit as st

from app import cache, visit
from app.blocks.figure import OnPick, Picked, show_figure
from app.blocks.rows import choose_rows, list_rows, rows_in_slice
from app.shared import once
from app.text import halves, intro, md
from sentviz.analysis.testset import word_counts as lib
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.slices import Slice
from sentviz.charts.subjects import Answers
from sentviz.charts.word_clouds import By, largest_words, name_of
from sentviz.errors import InputError, SentvizError

DIFFERENT = 500_000  # words of a visitor's own rows; a file of 64 MB in one language holds fewer

intro(
    "The words of right predictions and of mistakes: those typical of a cell of the confusion matrix, or frequent in it.",
    "A word that is typical of mistakes need not cause them: open a row in Sentence and remove the word.",
)
rows = choose_rows(second=False, sliced=True)
focus = visit.focus()
by: By = "count" if focus.words == "count" else "keyness"


counted = once(6, "Counting words")(lib.count_words)
stored = once(6)(lib.read)


def counts_of(rows: Rows) -> lib.Counts:
    """Return the words of the rows in focus.

    Raises:
        SentvizError: no texts, and no stored words either.
    """
    if rows.has_text or rows.over == "mine":
        return counted(rows, most=DIFFERENT if rows.over == "mine" else 0)
    run = rows.source.run
    if run is None:
        raise InputError(f"{rows.source.name} has no texts, so its words cannot be counted.")
    if rows.over != "test" or lib.FILE not in run.files or rows.among:
        raise InputError("The texts of these rows are not on this machine, so their words cannot be counted. Get the data set at the side.")
    if focus.threshold >= 0:
        raise InputError("The words stored with this run are those of its usual predictions. Words for another threshold need the texts.")
    return stored(run, rows)


def picked() -> Slice | None:
    """Return the slice in focus; None if there is none or it cannot be read, which the list of rows below shows."""
    try:
        return Slice.parse(focus.slice)
    except SentvizError:
        return None


def pair_in_view(counts: lib.Counts) -> tuple[int, int] | None:
    """Return the chosen two of more than two classes, at first those with most mistakes; None if the page shows all cells."""
    k = len(rows.classes)
    if not rows.labelled or k == 2:
        return None
    sizes = dict(zip(counts.cells, counts.sizes.tolist(), strict=True))
    pairs = list(combinations(range(k), 2))
    part = picked()
    last = st.session_state.get("words-pair-kept")
    pair = max(pairs, key=lambda p: sizes[p] + sizes[p[::-1]]) if last not in pairs else last
    if part is not None and part.cell and max(part.cell) < k and not set(part.cell) <= set(pair):
        pair = next(p for p in pairs if set(part.cell) <= set(p))
    st.session_state["words-pair"] = st.session_state["words-pair-kept"] = pair
    return pair


def choose_pair() -> None:
    """Draw the choice of two classes, which `pair_in_view` returns."""

    def take() -> None:
        st.session_state["words-pair-kept"] = st.session_state["words-pair"]
        visit.go(slice="")

    pairs = list(combinations(range(len(rows.classes)), 2))
    named: dict[lib.Cell, str] = {p: f"{rows.classes[p[0]]} and {rows.classes[p[1]]}" for p in pairs}
    st.selectbox("Two classes", pairs, format_func=lambda pair: named[pair], key="words-pair", on_change=take, width=240)


def take_word(cells: list[lib.Cell], point: Picked) -> None:
    """Make the clicked word, with its cell, the slice; remove the slice if it was that already.

    Args:
        cells: cells of the figure, in its order.
    """
    *_, place, word = point.data  # the list of one cell has another number in the place of the cell
    label, predicted = cells[int(place)] if len(cells) > 1 else cells[0]
    visit.toggle("slice", str(Slice("word", word if label < 0 else f"{word}@{label},{predicted}")))


def show(counts: lib.Counts, cells: list[lib.Cell], stops: str) -> None:
    """Draw the clouds on the left, the list of one cell on the right; `stops` is "drop" or "keep"."""
    part, sizes = picked(), dict(zip(counts.cells, counts.sizes.tolist(), strict=True))
    word = part.word if part is not None else ""
    tables = {cell: largest_words(counts, cell, by, stops) for cell in cells}
    first = max(cells, key=lambda cell: (not tables[cell].empty, cell[0] not in (-1, cell[1]), sizes[cell]))
    chosen = next((cell for cell in cells if part is not None and part.cell == cell), first)
    marked = (cells.index(chosen), word) if word and part is not None and (part.cell == chosen or not part.cell) else None
    between = ",".join(map(str, sorted({label for label, _ in cells}))) if rows.labelled and len(rows.classes) > 2 else ""
    of = Answers.of(rows)
    of.counts = counts
    of.run = None if followed else of.run  # no call draws the words of a part of the rows

    def on_pick(of: list[lib.Cell]) -> OnPick | None:
        return partial(take_word, of) if rows.has_text else None

    if by == "keyness" and all(table.empty for table in tables.values()):
        st.caption("No word is typical of any cell: the rows are too few. Choose “frequent words” below to see their words.")
    left, aside = halves("words", 1.75, 1.0)
    with left:
        options: dict[str, Any] = {"between": between, "by": by, "stops": stops}
        show_figure("word-cloud", of, "cloud", selected=marked, on_pick=on_pick(cells), **options)
    with aside:
        st.session_state["words-cell"] = chosen

        def take_cell() -> None:
            label, predicted = st.session_state["words-cell"]
            visit.go(slice=str(Slice("cell", f"{label},{predicted}")) if label >= 0 else "")

        if rows.labelled:
            st.selectbox("Cell", cells, format_func=lambda cell: name_of(cell, rows.classes), key="words-cell", on_change=take_cell)
        if tables[chosen].empty:
            st.caption("No word is typical of these rows. There are too few rows, or their words are as frequent in all rows.")
            return
        options = {"label": chosen[0], "predicted": chosen[1], "by": by, "stops": stops}
        show_figure("word-list", of, selected=word or None, on_pick=on_pick([chosen]), **options)


every, part = rows, picked()
followed = False
if part is not None and part.kind not in ("cell", "word"):  # the page itself makes slices of cells and words
    rows, about = rows_in_slice(every)
    followed = bool(about)
if followed:
    st.markdown(f"Only the words of **{len(rows):,} of {len(every):,} rows**, {md(about)}.")
    if not len(rows):
        st.info("The selection holds no row, so there are no words.", icon=":material/cloud_off:")
        list_rows(every)
        st.stop()
    if not rows.has_text:
        st.info("The words of a selection need the texts, which are not on this machine.", icon=":material/cloud_off:")
        list_rows(every)
        st.stop()
try:
    counts = counts_of(rows)
except SentvizError as error:
    run = rows.source.run
    has_demo = run is not None and not rows.has_text and cache.fits_demo(run)
    st.info(md(f"{error} Until then, these are the words of the demo set." if has_demo else str(error)), icon=":material/cloud_off:")
    if not has_demo or run is None:
        list_rows(every)
        st.stop()
    rows = cache.demo_rows(run)
    counts = counts_of(rows)
STOPS = {"drop": "left out", "keep": "kept"}
pair = pair_in_view(counts)
show(counts, [(a, b) for a in pair for b in pair] if pair else list(counts.cells), visit.chosen("stops", STOPS))
with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="words-controls"):
    visit.choose(
        st.segmented_control,
        "Large",
        "words",
        ["keyness", "count"],
        format_func={"keyness": "typical words", "count": "frequent words"}.get,
        label_visibility="visible",
    )
    visit.setting(
        st.segmented_control,
        "Words like “the”",
        "stops",
        STOPS,
        help="Our own English and Korean lists. Negations and words such as “but” and “very” are always shown.",
        label_visibility="visible",
    )
    if pair:
        choose_pair()
meaning = (
    "Typical (keyness): a larger share of these rows than of all others has the word. The size is the log-odds ratio, shrunk for rare"
    " words, divided by its standard error."
    if by == "keyness"
    else "The size is the number of these rows that have the word. Many words are frequent in all cells, so compare with the typical words."
)
click = (
    "Click a word to see its rows at the side; click it again for all rows."
    if rows.has_text
    else f"These are the words stored with the run, each in at least {counts.least} rows. Listing the rows of a word needs the data set."
)
st.caption(f"{meaning} {click}")
list_rows(every)
