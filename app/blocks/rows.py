"""The rows that the views of the place Rows are about: their choice, and their list at the side, from which a row opens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Any
from unicodedata import east_asian_width

import numpy as np
import streamlit as st

from app import cache, visit
from app.blocks import my_file, pictures
from app.blocks.boundary import boundary
from app.blocks.files import csv_button
from app.blocks.get_data import offer
from app.blocks.one_row import open_row, own_columns
from app.blocks.pages import SIZE, first_row, page_buttons
from app.blocks.run_choice import beside_it
from app.blocks.slice_choice import FIRST_MISTAKE, choose_slice
from app.fields import whole_number
from app.text import in_percent, md, with_code
from sentviz.analysis.testset.rows import OVER, Rows, aligned, unread
from sentviz.analysis.testset.slices import Slice, matching
from sentviz.charts import file_safe
from sentviz.data.columns import PREFIX
from sentviz.data.upload import TextTable
from sentviz.errors import SentvizError
from sentviz.io.lazy import pd
from sentviz.runs.store import WITHOUT_ROWS, Run

ORDERS = {
    "found": "",
    "surest": "wrong and confident first",
    "doubtful": "least confident first",
    "loss": "highest loss first",
    "length": "longest first",
    "id": "as in the file",
}
OVER_ROWS = ("over",)  # other rows delete what was searched for
OF_LABELS = ("surest", "loss")  # orders that need labels
OF_PROBABILITIES = ("doubtful", "loss")
LINES = 66  # pixels of a row of the table, in which a text wraps
WIDE, NARROW = 96, 62  # letters of a text in its three lines
SCROLL = "<script>document.querySelector('.st-key-one-row')?.scrollIntoView({block: 'center'})</script>"  # to a row that a button opened
TEXTS = {"text": "text", "text_pair": "second text"}


def choose_rows(*, second: bool = True, sliced: bool = False) -> Rows:
    """Draw the choice of model and rows, and return the rows in focus; stop the page with a note if there are none.

    Args:
        second: whether the page shows a second run.
        sliced: whether the page can show the rows of a slice; otherwise it shows all rows.
    """
    focus = visit.focus()
    run = cache.run(focus.run)
    line = st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="rows-of")
    with line:
        if (second or focus.slice.startswith("agree=")) and _answered_by_run(focus.over):
            data = run.config["data"]["name"]
            beside_it((name for name, each in cache.runs().items() if each.config["data"]["name"] == data), most=1, width=300)
    if focus.over not in row_choices(run):
        is_adopted = bool(run.config["files"]) and not run.has_rows
        missing = WITHOUT_ROWS.format(focus.run) if is_adopted else f"{focus.run} has no predictions for the {OVER[focus.over]}."
        st.info(f"{with_code(missing)} Choose other rows above.", icon=":material/inventory_2:")
        st.stop()
    if focus.over == "mine" and not my_file.choose_file(run, beside=second):
        st.stop()
    with boundary(page=True):
        rows = cache.table(focus)
        if rows.unread:
            st.caption(f":material/rule: {md(unread(rows))}")
        rows = at_threshold(rows)
    with line:
        return choose_slice(rows)[0] if sliced else rows


def row_choices(run: Run) -> list[str]:
    """Return the rows that a run can be shown on: its stored splits, the demo set if it reads it, and a visitor's own file."""
    splits = [split for split in ("test", "official_test") if split in run.metrics()]
    return [*splits, *(("demo",) if cache.fits_demo(run) else ()), "mine"]


def choose_over(run: Run) -> None:
    """Draw the choice of the rows that the views of this place are about."""
    options = row_choices(run)
    over = visit.focus().over if visit.focus().over in options else None  # None: nothing is selected, so that each of them is a change
    how: dict[str, Any] = {"label_visibility": "collapsed", "placeholder": "rows", "width": 170}
    st.selectbox("Rows", options, format_func=OVER.__getitem__, **how, **visit.bound("over", over))


def every_row() -> Rows:
    """Return all rows in focus, also those outside the chosen slice."""
    return at_threshold(cache.table(visit.focus()))


def at_threshold(rows: Rows) -> Rows:
    """Return the rows at the threshold in focus, which needs probabilities of two classes."""
    return rows.at_threshold(visit.focus().threshold) if len(rows.classes) == 2 and rows.source.gives == "probabilities" else rows


def _answered_by_run(over: str) -> bool:
    """Return whether a run predicts the rows; otherwise a visitor's own file has the predictions."""
    mine = st.session_state.get("mine")
    return over != "mine" or mine is None or mine.answers is None


@boundary(quiet=True)
def rows_of_second_run(rows: Rows) -> Rows | None:
    """Return the rows of the second run; None if none is chosen or it has no predictions for the same rows."""
    focus = visit.focus()
    if not _answered_by_run(focus.over):
        return _second_of_file(rows, st.session_state["mine"])
    name = next((name for name in focus.versus if name in cache.runs() and name != focus.run), None)
    if name is None or cache.runs()[name].labels != rows.classes:
        return None
    second = cache.table_of(cache.run(name), focus)
    second = same_rows(rows, second) if rows.among else second
    if list(second.frame["id"]) != list(rows.frame["id"]):
        if second.unread != rows.unread:
            st.caption(md(f"{name} is not shown for comparison, because it cannot read the same rows. {unread(second)}"))
        return None
    return at_threshold(second)


@boundary(quiet=True)
def _second_of_file(rows: Rows, mine: TextTable) -> Rows | None:
    """Return the second predictions of a visitor's file: of another model in the file, or of a run that reads its texts."""
    if not mine.beside:
        return None
    if isinstance(mine.beside, str):
        second = cache.table_of(cache.run(mine.beside), visit.focus())
    else:
        second = cache.brought_rows(mine, mine.beside)
    return at_threshold(aligned(rows, same_rows(rows, second)))


def same_rows(rows: Rows, second: Rows) -> Rows:
    """Return the second predictions for the rows that are chosen."""
    inside = second.frame["id"].isin(rows.frame["id"])
    return replace(second, frame=second.frame[inside].reset_index(drop=True), among=rows.among, described=rows.described)


def outlined_points(part: Slice, rows: Rows) -> pd.DataFrame | None:
    """Return id, x and y of the picture in which a lasso was drawn; None if the picture is not available."""
    if part.kind != "lasso":
        return None
    return pictures.points(rows, *part.picture)


def rows_in_slice(rows: Rows) -> tuple[Rows, str]:
    """Return the rows of the slice in focus, and its description; all rows and "" if there is no slice or it cannot be applied."""
    focus = visit.focus()
    try:
        part = Slice.parse(focus.slice)
        if part is None:
            return rows, ""
        mask = part.mask(rows, rows_of_second_run(rows), outlined_points(part, rows))
    except SentvizError as error:
        st.warning(md(str(error)), icon=":material/filter_alt_off:")
        return rows, ""
    beside = focus.versus[0] if focus.versus else "the second run"
    return replace(rows, frame=rows.frame[mask]), part.says(rows.classes, (rows.source.name, beside))


@dataclass(frozen=True)
class Listing:
    """The additions of a view to the list of its rows.

    Attributes:
        total: number of rows of which the view selected these; 0 = it selected none.
        words: description of the selected rows.
        order: name of the view's own order, as "most suspicious first"; "" if the view does not order the rows.
        predictions: columns with the predictions of several models, which stand in place of the prediction of one.
        below: draws more about the row that is open; it gets the row's id.
    """

    total: int = 0
    words: str = ""
    order: str = ""
    predictions: Sequence[str] = ()
    below: Callable[[str], None] | None = None


def list_rows(rows: Rows, listing: Listing = Listing()) -> None:
    """Draw the list of rows at the side of the view: those of the slice, searched and sorted; the row that is open stands below them."""
    with beside(0):
        _list(rows, listing)


def beside(place: int) -> Any:
    """Return a container at the side of the view, the list of rows (0) or the place below it (1); a new one if the view has no side."""
    side = st.session_state.get("side") or ()
    return side[place] if side else st.container()


def _list(rows: Rows, listing: Listing) -> None:
    part, sliced = rows_in_slice(rows)
    words = " · ".join(filter(None, (listing.words, sliced)))
    if len(rows) and not rows.has_text and rows.source.data:
        offer(rows.source.data, rows.over, line=f"The texts of these {len(rows):,} rows are not on this machine.")
        if not words and not listing.predictions and rows.source.run is not None and cache.fits_demo(rows.source.run):
            rows, words = cache.demo_rows(rows.source.run), "demo set, whose texts are installed"
            part = rows
    head = st.container(horizontal=True, gap="small", vertical_alignment="center", key="drawer-head")
    part, order = _filtered(part, listing.order)
    with head:
        st.markdown(
            f"##### :material/table_rows: {len(part):,} of {listing.total or len(rows):,} rows" + (f" · {md(words)}" if words else "")
        )
    if not len(part):
        st.caption("No rows match.")
        return
    ordered = _ordered(part, order)
    of = f"drawer-{ordered.source.digest}-{ordered.over}-{hash(tuple(ordered.frame['id']))}"
    opened_list, place = st.session_state.get("row-open") or ("", 0)
    if wanted := opened_list == FIRST_MISTAKE:
        opened_list, place = st.session_state["row-open"] = of, _first_mistake(ordered)
        st.session_state[f"page-{of}"] = place // SIZE
    start = first_row(len(ordered), of)
    table = _table(replace(ordered, frame=ordered.frame.iloc[start : start + SIZE]), listing.predictions)
    turned = st.session_state.get("row-turned", 0)  # a new key takes back the selection when another row is opened
    key = f"{of}-{start}-{turned}"

    def select() -> None:
        picked = st.session_state[key]["selection"]["rows"]
        st.session_state["row-open"] = (of, start + picked[0]) if picked else None

    def move(place: int) -> None:
        st.session_state["row-open"], st.session_state["row-turned"] = (of, place), turned + 1
        st.session_state[f"page-{of}"] = place // SIZE

    st.dataframe(
        in_percent(table, "confidence") if "confidence" in table else table,
        hide_index=True,
        placeholder="–",
        height=min(38 + LINES * len(table), 255 if opened_list == of else 450),
        row_height=LINES,
        key=key,
        on_select=select,
        selection_mode="single-row",
        column_config={
            "": st.column_config.TextColumn(width=30),
            "confidence": st.column_config.NumberColumn(width=90),
            "text": st.column_config.TextColumn(width=180 if "text_pair" in ordered.frame or listing.predictions else 245),
            "why it is listed": st.column_config.TextColumn(width=190),
            "label": st.column_config.TextColumn(width=70),
            "predicted": st.column_config.TextColumn(width=80),
        },
    )
    mine: TextTable | None = st.session_state.get("mine") if rows.over == "mine" else None
    own = own_columns(ordered)  # now, because the file is made outside of the visit
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        page_buttons(len(ordered), of)
        csv_button(
            lambda: _whole(ordered, mine.frame if mine else None).assign(**own),
            file_safe("rows", rows.over, rows.source.name),
            "drawer-csv",
        )
    if opened_list == of:
        open_row(ordered, place, move, listing.below)
        if wanted:
            st.html(SCROLL, unsafe_allow_javascript=True)
    else:
        st.caption("Select a row to read its complete text, to see why, and to go on to the next mistake.")
    if not rows.has_text and not rows.source.data:
        st.caption(f"{md(rows.source.name)} has no texts, so rows are shown by id.")


def _filtered(rows: Rows, own_order: str) -> tuple[Rows, str]:
    """Draw search, lengths and order; return the matching rows and the order, a key of `ORDERS`, of which `own_order` names the first."""
    find = visit.page_value("find", "", str, resets=OVER_ROWS)
    least = visit.page_value("least", 0, whole_number, resets=OVER_ROWS)
    most = visit.page_value("most", 0, whole_number, resets=OVER_ROWS)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="drawer-filters"):
        if rows.has_text:
            hint: dict[str, Any] = {"placeholder": "Search words or a regex", "label_visibility": "collapsed"}
            st.text_input("Search", **hint, **visit.bound("find", find), width=220)
        sure = rows.source.gives == "probabilities"
        orders = [name for name in ORDERS if (rows.labelled or name not in OF_LABELS) and (sure or name not in OF_PROBABILITIES)]
        orders = orders if own_order else orders[1:]
        titles = ORDERS | {"found": own_order}
        order = visit.setting(
            st.selectbox,
            "Order",
            "order",
            orders,
            format_func=lambda name: titles[name] if sure else titles[name].replace(" and confident", ""),
            width=212,
        )
        if rows.has_text:
            with st.popover(
                "Words" + (f" {least} to {most or '…'}" if least or most else ""), icon=":material/straighten:", type="tertiary"
            ):
                st.number_input("Words, at least", 0, 999, **visit.bound("least", least), width=160)
                st.number_input("at most (0: any)", 0, 999, **visit.bound("most", most), width=160)
    if not rows.has_text:
        return rows, order
    mask = np.ones(len(rows), dtype=bool)
    if find.strip():
        with boundary():
            mask &= matching(rows, find.strip())
    if least or most:
        words = rows.texts.str.count(r"\S+").to_numpy()
        mask &= (words >= least) & (words <= (most or np.inf))
    return replace(rows, frame=rows.frame[mask]), order


def _ordered(rows: Rows, order: str) -> Rows:
    """Return the rows in an order of `ORDERS`."""
    frame = rows.frame
    match order:
        case "surest":
            order_by = frame.assign(known=frame["label"] >= 0)
            frame = frame.loc[order_by.sort_values(["known", "right", "confidence"], ascending=[False, True, False], kind="stable").index]
        case "doubtful":
            frame = frame.sort_values("confidence", kind="stable")
        case "loss":
            frame = frame.sort_values("loss", ascending=False, kind="stable")
        case "length" if rows.has_text:
            frame = frame.loc[rows.texts.str.len().sort_values(ascending=False, kind="stable").index]
        case _:
            pass
    return replace(rows, frame=frame)


def _table(rows: Rows, predictions: Sequence[str]) -> pd.DataFrame:
    """Return the table on the page: names instead of numbers, and shortened texts, which wrap. Rows without a text are named by their id.

    Args:
        predictions: columns with the predictions of several models.
    """
    frame, names = rows.frame, [*rows.classes, "–"]
    right = np.where(frame["label"] < 0, "", np.where(frame["right"], "✓", "✗"))
    columns: dict[str, Any] = {} if predictions else {"": right}
    if not rows.has_text:
        columns["id"] = frame["id"].to_numpy()
    most = NARROW if "text_pair" in frame or predictions else WIDE
    columns |= {title: [_three_lines(text, most) for text in frame[name]] for name, title in TEXTS.items() if name in frame}
    if "reason" in frame:
        columns["why it is listed"] = frame["reason"].to_numpy()
    if rows.labelled:
        columns["label"] = [names[k] for k in frame["label"]]
    if predictions:
        return pd.DataFrame({**columns, **{name: frame[name].to_numpy() for name in predictions}, **own_columns(rows)})
    columns["predicted"] = [names[k] for k in frame["predicted"]]
    if rows.source.gives == "probabilities":
        columns["confidence"] = frame["confidence"].to_numpy()
    if "tag" in frame:
        columns["tag"] = frame["tag"].to_numpy()
    return pd.DataFrame(columns | own_columns(rows))


def _three_lines(text: str, most: int) -> str:
    """Return the beginning of a text, up to the end of a word. Hangul and other wide letters take the room of two."""
    text = text[: 2 * most]
    room = most // 2 if sum(east_asian_width(letter) in "WF" for letter in text) > len(text) / 3 else most
    cut = shorten(text, room, placeholder=" …")
    return cut if len(cut) > room // 2 or len(text) <= room else f"{text[: room - 1]}…"  # One word may be longer than the lines.


def _first_mistake(rows: Rows) -> int:
    """Return the place of the first row that is predicted wrong; 0 if there is none."""
    wrong = np.flatnonzero((rows.labels >= 0) & ~rows.frame["right"].to_numpy(bool))
    return int(wrong[0]) if len(wrong) else 0


def _whole(rows: Rows, table: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the rows for a file, with every probability under the name of its class.

    Args:
        table: a visitor's own file, whose other columns are added.
    """
    names = [*rows.classes, ""]
    frame = rows.frame.assign(label=[names[k] for k in rows.labels], predicted=[names[k] for k in rows.predicted])
    if "likely" in frame:
        frame = frame.assign(likely=[names[k] for k in rows.frame["likely"]])
    frame = frame.rename(columns={f"p{k}": name for k, name in enumerate(rows.classes)})
    if table is None:
        return frame.rename(columns=lambda name: name if name.removeprefix(PREFIX) in frame else name.removeprefix(PREFIX))
    frame = frame[[name for name in frame if not str(name).startswith(PREFIX)]]
    further = table[[name for name in table if name not in frame]].iloc[frame["id"].astype(int).to_numpy() - 1]
    return pd.concat([frame.reset_index(drop=True), further.reset_index(drop=True)], axis=1)
