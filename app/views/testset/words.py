"""The words of right and wrong answers: which belong to a cell of the confusion matrix, which are frequent in it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pandas as pd
import streamlit as st

from app import cache, visit
from app.blocks.figure import show_drawn
from app.blocks.rows import choose_rows, list_rows, notebook_call
from app.server.queue import turn
from app.text import halves, intro, md
from sentviz.analysis.testset import word_counts as lib
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.slices import Slice
from sentviz.errors import InputError, SentvizError
from sentviz.figures.cloud_layout import layout, unwritable
from sentviz.figures.word_clouds import PANEL, By, cloud, word_bars
from sentviz.gallery import sourced
from sentviz.gallery.testset import SEED
from sentviz.gallery.words import COLUMNS, IN_CLOUD, IN_LIST, ONCE, name_of

DIFFERENT = 500_000  # words of a visitor's own rows; a file of 64 MB in one language holds fewer

intro(
    "The words of right answers and of mistakes: those that belong to a cell of the confusion matrix, or are frequent in it.",
    "A word among the mistakes is where they happen, not proof that it causes them: open a row in Explore to run the model.",
)
rows = choose_rows(beside=False)
focus, run = visit.focus(), cache.run(rows.run)
by: By = "count" if focus.words == "count" else "keyness"


@st.cache_resource(max_entries=6, show_spinner="Counting words")
def counted(digest: str, over: str, threshold: float, _rows: Rows) -> lib.Counts:
    return lib.count_words(_rows)


def counts_of(rows: Rows) -> lib.Counts:
    """Return the words of the rows in focus; those of a visitor's own file are stored for the visit only.

    Raises:
        SentvizError: no texts, and no stored words either.
    """
    if rows.over == "mine":
        key = (rows.digest, st.session_state["mine"].key, focus.threshold)

        def count() -> lib.Counts:
            with st.spinner("Counting words"), turn(long=True) as step:
                return lib.count_words(rows, most=DIFFERENT, step=step)

        return visit.keep_result("mine-words", key, count)
    if rows.has_text:
        return counted(rows.digest, rows.over, focus.threshold, rows)
    if rows.over != "test" or lib.FILE not in run.config["files"]:
        raise InputError("The texts of these rows are not on this machine, so their words cannot be counted; get the data set below.")
    if focus.threshold >= 0:
        raise InputError("The words stored with this run belong to its own predictions. Another threshold needs the texts.")
    return stored(rows.run, rows.digest, rows)


@st.cache_resource(max_entries=6, show_spinner=False)
def stored(name: str, digest: str, _rows: Rows) -> lib.Counts:
    return lib.read(cache.run(name), _rows)


@st.cache_data(max_entries=64, show_spinner="Placing words")
def placed(words: tuple[str, ...], weights: tuple[float, ...]) -> pd.DataFrame:
    return layout(dict(zip(words, weights, strict=True)), *PANEL, seed=SEED)


def picked() -> Slice | None:
    """Return the slice in focus; None if there is none or it cannot be read, which the list of rows below shows."""
    try:
        return Slice.parse(focus.slice)
    except SentvizError:
        return None


def cells_in_view(counts: lib.Counts) -> list[lib.Cell]:
    """Return the four cells of two classes; of more classes those of the chosen pair, at first the pair with most mistakes."""
    k = len(rows.classes)
    if not rows.labelled or k == 2:
        return list(counts.cells)
    sizes = dict(zip(counts.cells, counts.sizes.tolist(), strict=True))
    pairs = list(combinations(range(k), 2))
    part = picked()
    last = st.session_state.get("words-pair-kept")
    pair = max(pairs, key=lambda p: sizes[p] + sizes[p[::-1]]) if last not in pairs else last
    if part is not None and part.cell and max(part.cell) < k and not set(part.cell) <= set(pair):
        pair = next(p for p in pairs if set(part.cell) <= set(p))
    st.session_state["words-pair"] = st.session_state["words-pair-kept"] = pair

    def take() -> None:
        st.session_state["words-pair-kept"] = st.session_state["words-pair"]
        visit.go(slice="")

    named: dict[lib.Cell, str] = {p: f"{rows.classes[p[0]]} and {rows.classes[p[1]]}" for p in pairs}
    st.selectbox("Two classes", pairs, format_func=lambda pair: named[pair], key="words-pair", on_change=take, width=240)
    return [(a, b) for a in pair for b in pair]


def take_word(key: str, cells: list[lib.Cell]) -> None:
    """Make the clicked word, with its cell, the slice; remove the slice if it was that already."""
    points = st.session_state[f"plot-{key}"]["selection"]["points"]
    if not points:
        return
    *_, place, word = points[-1]["customdata"]
    label, predicted = cells[int(place)]
    chosen = str(Slice("word", word if label < 0 else f"{word}@{label},{predicted}"))
    visit.go(slice="" if chosen == visit.focus().slice else chosen)


def show(counts: lib.Counts, cells: list[lib.Cell], stops: str) -> None:
    """Draw the clouds on the left, the list of one cell on the right; `stops` is "drop" or "keep"."""
    left_words = lib.stop_words() if stops == "drop" else frozenset()
    part, sizes = picked(), dict(zip(counts.cells, counts.sizes.tolist(), strict=True))
    word = part.word if part is not None else ""
    tables: dict[lib.Cell, pd.DataFrame] = {}
    for cell in cells:
        try:
            tables[cell] = lib.largest(lib.keyness(counts, cell, once=True), by, max(IN_CLOUD, IN_LIST), left_words)
        except InputError:  # an empty cell, or the only one with words
            tables[cell] = pd.DataFrame()
    first = max(cells, key=lambda cell: (not tables[cell].empty, cell[0] not in (-1, cell[1]), sizes[cell]))
    chosen = next((cell for cell in cells if part is not None and part.cell == cell), first)
    drawn = []
    for place, cell in enumerate(cells):
        table = tables[cell].head(IN_CLOUD)
        if table.empty:
            continue
        spots = placed(tuple(table["word"]), tuple(table["z" if by == "keyness" else "count"].astype(float)))
        label, predicted = cell
        drawn.append(spots.merge(table, on="word").assign(cell=place, label=label, predicted=predicted))
    words = pd.concat(drawn, ignore_index=True)[COLUMNS] if drawn else pd.DataFrame(columns=COLUMNS)
    titles = [f"{name_of(cell, rows.classes)} · {sizes[cell]:,} rows" for cell in cells]
    right = [cell[0] == cell[1] for cell in cells] if rows.labelled else []
    once = ONCE if by == "keyness" else ""
    left_out = "Stop words are left out. " if left_words else ""
    about = f"{left_out}Words in at least {counts.least} of {counts.sizes.sum():,} rows; places drawn with seed {SEED}."
    marked = (cells.index(chosen), word) if word and part is not None and (part.cell == chosen or not part.cell) else None
    selecting: dict[str, Any] = {"selection_mode": ("points",)} if rows.has_text else {}

    between = ",".join(map(str, sorted({label for label, _ in cells}))) if len(rows.classes) > 2 else ""

    def on(key: str, of: list[lib.Cell]) -> dict[str, Any]:
        return {"on_select": lambda: take_word(key, of), **selecting} if selecting else {}

    left, aside = halves("words", 1.75, 1.0)
    with left:
        show_drawn(
            lambda theme: sourced(cloud(words, titles, by=by, right=right, selected=marked, about=about, theme=theme), run, rows=rows),
            "cloud",
            code=notebook_call([rows], "word-cloud", between=between, by=by, stops=stops),
            **on("cloud", cells),
        )
        if letter := unwritable(words["word"]):
            st.caption(
                f"No font of this machine has “{md(letter)}”: your browser draws such words with its own fonts, but PNG and PDF files"
                " would show boxes. On Debian and Ubuntu the package fonts-noto-cjk brings Korean."
            )
    with aside:
        st.session_state["words-cell"] = chosen

        def take_cell() -> None:
            label, predicted = st.session_state["words-cell"]
            visit.go(slice=str(Slice("cell", f"{label},{predicted}")) if label >= 0 else "")

        if rows.labelled:
            st.selectbox("Cell", cells, format_func=lambda cell: name_of(cell, rows.classes), key="words-cell", on_change=take_cell)
        table = tables[chosen].head(IN_LIST).assign(cell=cells.index(chosen))
        if table.empty:
            st.caption("No word is typical of these rows: there are too few rows, or their words are those of all rows.")
            return
        title = name_of(chosen, rows.classes)
        show_drawn(
            lambda theme: sourced(
                word_bars(
                    table,
                    title=title,
                    by=by,
                    right=chosen[0] in (-1, chosen[1]),
                    selected=word,
                    about=once,
                    theme=theme,
                ),
                run,
                rows=rows,
            ),
            "word-list",
            code=notebook_call([rows], "word-list", label=chosen[0], predicted=chosen[1], by=by, stops=stops),
            **on("word-list", cells),
        )


try:
    counts = counts_of(rows)
except SentvizError as error:
    st.info(md(str(error)), icon=":material/cloud_off:")
    list_rows(rows)
    st.stop()
with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="words-controls"):
    visit.choose(
        st.segmented_control,
        "Large is",
        "words",
        ["keyness", "count"],
        format_func={"keyness": "what belongs here", "count": "what is frequent"}.get,
    )
    stops = visit.setting(
        st.segmented_control,
        "Words like “the”",
        "stops",
        ["drop", "keep"],
        format_func={"drop": "left out", "keep": "kept"}.get,
        help="Our own English and Korean lists; negations and words like “but” and “very” are not on them.",
    )
    cells = cells_in_view(counts)
meaning = (
    "Keyness: how much more of these rows than of all others have a word, as a log-odds ratio shrunk for rare words, divided by"
    " its standard error; a large word belongs here, it is not just frequent."
    if by == "keyness"
    else "How often a word is in these rows. Many words are frequent in all cells, so compare with what belongs here."
)
click = (
    "Click a word to see its rows below, and again to take it away."
    if rows.has_text
    else f"Drawn from the words stored with the run (in at least {counts.least} rows); the rows of a word need the data set."
)
st.caption(f"{meaning} {click}")
show(counts, cells, stops)
list_rows(rows)
