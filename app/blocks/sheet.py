"""The visitor's sheet: figures collected on the way, put side by side, and taken along as one file. Kept for the visit only."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial
from string import ascii_lowercase

import streamlit as st

from app.blocks.files import MIME
from app.blocks.studio import style_in_focus
from app.server import queue
from app.text import md, paper
from sentviz.errors import SentvizError
from sentviz.export.chromium import find_browser
from sentviz.export.sheets import FORMATS, MAX_FIGURES, Sheet
from sentviz.figures import Figure, Theme
from sentviz.figures.style import PALETTES, SIZES, Style
from sentviz.serving.jobs import Turns

SIZE_WORDS = {name: f"{size.millimetres:g} mm" for name, size in SIZES.items()}


def collected() -> list[Figure]:
    """Return the figures of this visitor's sheet in their order."""
    figures: list[Figure] = st.session_state.setdefault("sheet", [])
    return figures


def add(make: Callable[[Theme], Figure]) -> None:
    """Put a figure on the sheet (from a callback), and show a message."""
    if len(collected()) == MAX_FIGURES:
        st.toast(f"A sheet holds at most {MAX_FIGURES} figures. Remove a figure first.", icon=":material/block:")
        return
    collected().append(make("light"))
    st.toast(f"Added to the sheet as {_letter(len(collected()) - 1)}. Open the sheet at the top of the page.", icon=":material/dashboard:")


def _letter(place: int) -> str:
    return ascii_lowercase[place]


def _move(place: int, by: int) -> None:
    figures = collected()
    figures.insert(place + by, figures.pop(place))


def _drop(place: int) -> None:
    collected().pop(place)


@st.dialog("Sheet of figures", width="large", icon=":material/dashboard:", on_dismiss="rerun")
def open_sheet() -> None:
    """Show the collected figures, controls for their order and number, and the download of the sheet."""
    figures = collected()
    if not figures:
        st.info("The sheet is empty. “Add to sheet” in the export menu of any figure puts it here.", icon=":material/dashboard:")
        return
    controls, paper = st.columns([2, 3], gap="medium")
    with controls:
        for place, figure in enumerate(figures):
            _row(place, figure, len(figures))
        style = style_in_focus()
        size = st.pills(
            "Width",
            list(SIZES),
            default=style.size if style.size in SIZES else "wide",
            format_func=SIZE_WORDS.__getitem__,
            key="sheet-size",
        )
        columns = int(st.pills("Side by side", ["1", "2", "3", "4"], default="2", key="sheet-columns") or 2)
        with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
            colours = st.selectbox("Colours", PALETTES, PALETTES.index(style.palette), key="sheet-palette", width=140)
            titles = st.checkbox("Titles", True, key="sheet-titles")
            letters = st.checkbox("Letters", True, key="sheet-letters")
            shared = st.checkbox(
                "Same scales", True, key="sheet-shared", help="Panels of the same kind or with the same colour scale get the same range."
            )
        looks = Style(size=size or "wide", palette=colours, title=titles, font=style.font)
        sheet = Sheet(tuple(figures), columns, shared, letters, looks)
    try:
        with paper:
            _preview(sheet)
    except SentvizError as error:
        st.error(md(str(error)), icon=":material/block:")
        return
    with controls:
        with st.container(horizontal=True, gap="small"):
            for format in FORMATS:
                st.download_button(
                    format.upper(),
                    data=partial(_file, queue.turns("export"), sheet, format),
                    file_name=f"sheet.{format}",
                    mime=MIME[format],
                    key=f"sheet-{format}",
                    on_click="ignore",
                    disabled=find_browser() is None,
                )
        st.caption(
            "The file contains the data to draw each panel again, also the sentences that you typed. Text for the caption in a paper:"
        )
        st.code(sheet.caption, language=None, wrap_lines=True)


def _row(place: int, figure: Figure, count: int) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center", wrap=False):
        st.markdown(f"**{_letter(place)}** {md(figure.name)}", width="stretch")
        moves = (("up", -1, place == 0, "arrow_upward"), ("down", 1, place == count - 1, "arrow_downward"))
        for name, by, off, icon in moves:
            key, label = f"sheet-{name}-{place}", f"Move {_letter(place)} {name}"
            st.button("", icon=f":material/{icon}:", key=key, help=label, disabled=off, type="tertiary", on_click=_move, args=(place, by))
        drop, label = f"sheet-drop-{place}", f"Remove {_letter(place)}"
        st.button("", icon=":material/close:", key=drop, help=label, type="tertiary", on_click=_drop, args=(place,))


def _preview(sheet: Sheet) -> None:
    """Show the sheet at true size, or as large as the dialog allows."""
    if find_browser() is None:
        st.caption("A sheet needs Chrome or Chromium on the machine that runs sentviz.")
        return
    with st.spinner("Drawing"):
        svg = _file(queue.turns("export"), sheet, "svg")
    paper(base64.b64encode(svg).decode(), sheet.millimetres, "Preview of the sheet")


def _file(turns: Turns, sheet: Sheet, format: str) -> bytes:
    with queue.turn():
        return sheet.render(format)
